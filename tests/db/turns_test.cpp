// Who waits for whom at the database, and who is charged.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <fmt/format.h>
#include <set>
#include <string>
#include <thread>

#include "budget/manager.hpp"
#include "budget/metered.hpp"
#include "db/schema.hpp"
#include "sql/database.hpp"
#include "tests/db/fixture.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using std::chrono::milliseconds;

// Jobs of the node and of others, all asked for before the first of them is done.
class Turns : public testing::Test {
 protected:
  Turns() {
    auto opened = open_database(place.options(Mode::kThread));
    if (!opened) throw std::runtime_error(opened.error().message);
    database = std::move(*opened);
  }
  [[nodiscard]] Executor executor_of(const std::string& who, bool may_refuse = true) {
    if (who.empty()) return loop.get_executor();
    return budget::Metered(loop.get_executor(),
                           std::make_shared<budget::Meter>(manager, budget::Spender{who, ""}, may_refuse));
  }
  // What `who` does takes so long; "wrote" and "read" in `done`, with the name, in order.
  void ask(const std::string& who, bool is_write, milliseconds time) {
    boost::asio::co_spawn(executor_of(who), one(who, is_write, time), boost::asio::detached);
  }
  Task<void> one(std::string who, bool is_write, milliseconds time) {
    auto job = [time](Connection& db) -> Result<void> {
      std::this_thread::sleep_for(time);
      Statement row = db.query("SELECT count(*) FROM meta");
      TRY_VOID(row.step());
      return {};
    };
    Result<void> outcome;
    if (is_write)
      outcome = co_await database->write(std::move(job));
    else
      outcome = co_await database->read(std::move(job));
    std::string what = !outcome ? std::string(to_string(outcome.error().code)) : is_write ? "wrote" : "read";
    done.push_back(who + " " + what);
  }
  void run() {
    loop.restart();
    loop.run();
  }
  [[nodiscard]] std::ptrdiff_t place_of(const std::string& what) const {
    return std::ranges::find(done, what) - done.begin();
  }

  Place place;
  ManualClock clock;
  budget::Manager manager{budget::default_budgets(), clock};
  boost::asio::io_context loop;
  std::unique_ptr<Database> database;
  std::vector<std::string> done;
};

TEST_F(Turns, AWriteGoesBeforeTheReadsThatWait) {
  for (int i = 0; i < 200; ++i) ask("stranger", false, milliseconds(1));
  for (int i = 0; i < 200; ++i) ask("", false, milliseconds(1));
  ask("", true, milliseconds(0));
  run();
  EXPECT_EQ(done.size(), 401U);
  EXPECT_LT(place_of(" wrote"), 30) << "of 400 that were there before it";
}

TEST_F(Turns, WhoAsksForMuchWaitsForThemselves) {
  for (int i = 0; i < 200; ++i) ask("much", false, milliseconds(1));
  ask("little", false, milliseconds(1));
  ask("", false, milliseconds(1));
  run();
  EXPECT_EQ(done.size(), 202U);
  EXPECT_LT(place_of("little read"), 20);
  EXPECT_LT(place_of(" read"), 20) << "the node itself";
}

TEST_F(Turns, TheNodeWaitsForOneStrangerAtATimeHoweverManyThereAre) {
  for (int i = 0; i < 200; ++i) ask(fmt::format("stranger {}", i), false, milliseconds(1));
  for (int i = 0; i < 5; ++i) ask("", false, milliseconds(1));
  run();
  EXPECT_EQ(done.size(), 205U);
  const auto last = std::find(done.rbegin(), done.rend(), " read");
  EXPECT_LT(done.rend() - last, 40);
}

// More than a transaction takes.
TEST_F(Turns, AReadSeesWhatWasWrittenBeforeIt) {
  std::set<std::int64_t> wrong;
  const auto go = [&](int i) -> Task<void> {
    const Result<void> written = co_await database->write([i](Connection& db) -> Result<void> {
      TRY_VOID(db.run("INSERT INTO meta(name, value) VALUES(?, ?)", std::to_string(i), Blob{"x"}));
      return {};
    });
    EXPECT_TRUE(written);
  };
  const auto look = [&](int i) -> Task<void> {
    const Result<std::int64_t> found = co_await database->read([](Connection& db) -> Result<std::int64_t> {
      Statement row = db.query("SELECT count(*) FROM meta");
      TRY_VOID(row.step());
      return row.integer(0);
    });
    if (!found || *found < i + 1) wrong.insert(i);
  };
  for (int i = 0; i < 2'000; ++i) {
    boost::asio::co_spawn(loop, go(i), boost::asio::detached);
    boost::asio::co_spawn(executor_of(i % 2 == 0 ? "" : "stranger"), look(i), boost::asio::detached);
  }
  run();
  EXPECT_TRUE(wrong.empty()) << wrong.size();
}

TEST_F(Turns, WhoHasHadTheirTimeReadsNoMore) {
  budget::Budgets budgets = budget::default_budgets();
  budgets.at(static_cast<std::size_t>(budget::Resource::kDatabase)) = {0, 20'000, 0, std::chrono::hours(1)};
  manager.use(budgets);
  ask("stranger", false, milliseconds(30));
  run();
  ask("stranger", false, milliseconds(0));
  ask("another", false, milliseconds(0));
  ask("", false, milliseconds(30));
  ask("stranger", true, milliseconds(0));
  run();
  EXPECT_EQ(std::multiset(done.begin(), done.end()),
            (std::multiset<std::string>{"stranger read", "stranger busy", "another read", " read",
                                        "stranger wrote"}));
  EXPECT_GE(manager.used(budget::Resource::kDatabase, budget::Spender{"stranger", ""}), 30'000U);
  // What somebody sends is dealt with to its end.
  done.clear();
  boost::asio::co_spawn(executor_of("stranger", false), one("sender", false, milliseconds(0)),
                        boost::asio::detached);
  run();
  EXPECT_EQ(done, std::vector<std::string>{"sender read"});
}

}  // namespace
}  // namespace tagring::db
