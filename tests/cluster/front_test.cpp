// A front and its core in virtual time, with what goes between them.
#include "cluster/front.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "cluster/fronts.hpp"
#include "federation/checked_signature.hpp"
#include "fediverse/documents.hpp"
#include "http/http_error.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::cluster {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::SizeIs;

constexpr const char* kCore = "10.0.0.5:7946";
constexpr const char* kOtherCore = "10.0.0.4:7946";
constexpr const char* kFront = "10.0.0.6:7946";
constexpr const char* kAuthor = "https://m.example/users/ann";

HttpRequest arrived_at(const HttpCall& call) {
  HttpRequest request{.method = call.method,
                      .target = call.url.target,
                      .headers = call.headers,
                      .body = call.body,
                      .peer = {}};
  request.headers.add("Host", call.url.authority());
  // As the core's listener does, which believes its fronts.
  if (const auto peer = call.headers.find("X-Forwarded-For")) request.peer = *IpAddress::parse(*peer);
  return request;
}

// Takes each call to whoever listens there; where nobody does it is refused.
class Wires final : public HttpClient {
 public:
  std::map<std::string, HttpHandler> listeners;  // by authority
  std::vector<HttpCall> calls;
  std::optional<Error> failure;  // of all calls

  Task<Result<HttpResponse>> send(HttpCall call) override {
    calls.push_back(call);
    if (failure) co_return std::unexpected(*failure);
    const auto listener = listeners.find(call.url.authority());
    if (listener == listeners.end()) co_return fail(ErrorCode::kUnavailable, "connection refused");
    co_return co_await listener->second(arrived_at(call));
  }
};

class FrontTest : public testing::Test {
 protected:
  FrontTest() {
    inside.listeners[kCore] = [this](HttpRequest request) {
      return fronts.answer(std::move(request), [this](HttpRequest one) { return answer(std::move(one)); });
    };
    inside.listeners[kFront] = [this](HttpRequest request) { return front.answer_core(std::move(request)); };
    outside.listeners["m.example"] = [this](HttpRequest request) -> Task<HttpResponse> {
      HttpResponse response;
      response.headers.add("Content-Type", "application/activity+json");
      response.body = json::serialize(
          json::object{{"id", kAuthor},
                       {"type", "Person"},
                       {"inbox", std::string(kAuthor) + "/inbox"},
                       {"publicKey", json::object{{"id", std::string(kAuthor) + "#main-key"},
                                                  {"owner", kAuthor},
                                                  {"publicKeyPem", author.public_key().pem()}}}});
      if (request.method == "POST") response = HttpResponse{.status = 202, .headers = {}, .body = {}};
      co_return response;
    };
    run(front.get_in_touch());
  }
  ~FrontTest() override { loop.drop(kOwner); }

  Task<HttpResponse> answer(HttpRequest request) {
    asked.push_back(std::move(request));
    const HttpResponse response = at_core;
    co_return response;
  }
  Task<void> read(std::string target, std::vector<int>* statuses) {
    HttpRequest request{
        .method = "GET", .target = std::move(target), .headers = {}, .body = {}, .peer = reader};
    const HttpResponse response = co_await front.answer(std::move(request));
    statuses->push_back(response.status);
  }
  // What somebody in the world gets for that.
  HttpResponse get(const std::string& target, Headers headers = {}) {
    return ask(
        {.method = "GET", .target = target, .headers = std::move(headers), .body = {}, .peer = reader});
  }
  HttpResponse ask(HttpRequest request) {
    request.headers.add("Host", "tags.example.org");
    return run(front.answer(std::move(request)));
  }
  Front::Options options() {
    return {.core = {.place = kFront,
                     .secret = Secret(identity.key),
                     .find_core = [this]() -> Task<Result<std::string>> { co_return core_is; }},
            .certificate = [] { return std::nullopt; }};
  }
  // What a balancer gets.
  int livez(Front& of) {
    HttpRequest request;
    request.target = "/livez";
    return run(of.probe(std::move(request))).status;
  }
  HttpRequest signed_post(const std::string& target, const std::string& body,
                          const std::string& key_id = std::string(kAuthor) + "#main-key") {
    HttpCall call("POST", *Url::parse(identity.origin() + target), Instant());
    call.headers.add("Content-Type", "application/activity+json");
    call.body = body;
    signatures::sign_call(call, author, key_id, clock.wall_now());
    return {.method = "POST", .target = target, .headers = call.headers, .body = body, .peer = reader};
  }
  static std::string follow() {
    return R"({"id":"https://m.example/1","type":"Follow","actor":"https://m.example/users/ann",)"
           R"("object":"https://tags.example.org/tag/cats"})";
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result = loop.await(kOwner, std::move(task), Duration(100'000), Duration(100));
    if (!result) throw std::runtime_error("it does not end");
    return *std::move(result);
  }
  void run(Task<void> task) {
    const auto done = [](Task<void> work) -> Task<bool> {
      co_await std::move(work);
      co_return true;
    };
    run(done(std::move(task)));
  }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  std::vector<std::string> log_lines;
  Log log{[this](LogLevel, const std::string& line) { log_lines.push_back(line); }};
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  budget::Manager core_budget{budget::default_budgets(), clock};
  budget::Manager front_budget{budget::default_budgets(), clock};
  const crypto::PrivateKey author = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  const federation::Identity identity{"https://tags.example.org",
                                      crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n'))};
  const IpAddress reader = *IpAddress::parse("203.0.113.9");
  Wires inside;
  Wires outside;
  std::string core_is = kCore;
  std::vector<HttpRequest> asked;  // of the node
  HttpResponse at_core;
  Fronts fronts{{.place = kCore, .secret = Secret(identity.key)}, inside, core_budget, clock, log};
  Front front{options(), identity, front_budget, {outside, inside, inside, inside}, runtime};
};

TEST_F(FrontTest, NobodyOutsideIsTakenForAFront) {
  get("/");
  ASSERT_THAT(fronts.status(), SizeIs(1));
  at_core.status = 404;
  for (const char* target : {"/cluster/front", "/cluster/send"}) {
    HttpRequest news{.method = "POST",
                     .target = target,
                     .headers = {{"Tagring-Front", "192.0.2.66:80"}},
                     .body = R"({"at":"192.0.2.66:80"})",
                     .peer = reader};
    EXPECT_EQ(ask(std::move(news)).status, 404);
    EXPECT_EQ(asked.back().target, target);
  }
  EXPECT_THAT(fronts.status(), SizeIs(1));
}

TEST_F(FrontTest, WhatOneProcessIsShownServesNobodyElse) {
  HttpCall call("POST", *Url::parse("http://10.0.0.6:7946/cluster/send"), Instant());
  const Secret secret(identity.key);
  secret.prove(call, clock.wall_now());
  EXPECT_TRUE(secret.is_proven(call.headers, kFront, clock.wall_now()));
  EXPECT_FALSE(secret.is_proven(call.headers, kCore, clock.wall_now()));
  EXPECT_FALSE(secret.is_proven(call.headers, kFront, clock.wall_now() + std::chrono::minutes(6)));
  EXPECT_FALSE(secret.is_proven(call.headers, kFront, clock.wall_now() - std::chrono::minutes(6)));
  EXPECT_FALSE(secret.is_proven({}, kFront, clock.wall_now()));
  EXPECT_FALSE(Secret(author).is_proven(call.headers, kFront, clock.wall_now()));
}

TEST_F(FrontTest, OtherBytesOfATargetAreWrittenAsBrowsersDo) {
  EXPECT_EQ(get("/tags/k\xC3\xA4tzchen").status, 200);
  EXPECT_EQ(asked.back().target, "/tags/k%C3%A4tzchen");
}

TEST_F(FrontTest, ANodeIsAskedForAHeadAsAHead) {
  ask({.method = "HEAD", .target = "/tagring/v1/reach", .headers = {}, .body = {}, .peer = reader});
  EXPECT_EQ(asked.back().method, "HEAD");
}

TEST_F(FrontTest, WhoSignsIsVouchedForAndGarbageFetchesNoKey) {
  at_core.status = 202;
  EXPECT_EQ(ask(signed_post("/inbox", follow())).status, 202);
  EXPECT_TRUE(asked.back().headers.find(federation::kCheckedField));
  outside.calls.clear();
  const std::string key_of_another = "https://m.example/users/bob#main-key";
  for (const HttpRequest& request :
       {signed_post("/inbox", "garbage", key_of_another), signed_post("/inbox", "{}", key_of_another),
        signed_post("/nosuch", follow(), key_of_another), signed_post("/fasp/x", "{}", "agreed-on")}) {
    EXPECT_EQ(ask(request).status, 202) << request.target;
    EXPECT_FALSE(asked.back().headers.find(federation::kCheckedField));
  }
  EXPECT_THAT(outside.calls, testing::IsEmpty());
}

TEST_F(FrontTest, WhatIsSignedWronglyDoesNotComeToTheCore) {
  HttpRequest request = signed_post("/inbox", follow());
  request.body += " ";
  EXPECT_EQ(ask(std::move(request)).status, 401);
  EXPECT_THAT(asked, testing::IsEmpty());
}

TEST_F(FrontTest, WhatIsSignedWronglyIsLoggedOnceAMinuteAndCountedByTheCore) {
  const auto refuse = [this](const std::string& target) {
    HttpRequest request = signed_post(target, follow());
    request.body += " ";
    EXPECT_EQ(ask(std::move(request)).status, 401);
  };
  for (int i = 0; i < 3; ++i) refuse("/inbox");
  refuse("/tagring/v1/any");
  EXPECT_EQ(json::get_int(front.report(), "refused"), 4);
  run(front.get_in_touch());
  EXPECT_THAT(fronts.inbox_refused(), ElementsAre(testing::Pair("not_authentic", 3))) << "the inbox's";
  run(front.get_in_touch());
  EXPECT_THAT(fronts.inbox_refused(), ElementsAre(testing::Pair("not_authentic", 3)));
  const auto lines = [this] {
    return std::ranges::count_if(log_lines, [](const std::string& line) {
      return line.contains("inbox_refuses") && line.contains("not_authentic") && line.contains(kAuthor);
    });
  };
  EXPECT_EQ(lines(), 1);
  loop.run_for(std::chrono::minutes(1));
  refuse("/inbox");
  EXPECT_EQ(lines(), 2);
  run(front.leave());
  EXPECT_THAT(fronts.inbox_refused(), ElementsAre(testing::Pair("not_authentic", 4)));
}

TEST_F(FrontTest, WhomTheCoreKnowsItsFrontsKnow) {
  at_core.status = 202;
  ask(signed_post("/inbox", follow()));
  EXPECT_FALSE(front_budget.who("m.example").known);
  core_budget.note_known("m.example");
  core_budget.note_known(reader);
  ask(signed_post("/inbox", follow()));
  EXPECT_TRUE(front_budget.who("m.example").known);
  EXPECT_TRUE(front_budget.who(reader).known);
}

TEST_F(FrontTest, WhoIsNoCoreOfThisNodeIsNotPassedOn) {
  inside.listeners[kCore] = [](const HttpRequest&) -> Task<HttpResponse> {
    co_return error_response({ErrorCode::kDenied, "only the fronts of this node may ask here"});
  };
  EXPECT_EQ(get("/").status, 503);
  run(front.get_in_touch());
  EXPECT_FALSE(json::get_flag(front.report(), "core_answers"));
}

// As its listener does where the header is too long, or who asks has had their time.
TEST_F(FrontTest, WhatTheCoreRefusesAtTheDoorSaysNothingOfTheCore) {
  const auto core = inside.listeners[kCore];
  for (const int status : {400, 429, 431, 500, 503}) {
    inside.listeners[kCore] = [status](const HttpRequest&) -> Task<HttpResponse> {
      co_return HttpResponse{.status = status, .headers = {{"Retry-After", "3"}}, .body = {}};
    };
    const HttpResponse refusal = get("/");
    EXPECT_EQ(refusal.status, status);
    EXPECT_EQ(refusal.headers.find("Retry-After"), "3");
    EXPECT_TRUE(json::get_flag(front.report(), "core_answers"));
  }
  inside.listeners[kCore] = core;
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(FrontTest, ACoreThatIsSlowIsNotGone) {
  inside.failure = Error{ErrorCode::kTimedOut, "no answer in time"};
  EXPECT_EQ(get("/").status, 504);
  inside.failure = std::nullopt;
  EXPECT_TRUE(json::get_flag(front.report(), "core_answers"));
}

TEST_F(FrontTest, AFrontWhoseClockIsWrongIsToldSo) {
  clock.set_skew(std::chrono::minutes(6));
  HttpCall news = *call_to("POST", kCore, kFrontPath, clock.now());
  Secret(identity.key).prove(news, clock.wall_now());
  clock.set_skew(Duration(0));
  const HttpResponse refusal =
      run(fronts.answer(arrived_at(news), [this](HttpRequest one) { return answer(std::move(one)); }));
  EXPECT_EQ(refusal.status, 403);
  EXPECT_THAT(refusal.body,
              testing::HasSubstr("its clock and that of the core are more than five minutes apart"));
}

TEST_F(FrontTest, ACoreThatWasAskedBeforeSaysNothingOfTheOneThatTookOver) {
  inside.listeners[kOtherCore] = inside.listeners[kCore];
  Fronts others{{.place = kOtherCore, .secret = Secret(identity.key)}, inside, core_budget, clock, log};
  inside.listeners[kOtherCore] = [this, &others](HttpRequest request) {
    return others.answer(std::move(request), [this](HttpRequest one) { return answer(std::move(one)); });
  };
  // It dies in the middle of a request, after another has taken over.
  inside.listeners[kCore] = [this](const HttpRequest&) -> Task<HttpResponse> {
    core_is = kOtherCore;
    inside.listeners.erase(kCore);
    co_await front.get_in_touch();  // finds nobody there
    co_await front.get_in_touch();  // and the other one
    HttpResponse refused = error_response({ErrorCode::kUnavailable, "stopping"});
    co_return refused;
  };
  EXPECT_EQ(get("/").status, 503);
  EXPECT_TRUE(json::get_flag(front.report(), "core_answers"));
  EXPECT_EQ(json::text_of(front.report(), "core"), kOtherCore);
  EXPECT_EQ(get("/").status, 200);
}

// Its fronts reach it, and the database does not: who has taken over is in the database.
TEST_F(FrontTest, ACoreThatCannotWriteIsLeftAsSoonAsAnotherHasItsPlace) {
  Fronts cut_off{{.place = kCore, .secret = Secret(identity.key), .can_write = [] { return false; }},
                 inside,
                 core_budget,
                 clock,
                 log};
  Fronts others{{.place = kOtherCore, .secret = Secret(identity.key)}, inside, core_budget, clock, log};
  for (auto [place, core] : {std::pair(kCore, &cut_off), std::pair(kOtherCore, &others)})
    inside.listeners[place] = [this, core](HttpRequest request) {
      return core->answer(std::move(request), [this](HttpRequest one) { return answer(std::move(one)); });
    };
  run(front.get_in_touch());
  run(front.get_in_touch());
  EXPECT_EQ(json::text_of(front.report(), "core"), kCore) << "nobody else is there";
  EXPECT_EQ(get("/").status, 200);
  core_is = kOtherCore;
  run(front.get_in_touch());
  EXPECT_EQ(json::text_of(front.report(), "core"), kOtherCore);
  EXPECT_EQ(get("/").status, 200);
  EXPECT_THAT(others.status(), SizeIs(1));
}

TEST_F(FrontTest, WithoutACoreNobodyWaits) {
  inside.listeners.erase(kCore);
  EXPECT_EQ(get("/").status, 503);
  inside.calls.clear();
  EXPECT_EQ(get("/").status, 503);
  EXPECT_THAT(inside.calls, testing::IsEmpty());
}

// A core that has no fronts says so in the database. Whoever sends tries again later, unless they are told
// that what they send is wrong.
TEST_F(FrontTest, WhatComesWhileThereIsNoCoreIsToComeAgain) {
  core_is = "";
  inside.listeners.erase(kCore);
  run(front.get_in_touch());
  run(front.get_in_touch());
  EXPECT_EQ(json::text_of(front.report(), "core"), "");
  EXPECT_EQ(ask(signed_post("/inbox", follow())).status, 503);
}

// It refuses at once, so it has the fewest connections: a balancer would give it nearly all that come.
TEST_F(FrontTest, WhoHasLostTheCoreForLongerThanATakeOverIsNotAliveForBalancers) {
  EXPECT_EQ(livez(front), 200);
  inside.listeners.erase(kCore);
  run(front.get_in_touch());
  EXPECT_EQ(get("/").status, 503);
  loop.run_for(std::chrono::seconds(10));
  EXPECT_EQ(livez(front), 200) << "another core may be about to take over";
  loop.run_for(std::chrono::seconds(10));
  EXPECT_EQ(livez(front), 503);
  Front has_never_found_one{options(), identity, front_budget, {outside, inside, inside, inside}, runtime};
  EXPECT_EQ(livez(has_never_found_one), 503);
}

TEST_F(FrontTest, WhoFindsACoreAgainIsAliveAgain) {
  const auto core = std::exchange(inside.listeners[kCore], nullptr);
  inside.listeners.erase(kCore);
  run(front.get_in_touch());
  loop.run_for(std::chrono::seconds(20));
  EXPECT_EQ(livez(front), 503);
  inside.listeners[kCore] = core;
  run(front.get_in_touch());
  EXPECT_EQ(livez(front), 200);
}

// Its door is open for some seconds more.
TEST_F(FrontTest, WhoGoesIsNotAliveForBalancersAndAnswersStill) {
  run(front.leave());
  EXPECT_EQ(livez(front), 503);
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(FrontTest, WhatCertificateItShowsIsInItsReport) {
  Front::Options shows = options();
  const WallTime until = clock.wall_now() + std::chrono::days(20);
  shows.certificate = [until] { return crypto::CertificateFacts{until - std::chrono::days(90), until, {}}; };
  const Front one{std::move(shows), identity, front_budget, {outside, inside, inside, inside}, runtime};
  EXPECT_FALSE(json::get_flag(one.report(), "certificate_late"));
  loop.run_for(std::chrono::days(6));
  EXPECT_TRUE(json::get_flag(one.report(), "certificate_late"));
  const std::int64_t end = std::chrono::floor<std::chrono::seconds>(until).time_since_epoch().count();
  EXPECT_EQ(json::get_int(one.report(), "certificate_until"), end);
  EXPECT_EQ(json::get_int(one.report(), "certificate_late_from"), end - 15 * 86'400);
}

// --- what is kept ------------------------------------------------------------------------------------------

TEST_F(FrontTest, ManyReadersOfOnePageCostTheCoreOneAnswerASecond) {
  at_core.body = "page";
  at_core.headers = {{"X-RateLimit-Remaining", "299"}, {"ETag", "\"1\""}};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get("/tags/cats", {{"Accept", "text/html"}}).body, "page");
  EXPECT_THAT(asked, SizeIs(1));
  const HttpResponse kept = get("/tags/cats", {{"Accept", "text/html"}});
  EXPECT_TRUE(kept.headers.find("ETag"));
  EXPECT_FALSE(kept.headers.find("X-RateLimit-Remaining"));
  get("/tags/cats", {{"Accept", "application/json"}});
  get("/tags/dogs", {{"Accept", "text/html"}});
  EXPECT_THAT(asked, SizeIs(3));
  loop.run_for(Duration(1'100));
  get("/tags/cats", {{"Accept", "text/html"}});
  EXPECT_THAT(asked, SizeIs(4));
}

TEST_F(FrontTest, WhoGetsTheAnswerToOneWhoIsKnownIsNotKnownForThat) {
  at_core.body = "page";
  core_budget.note_known(reader);
  get("/tags/cats");
  EXPECT_TRUE(front_budget.who(reader).known);
  const IpAddress other = *IpAddress::parse("2001:db8:77::9");
  HttpRequest request;
  request.target = "/tags/cats";
  request.peer = other;
  EXPECT_EQ(ask(std::move(request)).body, "page");
  EXPECT_THAT(asked, SizeIs(1));
  EXPECT_FALSE(front_budget.who(other).known);
}

TEST_F(FrontTest, WhatIsForOneReaderIsKeptForNobody) {
  const std::vector<Headers> personal = {{{"Authorization", "Bearer 1"}},
                                         {{"Cookie", "a=1"}},
                                         {{"Signature", "keyId=1"}},
                                         {{"Range", "bytes=0-1"}}};
  for (const Headers& headers : personal) {
    asked.clear();
    for (int i = 0; i < 2; ++i) get("/tags/cats", headers);
    EXPECT_THAT(asked, SizeIs(2)) << headers.begin()->first;
  }
  const std::vector<HttpResponse> answers = {
      {.status = 200, .headers = {{"Cache-Control", "private"}}, .body = {}},
      {.status = 200, .headers = {{"Cache-Control", "no-store"}}, .body = {}},
      {.status = 200, .headers = {{"Set-Cookie", "a=1"}}, .body = {}},
      {.status = 429, .headers = {}, .body = {}}};
  int number = 0;
  for (const HttpResponse& answer : answers) {
    at_core = answer;
    asked.clear();
    ++number;
    for (int i = 0; i < 2; ++i) get("/tags/" + std::to_string(number));
    EXPECT_THAT(asked, SizeIs(2)) << number;
  }
}

TEST_F(FrontTest, WhoAsksWhileTheCoreIsAskedWaitsForItsAnswer) {
  inside.listeners[kCore] = [this](HttpRequest request) -> Task<HttpResponse> {
    const Instant later = clock.now() + Duration(400);
    co_await clock.sleep_until(later);
    co_return co_await fronts.answer(std::move(request),
                                     [this](HttpRequest one) { return answer(std::move(one)); });
  };
  std::vector<int> statuses;
  TaskGroup readers(loop.executor(kOwner));
  for (int i = 0; i < 3; ++i) {
    readers.spawn("reader", read("/tags/cats", &statuses));
  }
  run(readers.join());
  EXPECT_THAT(statuses, ElementsAre(200, 200, 200));
  EXPECT_THAT(asked, SizeIs(1));
}

// Its machine may be gone: whoever asked it waits for as long as a core may take.
TEST_F(FrontTest, WhoAsksAfterACoreHasGoneSilentDoesNotWaitForWhatItWasAsked) {
  Fronts others{{.place = kOtherCore, .secret = Secret(identity.key)}, inside, core_budget, clock, log};
  inside.listeners[kOtherCore] = [this, &others](HttpRequest request) {
    return others.answer(std::move(request), [this](HttpRequest one) { return answer(std::move(one)); });
  };
  inside.listeners[kCore] = [this](HttpRequest request) -> Task<HttpResponse> {
    const Instant over = clock.now() + std::chrono::seconds(request.target == kFrontPath ? 2 : 30);
    co_await clock.sleep_until(over);
    HttpResponse refused = error_response({ErrorCode::kUnavailable, "stopping"});
    co_return refused;
  };
  std::vector<int> statuses;
  TaskGroup readers(loop.executor(kOwner));
  readers.spawn("reader", read("/tags/cats", &statuses));
  run(front.get_in_touch());
  const Instant lost = clock.now();
  run(read("/tags/cats", &statuses));
  EXPECT_THAT(statuses, ElementsAre(503)) << "there is no core";
  core_is = kOtherCore;
  run(front.get_in_touch());
  run(read("/tags/cats", &statuses));
  EXPECT_THAT(statuses, ElementsAre(503, 200));
  EXPECT_LT(clock.now() - lost, std::chrono::seconds(2));
  run(readers.join());
  EXPECT_THAT(statuses, SizeIs(3));
}

TEST_F(FrontTest, WhoWaitsForWhatALostCoreWasAskedAsksTheNextOne) {
  Fronts others{{.place = kOtherCore, .secret = Secret(identity.key)}, inside, core_budget, clock, log};
  inside.listeners[kOtherCore] = [this, &others](HttpRequest request) {
    return others.answer(std::move(request), [this](HttpRequest one) { return answer(std::move(one)); });
  };
  inside.listeners[kCore] = [this](HttpRequest request) -> Task<HttpResponse> {
    const Instant over = clock.now() + std::chrono::seconds(request.target == kFrontPath ? 2 : 30);
    co_await clock.sleep_until(over);
    HttpResponse refused = error_response({ErrorCode::kUnavailable, "stopping"});
    co_return refused;
  };
  std::vector<int> statuses;
  TaskGroup readers(loop.executor(kOwner));
  readers.spawn("reader", read("/tags/cats", &statuses));
  readers.spawn("reader", read("/tags/cats", &statuses));
  run(front.get_in_touch());
  core_is = kOtherCore;
  run(front.get_in_touch());
  const auto pause = [this]() -> Task<void> {
    const Instant later = clock.now() + std::chrono::seconds(1);
    co_await clock.sleep_until(later);
  };
  run(pause());
  EXPECT_THAT(statuses, SizeIs(1)) << "the one that had not asked";
  run(readers.join());
  EXPECT_THAT(statuses, SizeIs(2));
}

// --- what the core has sent --------------------------------------------------------------------------------

class CallsOfACore : public FrontTest {
 protected:
  CallsOfACore() { inside.calls.clear(); }

  std::optional<Result<HttpResponse>> send(const std::string& url) {
    HttpCall call("POST", *Url::parse(url), clock.now() + std::chrono::seconds(20));
    call.headers.add("Content-Type", "application/activity+json");
    call.body = "{}";
    return run(fronts.send(std::move(call), {identity.key_id(), signatures::SignatureForm::kCavage}));
  }
  // Another front, whose calls come to nothing.
  void add_broken(const std::string& place) {
    HttpCall news = *call_to("POST", kCore, kFrontPath, clock.now());
    news.body = json::serialize(json::object{{"at", place}});
    Secret(identity.key).prove(news, clock.wall_now());
    run(fronts.answer(arrived_at(news), [this](HttpRequest one) { return answer(std::move(one)); }));
    inside.listeners[place] = [](const HttpRequest&) -> Task<HttpResponse> {
      co_return to_answer(fail(ErrorCode::kUnavailable, "no name server"));
    };
  }
};

TEST_F(CallsOfACore, AreSignedByAFront) {
  const auto answer = send("https://m.example/inbox");
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->status, 202);
  ASSERT_THAT(outside.calls, SizeIs(1));
  EXPECT_THAT(outside.calls.front().headers.find("Signature"),
              Optional(testing::HasSubstr(identity.key_id())));
  EXPECT_FALSE(inside.calls.front().headers.find("Signature"));
}

TEST_F(CallsOfACore, GoWithAnotherFrontWhereOneDoesNotReachTheOtherSide) {
  add_broken("10.0.0.1:7946");
  for (int i = 0; i < 20; ++i) {
    const auto answer = send("https://m.example/inbox");
    ASSERT_TRUE(answer && *answer);
  }
  const auto at_broken = std::ranges::count_if(
      inside.calls, [](const HttpCall& call) { return call.url.authority() == "10.0.0.1:7946"; });
  EXPECT_LE(at_broken, 2);  // one that fails at once is never the one with least to do
}

// Whoever is sent to decides how large an answer is, and shall not decide which fronts there are.
TEST_F(CallsOfACore, ThatComeToNothingByTheirOwnFaultLoseNoFront) {
  for (const ErrorCode code : {ErrorCode::kTooLarge, ErrorCode::kInvalid}) {
    inside.failure = Error{code, "of the call"};
    const auto answer = send("https://m.example/inbox");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error().code, code);
    EXPECT_THAT(fronts.status(), SizeIs(1));
  }
}

// A machine that is gone without a word, so that connecting to it ends by time. It is no fault of the other
// side, whose time is not over.
TEST_F(CallsOfACore, AreNotLostWithAFrontThatIsNotReachedInTime) {
  inside.failure = Error{ErrorCode::kTimedOut, "of connecting"};
  EXPECT_FALSE(send("https://m.example/inbox").has_value());
  EXPECT_THAT(fronts.status(), SizeIs(0));
}

// The same on a connection that stood: nothing comes any more, until the call's time is over.
TEST_F(CallsOfACore, AreMadeByAnotherFrontOnceTheirsIsSilent) {
  const char* const gone = "10.0.0.1:7946";
  add_broken(gone);
  inside.listeners[gone] = [this](const HttpRequest&) -> Task<HttpResponse> {
    const Instant never = clock.now() + std::chrono::hours(1);
    co_await clock.sleep_until(never);
    co_return HttpResponse();
  };
  TaskGroup others(loop.executor(kOwner));
  others.spawn("front", front.keep_in_touch());
  const Instant before = clock.now();
  const auto answer = send("https://m.example/inbox");
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->status, 202);
  EXPECT_TRUE(std::ranges::any_of(inside.calls,
                                  [gone](const HttpCall& call) { return call.url.authority() == gone; }));
  EXPECT_LT(clock.now() - before, std::chrono::seconds(10));
  EXPECT_THAT(fronts.status(), SizeIs(1));
  others.cancel();
  run(others.join());
}

TEST_F(CallsOfACore, StayWithAFrontThatSaysThatItIsThere) {
  inside.listeners[kFront] = [this](HttpRequest request) -> Task<HttpResponse> {
    const Instant later = clock.now() + std::chrono::seconds(15);
    co_await clock.sleep_until(later);
    co_return co_await front.answer_core(std::move(request));
  };
  TaskGroup others(loop.executor(kOwner));
  others.spawn("front", front.keep_in_touch());
  const auto answer = send("https://m.example/inbox");
  EXPECT_TRUE(answer && *answer);
  EXPECT_THAT(outside.calls, SizeIs(1));
  others.cancel();
  run(others.join());
}

TEST_F(CallsOfACore, AreLeftToTheCoreWhereNoFrontReachesTheOtherSide) {
  EXPECT_FALSE(send("https://gone.example/inbox").has_value());
  inside.listeners.erase(kFront);
  EXPECT_FALSE(send("https://m.example/inbox").has_value());
  EXPECT_THAT(fronts.status(), SizeIs(0));
}

}  // namespace
}  // namespace tagring::cluster
