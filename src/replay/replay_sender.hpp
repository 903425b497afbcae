// Sends one post of a replay to its instance: the same Announce that it would have got when the post was new.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "budget/day_authors.hpp"
#include "delivery/store.hpp"
#include "federation/blocks.hpp"
#include "federation/signed_client.hpp"
#include "http/message.hpp"
#include "http/url.hpp"
#include "instances/instances.hpp"
#include "replay/observer.hpp"
#include "storage/history.hpp"

namespace tagring::replay {

class ReplaySender {
 public:
  ReplaySender(const instances::Instances& instances, const federation::Blocks& blocks,
               delivery::Store& store, federation::SignedClient& client, Observer& observer,
               const Clock& clock)
      : instances_(instances),
        blocks_(blocks),
        store_(store),
        client_(client),
        observer_(observer),
        clock_(clock) {}

  [[nodiscard]] bool is_subscribed(const std::string& host, const Tag& tag) const {
    return instances_.recipient(host, tag).has_value();
  }
  // Nothing if the instance is not subscribed to the hashtag any more, or that is blocked.
  [[nodiscard]] std::optional<instances::Instances::Recipient> recipient(const std::string& host,
                                                                         const Tag& tag) const;
  // The instance's own posts, what is kept apart from it, and that of authors who block the hashtag here. And
  // what is blocked: no history that is read here has it, but a page that was read before may.
  [[nodiscard]] bool is_kept_away(const storage::HistoryEntry& entry, const std::string& host) const;
  // Of what entered the feed today under each of `ways`, what the instance got, by this subscription or one
  // that has ended. It is the one that gets `tag`.
  [[nodiscard]] Task<Result<budget::DayAuthors::Got>> got(std::string host, Tag tag,
                                                          std::set<std::string> ways);
  // Until when the server of a post asked not to be asked.
  [[nodiscard]] Instant fetch_again(const std::string& host) const {
    return client_.hosts().may_fetch(host) ? Instant() : client_.hosts().of(host)->fetch_again;
  }
  // Until when the instance asked to be sent nothing.
  [[nodiscard]] Instant deliver_again(const std::string& host, const std::string& tag) const {
    const auto known = recipient(host, Tag::from_canonical(tag));
    return known ? client_.hosts().of(host_of(known->inbox))->deliver_again : Instant();
  }
  // All hashtags of a post, that one first. Unless it was published through this node, its server is asked,
  // with the errors of SignedClient::fetch; kInvalid if it shows something else.
  [[nodiscard]] Task<Result<std::vector<std::string>>> tags_of(Tag tag, std::string uri);
  [[nodiscard]] Task<Result<HttpResponse>> send(instances::Instances::Recipient recipient, Tag tag,
                                                storage::HistoryEntry entry);

 private:
  const instances::Instances& instances_;
  const federation::Blocks& blocks_;
  delivery::Store& store_;
  federation::SignedClient& client_;
  Observer& observer_;
  const Clock& clock_;
};

}  // namespace tagring::replay
