// For tests of a role's classes, each by itself: virtual time, a database in a temporary directory, rings on
// which this node stands alone, and a web that takes everything, or what a test says instead.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "db/fixture.hpp"
#include "delivery/silent_observer.hpp"
#include "federation/signed_client.hpp"
#include "overlay/ring_service.hpp"
#include "overlay/silent_observer.hpp"
#include "ring/fixture.hpp"
#include "ring_sim/loop.hpp"

namespace tagring {

class FakeWeb final : public HttpClient {
 public:
  Task<Result<HttpResponse>> send(HttpCall call) override {
    HttpResponse response;
    const auto status = statuses.find(call.url.text());
    response.status = status == statuses.end() ? 200 : status->second;
    const auto body = bodies.find(call.url.text());
    response.body = body == bodies.end() ? R"({"accepted":1,"refused":[]})" : body->second;
    for (const std::string& text : unreadable) {
      if (call.body.contains(text)) response.status = 400;
    }
    calls.push_back(std::move(call));
    meanwhile();
    co_return response;
  }
  [[nodiscard]] std::vector<json::object> posted_to(const std::string& url) const {
    std::vector<json::object> posted;
    for (const HttpCall& call : calls) {
      if (call.url.text() == url) posted.push_back(*json::parse_object(call.body));
    }
    return posted;
  }
  std::map<std::string, int> statuses;        // by URL
  std::map<std::string, std::string> bodies;  // by URL
  std::vector<std::string> unreadable;        // who has one of these in a request is answered 400
  std::function<void()> meanwhile = [] {};    // before who asked has the answer
  std::vector<HttpCall> calls;
};

class RoleTest : public testing::Test {
 protected:
  RoleTest() {
    auto opened =
        db::open_stores({.path = directory.file("db"), .vfs = {}, .mode = db::Mode::kInline}, clock);
    if (!opened) throw std::runtime_error(opened.error().message);
    stores = std::move(*opened);
    overlay::RingService::Options options;
    options.contacts = {self};
    rings = std::make_unique<overlay::RingService>(std::move(options), web, ring_observer, runtime);
    for (const Ring ring : {Ring::kRelay, Ring::kStorage}) rings->of(ring).vservers().front()->create();
  }
  ~RoleTest() override { loop.drop(kOwner); }

  // Lets `task` come to its end.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result = loop.await(kOwner, std::move(task), Duration(100'000), Duration(100));
    TR_ASSERT(result);
    return *std::move(result);
  }
  // The same of what gives nothing.
  void finish(Task<void> task) {
    boost::asio::co_spawn(loop.executor(kOwner), std::move(task), [](std::exception_ptr) {});
    loop.run_for(Duration(1));
  }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  std::vector<std::string> lines;  // of the log
  Log log{[this](LogLevel, const std::string& line) { lines.push_back(line); }};
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  db::TemporaryDirectory directory;
  std::unique_ptr<db::Stores> stores;
  FakeWeb web;
  overlay::SilentObserver ring_observer;
  delivery::SilentObserver observer;
  const ring::Contact self = ring::real_contact(1);
  federation::Identity identity{self.origin(), crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n'))};
  federation::SignedClient client{identity, web, runtime};
  std::unique_ptr<overlay::RingService> rings;
};

}  // namespace tagring
