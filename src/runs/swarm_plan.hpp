// What a world is like that a seed draws, and what may happen in it.
#pragma once

#include <string>

#include "base/rng.hpp"
#include "base/time.hpp"
#include "runs/swarm_options.hpp"
#include "sim/world.hpp"

namespace tagring::runs {

// What a world is like, and what may happen in it.
struct SwarmPlan {
  std::size_t nodes = 3;
  std::size_t steps = 100;  // of people, with time between them
  sim::WorldOptions world;
  double loss = 0;
  double duplicates = 0;
  Duration delay_max = Duration(50);
  std::size_t crashes_max = 0;  // at the same time
  bool power_cuts = false;
  bool partitions = false;
  bool cuts = false;
  bool clocks = false;
  bool full_disks = false;
  bool instances_down = false;
  bool failing_disks = false;
  bool moves = false;  // nodes leave and come back, others come
  bool glances = false;
  bool wishes = false;  // change: hashtags are wanted and unwanted
  bool edits = false;
  bool drift = false;  // clocks go wrong little by little
  bool instances_crash = false;
  bool copies = false;  // a node is restored from a copy of its disk
  double resets = 0;
  bool calm = false;  // nothing happens that the theory of the ring does not allow
  // Posts of one hashtag that a storage owner bears, and deliveries a second that a relay does: 0 if so many
  // that no set of owners ever grows.
  std::uint64_t bearable_posts = 0;
  std::uint32_t deliveries = 0;

  // Servers of people who follow hashtags at nodes, and whether these are down now and then.
  std::size_t people = 0;
  bool people_fail = false;

  // In words.
  [[nodiscard]] std::string text() const;
};

// `more` and `later`: of what was thought of later, so that other worlds are as they were.
SwarmPlan draw_swarm(Rng& rng, Rng& more, Rng& later, const SwarmOptions& options);

}  // namespace tagring::runs
