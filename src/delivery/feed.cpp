#include "delivery/feed.hpp"

namespace tagring::delivery {

Task<Result<std::size_t>> Feed::take(std::vector<TagEvent> events, unsigned storage_replicas,
                                     Announcer::To to) {
  CO_TRY(const std::vector<Store::Accepted> accepted, co_await store_.accept(events, storage_replicas));
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!accepted[i].fresh) continue;
    ++fresh;
    events[i].announced = accepted[i].announced;
    if (accepted[i].outbox_seq != 0) {
      const std::uint32_t all = (1U << storage_replicas) - 1;
      owners_.add({accepted[i].outbox_seq, Ring::kStorage, events[i], all});
    }
    FeedEntry entry{accepted[i].feed_seq, std::move(events[i]), accepted[i].added};
    observer_.entered(entry);
    announcer_.push(std::move(entry), to);
  }
  // Where that fails, all come again, and what is new here is under way by then.
  for (std::size_t i = 0; i < events.size() && to == Announcer::To::kEverybody; ++i) {
    if (accepted[i].fresh) continue;
    CO_TRY_VOID(co_await announcer_.tell_nodes(events[i]));
  }
  co_return fresh;
}

}  // namespace tagring::delivery
