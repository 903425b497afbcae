// One database, written by one connection, with group commit.
//
// A job is a function of the connection. Jobs that wait at the same time share one transaction, and so one
// fsync; each runs in a savepoint of its own, so that a job that fails changes nothing and the others go on.
// A caller resumes, on its own executor, only after the commit: what it was told is on the disk.
//
// Who reads delays nobody who writes for long, however many they are: writes that wait go before reads, which
// have a few milliseconds at a time between them, or half as long as the writes before. Readers stand in
// line, each of them alone, as the budget knows them (budget/metered.hpp), and the node's own reads have
// every second turn; so who asks for much waits for themselves. What a job takes is charged to who asked. All
// of this rests on jobs being short.
//
// A second connection for readers would need the file shared between two of them, which today nobody but this
// one may open, and its own way to see what was just written; and readers would take the disk and the
// processor from writes all the same. What is kept counted by each write costs all posts, to save those few
// who ask.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "budget/metered.hpp"
#include "sql/connection.hpp"

namespace tagring::sql {

enum class Mode : std::uint8_t {
  kThread,  // a thread of its own takes the jobs
  kInline,  // jobs run, and commit, where they are asked for: for the simulator and for tools
};

struct DatabaseOptions {
  std::string path;
  std::string vfs;            // empty: the system's
  std::string postgres = {};  // a connection string, instead of a path
  Mode mode = Mode::kThread;
  // Mode::kInline: what a caller waits for after its job, as it waits for the other thread in Mode::kThread.
  std::function<Task<void>()> pause = nullptr;
  // Told when nothing can be written any more, with the reason (a full disk, say), and with null when it can
  // be again; not of every write. On the thread of the jobs.
  // kSuperseded is told each time: another process is the node, and this one should end.
  std::function<void(const Error*)> on_trouble = [](const Error*) {};
  // PostgreSQL: set for a standby, which waits for the process that has the database (postgres.hpp).
  StandingBy standing_by = nullptr;
};

// Thread-safe in Mode::kThread, except for the destructor.
class Database {
 public:
  // Opens the database, creates the file if there is none, and has `migrate` bring its schema up to date.
  // kCorrupt if it is damaged, kUnavailable if another process has it open, else the error of `migrate`.
  static Result<std::unique_ptr<Database>> open(DatabaseOptions options,
                                                const std::function<Result<void>(Connection&)>& migrate);
  // Finishes every job that was asked for. Executors of waiting callers must outlive it.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Dialect dialect() const {
    return options_.postgres.empty() ? Dialect::kSqlite : Dialect::kPostgres;
  }

  // Runs `job`, a Result<T>(Connection&) that owns what it uses, and commits. If it fails nothing has
  // changed. kUnavailable or kCorrupt if the commit fails: then nothing is promised, not even after a restart
  // that it did not happen. Jobs take effect in the order in which they were asked for. Not cancellable once
  // it waits.
  template <class F>
  [[nodiscard]] Task<std::invoke_result_t<F&, Connection&>> write(F job) {
    return submit(Kind::kWrite, std::move(job));
  }
  // The same for a job that only reads. It sees every write that was asked for before, and only committed
  // state. Writers wait for it, so it reads at most some thousand rows; what needs more is read by several.
  // kBusy if that is for somebody who has had their time of the database.
  template <class F>
  [[nodiscard]] Task<std::invoke_result_t<F&, Connection&>> read(F job) {
    return submit(Kind::kRead, std::move(job));
  }

 private:
  enum class Kind : std::uint8_t { kRead, kWrite };
  using Work = std::move_only_function<Result<void>(Connection&)>;
  struct Job {
    Kind kind;
    Work work;
    std::shared_ptr<budget::Meter> asker;  // null: the node itself
    std::move_only_function<void(Result<void>)> done = nullptr;
    std::uint64_t number = 0;  // in the order in which they were asked for
    Result<void> outcome = {};
  };
  class Queue;

  Database(Connection connection, DatabaseOptions options);

  template <class F>
  Task<std::invoke_result_t<F&, Connection&>> submit(Kind kind, F job) {
    using R = std::invoke_result_t<F&, Connection&>;
    auto answer = std::make_shared<std::optional<R>>();
    Work work = [answer, job = std::move(job)](Connection& connection) mutable -> Result<void> {
      answer->emplace(job(connection));
      if (!**answer) return std::unexpected((*answer)->error());
      return {};
    };
    CO_TRY_VOID(co_await perform(kind, std::move(work)));
    co_return std::move(**answer);
  }
  // Completes with the error of the job or of its commit.
  Task<Result<void>> perform(Kind kind, Work work);
  void serve();
  static void finish(Job& job);
  void run_writes(std::vector<Job>& batch);
  void run_read(Job& job);
  Result<void> run_transaction(std::vector<Job>& writes);
  Result<void> run_in_savepoint(Job& job);
  void tell_of_trouble(const std::vector<Job>& writes, bool changed);

  Connection connection_;
  const DatabaseOptions options_;
  bool in_trouble_ = false;
  bool dead_ = false;             // a transaction could be neither committed nor rolled back
  std::unique_ptr<Queue> queue_;  // none in Mode::kInline
  std::thread thread_;            // the same
};

}  // namespace tagring::sql
