#include "health/seen_posts.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "base/json.hpp"
#include "http/url.hpp"

namespace tagring::health {
namespace {

constexpr Duration kSentAgain = std::chrono::hours(1);  // what owners have no time for
constexpr std::size_t kHostsMax = 10'000;
constexpr std::size_t kReasonMax = 300;  // bytes, written down

using Posts = SeenPosts::Posts;

// Of an owner that has no room, or is none; or the post was deleted before it was looked at.
bool is_no_fault(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kNotOwner || code == ErrorCode::kNotFound;
}

std::string text_of_hosts(const std::map<std::string, Posts>& hosts) {
  json::array rows;  // an object of more than a thousand members is not read again
  for (const auto& [host, posts] : hosts) {
    const std::string_view why = is_utf8(posts.why_refused) ? posts.why_refused : std::string_view();
    rows.push_back(json::array{host, to_ms(posts.taken.value_or(WallTime())), to_ms(posts.newest_taken),
                               to_ms(posts.newest_refused), cut_utf8(why, kReasonMax)});
  }
  return json::serialize(json::object{{"hosts", std::move(rows)}});
}

// What this class wrote itself. A clock that was set back since makes nothing come of the future.
std::map<std::string, Posts> parse_hosts(std::string_view text, WallTime now) {
  std::map<std::string, Posts> hosts;
  const Result<json::object> parsed = json::parse_object(text);
  if (!parsed) return hosts;
  json::for_each(json::find(*parsed, "hosts"), [&](const json::value& row) {
    const json::array* fields = row.if_array();
    const bool is_row = fields != nullptr && fields->size() == 5 && fields->front().is_string() &&
                        fields->back().is_string() &&
                        std::all_of(fields->begin() + 1, fields->end() - 1,
                                    [](const json::value& n) { return n.is_int64(); });
    if (!is_row || hosts.size() == kHostsMax) return;
    const auto time = [&](std::size_t field) {
      return std::min(WallTime(Duration((*fields)[field].get_int64())), now);
    };
    Posts posts{.taken = {},
                .newest_taken = time(2),
                .newest_refused = time(3),
                .why_refused = std::string((*fields)[4].get_string())};
    if (time(1) != WallTime()) posts.taken = time(1);
    hosts.emplace(std::string((*fields)[0].get_string()), std::move(posts));
  });
  return hosts;
}

}  // namespace

SeenPosts::SeenPosts(Memory memory, const Runtime& runtime)
    : memory_(std::move(memory)),
      hosts_(parse_hosts(memory_.saved.value_or(""), runtime.clock.wall_now())),
      clock_(runtime.clock),
      log_(runtime.log),
      tasks_(runtime.executor) {}

Task<void> SeenPosts::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  if (memory_.save) co_await save();
}

Task<void> SeenPosts::save_for_ever() {
  for (;;) {
    const Instant next = clock_.now() + kSaveEvery;
    co_await clock_.sleep_until(next);
    co_await save();
  }
}

Task<void> SeenPosts::save() {
  if (!std::exchange(has_changed_, false)) co_return;
  const Result<void> saved = co_await memory_.save(text_of_hosts(hosts_));
  if (saved) co_return;
  has_changed_ = true;
  log_.warn("seen_posts_not_saved", {{"because", saved.error().message}});
}

void SeenPosts::note_answer(const std::vector<delivery::TagEvent>& events,
                            const std::vector<delivery::Refusal>& refusals) {
  std::map<std::pair<std::string_view, Tag>, const Error*> refused;
  for (const delivery::Refusal& refusal : refusals) refused[{refusal.uri, refusal.tag}] = &refusal.error;
  for (const delivery::TagEvent& event : events) {
    if (event.op != delivery::Op::kAdd) continue;
    const auto found = refused.find({event.uri, event.tag});
    const Error* why = found == refused.end() ? nullptr : found->second;
    // Also of those below, which have come.
    const std::string host = host_of(event.author);
    if (!hosts_.contains(host)) make_room(hosts_, kHostsMax);
    Posts& posts = hosts_[host];
    const WallTime now = clock_.wall_now();
    const WallTime published = std::min(event.published, now);
    if (why != nullptr && is_no_fault(why->code)) continue;
    // It is sent again, and says nothing until then.
    if (why != nullptr && why->code == ErrorCode::kBusy && now - published < kSentAgain) continue;
    has_changed_ = true;
    if (why == nullptr) {
      posts.taken = now;
      posts.newest_taken = std::max(posts.newest_taken, published);
    } else if (published >= posts.newest_refused) {
      posts.newest_refused = published;
      posts.why_refused = why->message;
    }
  }
}

const SeenPosts::Posts* SeenPosts::of(const std::string& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

}  // namespace tagring::health
