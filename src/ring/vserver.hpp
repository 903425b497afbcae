// One vserver's place on a ring: Chord as corrected by Zave ("How to make Chord correct", arXiv 1502.06461
// and 1610.01140), in the message-passing form of Verdi-Chord.
//
// Where it differs from the paper's figures 1 and 2, and why:
//   - successor lists, copied whole at join and stabilise: one pointer breaks the ring at the first failure;
//   - a head, or a predecessor, is adopted only if it answered within the same operation, and what else a
//   list names if it has
//     answered ever, with that incarnation: one that has died since leaves the lists a member a round;
//   - whoever has answered is there, whatever others name, so that a liar takes nobody's table: a list that
//     is adopted drops nobody who answers, and who joins stands behind the closest that does (join.cpp);
//   - rectify (the paper's notify) pings the old predecessor before it keeps it;
//   - while an operation is pending, state queries are answered "busy", because the pointers are about to
//   change;
//   - nobody writes another vserver's pointers: who leaves hands its data over and stops answering;
//   - rings that a fault of the network has made of one become one again, and so does a ring that goes round
//     more than once: two members that both say they own a key meet (meet()), each list takes in the other,
//     and stabilising does the rest. Every such step brings somebody's successor or predecessor closer, none
//     takes one farther away, so it ends, and it ends in the one order that nobody can improve;
//   - a restarted node is a new member, told by its incarnation.
//
// Its states:
//
//   state     what it does                             leaves it by                             to
//   --------  ---------------------------------------  ---------------------------------------  --------
//   outside   answers nothing                          create, or restore                       serving
//                                                      join                                     joining
//   joining   answers nothing; looks for its place     finding it, with an answering successor  fetching
//                                                      an error                                 outside
//   fetching  member; of the keys that it owns, or     fetched() of all that is missing()       serving
//             will once it knows its predecessor,      leave                                    outside
//             some are not here, and are answered for
//             by others
//   serving   member; has all that it owns             more keys are its own: a predecessor     fetching
//                                                      has gone
//                                                      somebody else has answered for its keys  fetching
//                                                      leave                                    outside
//
// Not thread-safe; everything runs on the node's loop. After join() or create(): start(); before it is
// destroyed: stop().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "base/rng.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "ring/messages.hpp"
#include "ring/successor_list.hpp"

namespace tagring::ring {

// Parameters of a ring. The first group is part of the network's agreement.
struct Tuning {
  IdRules ids;
  std::size_t successors = 16;  // r: entries of a successor list

  Duration stabilise_every = std::chrono::seconds(5);
  Duration fix_finger_every = std::chrono::seconds(5);
  Duration call_timeout = std::chrono::seconds(3);
  Duration retry_when_busy = std::chrono::milliseconds(100);
  std::size_t lookup_calls_max = 64;  // a lookup gives up after that many calls
  std::size_t secure_calls = 64;      // a secure look-up makes at most that many
  // Whether a member makes secure look-ups: for owners (Membership::find_owner), and for fingers it has not
  // known.
  bool secure_lookups = false;
};

// An owner and what it owns: every key in `segment` has the same answer.
struct Owner {
  Contact contact;
  Segment segment;
};

// Is `a` at least as close behind the key as `b`? The owner is the closest member there is.
inline bool is_as_close(const Owner& a, const Owner& b, const RingId& key) {
  return clockwise_distance(key, a.contact.id) <= clockwise_distance(key, b.contact.id);
}

struct LookupCost {
  unsigned calls = 0;   // all calls made
  unsigned failed = 0;  // of them, unanswered
};

class Vserver {
 public:
  struct Environment {
    Clock& clock;
    Peers& peers;
    Executor executor;
    Tuning tuning;
    // Not to be a finger. Neighbours are not a matter of choice: docs/protocol.md §4.4.
    std::function<bool(const Contact&)> is_avoided = [](const Contact&) { return false; };
    // Called after each change of owned().
    std::function<void(Vserver&)> on_segment_change = [](Vserver&) {};
  };

  Vserver(Environment environment, Ring ring, Contact self, Rng rng);

  enum class State : std::uint8_t { kOutside, kJoining, kFetching, kServing };
  [[nodiscard]] State state() const;

  // --- membership -------------------------------------------------------------------------------------
  // Starts a new ring of one, which owns every key.
  void create();
  // Joins the ring that `known` are members of: finds the closest that answers before it, by a secure look-up
  // where Tuning wants these, and copies its list. kUnavailable if nobody leads there; kBusy if the place is
  // changing hands: try again. Nothing changes on an error.
  [[nodiscard]] Task<Result<void>> join(std::vector<Contact> known);
  // Stops answering as a member. The caller has handed the data over before. It may join again, as a new
  // incarnation.
  void leave();

  // Asks the successor for its view and adopts a better one (paper figure 1, corrected).
  [[nodiscard]] Task<void> stabilise();
  // Refreshes one entry of the finger table (paper figure 2).
  [[nodiscard]] Task<void> fix_finger();
  // Stabilises and fixes fingers in the background, at jittered intervals, until stop(). What a vserver that
  // has stopped is asked for begins nothing, since it may be gone before that ends.
  void start();
  [[nodiscard]] Task<void> stop();
  // Stabilises soon, out of turn. For others, who may ask as often as they like,
  // ten times at once and once a second from then on (kNudgesAtOnce, kNudgedEvery).
  void nudge();
  void nudge_for_others();

  // Answers a request addressed to this vserver. TakeOver is not for it: the node answers that.
  [[nodiscard]] Task<Result<Reply>> answer(Request request);

  // --- lookup (paper §5.4) ----------------------------------------------------------------------------
  // The owner of `key`, found iteratively and confirmed by itself. Of the segment that it claims only what
  // lies behind everybody who was asked: nobody's word makes members disappear. `via`, if given, is asked
  // first instead of this vserver's own table: for joining, and to look into another ring.
  [[nodiscard]] Task<Result<Owner>> lookup(RingId key, std::vector<Contact> via = {},
                                           LookupCost* cost = nullptr);
  // The same among liars, with many times the calls: along paths that share nobody, one from each contact in
  // the table (or in `via`), up to secure_calls in all. Of all who claim the key and answered, the closest to
  // it is the owner, as long as one path was honest.
  [[nodiscard]] Task<Result<Owner>> secure_lookup(RingId key, std::vector<Contact> via = {},
                                                  LookupCost* cost = nullptr);
  // `other` says that it owns this vserver's ID, so the two do not know each other: they stand on different
  // rings, or on different turns of one. Takes it and its successors into the list and lets it know; what it
  // took for keys of this vserver is missing() then. False if it knows better by now, or did not answer.
  [[nodiscard]] Task<bool> meet(Contact other);
  // It is a member, now.
  [[nodiscard]] Task<bool> answers(Contact peer);
  // Known vservers in (self, key), closest to `key` first, at most `count`.
  [[nodiscard]] std::vector<Contact> closest_preceding(const RingId& key, std::size_t count) const;

  // --- what it is responsible for ---------------------------------------------------------------------
  // (predecessor, self], or the whole ring when alone. Nothing while no predecessor is known.
  [[nodiscard]] std::optional<Segment> owned() const;
  // The part of owned() whose data is here: the rest was gained lately and is being fetched. Only keys in it
  // may be answered for.
  [[nodiscard]] std::optional<Segment> serving() const;
  // The part of owned() that is not served yet.
  [[nodiscard]] std::optional<Segment> missing() const;
  // Who has answered for keys of missing(), beside those who own them elsewhere on the ring: to be asked too.
  [[nodiscard]] const std::vector<Contact>& rivals() const { return rivals_; }
  // It had served all that is missing() before a rival was met.
  [[nodiscard]] bool has_served() const;
  // How many rivals there ever were.
  [[nodiscard]] std::uint64_t rivals_met() const { return rivals_met_; }
  // The data of `fetched`, as returned by missing() when there had been so many rivals, is here. Ignored if
  // ownership has changed meanwhile.
  void fetched(const Segment& fetched, std::uint64_t rivals_met);

  [[nodiscard]] const Contact& self() const { return self_; }
  [[nodiscard]] bool is_member() const { return standing_ == Standing::kMember; }
  [[nodiscard]] bool is_alone() const { return is_member() && successors_.empty() && !predecessor_; }
  [[nodiscard]] bool is_pending() const { return pending_; }
  [[nodiscard]] const std::optional<Contact>& predecessor() const { return predecessor_; }
  [[nodiscard]] const SuccessorList& successors() const { return successors_; }
  [[nodiscard]] const std::map<unsigned, Contact>& fingers() const { return fingers_; }
  // Members of the ring, guessed from the density of the successor list; exact in rings no longer than the
  // list.
  [[nodiscard]] double estimated_size() const;

  // Who did not answer when somebody named it as this one's predecessor is not called for that again before.
  static constexpr Duration kSilentFor = std::chrono::seconds(10);
  // A predecessor that has answered is not asked again whether it lives, for whoever names another.
  static constexpr Duration kLivesFor = std::chrono::seconds(1);
  // Others have it stabilise out of turn once in that time, after some at once; who comes sooner waits.
  static constexpr Duration kNudgedEvery = std::chrono::seconds(1);

  // One that never hears of us, or lies, must not keep us from serving: once the data of a rival is here,
  // none is fetched of it for so long, or for nine times what fetching took.
  static constexpr Duration kRivalMemory = std::chrono::minutes(1);

  // For a simulation that starts from a ring built by a formula instead of by joins.
  void restore(std::optional<Contact> predecessor, std::vector<Contact> successors,
               std::map<unsigned, Contact> fingers);

 private:
  template <class T>
  Task<Result<T>> call(Contact to, decltype(Request::body) body);
  Task<std::vector<Contact>> verified(std::vector<Contact> contacts);
  void note_member(const Contact& contact);
  void note_closer(const Contact& contact);
  Task<Result<Owner>> find_around(std::vector<Contact> known);
  struct Place {
    Contact predecessor;
    std::vector<Contact> successors;
  };
  Task<Result<std::vector<Contact>>> ask_around(Contact member, bool is_patient);
  Task<Result<Place>> find_place(std::vector<Contact> known, bool is_patient);
  [[nodiscard]] std::vector<Contact> clockwise(std::vector<Contact> first,
                                               std::span<const Contact> second = {}) const;
  Task<void> adopt_list(Contact head, std::vector<Contact> named);
  Task<bool> adopt(Contact head);
  void take_hint(const Contact& successor);
  Task<void> follow_hint(Contact successor);
  Task<void> remind_predecessor();
  [[nodiscard]] bool is_rival(const Contact& other, const Neighbours& theirs) const;
  void note_rival(const Contact& other);
  Task<void> send_nudge(Contact to);
  Task<void> stabilise_pending();
  Task<void> rectify_pending();
  Task<void> rectify(Notify notify);
  void note_silent(const Notify& notify);
  [[nodiscard]] bool is_silent(const Notify& notify) const;
  void set_predecessor(std::optional<Contact> predecessor);
  void forget(const Contact& contact);
  Task<Result<Owner>> find_finger(RingId target, std::optional<Contact> known);
  struct SecureLookup;
  struct Path;
  Task<Result<std::vector<Contact>>> ask_on_path(SecureLookup* search, Contact contact);
  Task<void> walk_path(SecureLookup* search, Contact first);
  Task<bool> walk_paths(SecureLookup* search);
  std::vector<Contact> first_hops(const RingId& key) const;
  Task<void> stabilise_for_ever();
  Task<void> fix_fingers_for_ever();
  Task<void> stabilise_soon();
  Task<void> nudge_at(Instant turn);
  void check_invariants() const;
  FindReply answer_find(const RingId& key) const;
  Duration jittered(Duration base);

  const Environment environment_;
  Ring ring_;
  Contact self_;
  Rng rng_;

  // Member or not; whether a member serves all that it owns follows from what it knows (state()).
  enum class Standing : std::uint8_t { kOutside, kJoining, kMember };
  class Joining;
  Standing standing_ = Standing::kOutside;
  bool pending_ = false;           // an operation that changes pointers waits for an answer
  bool nudged_ = false;            // a stabilise out of turn is due
  bool nudged_by_others_ = false;  // waits until then
  Instant next_for_others_;
  std::optional<Contact> predecessor_;
  SuccessorList successors_;
  std::map<unsigned, Contact>
      fingers_;  // i -> first vserver at distance >= 2^i; only where that is beyond the successor
  unsigned next_finger_ = RingId::kBits;
  std::optional<Notify> candidate_;  // the best that came while busy
  std::optional<Contact> closer_;    // a successor, if it answers
  std::map<RingId, Contact> met_;    // while it joins: members, by their distance from here
  unsigned busy_joins_ = 0;          // that found somebody busy
  std::set<Prefix64> hints_;         // of whom somebody is called who says that it is our successor
  // Candidates that did not answer, not called until then: hosts, and apart from them by their own word.
  std::map<std::string, Instant> silent_;
  Instant predecessor_lives_until_;        // it answered lately
  Instant predecessor_spoke_;              // it knows of us
  std::optional<RingId> ready_from_;       // data of (ready_from_, self] is here
  std::optional<RingId> served_from_;      // data of (served_from_, self] was here before there were rivals
  std::vector<Contact> rivals_;            // whose data is not here
  Instant rivals_since_;                   // there is one of them
  std::map<RingId, Instant> rival_until_;  // whose data came lately: not fetched anew before
  std::uint64_t rivals_met_ = 0;
  std::unordered_map<RingId, std::uint64_t> verified_;  // id -> incarnation that has answered a call
  TaskGroup tasks_;
};

}  // namespace tagring::ring
