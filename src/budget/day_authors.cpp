#include "budget/day_authors.hpp"

#include <algorithm>
#include <chrono>

#include "crypto/hash.hpp"
#include "http/url.hpp"

namespace tagring::budget {

WallTime DayAuthors::today() const { return std::chrono::floor<std::chrono::days>(clock_.wall_now()); }

void DayAuthors::begin_day() {
  if (std::exchange(day_, today()) == today()) return;
  live_.clear();
  posts_.clear();
  there_.clear();
  count_ = 0;
}

void DayAuthors::note_tags(const std::string& uri, const std::string& author,
                           const std::vector<std::string>& tags) {
  begin_day();
  if (count_ >= kMax) return;
  const auto [known, is_new] = posts_.try_emplace(crypto::hash64(uri));
  Post& post = known->second;
  if (is_new) ++count_;
  for (const std::string& tag : tags) {
    if (std::ranges::find(post.tags, tag) != post.tags.end()) continue;
    post.tags.push_back(tag);
    std::vector<const Post*>& posts = live_[tag][crypto::hash64(author)];
    if (posts.empty()) ++count_;
    if (posts.size() == kPostsMax) posts.pop_back();
    posts.push_back(&post);
    if (there_[{host_of(author), tag}].insert(crypto::hash64(author)).second) ++count_;
  }
}

void DayAuthors::came(const Came& post) {
  note_tags(post.uri, post.author, {post.tag});
  const auto known = posts_.find(crypto::hash64(post.uri));
  if (known != posts_.end() && known->second.came.size() < kPostsMax)
    known->second.came.emplace_back(post.tag, post.seq);
}

template <class Visit>
void DayAuthors::visit(const std::string& tag, Visit visit) const {
  const auto live = live_.find(tag);
  if (live == live_.end()) return;
  for (const auto& [author, posts] : live->second) {
    for (const Post* post : posts) {
      for (const auto& [way, seq] : post->came) visit(author, way, seq);
    }
  }
}

std::set<std::string> DayAuthors::ways(const std::vector<std::string>& tags) const {
  std::set<std::string> ways;
  for (const std::string& tag : tags)
    visit(tag, [&](std::uint64_t, const std::string& way, std::uint64_t) { ways.insert(way); });
  return ways;
}

void DayAuthors::came_to(const std::string& host, const std::string& tag, const std::string& author) {
  begin_day();
  there_[{host, tag}].insert(crypto::hash64(author));
}

bool DayAuthors::has_room(const Place& place, const std::string& author, std::size_t most) const {
  if (day_ != today()) return true;
  std::set<std::uint64_t> authors;
  if (const auto there = there_.find({place.host, place.tag}); there != there_.end()) authors = there->second;
  visit(place.tag, [&](std::uint64_t hash, const std::string& way, std::uint64_t seq) {
    const auto got = place.got.find(way);
    const bool was_got =
        got != place.got.end() && std::ranges::any_of(got->second, [seq](const Stretch& one) {
          return one.first < seq && seq <= one.second;
        });
    if (was_got) authors.insert(hash);
  });
  if (authors.contains(crypto::hash64(author))) return true;
  return count_ < kMax && authors.size() < most;
}

}  // namespace tagring::budget
