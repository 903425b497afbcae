// Catches up with people, relays and groups that publish here and whose servers did not reach this node while
// it was away: GoToSocial gives up after four minutes. After a start, and when the node had been cut off from
// its rings, could not write to its database, or its machine had slept, each one's outbox is read, back to a
// page with a post that is known here, and those that are not are published as if they had been delivered.
// What people have deleted or edited meanwhile is looked at: what is known and not there any more, or is
// there with a later date. A server that does not answer, or asks to be left alone, is asked again for a day,
// and holds up no other. After a restart all are read anew, back to what was known before the reading that it
// has ended.
//
// After a day the same is done for people of the instances that have this node as a relay, whom it does not
// follow: for those who published here in the week before it was away, as long as their instance sends all
// that is public, and may publish. Nowhere is written who else is there. Who they are takes a look at all
// posts, a stretch at a time; meanwhile the others are read.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/store.hpp"
#include "federation/signed_client.hpp"
#include "instances/instances.hpp"
#include "publisher/fetched_posts.hpp"

namespace tagring::publisher {

class Outboxes {
 public:
  static constexpr Duration kAfterStart =
      std::chrono::minutes(1);  // servers deliver what they still hold first
  // Who was away for less has missed nothing.
  static constexpr Duration kAway = std::chrono::minutes(3);
  // So long instances that have this node as a relay try to deliver a post, at the least: Misskey 12 times,
  // the last time after 32 hours, Mastodon 17 times, for two days. Who was away for less gets all of it from
  // themselves, and outboxes would be a load for nothing; the eight hours less are for those that are set to
  // try a little less. The time away before a start is counted from the newest post that is known: where
  // posts are so few that a node only seems to have been away, so are the authors to be asked.
  static constexpr Duration kInstancesTry = std::chrono::hours(24);
  // So long a restart has their outboxes read anew, if not all were. It is six times what all of them take:
  // what has not answered until then may never, and would cost all the others that at each restart.
  static constexpr Duration kPeopleAgain = std::chrono::hours(6);
  static constexpr Duration kLookEvery = std::chrono::seconds(30);
  static constexpr Duration kBack = std::chrono::days(7);
  static constexpr Duration kBetween = std::chrono::seconds(1);  // requests
  // How long a host is asked again that does not answer: as seldom as it asks for; if it says nothing, after
  // the first of these, and then ever later.
  static constexpr Duration kPatience = std::chrono::hours(24);
  static constexpr Duration kFirstPause = std::chrono::minutes(1);
  static constexpr Duration kLongestPause = std::chrono::hours(1);
  static constexpr std::size_t kSourcesMax = 1000;  // of a start; of more, others each time
  // Authors of instances: at three requests or more for each, those of one instance take ten minutes, and all
  // of them an hour.
  static constexpr std::size_t kAuthorsMax = 1000;
  static constexpr std::size_t kAuthorsOfHostMax = 200;
  // The posts by which they are found: a look takes some milliseconds, and two million posts a minute.
  static constexpr std::size_t kPostsAtOnce = 5000;
  static constexpr Duration kBetweenLooks = std::chrono::milliseconds(100);
  static constexpr std::size_t kItemsMax = 40;         // of a page, that may be published; and of others
  static constexpr std::size_t kUriMax = 512;          // bytes; many pages may be waiting
  static constexpr std::size_t kPagesMax = 10;         // of one outbox
  static constexpr std::size_t kRequestsMax = 20'000;  // of a start
  // For people of instances, beside these: others are followed to be read.
  static constexpr std::size_t kRequestsForInstances = 10'000;

  Outboxes(const instances::Instances& instances, FetchedPosts& fetched, delivery::Store& store,
           federation::SignedClient& client, const Runtime& runtime)
      : instances_(instances),
        fetched_(fetched),
        store_(store),
        client_(client),
        clock_(runtime.clock),
        log_(runtime.log),
        rng_(runtime.rng.fork("outboxes")),
        tasks_(runtime.executor),
        readings_(runtime.executor) {}
  struct Presence {
    std::function<bool()> is_among_others;  // another node stands on a ring with this one
    std::function<bool()> can_write;        // else what is delivered is not taken
  };
  void start(Presence presence);
  [[nodiscard]] Task<void> stop();

 private:
  using KnownOf = delivery::Store::KnownOf;
  // An outbox, and how far it was read.
  struct Reading {
    KnownOf whom;
    instances::Instances::Source source;
    WallTime known_until;                     // of what is newer something may be missed
    std::string next = {};                    // URL of the page to go on with; empty: it begins
    std::size_t pages = 0;                    // that were read
    bool lacks_some = false;                  // posts that could not be had just then
    std::size_t found = 0;                    // posts that were published
    std::set<std::size_t> listed = {};        // hashes of the URIs on its pages
    WallTime oldest_known = WallTime::max();  // of these, when that was written
  };
  Task<void> watch(Presence presence);
  // `seen`: when the node was there last, as far as it knows.
  Task<void> note_what_is_known(WallTime seen);
  // What is written down of it, and until when therefore.
  Task<WallTime> save_known(KnownOf whom, WallTime until, bool is_needed);
  Task<void> drop_known();
  Task<void> read_all();
  using Readings = std::map<std::string, std::deque<Reading>>;  // by host
  [[nodiscard]] Readings draw();
  [[nodiscard]] Readings readings_of(const std::vector<std::string>& people) const;
  void spawn(KnownOf whom, Readings by_host);
  Task<void> read_people();
  Task<Result<std::vector<std::string>>> choose_people();
  Task<void> read_host(KnownOf whom, std::string host, std::deque<Reading> waiting);
  Task<void> end_one(KnownOf whom);
  // kUnavailable or kTimedOut if it is to go on later.
  Task<Result<void>> go_on(Reading* reading);
  Task<Result<json::object>> first_page(Reading* reading);
  Task<Result<std::string>> outbox_of(const Reading* reading);
  struct Listed {
    std::string uri;
    std::optional<WallTime> updated = {};  // if the outbox says so
    bool is_bare = false;                  // it is shown to have no hashtags, or not to be public
  };
  struct Page {
    std::vector<Listed> posts;
    bool is_old = false;  // what comes after it is from before the time that is looked for
    std::string next;     // URL; empty on the last one
  };
  [[nodiscard]] static Listed post_in(const json::value& item, bool of_person, WallTime now);
  [[nodiscard]] Page read_page(const json::object& page, bool of_person, WallTime not_before) const;
  // Whether there was one that was known before, or is too old.
  Task<Result<bool>> publish(std::vector<Listed> posts, Reading* reading, WallTime not_before);
  Task<Result<void>> look_at_missing(const Reading* reading, WallTime not_before);
  Task<Result<json::object>> get(std::string url, const Reading* reading);
  // Until it is the turn of that one's next request.
  Task<Result<void>> wait(const Reading* reading);

  const instances::Instances& instances_;
  FetchedPosts& fetched_;
  delivery::Store& store_;
  federation::SignedClient& client_;
  Clock& clock_;
  Log& log_;
  // When the newest post was written that was known before the node was away; min(): it is not known.
  WallTime known_until_ = WallTime::min();
  WallTime people_known_until_ = WallTime::min();
  std::optional<Instant> people_again_until_;  // a restart is to read them; none: it is not
  Rng rng_;
  bool is_away_ = false;                   // it is known to be
  std::map<KnownOf, std::size_t> unread_;  // hosts that are being read, and the look for some
  std::map<KnownOf, std::size_t> requests_;
  Instant next_request_{};
  // Hashes of the URIs that were fetched, whatever came of it, or one page with more posts than a server
  // shows at a time would never be read to its end; and whether the post was too old.
  std::map<std::size_t, bool> fetched_before_;
  TaskGroup tasks_;
  TaskGroup readings_;
};

}  // namespace tagring::publisher
