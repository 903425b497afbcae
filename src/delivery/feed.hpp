// What enters this node, as relay or as subscriber, once each, and from there goes on: to followers, and to
// storage owners.
#pragma once

#include <vector>

#include "delivery/announcer.hpp"
#include "delivery/observer.hpp"
#include "delivery/owner_queue.hpp"
#include "delivery/store.hpp"

namespace tagring::delivery {

class Feed {
 public:
  Feed(Store& store, OwnerQueue& owners, Announcer& announcer, Observer& observer)
      : store_(store), owners_(owners), announcer_(announcer), observer_(observer) {}

  // Those that this node has not taken yet.
  [[nodiscard]] Task<Result<std::vector<TagEvent>>> news_of(std::vector<TagEvent> events) {
    return store_.news_of(std::move(events));
  }
  // After that place it is for new owners: Announcer::handed_from().
  [[nodiscard]] Task<Result<std::uint64_t>> handed_from() { return announcer_.handed_from(); }
  // Writes what is news, and passes it on: to that many replicas on the storage ring, and to followers. How
  // many were news. Durable when it completes.
  [[nodiscard]] Task<Result<std::size_t>> take(std::vector<TagEvent> events, unsigned storage_replicas,
                                               Announcer::To to);

 private:
  Store& store_;
  OwnerQueue& owners_;
  Announcer& announcer_;
  Observer& observer_;
};

}  // namespace tagring::delivery
