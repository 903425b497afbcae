#include "sql/connection.hpp"

#include "base/assert.hpp"
#include "sql/postgres.hpp"
#include "sql/sqlite.hpp"

namespace tagring::sql {

Statement::~Statement() {
  if (prepared_ == nullptr) return;
  prepared_->close();
  prepared_->lent = false;
}

Result<Connection> Connection::open(const std::string& path, const std::string& vfs) {
  TRY(std::unique_ptr<Backend> backend, open_sqlite(path, vfs));
  return Connection(std::move(backend));
}

Result<Connection> Connection::connect(const std::string& dsn, const StandingBy& standing_by) {
  TRY(std::unique_ptr<Backend> backend, open_postgres(dsn, standing_by));
  return Connection(std::move(backend));
}

Connection::~Connection() {
  for (const auto& [sql, prepared] : cache_) TR_ASSERT(!prepared->lent);
}

Statement Connection::prepare(const char* sql, bool in_parts) {
  std::unique_ptr<Prepared>& prepared = cache_[sql];
  if (!prepared) prepared = backend_->prepare(sql, in_parts);
  TR_ASSERT(!prepared->lent);
  prepared->lent = true;
  prepared->open();
  return Statement(prepared.get());
}

Result<std::int64_t> Connection::finish(Statement statement) {
  for (;;) {
    TRY(const bool row, statement.step());
    if (!row) return statement.prepared_->changed();
  }
}

}  // namespace tagring::sql
