#include "budget/day_authors.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "crypto/hash.hpp"
#include "http/url.hpp"

namespace tagring::budget {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

// It gets what enters there from now on.
bool is_under_way(const DayAuthors::Stretch& stretch) {
  return stretch.first != kEnd && stretch.second == kEnd;
}

}  // namespace

WallTime DayAuthors::today() const { return std::chrono::floor<std::chrono::days>(clock_.wall_now()); }

WallTime DayAuthors::first() const { return today() - std::chrono::days(kDaysBefore); }

DayAuthors::Day& DayAuthors::day(int days_ago) {
  days_.erase(days_.begin(), days_.lower_bound(first()));
  return days_[today() - std::chrono::days(days_ago)];
}

void DayAuthors::note_tags(const std::string& uri, const std::string& author,
                           const std::vector<std::string>& tags, int days_ago) {
  Day& day = this->day(days_ago);
  if (day.count >= kMax) return;
  const auto [known, is_new] = day.posts.try_emplace(crypto::hash64(uri));
  Post& post = known->second;
  if (is_new) ++day.count;
  for (const std::string& tag : tags) {
    if (std::ranges::find(post.tags, tag) != post.tags.end()) continue;
    post.tags.push_back(tag);
    std::vector<const Post*>& posts = day.live[tag][crypto::hash64(author)];
    if (posts.empty()) ++day.count;
    if (posts.size() == kPostsMax) posts.pop_back();
    posts.push_back(&post);
    if (day.own[{host_of(author), tag}].insert(crypto::hash64(author)).second) ++day.count;
  }
}

void DayAuthors::came(const Came& post, int days_ago) {
  note_tags(post.uri, post.author, {post.tag}, days_ago);
  std::map<std::uint64_t, Post>& posts = day(days_ago).posts;
  const auto known = posts.find(crypto::hash64(post.uri));
  if (known != posts.end() && known->second.came.size() < kPostsMax)
    known->second.came.emplace_back(post.tag, post.seq);
}

template <class Visit>
void DayAuthors::visit(const Day& day, const std::string& tag, Visit visit) {
  const auto live = day.live.find(tag);
  if (live == day.live.end()) return;
  for (const auto& [author, posts] : live->second) {
    for (const Post* post : posts) {
      for (const auto& [way, seq] : post->came) visit(author, way, seq);
    }
  }
}

std::set<std::string> DayAuthors::ways(const std::vector<std::string>& tags) const {
  std::set<std::string> ways;
  for (auto day = days_.lower_bound(first()); day != days_.end(); ++day) {
    for (const std::string& tag : tags)
      visit(day->second, tag,
            [&](std::uint64_t, const std::string& way, std::uint64_t) { ways.insert(way); });
  }
  return ways;
}

void DayAuthors::brought_to(const std::string& host, const std::string& tag, const std::string& author) {
  day(0).brought[{host, tag}].insert(crypto::hash64(author));
}

DayAuthors::Authors DayAuthors::live_on(WallTime date, const Day& day, const Place& place) const {
  Authors authors;
  if (const auto own = day.own.find({place.host, place.tag}); own != day.own.end()) authors = own->second;
  visit(day, place.tag, [&](std::uint64_t hash, const std::string& way, std::uint64_t seq) {
    const auto got = place.got.find(way);
    const bool is_got = got != place.got.end() && std::ranges::any_of(got->second, [&](const Stretch& one) {
                          return date == today() ? one.first < seq && seq <= one.second : is_under_way(one);
                        });
    if (is_got) authors.insert(hash);
  });
  return authors;
}

std::size_t DayAuthors::live(const Place& place) const {
  std::size_t most = 0;
  for (auto day = days_.lower_bound(first()); day != days_.end(); ++day)
    most = std::max(most, live_on(day->first, day->second, place).size());
  return most;
}

bool DayAuthors::knows_all() const {
  return std::ranges::all_of(
      days_, [this](const auto& day) { return day.first < first() || day.second.count < kMax; });
}

bool DayAuthors::has_room(const Place& place, const std::string& author, std::size_t most) const {
  std::size_t brought = 0;
  if (const auto day = days_.find(today()); day != days_.end()) {
    const Authors live = live_on(day->first, day->second, place);
    const auto known = day->second.brought.find({place.host, place.tag});
    const Authors& others = known == day->second.brought.end() ? Authors() : known->second;
    const std::uint64_t hash = crypto::hash64(author);
    if (live.contains(hash) || others.contains(hash)) return true;
    brought = static_cast<std::size_t>(
        std::ranges::count_if(others, [&](std::uint64_t other) { return !live.contains(other); }));
  }
  return !is_being_read_ && knows_all() && brought + this->live(place) < most;
}

}  // namespace tagring::budget
