// Posts that were over the limits of their authors, and those whose servers did not answer, published later:
// as their own servers show them then, since whatever happens meanwhile, to the post, its author or the
// server's permission, may be why they are to be seen nowhere.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"
#include "instances/moderation.hpp"
#include "publisher/fetched_posts.hpp"
#include "publisher/observer.hpp"
#include "publisher/publisher.hpp"

namespace tagring::publisher {

class PutOff {
 public:
  PutOff(Publisher& publisher, FetchedPosts& posts, instances::Moderation& moderation, delivery::Store& store,
         Observer& observer, const Runtime& runtime)
      : publisher_(publisher),
        posts_(posts),
        moderation_(moderation),
        store_(store),
        observer_(observer),
        clock_(runtime.clock),
        date_(runtime.clock),
        tasks_(runtime.executor) {}
  void start() { tasks_.spawn("put_off", publish()); }
  [[nodiscard]] Task<void> stop();

 private:
  static constexpr Duration kEvery = std::chrono::minutes(1);
  static constexpr std::size_t kTriedAtOnce = 500;
  // So many posts of a host that do not come are the host, and not the posts.
  static constexpr unsigned kFailuresMax = 3;
  // What cannot be fetched is given up when its server was waited for so long, however old it is.
  static constexpr Duration kPatience = std::chrono::days(7);

  Task<void> publish();
  Task<void> try_host(std::string host, std::vector<delivery::PublishedPost> posts);
  Task<Result<void>> try_again(delivery::PublishedPost post);
  Task<Result<void>> put_off_again(delivery::PublishedPost post, Duration longer = Duration::zero());

  Publisher& publisher_;
  FetchedPosts& posts_;
  instances::Moderation& moderation_;
  delivery::Store& store_;
  Observer& observer_;
  Clock& clock_;
  SteadyDate date_;
  std::set<std::string> tried_;  // hosts
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
