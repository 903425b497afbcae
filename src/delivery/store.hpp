// What the publisher, relay and subscriber roles keep on disk (paper §5.5).
//
// Everything durable about posts on their way. A call that writes has committed synchronously when it
// completes; a crash of the process or the machine after that loses nothing of it.
//
// Three tables of work:
//   posts      what this node's own instances published, so that an edit or a deletion finds the tags
//   outbox     (post, tag) pairs still owed to owners on a ring; a bit per replica says which
//   feed       what this node announces, in order; each follower's inbox has a cursor into it. So fan-out
//              to a thousand followers writes one row, and a crash repeats deliveries but loses none.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "belief/tag_event.hpp"
#include "followers/partial.hpp"
#include "hashtag/tag.hpp"

namespace tagring::delivery {

using belief::Op;
using belief::TagEvent;
using belief::weight;
using followers::Partial;
using followers::PartialKey;

inline constexpr std::size_t kLoadPage = 10'000;  // rows, where a start reads all of them

// A TagEvent owed to the owners of its tag on a ring.
struct OutboxEntry {
  std::uint64_t seq = 0;
  Ring ring = Ring::kRelay;
  TagEvent event;
  std::uint32_t replicas_left = 0;  // bit i: replica i has not acknowledged
};

struct FeedEntry {
  std::uint64_t seq = 0;
  TagEvent event;
  std::uint64_t added = 0;  // of a removal: the place in the feed of what it takes back; 0: not known
};

// How announcements of a tag reach a follower.
enum class Via : std::uint8_t {
  kBoost = 0,      // one by one, from the hashtag actor, to be seen by its followers
  kNode = 1,       // in our batched form
  kRelay = 2,      // one by one, from the node's actor, which the server uses as a relay
  kTagRelay = 3,   // the same from the hashtag actor
  kFasp = 4,       // URIs in batches, to a server that uses the node as a FASP
  kBareRelay = 5,  // as kRelay, from the node's actor by its second address
};

inline constexpr std::size_t kVias = 6;

// Somebody who gets announcements of a tag.
struct Follower {
  Tag tag;
  std::string actor;      // actor id
  std::string inbox;      // where announcements go; the shared inbox if there is one
  std::string follow_id;  // id of the Follow, for Undo
  Via via = Via::kBoost;
  std::uint64_t since = 0;  // gets feed entries with a greater seq

  friend bool operator==(const Follower&, const Follower&) = default;
};

// This node's own following of a tag at an owner.
struct Subscription {
  Tag tag;
  std::string owner;  // origin of the owner's node, "https://host[:port]"
  std::string follow_id;
  bool accepted = false;
};

struct PublishedPost {
  std::string uri;
  std::string author;
  WallTime published;
  std::vector<Tag> tags;         // sorted; an edit may take out all of them
  bool indexable = false;        // as in TagEvent, of the tags that are new
  std::string signed_copy = {};  // as in TagEvent, of the others
  bool deleted = false;          // and has no tags
  std::vector<Tag> former = {};  // tags that it had: who got it by them has it still
  WallTime changed = {};         // when it was edited so, by its server, if that says so
  bool is_edit = false;          // an Update said so; else it is how the post was published
  // Of an edit that bears no date: none since then is missing from it. What a server shows it may have in a
  // cache.
  WallTime as_of = WallTime::max();
};

// What an author of this node's instances was known to wish (fediverse/actor.hpp).
struct Consent {
  bool relay = true;
  bool archive = false;
  WallTime stated = {};  // when the author's server signed it; none: it was fetched
};

// An author whose profile is to be looked at again.
struct ProfileLook {
  std::string author;
  WallTime due;
  unsigned missing = 0;  // times in a row that there was no such account
};

class Store {
 public:
  virtual ~Store() = default;
  // Records the post with its tags as they are now, and owes the difference to the relay owners (`replicas`
  // each): Add for new tags, Remove, with author and date as they were, for tags that are gone; with a signed
  // copy, or if it is deleted, for all that it has or had. An unchanged post owes nothing, nor does one that
  // is unknown and has no tags. A post once deleted stays deleted, and owes only the first signed copy of
  // that. `former` is not read. Each edit is later than that before, and now if its server does not say when
  // it was. Returns the new outbox entries.
  virtual Task<Result<std::vector<OutboxEntry>>> publish(PublishedPost post, unsigned replicas) = 0;
  // The post is deleted, whenever it comes; or, at that time, was edited so that it is under no hashtag, and
  // what is older does not count. Forgotten after some days if it never comes.
  virtual Task<Result<void>> bury(std::string uri, WallTime edited = {}) = 0;
  // The post as last published, perhaps without tags; nothing if unknown or deleted.
  virtual Task<Result<std::optional<PublishedPost>>> find_post(std::string uri) = 0;
  // One that was found to be gone, with the tags that it had in `former`, as long as no signed copy of its
  // deletion has come.
  virtual Task<Result<std::optional<PublishedPost>>> find_unsigned_deletion(std::string uri) = 0;
  // When the newest of all posts was written; WallTime::min() if there is none.
  virtual Task<Result<WallTime>> newest_post() = 0;
  // Until when what they wrote was known before the node was away, while what was missed then is not read yet
  // (publisher/outboxes.hpp); nothing once it is.
  enum class KnownOf : std::uint8_t {
    kSources,            // whom the node follows
    kPeopleOfInstances,  // who have this node as a relay
  };
  virtual Task<Result<void>> save_known_until(KnownOf whom, std::optional<WallTime> known_until) = 0;
  virtual Task<Result<std::optional<WallTime>>> known_until(KnownOf whom) = 0;
  // Tags that a post is to have later, in place of those that were put off before; a deletion drops them.
  // Without tags: a post that is to be looked at then; one that waits already is only looked at then.
  // `published` is not when it was written, but from when on its server is waited for. False
  // if that many posts wait already, of all or of that author; or of its registered domain as many as there
  // is room for from all others.
  static constexpr std::uint64_t kPutOffMax = 10'000;
  static constexpr std::uint64_t kPutOffOfAuthorMax = 240;
  virtual Task<Result<bool>> put_off(PublishedPost post, WallTime due) = 0;
  // If it is due by then.
  virtual Task<Result<void>> drop_put_off(std::string uri, WallTime due = WallTime::max()) = 0;
  // Only if it has tags.
  virtual Task<Result<void>> drop_tags_put_off(std::string uri) = 0;
  virtual Task<Result<void>> drop_put_off_of(std::string author) = 0;
  // Those that are due, the longest overdue first: what is put off again is behind the others.
  virtual Task<Result<std::vector<PublishedPost>>> put_off_until(WallTime now, std::size_t limit) = 0;
  virtual Task<Result<std::uint64_t>> count_put_off() = 0;

  enum class PostsOf : std::uint8_t {
    kRelayed,  // that have hashtags
    kAll,      // with those that had some
  };
  // Posts of an author that are not deleted, by URI, after that one.
  virtual Task<Result<std::vector<PublishedPost>>> posts_of(std::string author, std::string after_uri,
                                                            std::size_t limit, PostsOf which) = 0;
  // Those of all authors that have hashtags, by author and URI, after that pair.
  virtual Task<Result<std::vector<PublishedPost>>> posts_after(std::string author, std::string uri,
                                                               std::size_t limit) = 0;
  // Who wrote each of all posts, also of those that have no hashtags any more: by URI, after that one.
  struct Written {
    std::string uri;
    std::string author;
    WallTime published;
    bool has_tags = true;
  };
  virtual Task<Result<std::vector<Written>>> written_after(std::string uri, std::size_t limit) = 0;
  // Nothing if the author is unknown.
  virtual Task<Result<std::optional<Consent>>> consent(std::string author) = 0;
  virtual Task<Result<void>> save_consent(std::string author, Consent consent) = 0;
  virtual Task<Result<void>> save_look(ProfileLook look) = 0;  // by author
  virtual Task<Result<void>> drop_look(std::string author) = 0;
  // Those whose time has come, the longest overdue first.
  virtual Task<Result<std::vector<ProfileLook>>> looks_due(WallTime now, std::size_t limit) = 0;

  // Entries with a greater seq, oldest first.
  virtual Task<Result<std::vector<OutboxEntry>>> outbox(std::uint64_t after, std::size_t limit) = 0;
  // Owes events to those owners each on a ring (OutboxEntry::replicas_left), whatever was owed or sent
  // before. Returns the new entries.
  virtual Task<Result<std::vector<OutboxEntry>>> owe(Ring ring, std::vector<TagEvent> events,
                                                     std::uint32_t replicas) = 0;
  // Clears bits of replicas_left; an entry without bits is gone. Unknown seqs are ignored.
  virtual Task<Result<void>> acknowledge(std::map<std::uint64_t, std::uint32_t> replicas_done) = 0;

  struct Accepted {
    bool fresh = false;  // false: was known already, or came after its removal; nothing was written
    std::uint64_t feed_seq = 0;
    std::uint64_t outbox_seq = 0;  // 0 unless owed to the storage owners
    WallTime announced{};          // TagEvent::announced
    std::uint64_t added = 0;       // FeedEntry::added
  };
  // Appends events that are news to this node: those that are later (TagEvent::version) than what is known of
  // (tag, uri), an Add after another (is_repeat) and a Remove after another, too, since somebody may have
  // heard what came between them; and a Remove again for each signed copy. With `storage_replicas` > 0 each
  // that the archive may have is also owed to that many storage owners, and the signed copy of a Remove to
  // followers. Results keep the order.
  virtual Task<Result<std::vector<Accepted>>> accept(std::vector<TagEvent> events,
                                                     unsigned storage_replicas) = 0;
  // As what this node announced each post under the tag last (TagEvent::announced).
  virtual Task<Result<std::vector<WallTime>>> announced(Tag tag, std::vector<std::string> uris) = 0;
  // Of these events those that accept() would take. Nothing is written.
  virtual Task<Result<std::vector<TagEvent>>> news_of(std::vector<TagEvent> events) = 0;
  // Removals whose signed copies are owed still, with a greater seq, oldest first; of the event op, tag, uri,
  // author, signed copy and `changed`. They are owed for kCopiesFor.
  struct OwedCopy {
    FeedEntry entry;
    WallTime since;
  };
  static constexpr Duration kCopiesFor = std::chrono::days(7);
  virtual Task<Result<std::vector<OwedCopy>>> copies_owed(std::uint64_t after, std::size_t limit) = 0;
  virtual Task<Result<void>> settle_copies(std::vector<std::uint64_t> seqs) = 0;
  // Drops copies that are owed, and deletions that are kept, for longer.
  virtual Task<Result<void>> prune_copies() = 0;
  // Keeps what an author's server signed about the end of a post or an account, by its hash, for kCopiesFor
  // from now, and of all the last kDeletionsMax.
  static constexpr std::uint64_t kDeletionsMax = 20'000;
  virtual Task<Result<void>> keep_deletion(std::string hash, std::string body) = 0;
  // kNotFound if it is not kept.
  virtual Task<Result<std::string>> find_deletion(std::string hash) = 0;

  // Entries with a greater seq, oldest first.
  virtual Task<Result<std::vector<FeedEntry>>> feed(std::uint64_t after, std::size_t limit) = 0;
  // The latest place in the feed; 0 if it is empty.
  virtual Task<Result<std::uint64_t>> feed_end() = 0;
  // The place in the feed after which everything was accepted at `since` or later.
  virtual Task<Result<std::uint64_t>> feed_start(WallTime since) = 0;
  // Like feed(), of tags with their key in the segment: what a new owner of it may still have to deliver.
  virtual Task<Result<std::vector<FeedEntry>>> feed_of_segment(Segment segment, std::uint64_t after,
                                                               std::size_t limit) = 0;
  // Forgets delivered entries: seq at most `through` and accepted before `before`. That they were accepted is
  // remembered for 30 days more.
  virtual Task<Result<void>> prune_feed(std::uint64_t through, WallTime before) = 0;

  // Adds or replaces by (tag, actor). A replaced follower keeps its `since`; a new one starts at the feed's
  // end, unless `since` is set. Returns them as stored.
  virtual Task<Result<std::vector<Follower>>> follow(std::vector<Follower> followers) = 0;
  // Of what entered the feed under each of the tags, the stretches that who used the node as a relay through
  // that inbox (kRelay, kTagRelay) got today, and left then: after the first place, up to the second.
  using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  static constexpr std::uint64_t kLeftMax = 10'000;  // that are remembered of a day
  virtual Task<Result<std::vector<Stretches>>> left_today(std::string inbox, std::vector<Tag> tags) = 0;
  // (tag, actor) pairs; unknown ones are ignored. Returns those who are gone. The cursor of an inbox goes
  // with its last follower.
  virtual Task<Result<std::vector<Follower>>> unfollow(
      std::vector<std::pair<Tag, std::string>> tags_and_actors) = 0;
  // Everyone, by (tag, actor), after that pair; for start-up and for lists.
  virtual Task<Result<std::vector<Follower>>> followers(std::optional<Tag> after_tag, std::string after_actor,
                                                        std::size_t limit) = 0;
  // Which of these tags the actor follows by the Follow of that id; kNotFound if none.
  virtual Task<Result<Tag>> tag_followed(std::string actor, std::string follow_id, std::vector<Tag> tags) = 0;
  // The nodes among the followers of tags whose key lies in the segment, tags clockwise from segment.from,
  // then by actor, after that pair. Others follow this node's own actor, and stay with it. kInvalid if
  // after_tag is set and its key is not in the segment.
  virtual Task<Result<std::vector<Follower>>> nodes_of_segment(Segment segment, std::optional<Tag> after_tag,
                                                               std::string after_actor,
                                                               std::size_t limit) = 0;
  // What follow() and unfollow() keep up to date beside the followers. All zero if there are none.
  virtual Task<Result<Partial>> partial(PartialKey key) = 0;
  struct PartialsCheck {
    std::uint64_t followers = 0;       // looked at
    std::vector<PartialKey> repaired;  // were not what the followers come to, and now are
  };
  // Computes all of them anew. One long job: about three seconds for a million followers.
  virtual Task<Result<PartialsCheck>> check_partials() = 0;
  // Servers of which nobody follows a collection any more, the last kFormerServersMax of them, as they left.
  // Of the node's own actor also some where others follow it still, or again.
  struct FormerServer {
    PartialKey key;
    std::string inbox;
  };
  static constexpr std::size_t kFormerServersMax = 10'000;
  virtual Task<Result<std::vector<FormerServer>>> former_servers() = 0;
  virtual Task<Result<void>> drop_former_server(PartialKey key) = 0;
  // When one of this node's actors came to be: its own without `tag`, or that of a hashtag, which is when
  // somebody first asked for it. Anybody can ask for any: of kActorsMax the oldest that nobody follows go.
  static constexpr std::size_t kActorsMax = 20'000;
  virtual Task<Result<std::optional<WallTime>>> actor_since(std::optional<Tag> tag) = 0;
  // How an inbox takes the feed.
  struct Cursor {
    std::uint64_t acknowledged = 0;           // up to there; never goes back
    std::optional<WallTime> gone_since = {};  // it is not there (404, 410)
    WallTime refusing_since = {};
    unsigned refusals = 0;     // in a row, since then
    unsigned silent_days = 0;  // on so many it was tried, and neither took nor refused anything
    WallTime silent_at = {};   // when the last of them began
    friend bool operator==(const Cursor&, const Cursor&) = default;
  };
  using Cursors = std::map<std::string, Cursor>;  // by inbox
  // By place in the feed: told_notes.hpp.
  using Notes = std::map<std::uint64_t, std::string>;
  // Saves cursors, and adds notes to those that there are, in one transaction.
  virtual Task<Result<void>> advance(Cursors cursors, Notes notes) = 0;
  virtual Task<Result<Cursors>> cursors() = 0;
  // The notes of a stretch of the feed: after that place, up to and including that one.
  virtual Task<Result<Notes>> notes(std::uint64_t after, std::uint64_t through) = 0;

  // Tags that this node wants, whoever asked ("admin", or an instance). A tag is wanted while it has a
  // reason.
  virtual Task<Result<void>> want(std::vector<Tag> tags, std::string reason) = 0;
  virtual Task<Result<void>> unwant(std::vector<Tag> tags, std::string reason) = 0;
  virtual Task<Result<std::vector<Tag>>> wanted(std::optional<Tag> after, std::size_t limit) = 0;
  virtual Task<Result<void>> save_subscriptions(
      std::vector<Subscription> subscriptions) = 0;  // by (tag, owner)
  virtual Task<Result<void>> drop_subscriptions(std::vector<std::pair<Tag, std::string>> tags_and_owners) = 0;
  virtual Task<Result<std::vector<Subscription>>> subscriptions() = 0;
};

}  // namespace tagring::delivery
