// Of authors of very many posts, which come in any order, those who wrote last: a share of each host, so that
// some large ones do not take all the places. Keeps no more in mind than twice as many as are wanted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace tagring::publisher {

class LatestAuthors {
 public:
  struct Max {
    std::size_t of_host;
    std::size_t all;
  };
  explicit LatestAuthors(Max max) : max_(max) {}

  void add(const std::string& host, const std::string& author, WallTime published);
  // Of each host the one who wrote last, then of each the next, and so on; of as many hosts, the latest
  // first.
  [[nodiscard]] std::vector<std::string> chosen() const;

 private:
  struct Place {
    std::size_t of_host = 0;  // 0: nobody of the host has written later
    WallTime newest;
    std::string host;
    std::string author;
  };
  [[nodiscard]] std::vector<Place> best() const;

  Max max_;
  std::map<std::string, std::map<std::string, WallTime>> newest_;  // by host and author
  std::size_t count_ = 0;                                          // authors
};

}  // namespace tagring::publisher
