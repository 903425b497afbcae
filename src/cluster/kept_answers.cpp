#include "cluster/kept_answers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.hpp"
#include "cluster/channel.hpp"

namespace tagring::cluster {
namespace {

// By which answers to the same URL may differ.
constexpr std::array<std::string_view, 5> kDiffersBy = {"Host", "Accept", "Accept-Language", "If-None-Match",
                                                        "Origin"};
constexpr std::array<std::string_view, 5> kPersonal = {"Authorization", "Cookie", "Signature", "Range",
                                                       "Upgrade"};

bool is_for_everybody(const HttpRequest& request) {
  return request.method == "GET" && request.body.empty() &&
         !path_of(request.target).starts_with("/tagring/") &&
         std::ranges::none_of(kPersonal,
                              [&](std::string_view name) { return request.headers.find(name).has_value(); });
}

std::string key_of(std::string core, const HttpRequest& request) {
  std::string key = std::move(core);
  key.append("\n").append(request.target);
  for (const std::string_view name : kDiffersBy)
    key.append("\n").append(request.headers.joined(name).value_or(""));
  return key;
}

// What one reader has left of a budget, and whether it is known, says nothing of another.
HttpResponse for_everybody(const HttpResponse& answer) {
  constexpr std::string_view kLimits = "X-RateLimit-";
  HttpResponse kept = answer;
  kept.headers = {};
  for (const auto& [name, value] : answer.headers)
    if (!ascii_iequals(std::string_view(name).substr(0, kLimits.size()), kLimits) &&
        !ascii_iequals(name, kKnownField))
      kept.headers.add(name, value);
  return kept;
}

}  // namespace

bool may_be_kept(const HttpRequest& request, const HttpResponse& answer) {
  const std::string control = answer.headers.joined("Cache-Control").value_or("");
  return is_for_everybody(request) && (answer.status == 200 || answer.status == 304) && !answer.stream &&
         !answer.headers.find("Set-Cookie") && !control.contains("no-store") && !control.contains("private");
}

// Whatever becomes of it, nobody waits for it any longer.
struct KeptAnswers::Asking {
  explicit Asking(Entry& asked) : entry(asked) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    entry.is_asked = false;
    entry.ready.ring();
  }
  Entry& entry;
};

// Those that are asked for have somebody who waits.
void KeptAnswers::drop_old() {
  std::erase_if(entries_, [this](const auto& entry) {
    const Entry& kept = *entry.second;
    const bool is_old = !kept.is_asked && clock_.now() >= kept.until;
    if (is_old && kept.answer) bytes_ -= kept.answer->body.size();
    return is_old;
  });
}

Task<Result<HttpResponse>> KeptAnswers::answer(std::string core, const HttpRequest& request, Ask ask,
                                               std::function<bool()> is_lost) {
  if (!is_for_everybody(request)) co_return co_await ask();
  std::string key = key_of(std::move(core), request);
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second->is_asked) {
    const std::shared_ptr<Entry> awaited = found->second;
    const Instant end = clock_.now() + kWaitMost;
    while (awaited->is_asked && clock_.now() < end && !is_lost()) {
      const Instant next = std::min(end, clock_.now() + kLook);
      co_await awaited->ready.wait_until(next);
    }
    found = entries_.find(key);
  }
  if (found != entries_.end() && clock_.now() < found->second->until) {
    if (!found->second->answer) co_return co_await ask();
    co_return HttpResponse(*found->second->answer);
  }
  drop_old();
  if (entries_.contains(key) || entries_.size() >= kMost) co_return co_await ask();
  const auto entry = std::make_shared<Entry>(clock_, executor_);
  entries_.emplace(key, entry);
  const Asking asking(*entry);
  Result<HttpResponse> answer = co_await ask();
  const bool is_kept =
      answer && answer->headers.find(kKeepField) && bytes_ + answer->body.size() <= kBytesMost;
  if (is_kept) {
    entry->answer = std::make_shared<const HttpResponse>(for_everybody(*answer));
    bytes_ += answer->body.size();
  }
  entry->until = clock_.now() + kFor;
  co_return answer;
}

}  // namespace tagring::cluster
