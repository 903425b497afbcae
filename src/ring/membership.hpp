// A node's place on one of the two rings: its vservers, look-ups through them, and the way back when the ring
// has split (paper §5.3).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ring/route_cache.hpp"
#include "ring/vserver.hpp"

namespace tagring::ring {

class Membership {
 public:
  struct Options {
    Duration route_lifetime = std::chrono::seconds(60);  // how long an owner's answer is believed
    // How long the owner that a secure look-up found is held against the answers of ordinary ones.
    Duration secure_lifetime = std::chrono::hours(6);
    Duration split_check_every = std::chrono::seconds(60);
    Duration join_retry = std::chrono::seconds(2);
    // Numbers of the vservers that join at the start; nothing: all.
    std::optional<std::vector<std::uint8_t>> places = std::nullopt;
    Duration search = std::chrono::seconds(15);  // for members, by whom there was a ring with before
  };
  // Others of this network: who stands on the ring, and the origins of nodes that look for it and may found
  // it.
  struct Found {
    std::vector<Contact> members;
    std::vector<std::string> seekers;
    bool has_newcomer = false;  // somebody looks for it who founds none: a reason to, but nobody to wait for

    [[nodiscard]] bool is_sought() const { return has_newcomer || !seekers.empty(); }
  };
  // Where to find them: configured nodes, instances, and nodes met before. Asked anew for every try.
  using Bootstrap = std::function<Task<Found>()>;

  // Whether a node that finds no member creates a ring.
  enum class Founding : std::uint8_t {
    kNever,     // a newcomer waits for somebody
    kAtOnce,    // it was told to create one, and has never met anybody
    kTogether,  // it was a member before: not alone, but after a while with others that look for the ring
                // too, as after a power cut. First the one of the least origin, for which the others wait;
                // who waits in vain does it, also where it is for another one every time
    kInTheEnd,  // the same, and it was told to create one: after four times that while also if nobody answers
  };

  // `contacts`: one per possible vserver of this node, with one incarnation.
  Membership(Vserver::Environment environment, Options options, Ring ring, std::vector<Contact> contacts,
             Bootstrap bootstrap, Rng rng);

  // Joins every vserver, retrying until each is a member, and keeps watch for splits. Where there is nobody
  // to join and `founding` allows it, the first vserver creates a ring; so it does where there was a ring
  // before, others look for it too, and those who answer have let nobody in for long. Should others do the
  // same elsewhere, the rings meet later. Returns at once.
  void start(Founding founding);
  // Ends the upkeep. The vservers stay as they are, silent.
  [[nodiscard]] Task<void> stop();

  // The owner of a key: cached, or looked up. With Tuning::secure_lookups, an ordinary look-up is believed
  // only if its answer is no farther from the key than what a secure one found there in the last hours;
  // otherwise, as at the first time, a secure one decides.
  [[nodiscard]] Task<Result<Owner>> find_owner(RingId key);
  // What find_owner said of `key` was wrong.
  void forget_route(const RingId& key) { routes_.forget(key); }
  // Somebody else says so.
  void doubt_route(const RingId& key) { routes_.doubt(key, environment_.clock.now()); }

  // Takes one of the places that are free. kConflict if it is not; kBusy while others change; else what
  // joining gave, which may be tried again.
  [[nodiscard]] Task<Result<void>> take_place(std::uint8_t number);
  // Gives up a vserver: `hand_over` brings its keys to their next owner, while nothing more is written to
  // them here. If that fails the vserver stays.
  [[nodiscard]] Task<Result<void>> give_up_place(std::uint8_t number,
                                                 std::function<Task<Result<void>>(Vserver*)> hand_over);
  // Looks for no ring any more, and takes no place of itself: the node is about to leave.
  [[nodiscard]] Task<void> stop_joining();
  // Nor does it begin to: all its places are free from the start.
  void stay_away();
  // Contacts of the places that are free.
  [[nodiscard]] std::vector<Contact> free_places() const;

  // The vserver of this node with that ID, on the ring or not, or null. Lives as long as this.
  [[nodiscard]] Vserver* find(const RingId& id) const;
  // The vserver of this node that serves `key` now, or null.
  [[nodiscard]] Vserver* serving(const RingId& key);
  // The same, but owning suffices.
  [[nodiscard]] Vserver* owning(const RingId& key);
  // The same, and the place is not being given up.
  [[nodiscard]] bool keeps(const RingId& key);
  // Those that stand on the ring or are to join it. May change whenever something is awaited.
  [[nodiscard]] const std::vector<std::unique_ptr<Vserver>>& vservers() const { return vservers_; }
  [[nodiscard]] bool is_member() const;
  // It has a place, and stands nowhere yet.
  [[nodiscard]] bool is_seeking() const;
  [[nodiscard]] Ring ring() const { return ring_; }

  struct Counters {
    std::uint64_t lookups = 0;  // that needed calls
    std::uint64_t secure = 0;   // of them, secure ones
    std::uint64_t lookup_calls = 0;
    std::uint64_t cached = 0;  // answered from the cache or by ourselves
    std::uint64_t merges = 0;  // members met that did not know of ours
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  Task<void> bring_up(Founding founding);
  void note_seekers(const Found& found);
  // Of those that look for the ring, as far as is known: one that was not found once may have been busy.
  [[nodiscard]] bool comes_first() const { return first_.empty() || origin_ < first_; }
  void found_ring();
  [[nodiscard]] bool may_found(Founding founding, const Found& found, Instant began) const;
  Task<bool> is_one_there(std::vector<Contact> contacts);
  Task<bool> join_all(std::vector<Contact> known);
  Task<void> watch_for_splits();
  Task<void> check_split();
  Task<bool> meet_others(Vserver* vserver, std::vector<Contact> via, bool secure);
  Task<Found> find_others();
  Task<std::vector<Contact>> entrances();
  Vserver* any_member();
  Task<Result<Owner>> look_up(Vserver* from, RingId key, std::vector<Contact> via);
  [[nodiscard]] bool is_believed(const Owner& owner, const RingId& key) const;
  [[nodiscard]] std::vector<Vserver*> snapshot() const;
  static std::unique_ptr<Vserver> remove(std::vector<std::unique_ptr<Vserver>>* from, std::uint8_t number);

  Vserver::Environment environment_;
  Options options_;
  Ring ring_;
  const Bootstrap bootstrap_;
  Rng rng_;
  const Duration patience_;  // where others come first: with who lets nobody in, and with firsts that change
  RouteCache routes_;
  RouteCache secured_;  // what secure look-ups found
  std::vector<std::unique_ptr<Vserver>> vservers_;
  std::vector<std::unique_ptr<Vserver>> idle_;  // free places
  std::vector<Contact> entrances_;  // members, for look-ups of a node without a place; empty: not known
  Instant entrances_until_;
  std::string origin_;
  std::string first_;                 // of those that look for the ring, the least origin
  Instant first_since_;               // it has been the least
  Instant outranked_since_;           // others have been the least, whoever it was
  Vserver* kept_out_ = nullptr;       // the last that could not join
  bool changing_ = false;             // places, one at a time, or rings after a split
  const Vserver* closing_ = nullptr;  // takes nothing more
  Counters counters_;
  TaskGroup tasks_;
};

}  // namespace tagring::ring
