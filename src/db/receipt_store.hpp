// storage::ReceiptStore on SQLite.
#pragma once

#include "audit/receipt_store.hpp"
#include "sql/database.hpp"

namespace tagring::db {

class SqliteReceiptStore final : public audit::ReceiptStore {
 public:
  // The database must outlive it.
  explicit SqliteReceiptStore(sql::Database& database) : database_(database) {}

  Task<Result<void>> keep(audit::KeptReceipt receipt, WallTime now, Limits limits) override;
  Task<Result<std::vector<audit::KeptReceipt>>> receipts(Tag tag, std::uint64_t after,
                                                         std::size_t limit) override;
  Task<Result<Totals>> totals() override;
  Task<Result<std::vector<audit::KeptReceipt>>> latest(std::size_t items) override;
  Task<Result<std::optional<audit::KeptReceipt>>> at(std::uint64_t place) override;
  Task<Result<void>> keep_offence(Offence offence, WallTime kept_after) override;
  Task<Result<std::vector<Offence>>> offences() override;
  Task<Result<void>> keep_audit(std::string report, std::size_t count) override;
  Task<Result<std::vector<std::string>>> audits() override;

 private:
  sql::Database& database_;
};

}  // namespace tagring::db
