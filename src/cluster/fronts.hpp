// The fronts of a node, as its core sees them (docs/scaling.md): who they are, what they bring, and what they
// are given to send.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/json.hpp"
#include "base/log.hpp"
#include "budget/manager.hpp"
#include "cluster/channel.hpp"
#include "federation/couriers.hpp"
#include "health/check.hpp"
#include "http/message.hpp"

namespace tagring::cluster {

// Has fronts sign and make the calls of this node that may come from any address: all that it signs, but what
// concerns the rings. What no front is there for is the caller's to make.
//
// A front that is lost in the middle of a call may have made it; so the call is made again, by who is left.
// Activities have ids by which they are known, and questions of nodes may be repeated. Where one front does
// not reach the other side another one tries: the fault may be its own.
class Fronts final : public federation::Couriers {
 public:
  struct Options {
    std::string place;  // where this core listens for them: Place::text()
    Secret secret;
    // The database takes what this core writes. Where not, another core may be in its place.
    std::function<bool()> can_write = [] { return true; };
    // A JSON array of places, as `save` was given it: a core that takes over misses whom the one before had.
    std::string saved = "[]";
    std::function<Task<Result<void>>(std::string)> save = [](std::string) -> Task<Result<void>> {
      co_return Result<void>();
    };
  };
  // All of these outlive it. `inside` goes to the fronts, `budget` knows who is known.
  Fronts(Options options, HttpClient& inside, const budget::Manager& budget, Clock& clock, Log& log);

  [[nodiscard]] Task<std::optional<Result<HttpResponse>>> send(HttpCall call, federation::SignAs as) override;

  // Answers what comes to the listener for fronts: news of one, or what one brings from outside, which `node`
  // answers. 403 to whoever is none of this node.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request, HttpHandler node);

  // Of those that are there: [{"at", "version", "heard_ms", "brought", "calls", "sent", "failed"}], and what
  // each says of itself: Front::report().
  [[nodiscard]] json::array status() const;

  // Activities that fronts have refused themselves since this core began to hear them, by reason. It never
  // becomes less, though fronts go, and begin anew.
  [[nodiscard]] const std::map<std::string, std::int64_t>& inbox_refused() const { return inbox_refused_; }

  // Asks each one, those too that were heard in the last day and are silent now, what it says of itself: is
  // all well between it and this core?
  [[nodiscard]] Task<health::Checks> look();

 private:
  // A front says each two seconds that it is there.
  static constexpr Duration kLostAfter{7'000};
  static constexpr Duration kSecondLook{1'000};
  static constexpr Duration kForgottenAfter = std::chrono::hours(24);
  static constexpr Duration kAnswersWithin{5'000};
  static constexpr std::size_t kMost = 1'000;
  static constexpr std::size_t kReasonsMax = 200;                      // fronts have half as many
  static constexpr Duration kRefusalsEvery = std::chrono::minutes(1);  // in the log
  struct Front {
    Instant heard;
    bool is_lost = false;        // in the middle of a call, since it was heard
    bool is_noted_lost = false;  // in what is saved
    std::string version;
    json::object report;
    std::optional<std::int64_t> began;
    std::map<std::string, std::int64_t> inbox_refused;  // since it began, the most that it said
    // Under way: each of them holds it, too, since the front may leave, and come back, meanwhile.
    std::shared_ptr<std::size_t> calls = std::make_shared<std::size_t>(0);
    std::uint64_t brought = 0;
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;
    std::size_t failed_lately = 0;  // halves each time it is heard: one that fails fast is not the least busy
  };
  struct Passing;
  Task<Result<HttpResponse>> pass(std::string place, HttpCall call);
  Task<void> send_on(HttpCall call, Passing* passing);
  Task<void> miss(std::string place, Passing* passing);
  Task<HttpResponse> note(HttpRequest request);
  Result<void> take(const json::object& report);
  void count_refused(Front& front, const json::object& report);
  static bool has_room(const std::map<std::string, std::int64_t>& reasons, const std::string& reason);
  void note_lost();
  Task<void> save();
  HttpResponse refuse(const HttpRequest& request);
  [[nodiscard]] bool is_silent(const Front& front) const;
  [[nodiscard]] bool is_there(const Front& front) const;
  [[nodiscard]] std::optional<std::string> least_busy(const std::set<std::string>& but) const;
  void note_outcome(const std::string& place, bool has_reached);
  void mark(HttpResponse& answer, const HttpRequest& asked, const std::string& signer) const;
  void lose(const std::string& place, const Error& because);
  Task<Result<json::object>> ask(std::string place);

  const Options options_;
  HttpClient& inside_;
  const budget::Manager& budget_;
  Clock& clock_;
  Log& log_;
  std::map<std::string, Front> fronts_;  // by place; also those that are not there
  std::map<std::string, std::int64_t> inbox_refused_;
  bool is_saved_ = true;
  Instant refusals_said_until_;
};

}  // namespace tagring::cluster
