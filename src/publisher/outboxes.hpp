// Catches up with people who publish here and whose servers did not reach this node while it was away:
// GoToSocial gives up after four minutes. After a start, the first page of each one's outbox is read, and
// posts that are not known here are published as if they had been delivered.
//
// Only of people whom the node follows, since whom a server publishes for is not written anywhere else.
#pragma once

#include <string>

#include "base/runtime.hpp"
#include "delivery/store.hpp"
#include "federation/signed_client.hpp"
#include "instances/instances.hpp"
#include "publisher/fetched_posts.hpp"

namespace tagring::publisher {

class Outboxes {
 public:
  static constexpr Duration kAfterStart =
      std::chrono::minutes(1);  // servers deliver what they still hold first
  static constexpr Duration kBack = std::chrono::days(7);
  static constexpr Duration kBetween = std::chrono::seconds(1);  // requests
  static constexpr std::size_t kPeopleMax = 1000;                // of a start
  static constexpr std::size_t kItemsMax = 40;                   // of a page

  Outboxes(const instances::Instances& instances, FetchedPosts& fetched, delivery::Store& store,
           federation::SignedClient& client, const Runtime& runtime)
      : instances_(instances),
        fetched_(fetched),
        store_(store),
        client_(client),
        clock_(runtime.clock),
        log_(runtime.log),
        tasks_(runtime.executor) {}
  void start() { tasks_.spawn("outboxes", catch_up()); }
  [[nodiscard]] Task<void> stop();

 private:
  Task<void> catch_up();
  Task<Result<std::size_t>> read(instances::OwnFollow follow);
  Task<Result<json::object>> get(std::string url, std::string actor);

  const instances::Instances& instances_;
  FetchedPosts& fetched_;
  delivery::Store& store_;
  federation::SignedClient& client_;
  Clock& clock_;
  Log& log_;
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
