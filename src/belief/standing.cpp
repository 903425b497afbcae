#include "belief/standing.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "http/url.hpp"

namespace tagring::belief {

void Standing::note(const std::string& origin, const std::string& uri, bool right) {
  if (!records_.contains(origin)) make_room(records_, kMax);
  const Instant now = clock_.now();
  const Record begun{0, 0, now, now, {}, {}, {}};
  Record& record = records_.try_emplace(origin, begun).first->second;
  if (now - record.since >= kForgotten) record = begun;
  std::set<crypto::Hash256>& posts = right ? record.right_posts : record.posts;
  const crypto::Hash256 post = crypto::sha256(uri);
  if (posts.contains(post)) return;
  make_room(posts, right ? kRightPostsMax : kPostsMax);
  posts.insert(post);
  if (right) {
    ++record.right;
    return;
  }
  ++record.wrong;
  record.last_wrong = now;
  const crypto::Hash256 host = crypto::sha256(host_of(uri));
  if (!record.hosts.contains(host)) make_room(record.hosts, kHostsMax);
  record.hosts.insert(host);
}

bool Standing::is_doubtful(const Record& record) const {
  if (record.wrong < kWrong || record.right >= record.wrong * kRightForEachWrong) return false;
  const Duration pause = kPause * (1U << std::min(record.wrong - kWrong, kDoublingsMax));
  return clock_.now() - record.last_wrong < pause;
}

bool Standing::is_doubtful(const std::string& origin) const {
  const auto record = records_.find(origin);
  return is_proved(origin) || (record != records_.end() && is_doubtful(record->second));
}

bool Standing::is_believed_about(const std::string& origin, const std::string& host) const {
  if (is_doubtful(origin)) return false;
  const auto record = records_.find(origin);
  return record == records_.end() || !record->second.hosts.contains(crypto::sha256(host));
}

bool Standing::may_name_stranger(const std::string& origin, const std::string& host) {
  if (!is_doubtful(origin)) return true;
  const auto last = strangers_.find(origin);
  if (last != strangers_.end()) {
    const Duration pause = last->second.host == host ? 2 * kStrangerEvery : kStrangerEvery;
    if (clock_.now() - last->second.at < pause) return false;
  } else {
    make_room(strangers_, kMax);
  }
  strangers_.insert_or_assign(origin, Named{clock_.now(), host});
  return true;
}

void Standing::prove(const std::string& origin, Instant until) {
  if (!proved_.contains(origin)) make_room(proved_, kMax);
  Instant& known = proved_.try_emplace(origin, until).first->second;
  known = std::max(known, until);
}

bool Standing::is_proved(const std::string& origin) const {
  const auto proved = proved_.find(origin);
  return proved != proved_.end() && clock_.now() < proved->second;
}

std::size_t Standing::doubtful() const {
  const auto wrong =
      std::ranges::count_if(records_, [this](const auto& entry) { return is_doubtful(entry.first); });
  const auto proved = std::ranges::count_if(proved_, [this](const auto& entry) {
    return is_proved(entry.first) && !records_.contains(entry.first);
  });
  return static_cast<std::size_t>(wrong + proved);
}

}  // namespace tagring::belief
