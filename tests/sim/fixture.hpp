// What the tests of whole nodes share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "sim/world.hpp"

namespace tagring::sim {

// A test's seeds: all of them, or every third, from one that TAGRING_DRAW decides. `make test` sets it, anew
// with each commit and day: a seed on which something failed once is, after other changes, a seed like any
// other.
inline std::vector<std::uint64_t> drawn(const std::vector<std::uint64_t>& seeds) {
  const char* draw = std::getenv("TAGRING_DRAW");
  if (draw == nullptr) return seeds;
  constexpr std::size_t kEvery = 3;
  std::vector<std::uint64_t> some;
  for (std::size_t i = std::strtoull(draw, nullptr, 10) % std::min(kEvery, seeds.size()); i < seeds.size();
       i += kEvery)
    some.push_back(seeds[i]);
  return some;
}

// As scenarios name them, in canonical form.
inline std::vector<Tag> tags_of(const std::vector<std::string>& names) {
  std::vector<Tag> tags;
  for (const std::string& name : names) tags.push_back(Tag::from_canonical(name));
  return tags;
}

inline void subscribe(World& world, std::size_t i, const std::vector<std::string>& tags) {
  const auto wanted =
      world.await(world.node(i).subscriber().want(tags_of(tags), "admin"), std::chrono::seconds(10));
  ASSERT_TRUE(wanted && *wanted);
}

inline std::multiset<std::string> live_posts(const World& world, const std::string& tag) {
  std::multiset<std::string> uris;
  for (const World::Post& post : world.posts()) {
    if (!post.deleted && std::ranges::find(post.tags, tag) != post.tags.end()) uris.insert(post.uri);
  }
  return uris;
}

inline std::multiset<std::string> uris_of(const std::vector<storage::HistoryEntry>& entries) {
  std::multiset<std::string> uris;
  for (const auto& entry : entries) uris.insert(entry.uri);
  return uris;
}

}  // namespace tagring::sim
