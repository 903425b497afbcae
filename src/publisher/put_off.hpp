// Posts that were over the limits of their authors, and those whose servers did not answer, published later:
// as their own servers show them then, since whatever happens meanwhile, to the post, its author or the
// server's permission, may be why they are to be seen nowhere.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/store.hpp"
#include "instances/moderation.hpp"
#include "publisher/fetched_posts.hpp"
#include "publisher/publisher.hpp"

namespace tagring::publisher {

class PutOff {
 public:
  PutOff(Publisher& publisher, FetchedPosts& posts, instances::Moderation& moderation, delivery::Store& store,
         const Runtime& runtime)
      : publisher_(publisher),
        posts_(posts),
        moderation_(moderation),
        store_(store),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}
  // The server of that post shares data with this node, whether or not it may publish.
  using IsShared = std::function<bool(const std::string& uri)>;
  void start(IsShared is_shared);
  [[nodiscard]] Task<void> stop();

 private:
  static constexpr std::size_t kTriedAtOnce = 500;  // a minute
  // What cannot be fetched is given up when it was written so long ago.
  static constexpr Duration kPatience = std::chrono::days(7);

  Task<void> publish(IsShared is_shared);
  Task<void> try_host(std::string host, std::vector<delivery::PublishedPost> posts, IsShared is_shared);
  Task<Result<void>> try_again(delivery::PublishedPost post, IsShared is_shared);
  Task<Result<void>> put_off_again(delivery::PublishedPost post);

  Publisher& publisher_;
  FetchedPosts& posts_;
  instances::Moderation& moderation_;
  delivery::Store& store_;
  Clock& clock_;
  std::set<std::string> tried_;  // hosts
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
