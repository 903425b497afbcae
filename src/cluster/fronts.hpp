// The fronts of a node, as its core sees them (docs/scaling.md): who they are, what they bring, and what they
// are given to send.
#pragma once

#include <map>
#include <string>

#include "base/json.hpp"
#include "base/log.hpp"
#include "health/check.hpp"
#include "http/message.hpp"

namespace tagring::cluster {

// A client that has fronts make the calls which go to other servers' inboxes: signed POSTs. What concerns the
// rings, and what is fetched, it does itself; and everything where no front is there.
//
// A front that is lost in the middle of a call may have made it; so the call is made again, by who is left.
// Activities have ids by which they are known, and questions of nodes may be repeated.
class Fronts final : public HttpClient {
 public:
  // `direct` goes to the world, `inside` to the fronts. `secret`: of channel.hpp.
  Fronts(HttpClient& direct, HttpClient& inside, std::string secret, Clock& clock, Log& log)
      : direct_(direct), inside_(inside), secret_(std::move(secret)), clock_(clock), log_(log) {}

  [[nodiscard]] Task<Result<HttpResponse>> send(HttpCall call) override;

  // Answers what comes to the listener for fronts: news of one, or what one brings from outside, which `node`
  // answers. 403 to whoever is none of this node.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request, const HttpHandler& node);

  // Of those that are there: [{"at", "version", "heard_ms", "brought", "calls", "sent", "failed"}], and what
  // each says of itself: Front::report().
  [[nodiscard]] json::array status() const;

  // Asks each one, those too that were heard in the last day and are silent now, what it says of itself: is
  // all well between it and this core, which listens at `own`, a Place::text()?
  [[nodiscard]] Task<health::Checks> look(std::string own);

 private:
  // A front says each two seconds that it is there.
  static constexpr Duration kLostAfter{7'000};
  static constexpr Duration kForgottenAfter = std::chrono::hours(24);
  static constexpr Duration kAnswersWithin{5'000};
  static constexpr std::size_t kMost = 1'000;
  struct Front {
    Instant heard;
    bool is_lost = false;  // in the middle of a call, since it was heard
    std::string version;
    json::object report;
    std::size_t calls = 0;  // under way
    std::uint64_t brought = 0;
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;
  };
  HttpResponse note(const HttpRequest& request);
  [[nodiscard]] bool is_there(const Front& front) const;
  [[nodiscard]] std::map<std::string, Front>::iterator least_busy();
  void lose(const std::string& place, const Error& because);
  Task<Result<json::object>> ask(std::string place);

  HttpClient& direct_;
  HttpClient& inside_;
  const std::string secret_;
  Clock& clock_;
  Log& log_;
  std::map<std::string, Front> fronts_;  // by place; also those that are not there
};

}  // namespace tagring::cluster
