// Announces what enters this node's feed to the followers of its hashtag actors (paper §5.5): to subscriber
// nodes under every tag, to everyone else each post by the fewest hashtag actors that all who follow one of
// its tags there follow (followers/cover.hpp). It keeps how far each inbox has got, and tries again;
// delivery/announcement_sender.hpp forms what is sent.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/runtime.hpp"
#include "base/time.hpp"
#include "delivery/announcement_sender.hpp"
#include "delivery/followers.hpp"
#include "delivery/store.hpp"
#include "delivery/told_notes.hpp"
#include "federation/blocks.hpp"
#include "queues/batch_lanes.hpp"
#include "queues/delivery_queues.hpp"
#include "queues/inbox_lanes.hpp"

namespace tagring::delivery {

class Announcer {
 public:
  Announcer(queues::QueueOptions options, Store& store, const Followers& followers,
            const federation::Blocks& blocks, AnnouncementSender& sender, const Runtime& runtime);

  // How far each inbox has got. What they have not acknowledged is read after start(), and before that
  // nothing else is announced; the feed is as long as the network is busy.
  [[nodiscard]] Task<Result<void>> load();
  // Takes up what was owed before load(), saves cursors and prunes the feed, in the background. `followers`
  // must be loaded. `visit` sees the feed page by page, in order, before what is owed of a page is sent; and
  // an empty page at the end. If it fails, the same page comes again.
  using Visit = std::function<Task<Result<void>>(Announcements page)>;
  void start(Visit visit = {});
  [[nodiscard]] Task<void> stop();

  // Queues a new feed entry for everyone who follows its tag.
  // kPeople: to followers who are no nodes; another relay tells these.
  enum class To : std::uint8_t { kEverybody, kPeople };
  void push(FeedEntry entry, To to = To::kEverybody);
  // Queues what entered the feed under a tag after that place for followers who came only now.
  [[nodiscard]] Task<void> push_missed(Tag tag, std::vector<std::string> inboxes, std::uint64_t after);
  // This node relays the tag no more: what it took as a relay after that place in the feed is handed to those
  // who do. Durable when it completes.
  [[nodiscard]] Task<Result<void>> hand_on(Tag tag, std::uint64_t after);
  // After that place in the feed it is for those who own its hashtags now: what came within kHandedFor, and
  // what nodes do not take before that. All of it while the date is in doubt. kBusy while is_reading().
  static constexpr Duration kHandedFor = std::chrono::hours(24);
  [[nodiscard]] Task<Result<std::uint64_t>> handed_from();
  // What was pushed to people only is for this node to relay all the same. Nothing of anything else.
  [[nodiscard]] Task<Result<void>> tell_nodes(const TagEvent& event);
  // Nothing up to that place in the feed waits for the inbox. False while is_reading().
  [[nodiscard]] bool has_reached(const std::string& inbox, std::uint64_t seq) const;
  // The latest place in the feed.
  [[nodiscard]] std::uint64_t last_seq() const { return last_seq_; }
  // What an inbox has not taken for that long is given up.
  static constexpr Duration kLifetime = std::chrono::days(7);
  // An inbox of people that is answered 404 or 410 for that long has lost its followers: proxies err for
  // hours.
  static constexpr Duration kGoneAfter = std::chrono::days(3);
  // The same of a node, which follows again when it sees that it is forgotten.
  static constexpr Duration kNodeGoneAfter = std::chrono::hours(1);
  // So many refusals (4xx) in a row mean this node; after a week of nothing else its followers are lost too.
  static constexpr unsigned kRefusalsMax = 20;
  // An inbox that neither took nor refused anything on so many days and one more, on each of which it was
  // tried while this node reached most others, has lost its followers; but a FASP's server, which an
  // administrator has chosen, is only reported (silent()). Such days begin so far apart:
  static constexpr unsigned kSilentDaysMax = 30;
  static constexpr Duration kSilentDay = std::chrono::days(1);

  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] std::size_t waiting() const {
    const std::size_t held = reading_ ? reading_->held.size() : 0;
    return lanes_.size() + fasp_.size() + people_.size() + gathering_ + held;
  }
  [[nodiscard]] bool idle() const {
    return !reading_ && lanes_.idle() && fasp_.idle() && people_.idle() && gathering_ == 0;
  }
  // Not all that was owed before load() is taken up.
  [[nodiscard]] bool is_reading() const { return reading_.has_value(); }
  // Of that: {"read", "of", "because"?}, places in the feed, and why it has just failed. `is_reading()`.
  [[nodiscard]] json::object reading() const;
  // By inbox.
  [[nodiscard]] std::map<std::string, queues::QueueStatus> lanes() const;
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  // Inboxes of people that refuse whatever this node sends, with how many times in a row.
  [[nodiscard]] std::map<std::string, unsigned> refusing() const;
  // Inboxes of FASP servers that were silent for a month and more, with on how many days.
  [[nodiscard]] std::map<std::string, unsigned> silent() const;
  // Hosts where something has failed for that long, and of which no inbox has taken or refused anything
  // since; with one of the inboxes that failed.
  static constexpr Duration kFailingAfter = std::chrono::minutes(5);
  [[nodiscard]] std::map<std::string, queues::QueueStatus> failing() const;
  static constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max();
  // Where something about a post goes under a hashtag: to followers from before that place in the feed. Of
  // people whose server has no shared inbox one gets it for all.
  // `added`: FeedEntry::added. People who came after what is taken back were not told of it.
  [[nodiscard]] std::vector<const Followers::Way*> ways(const Tag& tag, const std::string& uri,
                                                        std::uint64_t seq = kEver,
                                                        std::uint64_t added = 0) const;
  // People behind that inbox were told of the post lately, or may have been: of any while is_reading().
  [[nodiscard]] bool has_told(const std::string& inbox, const std::string& uri) const {
    return is_reading() || remembers(inbox, uri);
  }
  // A server on that host rejects Announces by their ids: they are not sent there again.
  void rejected(const std::string& host, const std::set<std::string>& announce_ids);

 private:
  using Items = Announcements;
  using Item = Items::value_type;
  // A post told of lately: the tags by which it concerns an inbox, and those under which it was announced
  // there.
  struct Told {
    std::map<Tag, Item> under;
    std::map<Tag, Instant> announced;
    bool gathering = false;   // its other tags may be on their way
    bool is_noted = false;    // not all of `under` was announced, nor all of it is: told_notes.hpp
    std::uint64_t again = 0;  // the removal by which it has lost a tag; it is looked at again
  };
  struct Inbox {
    std::uint64_t hash = 0;  // of its name
    Via via = Via::kBoost;
    std::uint64_t acknowledged = 0;
    std::set<std::uint64_t> late;  // of a node: places that it is owed, wherever that is; told_notes.hpp
    // Of people and FASP servers: places in the feed that are not settled, and with how many inboxes of the
    // server each has failed.
    std::map<std::uint64_t, unsigned> waiting;
    // Of people:
    std::map<std::string, Told> recent;
    std::deque<std::string> order;  // of `recent`, oldest first
    bool fails = false;             // it has not taken what it was sent last, nor refused it
    std::optional<Instant> gone_since;
    Instant refusing_since;
    unsigned refusals = 0;  // in a row
    // Of all kinds: when it took or refused something last, and when it did neither; and Store::Cursor.
    std::optional<Instant> answered;
    std::optional<Instant> missed;
    unsigned silent_days = 0;
    Instant silent_at;
    std::optional<Instant> left;  // nobody there follows anything since then
  };
  // What one relay says of a post, as another would: the hashtag, the URI, what, when, and of an edit the
  // hash of its copy.
  using Said = std::tuple<Tag, std::string, Op, WallTime, std::string>;
  [[nodiscard]] static Said said_by(const TagEvent& event);
  // Between the clock that is kept on disk and the one that nobody sets.
  [[nodiscard]] Instant instant_of(WallTime time) const;
  [[nodiscard]] WallTime wall_time_of(Instant time) const;

  // What is known from before a restart of an entry of the feed, and of an inbox in particular.
  struct Past {
    const Store::Cursors& cursors;
    ToldNotes notes;
  };
  struct Before {
    bool done = false;            // settled
    std::optional<bool> noted{};  // told_notes.hpp
    // Whether it was told; nothing: that is not decided, or it may have been.
    [[nodiscard]] std::optional<bool> told() const { return noted || !done ? noted : true; }
  };
  using Chosen = std::multimap<std::uint64_t, Item>;  // by hash of the inbox that was to be told
  struct Held {
    FeedEntry entry;
    To to;
  };
  // After a start, until all of the feed that was there has been read. What comes meanwhile is held, so that
  // nothing passes what came before it: it is behind the end, and on the disk.
  struct Reading {
    Store::Cursors cursors = {};                               // as they were
    std::map<std::uint64_t, std::uint64_t> acknowledged = {};  // the same, by hash of the inbox
    std::uint64_t end = 0;
    std::uint64_t through = 0;  // up to there it has been read
    bool is_dated = false;      // doubt_date()
    Chosen chosen = {};         // owed under hashtags that nobody follows there any more
    std::vector<std::pair<std::string, std::string>> gathering = {};  // inboxes, and what is to be decided
    std::map<std::uint64_t, Held> held = {};
    std::string because = {};  // the last try has failed
  };
  Task<void> take_up(Visit visit);
  Task<Result<void>> read_on(Visit visit);
  void take_up(const Item& item, ToldNotes notes);
  void finish_reading();
  // Nothing that waits for the inbox up to there is still to be read, or decided when all is.
  [[nodiscard]] std::uint64_t read_for(const Inbox& inbox) const;
  Task<Result<void>> doubt_date();
  void begin_anew();
  [[nodiscard]] bool remembers(const std::string& inbox, const std::string& uri) const;
  void queue(const Item& item, const Past* past, To to);
  // To people and FASP servers on that host, as far as its author and the administrator are concerned, who
  // may have decided otherwise since it was queued.
  [[nodiscard]] bool may_still_go(const TagEvent& event, const std::string& host) const;
  // What may lie before what the inbox has got already.
  void queue_late(const std::string& destination, const Item& item);
  void queue_for_people(const std::string& destination, const Item& item, Before before);
  void queue_for_fasp_server(const std::string& destination, const Item& item, Before before);
  [[nodiscard]] Inbox& inbox_of(const std::string& destination);
  [[nodiscard]] Before before_of(const Past& past, const std::string& destination, std::uint64_t seq);
  void keep_away(const std::string& destination, Inbox& inbox, const Item& item, const Past* past,
                 Before before);
  Told& recall(const std::string& destination, Inbox& inbox, const Item& item);
  void note(const Inbox& inbox, std::uint64_t seq, bool told);
  void announce(const std::string& destination, Inbox& inbox, const Item& item);
  void decide(const std::string& destination, Inbox& inbox, const std::string& uri);
  void decide_if_gathering(const std::string& destination, Inbox& inbox, const std::string& uri);
  // `destination` has not taken it: to whoever else is on that server, for all of whom it was to be. So many
  // inboxes there have failed with it. False if there is nobody else who could get it just now.
  bool hand_over(const std::string& destination, const Item& item, unsigned failed);
  void tell_otherwise(const std::string& destination, const Item& item, bool hands_over);
  void tell_otherwise(const Chosen& chosen);
  [[nodiscard]] Duration spread_of(const Tag& tag) const;
  [[nodiscard]] Duration wait_in_spread_of(const Tag& tag);
  void take_back(const std::string& destination, Inbox& inbox, const Item& item, Before before);
  void make_room(const std::string& destination, Inbox& inbox);
  void settle(const std::string& destination, Inbox& inbox, std::uint64_t seq);
  Task<void> decide_later(std::string destination, std::string uri);
  Task<void> tell_again(std::string destination, std::string uri);
  Task<Items> send_to_node(std::string inbox, Items items);
  Task<queues::BatchLanes<Item>::Outcome> send_to_fasp_server(std::string inbox, std::string hashtag,
                                                              Items items, std::size_t most);
  void note_whether_gone(const std::string& inbox, bool is_gone, bool is_lost);
  void note_answer(const std::string& destination);
  // The inbox has taken nothing again. True if that was long enough: then its followers are reported.
  [[nodiscard]] bool is_lost_by_silence(const std::string& destination);
  [[nodiscard]] bool reaches_most() const;
  Task<queues::InboxLanes<Item>::Outcome> send_to_people(std::string destination, Item item);
  // Where each has an inbox of their own those of their server, which share what it refuses; else that inbox.
  [[nodiscard]] std::vector<std::map<std::string, Inbox>::value_type*> inboxes_of_server(
      const std::string& destination, const Tag& tag);
  void note_refusal(const std::string& destination, const Tag& tag, const std::string& because);
  bool is_given_up(const std::string& destination, const AnnouncementSender::ToldPeople& told,
                   const TagEvent& event);
  Task<void> upkeep();
  Task<void> save_cursors();
  void forget_left();
  Task<void> prune();

  Store& store_;
  const Followers& followers_;
  const federation::Blocks& blocks_;
  AnnouncementSender& sender_;
  Clock& clock_;
  Log& log_;
  Rng rng_;
  std::map<std::string, Inbox> inboxes_;
  // Places in the feed of what was pushed to people only. Some are forgotten.
  std::map<Said, std::uint64_t> told_by_others_;
  std::set<std::string> moved_;  // inboxes whose cursor moved since it was saved
  Store::Notes notes_;           // not saved yet
  std::optional<Reading> reading_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t delivered_ = 0;
  Instant next_prune_{};
  SteadyDate date_;
  bool reaches_most_ = false;  // as of then
  std::size_t gathering_ = 0;
  std::size_t recent_ = 0;              // Inbox::recent of all
  queues::DeliveryQueues<Item> lanes_;  // of nodes
  queues::BatchLanes<Item> fasp_;       // of FASP servers, by hashtag
  queues::InboxLanes<Item> people_;
  TaskGroup tasks_;
};

}  // namespace tagring::delivery
