#include "sql/database.hpp"

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace tagring::sql {
namespace asio = boost::asio;
namespace {

// Jobs per transaction, so that the first of a flood does not wait for all of it.
constexpr std::size_t kBatchMax = 512;
// What reads have at least between two transactions, or half of what the one before took; one more job may
// begin just before its end.
constexpr auto kReadsFor = std::chrono::milliseconds(5);
constexpr const char* kDead = "database: stopped after a failed rollback; restart the node";

// What a job takes, to who asked for it: by the clock, since others wait meanwhile. Not the commit: that is
// of all who share it.
class Charge {
 public:
  explicit Charge(budget::Meter* asker) : asker_(asker) {}
  ~Charge() {
    if (asker_ != nullptr) asker_->charge_database(std::chrono::steady_clock::now() - begun_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  budget::Meter* asker_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

// Which job comes next.
class Database::Queue {
 public:
  void push(Job job) {
    {
      const std::lock_guard lock(mutex_);
      job.number = ++pushed_;
      auto& line = job.kind == Kind::kWrite ? writes_ : reads_[job.asker ? job.asker->line() : ""];
      line.push_back(std::move(job));
    }
    changed_.notify_one();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_one();
  }
  // Waits for a job; false if none will come.
  bool wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closing_ || !is_empty(); });
    return !is_empty();
  }
  std::vector<Job> take_writes() {
    const std::lock_guard lock(mutex_);
    std::vector<Job> batch;
    while (!writes_.empty() && batch.size() < kBatchMax) batch.push_back(take_first(writes_));
    return batch;
  }
  // Of lines whose first has no write before it that is still to come.
  std::optional<Job> take_read() {
    const std::lock_guard lock(mutex_);
    const auto own = reads_.find("");
    is_own_turn_ = !is_own_turn_;
    if (is_own_turn_ && own != reads_.end() && is_due(own->second)) return take_from(own);
    const auto begin = reads_.upper_bound(last_);
    for (const auto& [from, to] : {std::pair(begin, reads_.end()), std::pair(reads_.begin(), begin)}) {
      for (auto line = from; line != to; ++line) {
        if (is_due(line->second)) return take_from(line);
      }
    }
    return std::nullopt;
  }

 private:
  using Lines = std::map<std::string, std::deque<Job>, std::less<>>;  // by Meter::line()
  [[nodiscard]] bool is_empty() const { return writes_.empty() && reads_.empty(); }
  [[nodiscard]] bool is_due(const std::deque<Job>& line) const {
    return writes_.empty() || line.front().number < writes_.front().number;
  }
  static Job take_first(std::deque<Job>& line) {
    Job job = std::move(line.front());
    line.pop_front();
    return job;
  }
  Job take_from(Lines::iterator line) {
    if (!line->first.empty()) last_ = line->first;
    Job job = take_first(line->second);
    if (line->second.empty()) reads_.erase(line);
    return job;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> writes_;
  Lines reads_;  // none is empty
  std::uint64_t pushed_ = 0;
  bool is_own_turn_ = false;
  std::string last_;  // whose turn it was, but for the node's own
  bool closing_ = false;
};

Database::Database(Connection connection, DatabaseOptions options)
    : connection_(std::move(connection)), options_(std::move(options)) {}

Result<std::unique_ptr<Database>> Database::open(DatabaseOptions options,
                                                 const std::function<Result<void>(Connection&)>& migrate) {
  TRY(Connection connection, options.postgres.empty()
                                 ? Connection::open(options.path, options.vfs)
                                 : Connection::connect(options.postgres, options.standing_by));
  if (auto migrated = migrate(connection); !migrated) {
    return fail(migrated.error().code, connection.name() + ": " + migrated.error().message);
  }
  std::unique_ptr<Database> database(new Database(std::move(connection), std::move(options)));
  if (database->options_.mode == Mode::kThread) {
    database->queue_ = std::make_unique<Queue>();
    database->thread_ = std::thread([self = database.get()] { self->serve(); });
  }
  return database;
}

Database::~Database() {
  if (!queue_) return;
  queue_->close();
  thread_.join();
}

Task<Result<void>> Database::perform(Kind kind, Work work) {
  const auto here = co_await asio::this_coro::executor;
  const auto* metered = here.target<budget::Metered>();
  Job job{kind, std::move(work), metered != nullptr ? metered->meter() : nullptr};
  if (kind == Kind::kRead && job.asker && !job.asker->may_read())
    co_return fail(ErrorCode::kBusy, "this address has had its time of the database; ask again later");
  if (!queue_) {
    std::vector<Job> batch;
    batch.push_back(std::move(job));
    if (kind == Kind::kWrite) run_writes(batch);
    if (kind == Kind::kRead) run_read(batch.front());
    if (options_.pause) co_await options_.pause();
    co_return std::move(batch.front().outcome);
  }
  // Tracked, so that an event loop with nothing else to do waits for the answer.
  const auto executor = asio::prefer(here, asio::execution::outstanding_work.tracked);
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<void>)>(
      [this, executor](auto handler, Job asked) {
        asked.done = [executor, handler = std::move(handler)](Result<void> outcome) mutable {
          asio::post(executor, [handler = std::move(handler), outcome = std::move(outcome)]() mutable {
            std::move(handler)(std::move(outcome));
          });
        };
        queue_->push(std::move(asked));
      },
      asio::use_awaitable, std::move(job));
}

void Database::serve() {
  while (queue_->wait()) {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<Job> writes = queue_->take_writes();
    if (!writes.empty()) run_writes(writes);
    const auto written = std::chrono::steady_clock::now();
    const auto until = written + std::max<std::chrono::nanoseconds>(kReadsFor, (written - begun) / 2);
    do {
      std::optional<Job> read = queue_->take_read();
      if (!read) break;
      run_read(*read);
    } while (std::chrono::steady_clock::now() < until);
    static_cast<void>(connection_.settle());  // the end of the last read is not left to what comes next
  }
}

void Database::finish(Job& job) {
  job.work = nullptr;  // what it holds belongs to the caller's thread from here on
  job.asker = nullptr;
  if (job.done) std::exchange(job.done, nullptr)(std::move(job.outcome));
}

void Database::run_writes(std::vector<Job>& batch) {
  const std::int64_t changes = connection_.changes();
  if (auto committed = run_transaction(batch); !committed) {
    for (Job& job : batch) job.outcome = committed;
  }
  tell_of_trouble(batch, connection_.changes() != changes);
  for (Job& job : batch) finish(job);
}

// After a commit, so that no reader sees what may yet be rolled back.
void Database::run_read(Job& job) {
  const auto read = [&]() -> Result<void> {
    if (dead_) return fail(ErrorCode::kUnavailable, kDead);
    TRY_VOID(connection_.begin_reading());
    auto outcome = job.work(connection_);
    connection_.end_reading();
    return outcome;
  };
  {
    const Charge charge(job.asker.get());
    job.outcome = read();
  }
  if (!job.outcome && job.outcome.error().code == ErrorCode::kSuperseded)
    options_.on_trouble(&job.outcome.error());
  finish(job);
}

// Single jobs may fail for reasons of their own; the disk's are these two. A commit that changes nothing
// succeeds on a full disk too.
void Database::tell_of_trouble(const std::vector<Job>& writes, bool changed) {
  using enum ErrorCode;
  const auto failed = std::ranges::find_if(writes, [](const Job& job) {
    const ErrorCode code = job.outcome ? kInvalid : job.outcome.error().code;
    return code == kUnavailable || code == kCorrupt || code == kSuperseded;
  });
  const bool trouble = failed != writes.end();
  if (!trouble && !changed) return;
  const bool is_over = trouble && failed->outcome.error().code == kSuperseded;
  if (trouble != std::exchange(in_trouble_, trouble) || is_over)
    options_.on_trouble(trouble ? &failed->outcome.error() : nullptr);
}

// An error is one of the whole transaction; those of single jobs are in their outcomes.
Result<void> Database::run_transaction(std::vector<Job>& writes) {
  if (dead_) return fail(ErrorCode::kUnavailable, kDead);
  const auto transaction = [&]() -> Result<void> {
    TRY_VOID(connection_.begin());
    for (Job& job : writes) {
      TRY_VOID(run_in_savepoint(job));
    }
    TRY_VOID(connection_.commit());
    return {};
  };
  auto result = transaction();
  if (!result && connection_.in_transaction()) {
    const auto rolled_back = connection_.rollback();
    dead_ = !rolled_back && connection_.in_transaction();
  }
  return result;
}

Result<void> Database::run_in_savepoint(Job& job) {
  const Charge charge(job.asker.get());
  TRY_VOID(connection_.send("SAVEPOINT job"));
  job.outcome = job.work(connection_);
  if (auto settled = connection_.settle(); !settled && job.outcome) job.outcome = std::move(settled);
  // A full disk or an I/O error can make SQLite roll back the whole transaction by itself; it also ends with
  // the connection.
  if (!connection_.in_transaction()) {
    if (!job.outcome) return job.outcome;
    return fail(ErrorCode::kUnavailable, "database: the transaction was rolled back");
  }
  if (!job.outcome) {
    TRY_VOID(connection_.send("ROLLBACK TO job"));
  }
  TRY_VOID(connection_.send("RELEASE job"));
  return {};
}

}  // namespace tagring::sql
