// The parts of followers collections that are on one server: how many are in one, and their digest.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "followers/digest.hpp"

namespace tagring::followers {

// The part of a followers collection that is on one server.
struct PartialKey {
  std::string collection;  // canonical tag; empty: that of the node's actor
  std::string authority;   // followers::Authority::text()

  friend auto operator<=>(const PartialKey&, const PartialKey&) = default;
};

struct Partial {
  followers::Digest digest;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of all ids together

  void add(const std::string& id) {
    digest.add(id);
    ++count;
    bytes += id.size();
  }
  void remove(const std::string& id) {
    digest.remove(id);
    --count;
    bytes -= id.size();
  }
  friend bool operator==(const Partial&, const Partial&) = default;
};

}  // namespace tagring::followers
