// Catches up with people, relays and groups that publish here and whose servers did not reach this node while
// it was away: GoToSocial gives up after four minutes. After a start each one's outbox is read, back to a
// page with a post that is known here, and those that are not are published as if they had been delivered.
//
// Only of those whom the node follows, since whom a server publishes for is not written anywhere else.
#pragma once

#include <string>
#include <vector>

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
  static constexpr std::size_t kSourcesMax = 1000;               // of a start
  static constexpr std::size_t kItemsMax = 40;                   // of a page
  static constexpr std::size_t kPagesMax = 10;                   // of one outbox
  static constexpr std::size_t kRequestsMax = 20'000;            // of a start

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
  // How many posts were published that had not come.
  Task<Result<std::size_t>> read(instances::Instances::Source source);
  struct Page {
    std::vector<std::string> posts;
    bool is_old = false;  // what comes after it is from before the time that is looked for
    std::string next;     // URL; empty on the last one
  };
  [[nodiscard]] Page read_page(const json::object& page, bool of_person, WallTime not_before) const;
  struct Published {
    std::size_t posts = 0;
    bool reached_known = false;
  };
  Task<Published> publish(std::vector<std::string> posts, instances::Instances::Source source,
                          WallTime not_before);
  Task<Result<json::object>> get(std::string url, std::string actor);
  Task<Result<void>> wait();

  const instances::Instances& instances_;
  FetchedPosts& fetched_;
  delivery::Store& store_;
  federation::SignedClient& client_;
  Clock& clock_;
  Log& log_;
  WallTime known_until_ = WallTime::min();  // when the newest post was written that was known at the start
  std::size_t requests_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
