// data_sharing, the FASP's side (docs/fasp.md): servers tell of posts by their URIs, and this node fetches
// each from its own server and gives it to the publisher, as if it had been delivered.
//
// What a server says is a hint: where to look, not what is there. Only posts are looked at whose server takes
// part, by sharing itself or as an instance of this node. What was announced is on disk before it is
// acknowledged; what came this way is looked at again every six days. Servers answer from caches for some
// minutes, so what may have been the answer of before is looked at once more after that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "base/time.hpp"
#include "fasp/fasp_servers.hpp"
#include "federation/blocks.hpp"
#include "fediverse/fasp.hpp"
#include "instances/instances.hpp"
#include "publisher/consents.hpp"
#include "publisher/fetched_posts.hpp"
#include "queues/delivery_queues.hpp"

namespace tagring::fasp {

class FaspSharing {
 public:
  static constexpr std::size_t kBatchMax = 100;                    // objects of one announcement
  static constexpr std::size_t kWaitingMax = 5'000;                // objects that wait, of one server
  static constexpr std::uint64_t kBackfillMax = 100'000;           // posts of one backfill
  static constexpr Duration kNewsLifetime = std::chrono::days(2);  // then an object is given up
  static constexpr Duration kCheckEvery = std::chrono::days(6);    // the specification wants a week
  static constexpr Duration kCheckAgain = std::chrono::hours(12);  // if its server did not show it
  static constexpr Duration kPatience = std::chrono::days(14);     // then it is taken out
  static constexpr std::size_t kChecksAMinute = 120;
  static constexpr Duration kLookAgain = publisher::Consents::kLifetime;  // what a cache may have said

  FaspSharing(FaspServers& servers, FaspStore& store, publisher::FetchedPosts& posts,
              const instances::Instances& instances, const federation::Blocks& blocks,
              const Runtime& runtime);

  [[nodiscard]] Task<Result<void>> load();
  void start();
  [[nodiscard]] Task<void> stop();

  // The server has activated the capability: asks it to tell of posts and accounts.
  void activated(const std::string& host);
  // The server ends the capability, and with it whatever this node has from it: the subscriptions, which
  // Mastodon keeps, and goes on telling of, until they are deleted. Before they are forgotten here.
  void deactivated(const std::string& host);
  // An announcement, from that server. Durable when it completes with 204.
  [[nodiscard]] Task<HttpResponse> announced(std::string host, std::string body);

  // Asks a server for its old posts, newest first, some at a time until `count` have come, or it was asked
  // for more for kNewsLifetime, each hour, and none came. kDenied unless it shares, kTooLarge beyond the
  // limit, kConflict while one is under way.
  [[nodiscard]] Task<Result<FaspBackfill>> backfill(std::string host, std::uint64_t count);
  // Null if there was none. Valid until the next co_await.
  [[nodiscard]] const FaspBackfill* backfill_of(const std::string& host) const;
  // Ends the subscriptions there, before it is removed. False if the server could not be reached: it has them
  // still.
  [[nodiscard]] Task<bool> take_leave(std::string host);

  // A server shares its posts, of which that is one.
  [[nodiscard]] bool is_shared(const std::string& uri) const;
  // Publishes such a post as it is now, and looks at it again from then on. False if there is nothing to
  // publish.
  [[nodiscard]] Task<Result<bool>> look(std::string uri);

  [[nodiscard]] std::size_t waiting() const { return lanes_.size(); }
  [[nodiscard]] bool idle() const { return lanes_.idle(); }
  // Of what is to be fetched, by host.
  [[nodiscard]] std::map<std::string, queues::QueueStatus> lanes() const { return lanes_.status(); }

 private:
  struct Item {
    FaspNews news;
    bool is_check = false;  // of what came before: `news` has only the URI
    bool is_edit = false;   // the server says that it has changed
  };
  using Items = std::vector<Item>;

  void push(FaspNews news, bool is_edit);
  Task<Items> look_at_all(std::string host, Items items);
  // False if it should be looked at once more.
  Task<Result<bool>> look_at(Item item);
  Task<Result<bool>> look_at_news(Item item);
  Task<Result<publisher::FetchedPosts::Shared>> look_at_post(std::string uri, bool by_sharing, bool is_told);
  void postpone(Item item);
  void push_postponed();
  Task<Result<void>> check(std::string uri);
  // `looked_at` is when the look began: what is told during it may not have been seen.
  Task<Result<void>> keep(std::string uri, bool published, WallTime looked_at);
  Task<void> finish(Item item);
  [[nodiscard]] bool takes_part(const std::string& uri, const FaspServer& teller) const;
  Task<void> upkeep();
  Task<void> check_due();
  void subscribe_to_missing(const std::string& host);
  Task<void> subscribe(std::string host);
  Task<Result<void>> subscribe_to(std::string host, fediverse::FaspCategory category);
  Task<void> go_on(std::string host);
  Task<void> end_subscription(std::string host, std::string id);

  // To go on: first and last with as many posts as have come.
  struct Asked {
    Instant first;
    Instant last;
    std::uint64_t received = 0;
  };
  struct Failed {
    Instant until;
    unsigned times = 0;
  };

  FaspServers& servers_;
  FaspStore& store_;
  publisher::FetchedPosts& posts_;
  const instances::Instances& instances_;
  const federation::Blocks& blocks_;
  Clock& clock_;
  SteadyDate date_;
  Log& log_;
  std::map<std::string, FaspBackfill> backfills_;         // by server
  std::map<std::string, Asked> asked_at_;                 // by server
  std::map<std::string, Failed> unsubscribed_;            // hosts that gave no subscription
  std::map<std::string, std::size_t> waiting_;            // objects by server
  std::multimap<WallTime, Item> postponed_;               // by when they are due
  std::set<std::string> checking_;                        // URIs
  WallTime looks_since_;                                  // at what is due, without a break
  WallTime looked_at_;                                    // the last time
  std::set<std::string> missing_;                         // that were gone when they were checked last
  std::set<std::string> subscribing_;                     // hosts
  std::set<std::string> asking_;                          // for a backfill: hosts
  std::set<std::pair<std::string, std::string>> ending_;  // hosts and subscriptions
  queues::DeliveryQueues<Item> lanes_;                    // by host of the object
  TaskGroup tasks_;
};

}  // namespace tagring::fasp
