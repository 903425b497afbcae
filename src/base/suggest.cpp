#include "base/suggest.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tagring {
namespace {

// Letters to insert, remove or replace, and neighbours to change places (Damerau, Levenshtein).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kWordMax = 64;
  if (word.size() > kWordMax) return {};
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const bool begins = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t far = begins ? 0 : distance(word, candidate);
    if (far < least) {
      least = far;
      best = candidate;
    }
  }
  return best.empty() ? "" : fmt::format(", did you mean \"{}\"?", best);
}

}  // namespace tagring
