// What a core sees of its fronts, when it is asked whether all is well.
#include "cluster/fronts.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>

#include "cluster/channel.hpp"
#include "federation/version.hpp"
#include "health/metrics.hpp"

namespace tagring::cluster {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr const char* kOwn = "10.0.0.5:7946";
constexpr const char* kOne = "10.0.0.6:7946";

const Secret& secret() {
  static const Secret kept(crypto::PrivateKey::ed25519_from_seed(std::string(32, 'a')));
  return kept;
}

class StoppedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return WallTime(now_.time_since_epoch()); }
  // Until who sleeps is cancelled.
  [[nodiscard]] Task<void> sleep_until(Instant /*deadline*/) override {
    boost::asio::steady_timer never(co_await boost::asio::this_coro::executor,
                                    boost::asio::steady_timer::time_point::max());
    co_await never.async_wait(boost::asio::use_awaitable);
  }
  void go_on(Duration by) { now_ += by; }

 private:
  Instant now_{std::chrono::hours(100)};
};

// Answers for the fronts at their places; who is not there does not.
class Places final : public HttpClient {
 public:
  explicit Places(Clock& clock) : clock_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    if (hang) co_await clock_.sleep_until(Instant());
    const auto found = answers.find(call.url.authority());
    if (found == answers.end() || !secret().is_proven(call.headers, found->first, clock_.wall_now()))
      co_return fail(ErrorCode::kUnavailable, "connection refused");
    HttpResponse response;
    response.body = json::serialize(found->second);
    co_return response;
  }
  std::map<std::string, json::object> answers;
  bool hang = false;

 private:
  Clock& clock_;
};

class FrontsTest : public testing::Test {
 protected:
  template <class T>
  static T run(Task<T> task) {
    boost::asio::io_context loop;
    std::optional<T> result;
    boost::asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr& error, T value) {
      ASSERT_FALSE(error);
      result.emplace(std::move(value));
    });
    loop.run();
    return *std::move(result);
  }
  static json::object report(const std::string& place = kOne) {
    return {{"at", place}, {"version", federation::kVersion}, {"core", kOwn}, {"core_answers", true}};
  }
  // As one comes that is reached, too.
  void comes(const json::object& says) {
    HttpCall news = *call_to("POST", kOwn, kFrontPath, Instant());
    secret().prove(news, clock_.wall_now());
    HttpRequest arrived{.method = news.method,
                        .target = news.url.target,
                        .headers = news.headers,
                        .body = json::serialize(says),
                        .peer = {}};
    const HttpResponse answer = run(fronts_->answer(std::move(arrived), nullptr));
    EXPECT_EQ(answer.status, 204);
    places_.answers[json::text_of(says, "at")] = says;
  }
  health::Checks look() { return run(fronts_->look()); }

  StoppedClock clock_;
  Log log_ = Log::off();
  Places places_{clock_};
  budget::Manager budget_{budget::default_budgets(), clock_};
  std::optional<Fronts> fronts_{
      std::in_place, Fronts::Options{.place = kOwn, .secret = secret()}, places_, budget_, clock_, log_};
};

TEST_F(FrontsTest, ACoreWithoutAnySaysHowToStartOne) {
  const health::Checks checks = look();
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_FALSE(checks[0].ok);
  EXPECT_THAT(checks[0].detail, HasSubstr(kOwn));
  EXPECT_THAT(checks[0].what_to_do, HasSubstr("tagring run --role front --inside"));
}

TEST_F(FrontsTest, OfEachThatIsThereIsSaidThatAllIsWell) {
  comes(report());
  comes(report("[2001:db8::7]:7946"));
  const health::Checks checks = look();
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_TRUE(all_well(checks)) << checks[0].detail << checks[1].detail;
  EXPECT_EQ(checks[0].name, "front 10.0.0.6:7946");
}

TEST_F(FrontsTest, OneThatIsSilentIsMissedForADay) {
  comes(report());
  comes(report("10.0.0.7:7946"));
  places_.answers.erase(kOne);
  clock_.go_on(std::chrono::seconds(60));
  comes(report("10.0.0.7:7946"));
  const health::Checks checks = look();
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_FALSE(checks[0].ok);
  EXPECT_THAT(checks[0].detail, AllOf(HasSubstr("silent for 60 s"), HasSubstr("connection refused")));
  EXPECT_THAT(checks[0].what_to_do, HasSubstr("systemctl status tagring-front@10.0.0.6:7946"));
  EXPECT_TRUE(checks[1].ok);
  EXPECT_EQ(fronts_->status().size(), 1U);
  clock_.go_on(std::chrono::hours(24));
  comes(report("10.0.0.7:7946"));
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(FrontsTest, OneThatWasGoneBeforeACoreTookOverIsMissed) {
  std::string saved;
  const auto save = [&saved](std::string places) -> Task<Result<void>> {
    saved = std::move(places);
    co_return Result<void>();
  };
  fronts_.emplace(Fronts::Options{.place = kOwn, .secret = secret(), .save = save}, places_, budget_, clock_,
                  log_);
  comes(report());
  comes(report("10.0.0.7:7946"));
  comes(report("10.0.0.8:7946"));
  json::object last = report("10.0.0.8:7946");
  last["leaves"] = true;
  comes(last);
  places_.answers.erase(kOne);
  fronts_.emplace(Fronts::Options{.place = kOwn, .secret = secret(), .saved = saved}, places_, budget_,
                  clock_, log_);
  EXPECT_THAT(fronts_->status(), IsEmpty()) << "nobody has said that it is there";
  comes(report("10.0.0.7:7946"));
  const health::Checks checks = look();
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_THAT(checks[0].detail, HasSubstr("has been silent for"));
  EXPECT_TRUE(checks[1].ok) << checks[1].detail;
}

TEST_F(FrontsTest, OneThatIsGoneIsMissedForADayHoweverManyCoresTakeOver) {
  std::string saved;
  const auto save = [&saved](std::string places) -> Task<Result<void>> {
    saved = std::move(places);
    co_return Result<void>();
  };
  const auto start_core = [&] {
    fronts_.emplace(Fronts::Options{.place = kOwn, .secret = secret(), .saved = saved, .save = save}, places_,
                    budget_, clock_, log_);
    comes(report("10.0.0.7:7946"));
  };
  start_core();
  comes(report());
  places_.answers.erase(kOne);
  clock_.go_on(std::chrono::minutes(1));
  comes(report("10.0.0.7:7946"));
  for (int core = 0; core < 3; ++core) {
    clock_.go_on(std::chrono::hours(7));
    start_core();
    EXPECT_EQ(look().size(), 2U) << core;
  }
  clock_.go_on(std::chrono::hours(7));
  start_core();
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(FrontsTest, OneThatTakesItsLeaveIsNotMissed) {
  comes(report());
  comes(report("10.0.0.7:7946"));
  json::object last = report();
  last["leaves"] = true;
  comes(last);
  ASSERT_EQ(look().size(), 1U);
  EXPECT_EQ(look()[0].name, "front 10.0.0.7:7946");
}

TEST_F(FrontsTest, AnotherVersionIsSeen) {
  json::object old = report();
  old["version"] = "0.0.9";
  comes(old);
  EXPECT_FALSE(look()[0].ok);
  EXPECT_THAT(look()[0].detail, HasSubstr("is tagring 0.0.9, and this core"));
}

TEST_F(FrontsTest, OneThatCannotBeReachedFromHereIsSeen) {
  comes(report());
  places_.answers.clear();
  EXPECT_FALSE(look()[0].ok);
  EXPECT_THAT(look()[0].detail, HasSubstr("cannot be reached from here"));
}

TEST_F(FrontsTest, OneThatDoesNotReachTheCoreIsSeen) {
  comes(report());
  clock_.go_on(std::chrono::minutes(1));
  places_.answers[kOne]["core_answers"] = false;
  EXPECT_FALSE(look().at(1).ok);
  EXPECT_THAT(look().at(1).detail, HasSubstr("runs, and cannot reach this core at 10.0.0.5:7946"));
  places_.answers[kOne]["core"] = "10.0.0.9:7946";
  EXPECT_THAT(look().at(1).detail,
              HasSubstr("looks for its core at 10.0.0.9:7946, and this one is at 10.0.0.5:7946"));
}

TEST_F(FrontsTest, OneThatShowsAnOldCertificateIsSeen) {
  comes(report());
  places_.answers[kOne]["certificate_until"] = 1'798'761'600;
  places_.answers[kOne]["certificate_late"] = false;
  EXPECT_TRUE(look().at(0).ok);
  places_.answers[kOne]["certificate_late"] = true;
  EXPECT_FALSE(look().at(0).ok);
  EXPECT_THAT(look().at(0).detail, HasSubstr("shows a certificate that is good until 2027-01-01T00:00:00"));
}

// A front that is lost in the middle of a call is given none, until it says again that it is there.
TEST_F(FrontsTest, OneThatIsLostIsNotThere) {
  comes(report());
  places_.answers.clear();
  HttpCall call("POST", *Url::parse("https://m.example/inbox"), clock_.now() + std::chrono::seconds(9));
  call.headers = {{"Signature", "keyId=1"}};
  EXPECT_FALSE(run(fronts_->send(call, {})).has_value());
  EXPECT_THAT(fronts_->status(), IsEmpty());
  EXPECT_EQ(look().size(), 2U) << "none is there, and this one is missed";
  comes(report());
  EXPECT_EQ(fronts_->status().size(), 1U);
}

Task<void> wait_for(Task<std::optional<Result<HttpResponse>>> answer) { co_await std::move(answer); }

TEST_F(FrontsTest, ACallThatIsCancelledIsUnderWayNoMore) {
  comes(report());
  places_.hang = true;
  HttpCall call("POST", *Url::parse("https://m.example/inbox"), clock_.now() + std::chrono::seconds(9));
  call.headers = {{"Signature", "keyId=1"}};
  const auto under_way = [this] { return fronts_->status().at(0).at("calls").to_number<int>(); };
  boost::asio::io_context loop;
  TaskGroup tasks(loop.get_executor());
  tasks.spawn("call", wait_for(fronts_->send(call, {})));
  loop.poll();
  EXPECT_EQ(under_way(), 1);
  tasks.cancel();
  loop.run();
  EXPECT_EQ(under_way(), 0);
}

// --- figures -----------------------------------------------------------------------------------------------

TEST_F(FrontsTest, FiguresAreByFront) {
  json::object says = report();
  says["refused"] = 3;
  comes(says);
  comes(report("10.0.0.7:7946"));
  const std::string text = health::to_metrics({{"version", "1.2.3"}, {"fronts", fronts_->status()}});
  EXPECT_THAT(text, HasSubstr("tagring_info{version=\"1.2.3\",role=\"core\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ntagring_fronts 2\n"));
  EXPECT_THAT(text, HasSubstr("\ntagring_front_brought_total{front=\"10.0.0.6:7946\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\ntagring_front_brought_total{front=\"10.0.0.7:7946\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\ntagring_front_refused_total{front=\"10.0.0.6:7946\"} 3\n"));
}

TEST_F(FrontsTest, WhatFrontsRefusedIsCountedOnceWhoeverGoesOrBeginsAnew) {
  int began = 1;
  const auto says = [this, &began](int times, bool leaves = false) {
    json::object one = report();
    one["began"] = began;
    one["inbox_refused"] = json::object{{"not_authentic", times}};
    one["leaves"] = leaves;
    comes(one);
  };
  const auto counted = [this](int times) {
    EXPECT_THAT(fronts_->inbox_refused(), ElementsAre(Pair("not_authentic", times)));
  };
  says(5);
  EXPECT_THAT(fronts_->inbox_refused(), IsEmpty()) << "those were another core's";
  says(7);
  counted(2);
  says(6);
  says(7);
  counted(2);  // one was overtaken
  began = 2;
  says(1);
  counted(3);
  began = 3;
  says(1);
  counted(4);  // as many as before
  says(-5);
  counted(4);
  says(2, true);
  counted(5);
  says(9);
  counted(5);
}

TEST_F(FrontsTest, ReasonsThatFrontsNameAreOnlySoMany) {
  comes(report());
  json::object one = report();
  json::object& refused = one["inbox_refused"].emplace_object();
  for (int i = 0; i < 1'000; ++i) refused[std::to_string(i)] = 1;
  for (int began : {1, 2}) {
    one["began"] = began;
    comes(one);
  }
  EXPECT_EQ(fronts_->inbox_refused().size(), 200U);
}

TEST(Figures, OfACoreWithoutFrontsAndOfANodeInOneProcess) {
  const std::string alone = health::to_metrics({{"version", "1"}, {"fronts", json::array()}});
  EXPECT_THAT(alone, AllOf(HasSubstr("\ntagring_fronts 0\n"), Not(HasSubstr("tagring_front_"))));
  const std::string all = health::to_metrics({{"version", "1"}});
  EXPECT_THAT(all, AllOf(HasSubstr("role=\"all\""), Not(HasSubstr("front"))));
}

}  // namespace
}  // namespace tagring::cluster
