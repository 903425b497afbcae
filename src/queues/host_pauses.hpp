// What other servers ask of this node's pace: 429, Retry-After and X-RateLimit-*, by host. Fetches from a
// host that asked to be left alone fail at once; deliveries to it wait (inbox_lanes.hpp).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/runtime.hpp"
#include "http/message.hpp"
#include "queues/alarm.hpp"

namespace tagring::queues {

// How long an answer asks to wait, by Retry-After (seconds or a date), else X-RateLimit-Reset (a date, or
// seconds since 1970) if nothing is left of the limit. Zero if it does not; at least some seconds after 429,
// at most an hour.
Duration asked_pause(const HttpResponse& response, WallTime now);

class HostPauses {
 public:
  static constexpr std::size_t kHostsMax = 10'000;  // remembered; those for whom nothing waits are forgotten

  // Who is down and is heard from is tried so soon after the last try: not again and again while it only
  // speaks.
  static constexpr Duration kHeardEvery = std::chrono::seconds(4);

  explicit HostPauses(const Runtime& runtime) : clock_(runtime.clock), executor_(runtime.executor) {}

  struct Host {
    Host(Clock& clock, Executor executor, std::string domain_)
        : domain(std::move(domain_)), alarm(clock, std::move(executor)) {}
    std::string domain;  // whose share of the places it has (places.hpp)
    Alarm alarm;  // of who waits to deliver there: rings when the host is heard from, as `heard` has it
    Instant fetch_again;
    Instant deliver_again;
    Instant heard;  // a signed activity of that host arrived, or it took what was sent to it
  };
  [[nodiscard]] std::shared_ptr<Host> of(const std::string& host);
  // An answer of that host to `method`.
  void note(const std::string& host, const std::string& method, const HttpResponse& response);
  // It is up: what waits for it need wait no longer.
  void heard(const std::string& host);
  // Until when it is not to be asked, if not now.
  [[nodiscard]] bool may_fetch(const std::string& host) const;

 private:
  Clock& clock_;
  Executor executor_;
  std::map<std::string, std::shared_ptr<Host>> hosts_;
};

}  // namespace tagring::queues
