// What this node's actors have announced to people and relays, to be fetched by the ids of the announcements
// (ActivityPub, 3.1): what is in the feed, and what an outbox has just shown, or a replay sent. In memory,
// and begun anew from the feed at a start. Strangers can fill only what outboxes have shown, which is apart.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.hpp"
#include "base/time.hpp"
#include "delivery/store.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "fediverse/builders.hpp"
#include "http/message.hpp"
#include "storage/history.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::activitypub {

class Announced {
 public:
  static constexpr std::size_t kMax = 20'000;
  // Of what outboxes show, or replays send, nobody tells this node that it has gone.
  static constexpr Duration kShown = std::chrono::hours(1);

  Announced(const federation::Identity& identity, subscriber::HashtagFollowers& followers,
            const federation::Blocks& blocks, const Clock& clock)
      : identity_(identity), followers_(followers), blocks_(blocks), clock_(clock) {}

  // After a start, until note() has had what is in the feed, in its order.
  void begin_reading() { is_being_read_ = true; }
  void end_reading() { is_being_read_ = false; }
  // A post enters the feed, or leaves a hashtag: those who follow are told. Again, nothing changes. The
  // followers must be loaded.
  void note(const delivery::TagEvent& event);
  // False for who is blocked here, or blocks the hashtag's actor, and if the hashtag is blocked.
  [[nodiscard]] bool is_offered(const std::string& author, const Tag& tag) const;
  // The outbox of that hashtag's actor shows these. Returns the ids that they have there. Errors are those of
  // the store.
  [[nodiscard]] Task<Result<std::vector<std::string>>> show(Tag tag,
                                                            std::vector<storage::HistoryEntry> entries);

  // A replay sends the post by an announcement of that id by that actor of this node.
  void note_replayed(std::string id, std::string actor, const storage::HistoryEntry& post);

  struct Named {
    std::string actor;
    std::string post;
  };
  // Who announces what by that id, if that is known.
  [[nodiscard]] std::optional<Named> named_by(const std::string& id) const;
  // That may be known soon: the feed is being read.
  static constexpr std::string_view kBeingRead = "what was announced is being read: ask again in a moment";
  [[nodiscard]] bool may_be_read(const std::string& id) const;

  static constexpr std::string_view kPath = "/announces/";
  // GET of an id. 404 for what is not announced any more, or not known; 503 if that may be known soon.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  struct One {
    std::string actor;
    fediverse::Audience audience;
    std::string uri;
    std::string author;
    WallTime published;
    std::set<Tag> tags;  // under which it stands
    Instant shown = {};  // by an outbox, or sent by a replay
  };
  [[nodiscard]] const One* find(const std::string& id) const;
  void note(const std::string& actor, fediverse::Audience audience, const delivery::TagEvent& event);
  void remember(std::string id, std::string actor, fediverse::Audience audience,
                const storage::HistoryEntry& post);

  const federation::Identity& identity_;
  subscriber::HashtagFollowers& followers_;
  const federation::Blocks& blocks_;
  const Clock& clock_;
  std::map<std::string, One> by_id_;
  std::map<std::string, One> shown_;  // by id
  bool is_being_read_ = false;
};

}  // namespace tagring::activitypub
