// The tags this node wants, and its following of their owners in the relay ring: an ordinary Follow, of many
// hashtag actors at once, renewed as owners change (paper §5.5).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "federation/signed_client.hpp"
#include "followers/plan.hpp"
#include "hashtag/tag.hpp"
#include "queues/alarm.hpp"
#include "relay/relay_places.hpp"
#include "ring/contact.hpp"
#include "subscriber/pauses.hpp"
#include "subscriber/wants.hpp"

namespace tagring::subscriber {

class CatchUp;

class Subscriptions {
 public:
  struct Options {
    Duration renew_every = std::chrono::seconds(30);  // how soon a change of owners is noticed
    std::size_t tags_per_follow = 2000;
  };

  Subscriptions(Options options, delivery::Store& store, relay::RelayPlaces& relays,
                federation::SignedClient& client, CatchUp& catch_up, const Runtime& runtime);

  [[nodiscard]] Task<Result<void>> load();
  void start();
  [[nodiscard]] Task<void> stop();

  // Wants tags on behalf of `reason`; follows their owners in the background. Durable when it completes.
  [[nodiscard]] Task<Result<void>> want(std::vector<Tag> tags, std::string reason);
  // The last reason gone, the node unfollows.
  [[nodiscard]] Task<Result<void>> unwant(std::vector<Tag> tags, std::string reason);
  // Renews now instead of at the next turn.
  void renew_soon();
  // The node at that origin relays the tag, which is wanted, and is not followed there: the same, unless that
  // was tried lately.
  void follow_soon(const Tag& tag, const std::string& origin);

  [[nodiscard]] bool wants(const Tag& tag) const { return wants_.has(tag); }
  // `origin` may announce `tag` to us: we follow its hashtag actor.
  [[nodiscard]] bool follows(const Tag& tag, const std::string& origin) const;
  // Every wanted tag is followed at all of its present owners, as far as known, and nowhere else, and they
  // have said what was missed.
  [[nodiscard]] bool is_settled() const { return settled_ && catching_up_ == 0 && disowning_.empty(); }
  [[nodiscard]] const std::set<Tag>& wanted() const { return wants_.all(); }
  [[nodiscard]] std::size_t subscriptions() const;
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  // The owners whose hashtag actor is followed, or asked to be.
  [[nodiscard]] std::vector<std::string> owners_of(const Tag& tag) const;

  // Those that have accepted a follow, of whatever hashtag.
  [[nodiscard]] std::vector<std::string> owners() const;

  // A node that has accepted a follow of this one, or that this one has met on the rings.
  [[nodiscard]] bool knows(const std::string& origin) const {
    return digests_.contains(origin) || relays_.rings().has_met(origin);
  }

  // --- when an owner's followers are compared with what is known here (docs/followers.md) ----------------
  // Of the ids under which this node stands among the followers of the owner's actor (delivery/partial.hpp).
  [[nodiscard]] followers::Digest digest_at(const std::string& owner) const;
  [[nodiscard]] followers::Knowledge followed_at(const std::string& owner) const;
  // The owner does not know of it: forgets what is followed there since `before`, and then follows what is
  // wanted anew, which also brings the posts that were missed.
  [[nodiscard]] Task<void> forget_at(std::string owner, std::vector<Tag> tags, WallTime before);
  // The owner believes that these are followed, and they are not: says so, except for those that are wanted
  // there, which are followed.
  [[nodiscard]] Task<void> disown_at(std::string owner, std::vector<Tag> tags);

 private:
  using TagsByOwner = std::map<std::string, std::vector<Tag>>;
  // What must be said to owners, so that exactly what is wanted is followed at exactly those there are.
  struct Plan {
    TagsByOwner to_follow;
    TagsByOwner to_follow_again;  // at owners that started anew
    TagsByOwner to_unfollow;
    TagsByOwner to_leave;
  };
  struct Sighting {
    std::uint64_t incarnation = 0;
    std::uint64_t former = 0;  // somebody may still name that one
    WallTime at;
  };
  // What the owner took before it knew us.
  enum class Missed : std::uint8_t {
    kUnknown,  // it is not asked now: it is to be followed again
    kAsked,
    kHeard,  // not all is believed or refuted yet: it is asked again after a restart, as after kUnknown
    kHere,
  };
  struct Followed {
    std::string follow_id;  // empty: asked, and not answered yet
    WallTime since;         // or since the start of the node
    Missed missed = Missed::kUnknown;
  };

  Task<void> renew_for_ever();
  Task<bool> renew();
  Task<bool> make_plan(std::set<Tag> wanted, Plan* plan);
  Task<bool> leave_if_done(std::string owner, std::vector<Tag> tags);
  Task<Result<std::vector<delivery::Refusal>>> ask_to_follow(std::string owner, std::vector<Tag> tags,
                                                             std::string id);
  void note_sighting(const ring::Contact& relay);
  Task<bool> follow_at(std::string owner, std::vector<Tag> tags);
  Task<bool> follow_again_at(std::string owner, std::vector<Tag> tags);
  Task<std::set<Tag>> follow_chunk(std::string owner, std::vector<Tag> tags, WallTime since);
  Task<void> catch_up_at(std::string owner, std::vector<Tag> tags, std::string id, WallTime since);
  Task<void> settle();
  [[nodiscard]] WallTime wanted_since(const std::vector<Tag>& tags) const;
  Task<void> give_up_at(std::string owner, std::vector<Tag> tags);
  Task<Result<void>> drop_on_disk(std::string owner, std::vector<Tag> tags);
  Task<void> unfollow_at(std::string owner, std::vector<Tag> tags);
  void unfollow_soon(TagsByOwner plan);
  Task<void> unfollow(TagsByOwner plan);
  Task<bool> end_at(std::string owner, std::vector<Tag> tags);
  void renew_in(Duration wait);
  Task<bool> is_wanted_at(Tag tag, std::string owner);
  void note_followed(const Tag& tag, const std::string& owner, std::string follow_id);
  [[nodiscard]] Followed* find(const Tag& tag, const std::string& owner);
  void withdraw(const Tag& tag, const std::string& owner);
  void drop_followed(const Tag& tag, const std::string& owner);

  Options options_;
  delivery::Store& store_;
  relay::RelayPlaces& relays_;
  federation::SignedClient& client_;
  CatchUp& catch_up_;
  const federation::Identity& identity_;
  Clock& clock_;
  Rng rng_;
  Wants wants_;
  std::map<Tag, std::map<std::string, Followed>> owners_;  // and by owner's origin
  std::map<std::string, followers::Digest> digests_;       // by owner's origin, of what it answered
  std::map<RingId, Sighting> seen_;                        // of owners' vservers, the latest
  // Owners that started anew and were not followed again yet, and until when they surely knew of us.
  std::map<std::string, WallTime> restarted_;
  std::set<std::pair<Tag, std::string>> disowning_;  // being ended at that owner: not to be followed now
  Pauses pauses_;
  bool waits_ = false;  // for one that does not say what was missed
  std::size_t catching_up_ = 0;
  bool settled_ = false;
  Instant next_ = Instant::max();  // turn; the latest, if nobody has asked for it yet
  Instant rest_until_;             // no turn before: others have work to do, too
  queues::Alarm wake_;             // `next_` is earlier than it was
  std::uint64_t messages_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::subscriber
