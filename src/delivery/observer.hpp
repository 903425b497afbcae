// What the relay role tells the rest of the node, and asks of it. The node itself implements it
// (node/wiring.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "base/task.hpp"
#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "redundancy/relay_hints.hpp"

namespace tagring::delivery {

class Observer {
 public:
  virtual ~Observer() = default;

  // --- of what is owed to owners ---
  // A post of this node's instances, with all its hashtags, before it goes to any owner.
  virtual void published(const PublishedPost& post) = 0;
  // Gives events to this node's own role as owner, as if another node had sent them.
  virtual Task<Result<std::vector<Refusal>>> take_as_owner(Ring ring, std::vector<TagEvent> events) = 0;
  // What an owner answered to a batch, of which it did not take `refusals`.
  virtual void answered(const std::string& origin, Ring ring, const std::vector<TagEvent>& events,
                        const std::vector<Refusal>& refusals, const std::string& answer) = 0;

  // --- of what is announced ---
  // What this node says of itself as a relay of a tag; nothing while all is as at rest.
  [[nodiscard]] virtual std::optional<redundancy::RelayClaim> claim(const Tag& tag) const = 0;
  // A new entry of the feed, before it goes to anybody.
  virtual void entered(const FeedEntry& entry) = 0;
  // A subscriber's node has taken an item, with its part of the bytes of the batch.
  virtual void relayed(const Tag& tag, std::size_t bytes) = 0;
  // A follower is gone for good: its inbox does not exist, or refuses us.
  virtual void lost_follower(const Tag& tag, const std::string& inbox) = 0;
  // A subscriber's node does not take these from this one as a relay of their hashtags. If it was one of more
  // than there are at rest, nobody else may have them (docs/protocol.md, 6.1). Durable when it completes.
  virtual Task<Result<void>> hand_to_relays(std::vector<TagEvent> events) = 0;
  // The history of the tag was sent to that host, or is being sent.
  [[nodiscard]] virtual bool was_replayed(const Tag& tag, const std::string& host) const = 0;
  // That actor of this node has still to tell somebody on that host that they follow it.
  [[nodiscard]] virtual bool awaits_accept(const std::string& actor, const std::string& host) const = 0;
  // Sends an announcement to a server that uses this node as a FASP.
  virtual Task<Result<HttpResponse>> deliver_to_fasp_server(std::string inbox, std::string body) = 0;

  // --- of what is received ---
  // What an owner took before it knew this subscriber.
  virtual Task<Result<void>> receive_missed(std::vector<TagEvent> events, std::string owner) = 0;
  // Something of that, under the tag, is not decided yet.
  [[nodiscard]] virtual bool is_in_doubt(const std::string& owner, const Tag& tag) const = 0;
  // Something of it was forgotten before it was decided, since this was asked last: ask the owner again.
  [[nodiscard]] virtual bool has_forgotten(const std::string& owner, const Tag& tag) = 0;
  // An actor that gets nothing, by the administrator's decision.
  [[nodiscard]] virtual bool is_denied(const std::string& actor) const = 0;
  // This node offers the collection (followers/partial.hpp), so its hashtag, to people and servers.
  [[nodiscard]] virtual bool is_offered(const std::string& collection) const = 0;
};

}  // namespace tagring::delivery
