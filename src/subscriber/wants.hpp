// The tags this node wants, each for as long as anybody has a reason for it: on the disk, and the same in
// memory.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "queues/turns.hpp"

namespace tagring::subscriber {

class Wants {
 public:
  // The store outlives it.
  Wants(delivery::Store& store, const Runtime& runtime)
      : store_(store), clock_(runtime.clock), turns_(runtime.clock, runtime.executor) {}

  [[nodiscard]] Task<Result<void>> load();
  // Durable when they complete. True if one of them was not wanted before.
  [[nodiscard]] Task<Result<bool>> add(std::vector<Tag> tags, std::string reason);
  [[nodiscard]] Task<Result<void>> remove(std::vector<Tag> tags, std::string reason);

  [[nodiscard]] bool has(const Tag& tag) const { return tags_.contains(tag); }
  [[nodiscard]] const std::set<Tag>& all() const { return tags_; }
  // Since when it is wanted, if that began in this run of the node.
  [[nodiscard]] std::optional<WallTime> since(const Tag& tag) const;

 private:
  delivery::Store& store_;
  Clock& clock_;
  queues::Turns turns_;
  std::set<Tag> tags_;
  std::map<Tag, WallTime> since_;
};

}  // namespace tagring::subscriber
