#include "sql/postgres.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sql/dialect.hpp"
#include "sql/libpq.hpp"
#include "sql/postgres_lock.hpp"
#include "sql/postgres_session.hpp"
#include "sql/postgres_values.hpp"

namespace tagring::sql {
namespace {

constexpr std::size_t kSentMax = 256;  // statements that nobody waits for, before their answers are read
constexpr int kPartRows = 256;         // of a statement whose rows are taken in parts
constexpr int kBinary = 1;

// What is written last of a transaction, so that one whose COMMIT nobody answered can be looked for, also on
// a replica that was promoted meanwhile. (Its number at the server would be another's there.)
constexpr const char* kMark =
    "INSERT INTO counters(name, value) VALUES('node:commit', $1)"
    " ON CONFLICT(name) DO UPDATE SET value = excluded.value";
constexpr const char* kMarked = "SELECT value FROM counters WHERE name = 'node:commit'";
constexpr std::int64_t kCommitsOfTerm = std::int64_t{1} << 32;
constexpr auto kLookForCommit = std::chrono::seconds(10);
constexpr auto kLookAgain = std::chrono::milliseconds(200);
constexpr std::chrono::nanoseconds kRestMax = std::chrono::seconds(1);

std::int64_t changed_rows(PGresult* answer) {
  const std::string_view command = PQcmdStatus(answer);
  if (command.starts_with("SELECT") || command.starts_with("FETCH")) return 0;
  return std::strtoll(PQcmdTuples(answer), nullptr, 10);
}

// --- the connection ----------------------------------------------------------------------------------------

class Postgres final : public Backend {
 public:
  Postgres(std::string dsn, PostgresLink link)
      : dsn_(std::move(dsn)), link_(std::move(link)), process_(PQbackendPID(link_.get())) {}

  [[nodiscard]] Dialect dialect() const override { return Dialect::kPostgres; }
  [[nodiscard]] std::string name() const override { return name_of(link_.get()); }
  std::unique_ptr<Prepared> prepare(const char* sql, bool in_parts) override;
  Result<void> execute(const char* script) override;
  Result<void> take_term() override;
  Result<Tenure> tenure() override {
    TRY_VOID(leave_pipeline("tenure"));
    return look_at_tenure(link_.get());
  }
  Result<void> begin() override { return begin("BEGIN"); }
  Result<void> commit() override;
  Result<void> rollback() override {
    static_cast<void>(settle());
    return execute("ROLLBACK");
  }
  // All of it sees the same, and nothing can be written.
  Result<void> begin_reading() override {
    return begin("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }
  void end_reading() override;
  Result<void> settle() override;
  Result<void> copy_in(const std::string& command, std::string_view rows) override;
  [[nodiscard]] bool in_transaction() const override { return in_transaction_; }
  [[nodiscard]] std::int64_t changes() const override { return changes_; }
  Result<void> watched(std::function<void()> /*told*/, const std::function<Result<void>()>& work) override {
    return work();
  }

  // --- for its statements. `sql` must stay until collect().
  struct Packed {
    std::vector<const char*> bytes;
    std::vector<int> sizes;
    std::vector<int> formats;
  };
  // `known`: whether the server knows the statement of that name, on which connection; kept up to date.
  Result<void> enqueue_prepared(const char* name, const char* sql, unsigned* known, const Packed& values);
  Result<void> enqueue(const char* sql);
  // The answer to what was enqueued last; the first error of all that was.
  Result<PostgresAnswer> collect();
  [[nodiscard]] bool is_full() const { return sent_.size() >= kSentMax; }
  // Nothing but the end of the transaction helps.
  [[nodiscard]] bool has_failed() const {
    return !in_transaction_ || PQtransactionStatus(link_.get()) == PQTRANS_INERROR;
  }

 private:
  struct Sent {
    const char* sql;
    unsigned* known;  // of a statement that is being prepared; else null
  };
  Result<void> begin(const char* sql);
  Result<void> send_commit(bool marked);
  Result<void> look_for_commit(const Error& lost);
  Result<bool> resume();
  Result<void> reconnect();
  Result<void> enter_pipeline();
  Result<void> leave_pipeline(const char* doing);
  std::unexpected<Error> lost(const char* doing);
  [[nodiscard]] bool is_connected() const { return !is_lost_ && PQstatus(link_.get()) == CONNECTION_OK; }

  const std::string dsn_;
  PostgresLink link_;
  int process_;            // of the server, for this session
  std::int64_t term_ = 0;  // 0: not the node
  std::optional<Error> superseded_;
  std::int64_t commits_ = 0;        // that were tried
  std::string mark_;                // of the last one
  std::string kept_;                // of the last one that is there; empty: none in this term
  unsigned mark_known_ = 0;         // enqueue_prepared()
  bool is_commit_unknown_ = false;  // whether that one is there
  std::optional<Error> unreached_;  // why the last try to connect failed
  std::chrono::steady_clock::time_point rests_until_;
  std::int64_t changes_before_ = 0;  // the transaction
  unsigned session_ = 1;             // grows with each connection
  bool is_lost_ = false;             // the session, which shows before its connection is closed
  unsigned statements_ = 0;
  std::vector<Sent> sent_;
  bool in_transaction_ = false;
  std::int64_t changes_ = 0;
};

std::unexpected<Error> Postgres::lost(const char* doing) {
  auto error = failure(link_.get(), nullptr, doing);
  is_lost_ = true;
  sent_.clear();
  in_transaction_ = false;
  return error;
}

Result<void> Postgres::enter_pipeline() {
  if (PQpipelineStatus(link_.get()) == PQ_PIPELINE_ON || PQenterPipelineMode(link_.get()) == 1) return {};
  return lost("pipeline");
}

Result<void> Postgres::enqueue(const char* sql) {
  TRY_VOID(enter_pipeline());
  if (PQsendQueryParams(link_.get(), sql, 0, nullptr, nullptr, nullptr, nullptr, kBinary) != 1)
    return lost(sql);
  sent_.push_back({sql, nullptr});
  return {};
}

Result<void> Postgres::enqueue_prepared(const char* name, const char* sql, unsigned* known,
                                        const Packed& values) {
  TRY_VOID(enter_pipeline());
  if (*known != session_) {
    if (PQsendPrepare(link_.get(), name, sql, 0, nullptr) != 1) return lost(sql);
    sent_.push_back({sql, known});
    *known = session_;
  }
  if (PQsendQueryPrepared(link_.get(), name, static_cast<int>(values.bytes.size()), values.bytes.data(),
                          values.sizes.data(), values.formats.data(), kBinary) != 1)
    return lost(sql);
  sent_.push_back({sql, nullptr});
  return {};
}

Result<PostgresAnswer> Postgres::collect() {
  if (PQpipelineSync(link_.get()) != 1) return lost("sync");
  std::optional<Error> wrong;
  PostgresAnswer last;
  for (const Sent& sent : sent_) {
    last.reset(PQgetResult(link_.get()));
    const ExecStatusType status = PQresultStatus(last.get());
    const bool is_done = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (is_done && sent.known == nullptr) changes_ += changed_rows(last.get());
    if (!is_done && sent.known != nullptr) *sent.known = 0;
    if (!is_done && !wrong) wrong = failure(link_.get(), last.get(), sent.sql).error();
    while (const PostgresAnswer rest{last ? PQgetResult(link_.get()) : nullptr}) {
    }
  }
  sent_.clear();
  const PostgresAnswer end(PQgetResult(link_.get()));
  if (PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC || PQstatus(link_.get()) != CONNECTION_OK) {
    auto error = lost("sync");
    return wrong ? std::unexpected(Error{ErrorCode::kUnavailable, wrong->message}) : error;
  }
  const PGTransactionStatusType state = PQtransactionStatus(link_.get());
  in_transaction_ = state == PQTRANS_INTRANS || state == PQTRANS_INERROR;
  if (wrong) return std::unexpected(*std::move(wrong));
  return last;
}

Result<void> Postgres::settle() {
  if (sent_.empty()) return {};
  TRY_VOID(collect());
  return {};
}

Result<void> Postgres::leave_pipeline(const char* doing) {
  TRY_VOID(settle());
  const bool is_out = is_connected() && (PQpipelineStatus(link_.get()) == PQ_PIPELINE_OFF ||
                                         PQexitPipelineMode(link_.get()) == 1);
  if (!is_out) return lost(doing);
  return {};
}

Result<void> Postgres::copy_in(const std::string& command, std::string_view rows) {
  TRY_VOID(leave_pipeline(command.c_str()));
  const PostgresAnswer begun(PQexec(link_.get(), command.c_str()));
  if (PQresultStatus(begun.get()) != PGRES_COPY_IN) return failure(link_.get(), begun.get(), command);
  if (PQputCopyData(link_.get(), rows.data(), static_cast<int>(rows.size())) != 1 ||
      PQputCopyEnd(link_.get(), nullptr) != 1)
    return lost(command.c_str());
  std::optional<Error> wrong;
  while (const PostgresAnswer done{PQgetResult(link_.get())}) {
    if (PQresultStatus(done.get()) == PGRES_COMMAND_OK) {
      changes_ += changed_rows(done.get());
    } else if (!wrong) {
      wrong = failure(link_.get(), done.get(), command).error();
    }
  }
  if (wrong) return std::unexpected(*std::move(wrong));
  return {};
}

Result<void> Postgres::execute(const char* script) {
  TRY_VOID(leave_pipeline(script));
  const PostgresAnswer answer(PQexec(link_.get(), script));
  const ExecStatusType status = PQresultStatus(answer.get());
  const PGTransactionStatusType state = PQtransactionStatus(link_.get());
  in_transaction_ = state == PQTRANS_INTRANS || state == PQTRANS_INERROR;
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
    return failure(link_.get(), answer.get(), script);
  changes_ += changed_rows(answer.get());
  return {};
}

Result<void> Postgres::take_term() {
  const char* sql =
      "INSERT INTO counters(name, value) VALUES('node:term', 1)"
      " ON CONFLICT(name) DO UPDATE SET value = counters.value + 1 RETURNING value";
  TRY_VOID(leave_pipeline(sql));
  const PostgresAnswer raised(PQexec(link_.get(), sql));
  if (PQresultStatus(raised.get()) != PGRES_TUPLES_OK) return failure(link_.get(), raised.get(), sql);
  term_ = std::strtoll(PQgetvalue(raised.get(), 0, 0), nullptr, 10);
  return {};
}

// Without a term nobody could say what happened in between. True if the commit that nobody answered is there.
// A replica that was promoted may have the term, and not what was committed last: then the numbers that this
// process has given are not in use there.
Result<bool> Postgres::resume() {
  if (term_ == 0) return fail(ErrorCode::kUnavailable, "database: the session was lost");
  Result<PostgresLink> link = resume_session(dsn_, process_, term_);
  if (!link && link.error().code == ErrorCode::kSuperseded) superseded_ = link.error();
  if (!link) return std::unexpected(std::move(link).error());
  process_ = PQbackendPID(link->get());
  const PostgresAnswer last(PQexec(link->get(), kMarked));
  if (PQresultStatus(last.get()) != PGRES_TUPLES_OK) return failure(link->get(), last.get(), kMarked);
  const std::string found = PQntuples(last.get()) == 1 ? PQgetvalue(last.get(), 0, 0) : "";
  const bool is_there = std::exchange(is_commit_unknown_, false) && found == mark_;
  if (!is_there && !kept_.empty() && found != kept_) {
    note_loss(link->get());
    superseded_ = Error{
        ErrorCode::kSuperseded,
        name_of(link->get()) + " does not have what this process committed last; it has to start again"};
    return std::unexpected(*superseded_);
  }
  link_ = *std::move(link);
  is_lost_ = false;
  ++session_;
  return is_there;
}

// Where a machine is gone each try takes until connecting ends by time: as many wait as have something to
// read, and one try speaks for all of them. What is refused at once costs nobody time.
Result<void> Postgres::reconnect() {
  const auto begun = std::chrono::steady_clock::now();
  if (unreached_ && begun < rests_until_) return std::unexpected(*unreached_);
  const Result<bool> is_there = resume();
  if (!is_there) {
    const auto end = std::chrono::steady_clock::now();
    rests_until_ = end + std::min<std::chrono::nanoseconds>(end - begun, kRestMax);
    unreached_ = is_there.error();
    return std::unexpected(*unreached_);
  }
  if (!*is_there) return {};
  // Those who asked for it were told that it failed, and what they keep in memory says so.
  superseded_ = Error{ErrorCode::kSuperseded,
                      name() + " has what this process could not see committed; it has to start again"};
  return std::unexpected(*superseded_);
}

// A server that was restarted meanwhile has closed the connection, which shows only when one looks.
Result<void> Postgres::begin(const char* sql) {
  if (superseded_) return std::unexpected(*superseded_);  // also on the good connection that showed it
  // What it said before it closed is read first.
  const bool is_there = PQconsumeInput(link_.get()) == 1 && PQconsumeInput(link_.get()) == 1;
  if (!is_there || !is_connected()) {
    sent_.clear();
    in_transaction_ = false;
    TRY_VOID(reconnect());
  }
  TRY_VOID(enqueue(sql));
  in_transaction_ = true;
  changes_before_ = changes_;
  return {};
}

Result<void> Postgres::commit() {
  const bool marked = term_ != 0 && changes_ != changes_before_;
  Result<void> committed = send_commit(marked);
  if (!committed && marked && !is_connected()) {
    is_commit_unknown_ = true;
    committed = look_for_commit(committed.error());
  }
  if (committed && marked) kept_ = mark_;
  return committed;
}

// Whoever waits for it waits on: nothing else could be written meanwhile. What is said to have failed, and is
// there all the same, would be sent again by who was told so, be known, and go no further.
Result<void> Postgres::look_for_commit(const Error& lost) {
  const auto end = std::chrono::steady_clock::now() + kLookForCommit;
  for (;;) {
    const Result<bool> is_there = resume();
    if (is_there && *is_there) return {};
    const bool is_over = is_there || is_there.error().code == ErrorCode::kSuperseded;
    if (is_over || std::chrono::steady_clock::now() >= end)
      return std::unexpected(is_there ? lost : is_there.error());
    std::this_thread::sleep_for(kLookAgain);
  }
}

// A transaction in which something failed is rolled back by COMMIT, without an error.
Result<void> Postgres::send_commit(bool marked) {
  if (marked) {
    mark_ = std::to_string(term_ * kCommitsOfTerm + ++commits_);
    const Packed values{{mark_.c_str()}, {static_cast<int>(mark_.size())}, {0}};
    TRY_VOID(enqueue_prepared("mark", kMark, &mark_known_, values));
  }
  TRY_VOID(enqueue("COMMIT"));
  TRY(const PostgresAnswer done, collect());
  if (std::string_view(PQcmdStatus(done.get())) == "COMMIT") return {};
  return fail(ErrorCode::kUnavailable, "database: the transaction was rolled back");
}

void Postgres::end_reading() {
  if (!in_transaction_) return;
  if (has_failed()) {
    static_cast<void>(rollback());
  } else if (enqueue("COMMIT")) {
    in_transaction_ = false;
  }
}

// --- statements --------------------------------------------------------------------------------------------

class PostgresPrepared final : public Prepared {
 public:
  PostgresPrepared(Postgres& database, const char* sql, unsigned number, bool in_parts)
      : database_(database), name_(fmt::format("s{}", number)), in_parts_(in_parts) {
    sql_ = with_dollars(sql, count_);
    if (!in_parts) return;
    sql_ = fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", name_, sql_);
    fetch_ = fmt::format("FETCH FORWARD {} FROM {}", kPartRows, name_);
    close_ = fmt::format("CLOSE {}", name_);
  }

  void open() override { parameters_.resize(static_cast<std::size_t>(count_)); }
  // As text: the server knows of which size the parameter is.
  void bind(int index, std::int64_t value) override {
    Parameter& parameter = at(index);
    parameter.owned = std::to_string(value);
    parameter.is_owned = true;
    parameter.is_null = false;
    parameter.format = 0;
  }
  void bind(int index, std::string_view text, bool copy) override {
    Parameter& parameter = at(index);
    if (copy) parameter.owned = text;
    parameter.is_owned = copy;
    parameter.is_null = false;
    parameter.bytes = text;
    parameter.format = kBinary;
  }
  void bind(int index, Blob blob, bool copy) override { bind(index, blob.bytes, copy); }
  void bind(int index, const Any& value, bool /*copy*/) override {
    bind(index, std::string_view(bytes_of(value)), /*copy=*/true);
  }
  void bind_null(int index) override { at(index).is_null = true; }
  Result<bool> step() override;
  Result<void> send() override {
    TRY_VOID(enqueue());
    return database_.is_full() ? database_.settle() : Result<void>();
  }
  void close() override {
    if (in_parts_ && answer_ && !database_.has_failed()) static_cast<void>(database_.enqueue(close_.c_str()));
    answer_.reset();
  }

  [[nodiscard]] Type type(int column) const override;
  [[nodiscard]] std::int64_t integer(int column) const override;
  [[nodiscard]] std::string_view view(int column) const override {
    return {PQgetvalue(answer_.get(), row_, column),
            static_cast<std::size_t>(PQgetlength(answer_.get(), row_, column))};
  }
  [[nodiscard]] Any any(int column) const override { return any_of(view(column)); }
  [[nodiscard]] std::int64_t changed() const override { return changed_rows(answer_.get()); }

 private:
  struct Parameter {
    std::string_view bytes;
    std::string owned;
    bool is_owned = false;
    bool is_null = false;
    int format = 0;
  };
  Parameter& at(int index) {
    const auto place = static_cast<std::size_t>(index) - 1;
    if (place >= parameters_.size()) parameters_.resize(place + 1);  // too many: the server says so
    return parameters_[place];
  }
  Result<void> enqueue();

  Postgres& database_;
  const std::string name_;
  const bool in_parts_;
  int count_ = 0;
  std::string sql_;
  std::string fetch_;  // in_parts
  std::string close_;
  std::vector<Parameter> parameters_;
  Postgres::Packed values_;
  unsigned known_ = 0;
  PostgresAnswer answer_;
  int row_ = 0;
};

std::unique_ptr<Prepared> Postgres::prepare(const char* sql, bool in_parts) {
  return std::make_unique<PostgresPrepared>(*this, sql, ++statements_, in_parts);
}

Result<void> PostgresPrepared::enqueue() {
  values_.bytes.clear();
  values_.sizes.clear();
  values_.formats.clear();
  for (const Parameter& parameter : parameters_) {
    const std::string_view bytes = parameter.is_owned ? std::string_view(parameter.owned) : parameter.bytes;
    const char* data = bytes.data() != nullptr ? bytes.data() : "";
    values_.bytes.push_back(parameter.is_null ? nullptr : data);
    values_.sizes.push_back(static_cast<int>(bytes.size()));
    values_.formats.push_back(parameter.format);
  }
  return database_.enqueue_prepared(name_.c_str(), sql_.c_str(), &known_, values_);
}

Result<bool> PostgresPrepared::step() {
  const int rows = answer_ ? PQntuples(answer_.get()) : 0;
  if (answer_ && row_ + 1 < rows) {
    ++row_;
    return true;
  }
  if (answer_ && (!in_parts_ || rows < kPartRows)) {
    row_ = rows;
    return false;
  }
  if (!answer_) {
    TRY_VOID(enqueue());
  }
  if (in_parts_) {
    TRY_VOID(database_.enqueue(fetch_.c_str()));
  }
  TRY(answer_, database_.collect());
  row_ = 0;
  return PQntuples(answer_.get()) > 0;
}

Type PostgresPrepared::type(int column) const {
  return PQgetisnull(answer_.get(), row_, column) == 1 ? Type::kNull
                                                       : type_of(PQftype(answer_.get(), column));
}

std::int64_t PostgresPrepared::integer(int column) const {
  const std::string_view bytes = view(column);
  const Type stored = type(column);
  if (stored == Type::kInteger) return from_big_endian(bytes);
  std::int64_t value = 0;
  if (stored == Type::kText) std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  return value;
}

}  // namespace

Result<std::unique_ptr<Backend>> open_postgres(const std::string& dsn, const StandingBy& standing_by) {
  TRY(PostgresLink link, standing_by ? await_session(dsn, standing_by) : begin_session(dsn));
  return std::make_unique<Postgres>(dsn, std::move(link));
}

}  // namespace tagring::sql
