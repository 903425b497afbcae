#include "mastodon_api/trends.hpp"

#include <algorithm>

#include "crypto/hash.hpp"

namespace tagring::mastodon_api {

void Trends::note(const std::string& tag, const std::string& author, WallTime published) {
  const WallTime now = clock_.wall_now();
  if (published < now - options_.window) return;
  const std::uint64_t hash = crypto::hash64(author);
  const WallTime when = std::min(published, now);
  uses_.insert(std::ranges::upper_bound(uses_, when, {}, &Use::when), {when, tag, hash});
  ++tags_[tag][hash];
  forget_old();
}

void Trends::forget_old() {
  const WallTime oldest = clock_.wall_now() - options_.window;
  while (!uses_.empty() && (uses_.front().when < oldest || uses_.size() > options_.uses_max)) {
    const Use& use = uses_.front();
    const auto tag = tags_.find(use.tag);
    const auto author = tag->second.find(use.author);
    if (--author->second == 0) tag->second.erase(author);
    if (tag->second.empty()) tags_.erase(tag);
    uses_.pop_front();
  }
}

std::vector<std::string> Trends::top(std::size_t limit, std::size_t offset) {
  forget_old();
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [tag, authors] : tags_) ranked.emplace_back(authors.size(), tag);
  const std::size_t end = std::min(limit + std::min(offset, ranked.size()), ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(end), std::greater<>());
  std::vector<std::string> tags;
  for (std::size_t i = offset; i < end; ++i) tags.push_back(ranked[i].second);
  return tags;
}

std::vector<std::string> Trends::beginning_with(const std::string& prefix, std::size_t limit) {
  forget_old();
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (auto it = tags_.lower_bound(prefix); it != tags_.end() && it->first.starts_with(prefix); ++it)
    ranked.emplace_back(it->second.size(), it->first);
  std::ranges::sort(ranked, std::greater<>());
  std::vector<std::string> tags;
  for (std::size_t i = 0; i < std::min(limit, ranked.size()); ++i) tags.push_back(ranked[i].second);
  return tags;
}

}  // namespace tagring::mastodon_api
