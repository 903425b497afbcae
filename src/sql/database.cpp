#include "sql/database.hpp"

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace tagring::sql {
namespace asio = boost::asio;
namespace {

// Jobs per transaction, so that the first of a flood does not wait for all of it.
constexpr std::size_t kBatchMax = 512;
constexpr const char* kDead = "database: stopped after a failed rollback; restart the node";

}  // namespace

struct Database::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool closing = false;
  std::thread thread;
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
    database->queue_->thread = std::thread([self = database.get()] { self->serve(); });
  }
  return database;
}

Database::~Database() {
  if (!queue_) return;
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->closing = true;
  }
  queue_->changed.notify_one();
  queue_->thread.join();
}

Task<Result<void>> Database::perform(Kind kind, Work work) {
  if (!queue_) {
    std::vector<Job> batch;
    batch.push_back(Job{kind, std::move(work), nullptr, {}});
    run_batch(batch);
    if (options_.pause) co_await options_.pause();
    co_return std::move(batch.front().outcome);
  }
  // Tracked, so that an event loop with nothing else to do waits for the answer.
  const auto executor =
      asio::prefer(co_await asio::this_coro::executor, asio::execution::outstanding_work.tracked);
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<void>)>(
      [this, kind, executor](auto handler, Work job) {
        auto done = [executor, handler = std::move(handler)](Result<void> outcome) mutable {
          asio::post(executor, [handler = std::move(handler), outcome = std::move(outcome)]() mutable {
            std::move(handler)(std::move(outcome));
          });
        };
        {
          const std::lock_guard lock(queue_->mutex);
          queue_->jobs.push_back(Job{kind, std::move(job), std::move(done), {}});
        }
        queue_->changed.notify_one();
      },
      asio::use_awaitable, std::move(work));
}

void Database::serve() {
  for (;;) {
    std::vector<Job> batch;
    {
      std::unique_lock lock(queue_->mutex);
      queue_->changed.wait(lock, [&] { return queue_->closing || !queue_->jobs.empty(); });
      if (queue_->jobs.empty()) return;
      while (!queue_->jobs.empty() && batch.size() < kBatchMax) {
        batch.push_back(std::move(queue_->jobs.front()));
        queue_->jobs.pop_front();
      }
    }
    run_batch(batch);
  }
}

void Database::run_batch(std::vector<Job>& batch) {
  const auto finish = [](Job& job) {
    job.work = nullptr;  // what it holds belongs to the caller's thread from here on
    if (job.done) std::exchange(job.done, nullptr)(std::move(job.outcome));
  };
  std::vector<Job*> writes;
  for (Job& job : batch) {
    if (job.kind == Kind::kWrite) writes.push_back(&job);
  }
  if (!writes.empty()) {
    const std::int64_t changes = connection_.changes();
    if (auto committed = run_writes(writes); !committed) {
      for (Job* job : writes) job->outcome = committed;
    }
    tell_of_trouble(writes, connection_.changes() != changes);
    for (Job* job : writes) finish(*job);
  }
  // After the commit, so that no reader sees what may yet be rolled back.
  for (Job& job : batch) {
    if (job.kind != Kind::kRead) continue;
    job.outcome = dead_ ? fail(ErrorCode::kUnavailable, kDead) : run_read(job);
    finish(job);
  }
  static_cast<void>(connection_.settle());  // the end of the last read is not left to the next batch
}

Result<void> Database::run_read(Job& job) {
  TRY_VOID(connection_.begin_reading());
  auto outcome = job.work(connection_);
  connection_.end_reading();
  return outcome;
}

// Single jobs may fail for reasons of their own; the disk's are these two. A commit that changes nothing
// succeeds on a full disk too.
void Database::tell_of_trouble(const std::vector<Job*>& writes, bool changed) {
  using enum ErrorCode;
  const auto failed = std::ranges::find_if(writes, [](const Job* job) {
    const ErrorCode code = job->outcome ? kInvalid : job->outcome.error().code;
    return code == kUnavailable || code == kCorrupt || code == kSuperseded;
  });
  const bool trouble = failed != writes.end();
  if (!trouble && !changed) return;
  const bool is_over = trouble && (*failed)->outcome.error().code == kSuperseded;
  if (trouble != std::exchange(in_trouble_, trouble) || is_over)
    options_.on_trouble(trouble ? &(*failed)->outcome.error() : nullptr);
}

// An error is one of the whole transaction; those of single jobs are in their outcomes.
Result<void> Database::run_writes(std::vector<Job*>& writes) {
  if (dead_) return fail(ErrorCode::kUnavailable, kDead);
  const auto transaction = [&]() -> Result<void> {
    TRY_VOID(connection_.begin());
    for (Job* job : writes) {
      TRY_VOID(run_in_savepoint(*job));
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
