#include "budget/day_authors.hpp"

#include <algorithm>
#include <chrono>

#include "crypto/hash.hpp"

namespace tagring::budget {

WallTime DayAuthors::today() const { return std::chrono::floor<std::chrono::days>(clock_.wall_now()); }

void DayAuthors::add(std::pair<std::string, std::string> where, const std::string& author) {
  if (std::exchange(day_, today()) != today()) {
    authors_.clear();
    count_ = 0;
  }
  if (count_ < kMax && authors_[std::move(where)].insert(crypto::hash64(author)).second) ++count_;
}

const DayAuthors::Authors& DayAuthors::of(const std::string& host, const std::string& tag) const {
  static const Authors kNone;
  const auto found = authors_.find({host, tag});
  return found == authors_.end() || day_ != today() ? kNone : found->second;
}

bool DayAuthors::has_room(const std::string& host, const std::string& tag, const std::string& author,
                          std::size_t most) const {
  const Authors& live = of("", tag);
  const Authors& sent = of(host, tag);
  const std::uint64_t hash = crypto::hash64(author);
  if (live.contains(hash) || sent.contains(hash)) return true;
  const auto only_sent =
      std::ranges::count_if(sent, [&](std::uint64_t each) { return !live.contains(each); });
  return live.size() + static_cast<std::size_t>(only_sent) < most;
}

}  // namespace tagring::budget
