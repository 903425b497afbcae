#include "publisher/latest_authors.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace tagring::publisher {

// Whoever is behind so many others stays behind them, whatever comes, but by a later post, which has the
// author in again: so nothing is lost with those who are left out.
void LatestAuthors::add(const std::string& host, const std::string& author, WallTime published) {
  const auto [known, is_new] = newest_[host].try_emplace(author, published);
  known->second = std::max(known->second, published);
  if (!is_new || ++count_ <= 2 * max_.all) return;
  std::vector<Place> places = best();
  newest_.clear();
  for (Place& place : places) newest_[std::move(place.host)].emplace(std::move(place.author), place.newest);
  count_ = places.size();
}

std::vector<std::string> LatestAuthors::chosen() const {
  std::vector<std::string> authors;
  for (Place& place : best()) authors.push_back(std::move(place.author));
  return authors;
}

std::vector<LatestAuthors::Place> LatestAuthors::best() const {
  std::vector<Place> places;
  for (const auto& [host, authors] : newest_) {
    std::vector<Place> of_host;
    for (const auto& [author, newest] : authors) of_host.push_back({0, newest, host, author});
    // By their names those who wrote at once, or it would not be the same each time.
    std::ranges::sort(of_host, [](const Place& a, const Place& b) {
      return std::tie(b.newest, a.author) < std::tie(a.newest, b.author);
    });
    of_host.resize(std::min(of_host.size(), max_.of_host));
    for (std::size_t i = 0; i < of_host.size(); ++i) of_host[i].of_host = i;
    std::ranges::move(of_host, std::back_inserter(places));
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tie(a.of_host, b.newest, a.author) < std::tie(b.of_host, a.newest, b.author);
  });
  places.resize(std::min(places.size(), max_.all));
  return places;
}

}  // namespace tagring::publisher
