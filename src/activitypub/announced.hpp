// What this node's actors have announced to people and relays, to be fetched by the ids of the announcements
// (ActivityPub, 3.1). In memory, and begun anew from the feed at a start: strangers cannot fill it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/task.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "fediverse/builders.hpp"
#include "http/message.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::activitypub {

class Announced {
 public:
  static constexpr std::size_t kMax = 20'000;

  Announced(const federation::Identity& identity, subscriber::HashtagFollowers& followers,
            const federation::Blocks& blocks)
      : identity_(identity), followers_(followers), blocks_(blocks) {}

  // What is in the feed. `followers` must be loaded.
  [[nodiscard]] Task<Result<void>> load();
  // A post enters the feed, or leaves a hashtag: those who follow are told.
  void note(const delivery::TagEvent& event);

  static constexpr std::string_view kPath = "/announces/";
  // GET of an id. 404 for what is not announced any more, or not known.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  struct One {
    std::string actor;
    fediverse::Audience audience;
    std::string uri;
    std::string author;
    WallTime published;
    std::set<Tag> tags;  // under which it stands
  };
  void note(const std::string& actor, fediverse::Audience audience, const delivery::TagEvent& event);

  const federation::Identity& identity_;
  subscriber::HashtagFollowers& followers_;
  const federation::Blocks& blocks_;
  std::map<std::string, One> by_id_;
};

}  // namespace tagring::activitypub
