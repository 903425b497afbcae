#include "budget/day_authors.hpp"

#include <chrono>

#include "crypto/hash.hpp"
#include "http/url.hpp"

namespace tagring::budget {

WallTime DayAuthors::today() const { return std::chrono::floor<std::chrono::days>(clock_.wall_now()); }

void DayAuthors::begin_day() {
  if (std::exchange(day_, today()) == today()) return;
  live_.clear();
  there_.clear();
  count_ = 0;
}

void DayAuthors::came(const std::string& tag, const std::string& author, std::uint64_t seq) {
  begin_day();
  if (count_ < kMax && live_[tag].insert_or_assign(crypto::hash64(author), seq).second) ++count_;
  came_to(host_of(author), tag, author);
}

void DayAuthors::came_to(const std::string& host, const std::string& tag, const std::string& author) {
  begin_day();
  if (count_ < kMax && there_[{host, tag}].insert(crypto::hash64(author)).second) ++count_;
}

bool DayAuthors::has_room(const Place& place, const std::string& author, std::size_t most) const {
  if (day_ != today()) return true;
  std::set<std::uint64_t> authors;
  if (const auto there = there_.find({place.host, place.tag}); there != there_.end()) authors = there->second;
  if (const auto live = live_.find(place.tag); live != live_.end()) {
    for (const auto& [hash, seq] : live->second) {
      if (seq > place.since) authors.insert(hash);
    }
  }
  return authors.contains(crypto::hash64(author)) || authors.size() < most;
}

}  // namespace tagring::budget
