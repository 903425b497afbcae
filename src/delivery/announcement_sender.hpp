// Tells one inbox of posts (paper §5.5): a subscriber's node of many in one activity, a server that uses this
// node as a FASP of many URIs of one hashtag, and people of one post at a time.
//
// Which inbox is told of what, and when again: delivery/announcer.hpp.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/followers.hpp"
#include "delivery/observer.hpp"
#include "delivery/partial_collections.hpp"
#include "delivery/store.hpp"
#include "federation/signed_client.hpp"
#include "queues/host_pauses.hpp"

namespace tagring::delivery {

struct Announcement {
  FeedEntry entry;
  Instant since;  // when it was queued
};
using Announcements = std::vector<std::shared_ptr<const Announcement>>;

class AnnouncementSender {
 public:
  AnnouncementSender(const Followers& followers, PartialCollections& partials,
                     federation::SignedClient& client, Observer& observer, const Runtime& runtime);

  struct Sent {
    Announcements again;    // what was not taken, and may be the next time: in order
    std::string because;    // the last reason, if there is any
    bool answered = false;  // it has, and what is to be sent again it wants later
    bool is_gone = false;   // there is no such inbox: 404, 410
  };
  // Of an inbox that is not there: it is tried again, since proxies err, or its followers are reported to the
  // observer.
  enum class IfGone : std::uint8_t { kAgain, kLost };
  // Followers who refuse this node are reported to the observer.
  [[nodiscard]] Task<Sent> send_to_node(std::string inbox, Announcements items, IfGone if_gone);

  // What became of one post told to people.
  enum class Told : std::uint8_t {
    kTaken,
    kNobody,   // nobody there follows the hashtag any more
    kRefused,  // for good, this one
    kGone,     // there is no such inbox: 404, 410
    kAgain,
    kEarly,  // an Accept is to arrive there first
  };
  struct ToldPeople {
    Told told = Told::kTaken;
    std::string because;
  };
  [[nodiscard]] Task<ToldPeople> send_to_people(std::string inbox, Announcements::value_type item);

  static constexpr std::size_t kFaspObjectsMax = 100;  // of one request (docs/fasp.md)
  struct ToldFasp {
    Told told = Told::kNobody;  // or there is nothing to tell
    std::string because = {};
    std::size_t tried = 0;      // posts of the request
    bool divides = false;       // not taken, and a smaller request may be
    Announcements left = {};    // not of the request, in the order in which they came
    Announcements failed = {};  // of the request, to be tried again
  };
  // One request to a server that uses this node as a FASP, about the first `most` of these at most, which are
  // all of that hashtag: of each post the last that is to be said. What is refused as it is (kRefused) may be
  // taken in parts, down to a single post. A server that is not subscribed is reported to the observer.
  [[nodiscard]] Task<ToldFasp> send_to_fasp_server(std::string inbox, Tag tag, Announcements items,
                                                   std::size_t most);

  // What this node does not relay any more, or a subscriber's node refused to take from it as a relay of the
  // hashtag, for good: to whoever does. kUnavailable and the like: they are to be sent again.
  [[nodiscard]] Task<Result<void>> hand_on(Announcements items);

  enum class Reminded : std::uint8_t {
    kDone,   // or there is nothing to say
    kGone,   // there is no such inbox: 404, 410
    kAgain,  // it may take it another time
  };
  // Tells a server that gets no post which of its people follow a collection: by an Update of its actor, with
  // the header.
  [[nodiscard]] Task<Reminded> remind(PartialKey key, std::string inbox);

  // What servers ask of the pace of deliveries.
  [[nodiscard]] queues::HostPauses& hosts() { return client_.hosts(); }
  // What is known of who follows where, and of what was said about it.
  [[nodiscard]] PartialCollections& partials() { return partials_; }
  // Whoever follows the hashtag there is gone.
  void lost(const Tag& tag, const std::string& inbox) { observer_.lost_follower(tag, inbox); }
  // Whoever follows there may have been given what came under the hashtag before: nodes and FASP servers ask
  // for it (docs/protocol.md §7.5), to instances it is replayed.
  [[nodiscard]] bool gives_past(const Tag& tag, const Followers::Target& target) const {
    const Via via = target.via();
    return via == Via::kNode || via == Via::kFasp || observer_.was_replayed(tag, target.host);
  }
  // The id of the Announce of that post there; empty if nobody there follows the hashtag.
  [[nodiscard]] std::string announce_id_of(const std::string& inbox, const TagEvent& event) const;

 private:
  // What was sent to a node lately: its other followers get the same.
  struct Letter {
    Op op;
    Announcements items;
    std::string body;
  };
  // By the actor of that collection (followers/partial.hpp), with the header.
  Task<Result<HttpResponse>> deliver(std::string collection, std::string inbox, std::string body);
  [[nodiscard]] std::string fresh_id();
  Task<Result<std::vector<Refusal>>> send_apart_to_node(std::string inbox, Op op, Announcements batch,
                                                        Error whole);
  std::string letter(Op op, const Announcements& items);
  [[nodiscard]] std::string single(const std::string& actor, Via via, const TagEvent& event) const;
  void note(const std::string& inbox, const TagEvent& event, const Result<HttpResponse>& response);
  // The actor by which a post is announced to who follows there, and its collection if it has one.
  struct Speaker {
    std::string actor;
    std::optional<std::string> collection;
  };
  [[nodiscard]] Speaker announcer(Via via, const Tag& tag) const;
  // The Announce or its Undo, in one delivery.
  [[nodiscard]] Task<ToldPeople> send_as(Speaker by, Via via, std::string inbox,
                                         Announcements::value_type item);

  const Followers& followers_;
  PartialCollections& partials_;
  federation::SignedClient& client_;
  Observer& observer_;
  const federation::Identity& identity_;
  Clock& clock_;
  Log& log_;
  Rng rng_;
  std::deque<Letter> letters_;         // latest first
  std::set<std::uint64_t> handed_on_;  // entries of the feed: many refuse the same
  std::uint64_t activity_ = 0;
};

}  // namespace tagring::delivery
