// Whether the instances of this node are connected to it, there and back: they may use it and have taken the
// Accept that says so, they take what it sends, and owners have taken a post of theirs of today.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/time.hpp"
#include "config/config.hpp"
#include "delivery/announcer.hpp"
#include "delivery/owner_queue.hpp"
#include "federation/blocks.hpp"
#include "health/check.hpp"
#include "health/seen_posts.hpp"
#include "instances/instances.hpp"
#include "queues/delivery_queues.hpp"

namespace tagring::health {

class InstanceChecks {
 public:
  // What of the node is looked at.
  struct Subjects {
    const config::Config& config;
    const instances::Instances& instances;
    const federation::Blocks& blocks;
    const delivery::OwnerQueue& owners;
    const delivery::Announcer& announcer;
    const SeenPosts& seen;
  };
  InstanceChecks(Subjects subjects, Clock& clock) : subjects_(subjects), clock_(clock) {}

  // One of each instance, as "instance HOST"; "FASP server HOST" of those that are silent; "owners" if
  // nobody takes what the node sends these; and "feed" if what came before the start cannot be read.
  [[nodiscard]] Checks look() const;

 private:
  // What is known of hosts from what is sent there.
  struct Deliveries {
    std::map<std::string, unsigned> refusing;  // with how many times in a row
    std::map<std::string, queues::QueueStatus> failing;
  };
  [[nodiscard]] Checks look_at_own_blocked() const;
  [[nodiscard]] bool is_kept_away(const json::object& instance, const std::string& host) const;
  [[nodiscard]] Deliveries deliveries() const;
  [[nodiscard]] Check look_at(const json::object& instance, const std::string& host,
                              const json::array& instances, const Deliveries& deliveries) const;
  // `expected`: it is connected, and publishes.
  [[nodiscard]] Check look_at_posts(const std::string& host, bool is_connected, bool expected) const;
  [[nodiscard]] std::string how_to_add() const;

  const Subjects subjects_;
  Clock& clock_;
};

}  // namespace tagring::health
