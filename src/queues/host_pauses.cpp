#include "queues/host_pauses.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "ring/contact.hpp"

namespace tagring::queues {
namespace {

constexpr Duration kLongest = std::chrono::hours(1);
constexpr Duration kUnsaid = std::chrono::seconds(30);  // after 429 without a word on how long

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<Duration> retry_after(const HttpResponse& response, WallTime now) {
  const std::optional<std::string> text = response.headers.find("Retry-After");
  if (!text) return std::nullopt;
  if (const auto seconds = whole_number(*text))
    return std::chrono::seconds(std::min<std::int64_t>(*seconds, 86'400));
  const std::optional<WallTime> date = from_http_date(*text);
  return date ? std::optional(*date - now) : std::nullopt;
}

// GoToSocial and Mastodon write a date, others seconds since 1970.
std::optional<Duration> limit_reset(const HttpResponse& response, WallTime now) {
  const std::optional<std::string> text = response.headers.find("X-RateLimit-Reset");
  if (!text) return std::nullopt;
  if (const std::optional<WallTime> date = from_rfc3339(*text)) return *date - now;
  const auto seconds = whole_number(*text);
  if (!seconds || *seconds > 1'000'000'000'000) return std::nullopt;
  return WallTime(std::chrono::seconds(*seconds)) - now;
}

}  // namespace

Duration asked_pause(const HttpResponse& response, WallTime now) {
  const bool limited = response.status == 429;
  std::optional<Duration> pause;
  if (limited || response.status == 503) pause = retry_after(response, now);
  const bool used_up = response.headers.find("X-RateLimit-Remaining") == "0";
  if (!pause && (limited || used_up)) pause = limit_reset(response, now);
  if (!pause && limited) pause = kUnsaid;
  return std::clamp(pause.value_or(Duration::zero()),
                    limited ? Duration(std::chrono::seconds(1)) : Duration(), kLongest);
}

std::shared_ptr<HostPauses::Host> HostPauses::of(const std::string& host) {
  std::shared_ptr<Host>& known = hosts_[host];
  if (known) return known;
  std::shared_ptr<Host> fresh = known = std::make_shared<Host>(clock_, executor_, ring::domain_of(host));
  // Not each time, or each of many for whom something waits would look at all.
  if (hosts_.size() % kHostsMax == 0)
    std::erase_if(hosts_, [](const auto& each) { return each.second.use_count() == 1; });
  return fresh;
}

void HostPauses::note(const std::string& host, const std::string& method, const HttpResponse& response) {
  const Duration pause = asked_pause(response, clock_.wall_now());
  if (pause == Duration::zero()) return;
  const std::shared_ptr<Host> asked = of(host);
  // Servers count what they are asked and what they are sent apart.
  Instant& until = method == "GET" ? asked->fetch_again : asked->deliver_again;
  until = std::max(until, clock_.now() + pause);
}

void HostPauses::heard(const std::string& host) {
  const auto known = hosts_.find(host);
  if (known == hosts_.end()) return;
  known->second->heard = clock_.now();
  known->second->alarm.ring();
}

bool HostPauses::may_fetch(const std::string& host) const {
  const auto known = hosts_.find(host);
  return known == hosts_.end() || known->second->fetch_again <= clock_.now();
}

}  // namespace tagring::queues
