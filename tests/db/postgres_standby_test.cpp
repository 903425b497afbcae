// Two processes with one database of PostgreSQL: which of them is the node.
#include <atomic>
#include <csignal>
#include <future>
#include <gmock/gmock.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "db/new_name.hpp"
#include "sql/postgres_lock.hpp"
#include "sql/postgres_session.hpp"
#include "tests/db/fixture.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Duration kNoTime(0);
constexpr Duration kLong = std::chrono::hours(1);

class PostgresStandbyTest : public testing::Test {
 protected:
  void SetUp() override {
    dsn_ = PostgresServer::get().fresh();
    schema_ = dsn_.substr(dsn_.rfind('=') + 1);
  }
  [[nodiscard]] std::unique_ptr<Stores> open() {
    DatabaseOptions options{.path = "", .vfs = {}, .postgres = dsn_, .mode = Mode::kInline};
    options.on_trouble = [this](const Error* trouble) {
      if (trouble != nullptr) troubles_.push_back(trouble->code);
    };
    auto opened = open_stores(std::move(options), clock_);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }
  [[nodiscard]] std::string term() const {
    return PostgresServer::get().run("SELECT value FROM " + schema_ + ".counters WHERE name = 'node:term'");
  }
  // Of whoever has the lock, by whoever runs the server.
  static constexpr const char* kEndSession =
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
      " AND classid = 1952540530"
      " AND objid::bigint = hashtext(current_schema()) & 2147483647";
  void end_session() const { PostgresServer::get().run("SET search_path = " + schema_ + "; " + kEndSession); }
  [[nodiscard]] PostgresLink session() const {
    Result<PostgresLink> begun = begin_session(dsn_);
    if (!begun) throw std::runtime_error(begun.error().message);
    return *std::move(begun);
  }
  // A session that looks on.
  [[nodiscard]] PostgresLink other() const { return PostgresLink(PQconnectdb(dsn_.c_str())); }
  [[nodiscard]] std::optional<LockHolder> look(Duration silence) const {
    const PostgresLink link = other();
    return look_at_lock(link.get(), silence).value();
  }
  // The server may not have begun to wait for its client when that has the answer already.
  [[nodiscard]] bool is_silent_soon() const {
    for (int i = 0; i < 200; ++i)
      if (look(kNoTime)->is_silent) return true;
    return false;
  }

  std::string dsn_;
  std::string schema_;
  ManualClock clock_;
  std::vector<ErrorCode> troubles_;
};

// --- terms -------------------------------------------------------------------------------------------------

TEST_F(PostgresStandbyTest, EachProcessHasATermAndKeepsItWhenItsSessionIsLost) {
  auto stores = open();
  EXPECT_EQ(term(), "1");
  stores.reset();
  stores = open();
  EXPECT_EQ(term(), "2");
  end_session();
  must(stores->meta.set("key", "kept"));
  EXPECT_EQ(must(stores->meta.get("key")), "kept");
  EXPECT_EQ(term(), "2");
}

// Also between what it has committed and what it says of it.
TEST_F(PostgresStandbyTest, ASessionThatIsEndedAtAnyMomentCostsNobodyItsPlace) {
  const auto stores = open();
  std::atomic<bool> is_over = false;
  std::thread ending([&] {
    const PostgresLink link = other();
    while (!is_over) {
      PQclear(PQexec(link.get(), kEndSession));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  for (int i = 0; i < 10'000; ++i) {  // some moments are seldom met
    const auto written = run(stores->meta.set("key", std::to_string(i)));
    if (!written) EXPECT_EQ(written.error().code, ErrorCode::kUnavailable) << written.error().message;
  }
  is_over = true;
  ending.join();
  bool is_kept = false;  // on a busy machine it takes a while to come back
  for (int i = 0; i < 100 && !is_kept; ++i) is_kept = run(stores->meta.set("key", "kept")).has_value();
  EXPECT_TRUE(is_kept);
  EXPECT_THAT(troubles_, Not(Contains(ErrorCode::kSuperseded)));
  EXPECT_EQ(term(), "1");
}

TEST_F(PostgresStandbyTest, WhoeverWasReplacedMeanwhileWritesNothingMore) {
  const auto slow = open();
  must(slow->meta.set("key", "first"));
  end_session();
  open().reset();  // and ends
  for (int i = 0; i < 2; ++i) {
    const auto written = run(slow->meta.set("key", "late"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kSuperseded) << written.error().message;
    const auto read = run(slow->meta.get("key"));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kSuperseded) << read.error().message;
  }
  EXPECT_EQ(troubles_, std::vector(4, ErrorCode::kSuperseded));
  EXPECT_EQ(must(open()->meta.get("key")), "first") << "who looked does not keep the lock";
}

TEST_F(PostgresStandbyTest, WhoeverFindsAnotherInItsPlaceWritesNothingMore) {
  const auto slow = open();
  end_session();
  const PostgresLink another = session();  // has not begun to write
  const auto written = run(slow->meta.set("key", "late"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kSuperseded);
  EXPECT_THAT(written.error().message, HasSubstr("in use by another process"));
}

// A replica was promoted that had not got all yet, but the term.
TEST_F(PostgresStandbyTest, WhoeverDoesNotFindWhatItCommittedLastWritesNothingMore) {
  const auto stores = open();
  const std::string counters = schema_ + ".counters";
  must(stores->meta.set("key", "first"));
  const std::string mark =
      PostgresServer::get().run("SELECT value FROM " + counters + " WHERE name = 'node:commit'");
  must(stores->meta.set("key", "second"));
  PostgresServer::get().run("UPDATE " + counters + " SET value = " + mark + " WHERE name = 'node:commit'");
  end_session();
  for (int i = 0; i < 2; ++i) {
    const auto written = run(stores->meta.set("key", "third"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kSuperseded) << written.error().message;
  }
  EXPECT_EQ(must(open()->meta.get("key")), "second") << "who looked does not keep the lock";
}

// A transaction that another process overtakes: what it had sent is undone.
TEST_F(PostgresStandbyTest, WhatWasNotCommittedIsUndone) {
  const auto slow = open();
  must(slow->meta.set("key", "first"));
  const auto written = run(slow->database->write([this](Connection& db) -> Result<void> {
    TRY_VOID(db.run("UPDATE meta SET value = ? WHERE name = 'key'", Blob{"late"}));
    end_session();
    EXPECT_EQ(must(open()->meta.get("key")), "first");
    return {};
  }));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kSuperseded) << "found out while it looks for its commit";
  EXPECT_EQ(run(slow->meta.set("key", "late")).error().code, ErrorCode::kSuperseded);
  EXPECT_EQ(must(open()->meta.get("key")), "first");
}

// A server that waits for its replica has committed already, and says so to nobody if it is ended.
TEST_F(PostgresStandbyTest, ACommitWhoseAnswerIsLostIsFound) {
  const auto stores = open();
  const auto sql = [](const std::string& statement) { return PostgresServer::get().run(statement); };
  sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  sql("SELECT pg_reload_conf()");
  std::string ended = "0";
  std::atomic<bool> is_over = false;
  {
    const std::jthread killer([&] {
      for (int i = 0; i < 500 && ended == "0"; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ended =
            sql("SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE wait_event = 'SyncRep'");
      }
      sql("ALTER SYSTEM RESET synchronous_standby_names");
      sql("SELECT pg_reload_conf()");
      is_over = true;
    });
    // The first ones may be committed before the server has read its settings again.
    while (!is_over) must(stores->meta.set("key", "committed"));
  }
  EXPECT_EQ(ended, "1");
  EXPECT_EQ(must(stores->meta.get("key")), "committed");
  EXPECT_THAT(troubles_, IsEmpty());
}

// Its server was away for so long that whoever waited was told that it failed.
TEST_F(PostgresStandbyTest, WhoeverFindsACommitThatItGaveUpWritesAndReadsNothingMore) {
  auto stores = open();
  const auto sql = [](const std::string& statement) { return PostgresServer::get().run(statement); };
  sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  sql("SELECT pg_reload_conf()");
  std::string waiting = "0";
  {
    const std::jthread killer([&] {
      for (int i = 0; i < 500 && waiting == "0"; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        waiting = sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      }
      sql("ALTER SYSTEM RESET synchronous_standby_names");  // is read when it starts
      PostgresServer::get().stop();
    });
    // The first ones may be committed before the server has read its settings again.
    while (run(stores->meta.set("key", "committed"))) {
    }
  }
  EXPECT_EQ(waiting, "1");
  PostgresServer::get().start();
  for (int i = 0; i < 2; ++i) {
    const auto read = run(stores->meta.get("key"));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kSuperseded) << read.error().message;
    const auto written = run(stores->meta.set("key", "late"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kSuperseded) << written.error().message;
  }
  ASSERT_EQ(troubles_.size(), 5U);
  EXPECT_EQ(troubles_.front(), ErrorCode::kUnavailable);
  EXPECT_EQ(troubles_.at(1), ErrorCode::kSuperseded) << "of the first read";
  stores.reset();
  EXPECT_EQ(must(open()->meta.get("key")), "committed");
}

// As where a replica is promoted that had not got the last commit, or nothing since the node started.
TEST_F(PostgresStandbyTest, WhoFindsThatWhatItCommittedIsLostHasOwnersAskedAgain) {
  const auto sql = [this](const std::string& statement) {
    return PostgresServer::get().run("SET search_path = " + schema_ + "; " + statement);
  };
  must(open()->meta.set("key", "before"));
  sql("INSERT INTO subscriptions VALUES('dogs', 'https://tags.a.example', 'https://tags.b.example/1', 1)");
  for (const char* lost : {"node:commit", "node:term"}) {
    sql("UPDATE subscriptions SET accepted = 1");
    auto stores = open();
    must(stores->meta.set("key", "committed"));
    sql(fmt::format("UPDATE counters SET value = value - 1 WHERE name = '{}'", lost));
    end_session();
    const auto written = run(stores->meta.set("key", "late"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kSuperseded) << written.error().message;
    stores.reset();
    const auto next = open();
    EXPECT_TRUE(must(next->database->write(ask_owners_after_loss))) << lost;
    EXPECT_FALSE(must(next->database->write(ask_owners_after_loss))) << "once";
    EXPECT_EQ(sql("SELECT accepted FROM subscriptions"), "0");
  }
}

// As where its disk is full at some hosters. That it answers is what each second asks
// (app/database_watch.hpp).
TEST_F(PostgresStandbyTest, AServerThatRefusesToWriteIsUnavailableAndAnswers) {
  const auto stores = open();
  const auto sql = [](const std::string& statement) { return PostgresServer::get().run(statement); };
  const auto write_until = [&](bool is_taken) {
    Result<void> written = run(stores->meta.set("key", "value"));
    for (int i = 0; i < 500 && written.has_value() != is_taken; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      written = run(stores->meta.set("key", "value"));
    }
    return written;
  };
  sql("ALTER SYSTEM SET default_transaction_read_only = on");
  sql("SELECT pg_reload_conf()");
  const Result<void> refused = write_until(false);
  const auto asked = run(stores->database->write([](Connection& db) { return db.run("SELECT 1"); }));
  sql("ALTER SYSTEM RESET default_transaction_read_only");
  sql("SELECT pg_reload_conf()");
  EXPECT_TRUE(write_until(true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
  EXPECT_TRUE(asked);
}

// As where its machine is gone: each try to connect ends by time.
TEST_F(PostgresStandbyTest, WhileTheServerDoesNotAnswerOneTryIsForAllWhoWait) {
  dsn_ = "connect_timeout=2 " + dsn_;
  const auto stores = open();
  must(stores->meta.set("key", "kept"));
  const std::string server =
      PostgresServer::get().run("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)");
  end_session();
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(std::stoi(server), SIGSTOP), 0);
  std::vector<ErrorCode> failures;
  for (int i = 0; i < 20; ++i) {
    const auto read = run(stores->meta.get("key"));
    if (!read) failures.push_back(read.error().code);
  }
  const auto took = std::chrono::steady_clock::now() - begun;
  ASSERT_EQ(::kill(std::stoi(server), SIGCONT), 0);
  EXPECT_EQ(failures, std::vector(20, ErrorCode::kUnavailable));
  EXPECT_LT(took, std::chrono::seconds(10)) << "two tries take four";
  for (int i = 0; i < 200 && !run(stores->meta.get("key")); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(must(stores->meta.get("key")), "kept");
}

TEST_F(PostgresStandbyTest, ASessionThatTheServerStillHasIsEndedByItsOwnProcess) {
  open().reset();
  const PostgresLink former = session();
  const auto back = resume_session(dsn_, PQbackendPID(former.get()), 1);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(look(kLong)->process, PQbackendPID(back->get()));
  const auto not_its_own = resume_session(dsn_, PQbackendPID(former.get()), 1);
  ASSERT_FALSE(not_its_own);
  EXPECT_EQ(not_its_own.error().code, ErrorCode::kSuperseded);
}

TEST_F(PostgresStandbyTest, AConnectionThatIsNotTheNodesIsNotMadeAgain) {
  open().reset();
  auto tool = Connection::connect(dsn_).value();
  end_session();
  const Result<void> begun = tool.begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::kUnavailable);
}

// --- what others see of it ---------------------------------------------------------------------------------

TEST_F(PostgresStandbyTest, WhoeverLooksSeesTheTermWhoHasItAndWhoWaits) {
  auto first = open();
  const auto by_itself = [&] {
    return must(first->database->read([](Connection& db) { return db.tenure(); }));
  };
  EXPECT_EQ(by_itself().term, 1);
  EXPECT_THAT(by_itself().holder, HasSubstr(fmt::format("tagring, process {}", ::getpid())));
  EXPECT_THAT(by_itself().waiting, IsEmpty());
  std::vector<Tenure> seen;
  const auto second = await_session(dsn_, [&](const std::string&) {
    if (first) seen.push_back(by_itself());
    if (seen.size() == 2) first.reset();
  });
  ASSERT_TRUE(second);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_THAT(seen.at(1).waiting, ElementsAre(HasSubstr(fmt::format("tagring, process {}", ::getpid()))));
  const auto after = tenure_of(dsn_);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->term, 1);
  EXPECT_THAT(after->waiting, IsEmpty()) << "who has it waits no more";
  EXPECT_FALSE(after->holder.empty());
}

TEST_F(PostgresStandbyTest, WhereThereAreNoTablesThereIsNoTerm) { EXPECT_FALSE(tenure_of(dsn_)); }

// --- who is silent -----------------------------------------------------------------------------------------

TEST_F(PostgresStandbyTest, NobodyHasTheLockOfAnEndedSession) {
  EXPECT_FALSE(look(kNoTime));
  session().reset();
  EXPECT_FALSE(look(kNoTime));
}

TEST_F(PostgresStandbyTest, ASessionIsSilentWhenTheServerWaitsForItsClient) {
  const PostgresLink idle = session();
  EXPECT_TRUE(is_silent_soon());
  const auto patient = look(kLong);
  EXPECT_FALSE(patient->is_silent);
  EXPECT_THAT(patient->who, HasSubstr(fmt::format("tagring, process {}", ::getpid())));
}

TEST_F(PostgresStandbyTest, WhoeverIsEndedHasWrittenNothing) {
  const PostgresLink idle = session();
  const PostgresAnswer begun(PQexec(idle.get(), "BEGIN; CREATE TABLE unfinished(); SELECT 1"));
  EXPECT_TRUE(is_silent_soon());
  const PostgresLink link = other();
  EXPECT_FALSE(end_holder(link.get(), PQbackendPID(link.get()))) << "who has not the lock";
  EXPECT_TRUE(end_holder(link.get(), PQbackendPID(idle.get())));
  EXPECT_FALSE(look(kNoTime));
  EXPECT_EQ(PQresultStatus(PostgresAnswer(PQexec(link.get(), "SELECT * FROM unfinished")).get()),
            PGRES_FATAL_ERROR);
}

// The server counts as active what waits for the end of a pipeline.
TEST_F(PostgresStandbyTest, ASessionIsSilentBetweenTwoStatements) {
  const PostgresLink stopped = session();
  ASSERT_EQ(PQenterPipelineMode(stopped.get()), 1);
  ASSERT_EQ(PQsendQueryParams(stopped.get(), "SELECT 1", 0, nullptr, nullptr, nullptr, nullptr, 1), 1);
  ASSERT_EQ(PQsendFlushRequest(stopped.get()), 1);
  ASSERT_EQ(PQflush(stopped.get()), 0);
  const PostgresAnswer answer(PQgetResult(stopped.get()));
  ASSERT_EQ(PQresultStatus(answer.get()), PGRES_TUPLES_OK);
  EXPECT_TRUE(is_silent_soon());
}

TEST_F(PostgresStandbyTest, ASessionThatTheServerIsBusyForIsLeftAlone) {
  const PostgresLink busy = session();
  ASSERT_EQ(PQsendQuery(busy.get(), "SELECT pg_sleep(60)"), 1);
  const std::string sleeps =
      fmt::format("SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND wait_event = 'PgSleep'",
                  PQbackendPID(busy.get()));
  while (PostgresServer::get().run(sleeps) != "1") {
  }
  EXPECT_FALSE(look(kNoTime)->is_silent);
}

// --- waiting -----------------------------------------------------------------------------------------------

TEST_F(PostgresStandbyTest, AStandbyWaitsUntilTheOtherEnds) {
  PostgresLink first = session();
  std::vector<std::string> told;
  const auto second = await_session(dsn_, [&](const std::string& whom) {
    told.push_back(whom);
    first.reset();
  });
  ASSERT_TRUE(second);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.front(), HasSubstr(fmt::format("tagring, process {}", ::getpid())));
  EXPECT_EQ(look(kLong)->process, PQbackendPID(second->get()));
}

TEST_F(PostgresStandbyTest, AStandbyEndsASessionThatIsSilent) {
  const PostgresLink hangs = session();
  std::vector<std::string> told;
  const auto second = await_session(dsn_, [&](const std::string& whom) { told.push_back(whom); });
  ASSERT_TRUE(second);
  EXPECT_GE(told.size(), 5U) << "not before five seconds";
  EXPECT_THAT(told, Each(HasSubstr("in use by another process")));
}

TEST_F(PostgresStandbyTest, AProcessThatOnlyLostItsSessionGoesBeforeTheStandby) {
  auto first = open();
  std::vector<std::string> told;
  const auto second = await_session(dsn_, [&](const std::string& whom) {
    told.push_back(whom);
    if (told.size() == 1) end_session();
    if (told.size() == 3) must(first->meta.set("key", "kept"));
    if (told.size() == 5) first.reset();
  });
  ASSERT_TRUE(second);
  EXPECT_THAT(told.at(1), HasSubstr("in use by no process"));
  EXPECT_THAT(told.at(2), HasSubstr("in use by no process"));
  EXPECT_THAT(told.at(3), HasSubstr("in use by another process"));
}

TEST_F(PostgresStandbyTest, AlsoBeforeOneThatHasJustCome) {
  auto first = open();
  end_session();
  std::vector<std::string> told;
  const auto second = await_session(dsn_, [&](const std::string& whom) {
    told.push_back(whom);
    if (told.size() == 1) must(first->meta.set("key", "kept"));
    if (told.size() == 3) first.reset();
  });
  ASSERT_TRUE(second);
  ASSERT_GE(told.size(), 3U);
  EXPECT_THAT(told.at(0), HasSubstr("in use by no process"));
  EXPECT_THAT(told.at(1), HasSubstr("in use by another process"));
}

// As when the process that runs is restarted.
TEST_F(PostgresStandbyTest, WhoeverWaitsGoesBeforeOneThatHasJustCome) {
  auto first = open();
  std::promise<void> has_looked;
  auto second = std::async(std::launch::async, [&, looks = 0]() mutable {
    return await_session(dsn_, [&](const std::string&) {
      if (++looks == 2) has_looked.set_value();
    });
  });
  has_looked.get_future().wait();
  first.reset();
  while (look(kLong)) {
  }
  bool second_had_it = false;
  const auto third = await_session(dsn_, [&](const std::string&) {
    if (second.valid() && second.wait_for(kNoTime) == std::future_status::ready)
      second_had_it = second.get().has_value();  // and lets go of it
  });
  EXPECT_TRUE(third);
  EXPECT_TRUE(second_had_it);
}

TEST_F(PostgresStandbyTest, AStandbyOutlivesItsServer) {
  PostgresLink first = session();
  std::vector<std::string> told;
  const auto second = await_session(dsn_, [&](const std::string& whom) {
    told.push_back(whom);
    if (told.size() == 1) PostgresServer::get().stop();
    if (told.size() == 3) PostgresServer::get().start();
  });
  ASSERT_TRUE(second);
  EXPECT_THAT(told, Contains(HasSubstr("cannot be reached")));
}

TEST_F(PostgresStandbyTest, AStandbySaysAtOnceWhatWillNeverDo) {
  const auto nowhere = await_session(PostgresServer::get().dsn() + " options=-csearch_path=nowhere",
                                     [](const std::string&) { FAIL(); });
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace tagring::db
