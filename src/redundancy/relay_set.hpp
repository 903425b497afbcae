// How many relays a hashtag has, and what this node is to it, as far as it knows (paper §7.1;
// docs/protocol.md, "Relay sets"). A state machine without clock, ring or network: the caller says what has
// happened, and when, and asks what is to be done.
//
//   state     its data                     leaves it by                                    to
//   --------  ---------------------------  ----------------------------------------------  ---------------
//   at rest   -                            become_spare: a relay is strained               spare
//                                          grow: one is overloaded, or has told            raised
//   spare     until when, for how large    grow: this node is a relay now                  raised
//             a set: a hot spare holds     a minute without another warning                at rest
//             the followers' list
//   raised    how many relays; who would   grow                                            raised
//             do with half as many; since  shrink to more than at rest                     raised
//             when others contradict       shrink to as many as at rest                    at rest
//                                          retire: its place is another's now              draining
//   draining  since when, whether it has   return_to_set: its place is its own again       the state below
//             the last list of followers,  finish_draining: all have got that              the state below
//             and up to where in the feed
//             it still delivers
//
// Draining lies above the others, and so, of a relay with a second place in the next larger set, does being
// its spare: the number that was heard is believed meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace tagring::redundancy {

class RelaySet {
 public:
  struct Options {
    unsigned at_rest = 2;
    Duration cooldown =
        std::chrono::minutes(1);  // before a set is halved; doubles while that is not possible
  };
  enum class State : std::uint8_t { kAtRest, kSpare, kRaised, kDraining };

  // How long the last doubling has to work, before a relay says that it is overloaded all the same.
  static constexpr Duration kSettle = std::chrono::seconds(10);
  // How long a larger set than there is now is remembered: its relays pass the rest on.
  static constexpr Duration kLately = std::chrono::minutes(10);
  static constexpr Duration kCooldownMax = std::chrono::hours(1);
  // A spare, a vote for half as many, and the news of a halving are good for that long.
  static constexpr Duration kSpareFor = std::chrono::minutes(1);
  static constexpr Duration kWarnEvery = std::chrono::seconds(20);
  static constexpr Duration kListGood = std::chrono::seconds(15);  // of a spare
  static constexpr Duration kContradicted = std::chrono::minutes(1);
  // What was being written when the node ceased to be a relay is in the feed after that.
  static constexpr Duration kDrainAfter = std::chrono::seconds(10);

  explicit RelaySet(Options options)
      : options_(options), relays_(options.at_rest), cooldown_(options.cooldown) {}

  [[nodiscard]] State state(Instant now) const;
  [[nodiscard]] unsigned relays() const { return relays_; }
  [[nodiscard]] bool is_raised() const { return relays_ > options_.at_rest; }
  [[nodiscard]] bool is_spare(Instant now) const { return spare_ && now < spare_->until; }
  // The most there were in the last minutes.
  [[nodiscard]] unsigned lately(Instant now) const;
  // Nothing that would be missed if it were forgotten.
  [[nodiscard]] bool is_forgettable(Instant now) const;

  // --- the number -----------------------------------------------------------------------------------------
  // More than now. `overloaded`: a token says that so many are needed, and not others that there are so many:
  // then a halving shortly before was a mistake. `feed_end`: what is taken after it, this node takes as one
  // of them.
  void grow(unsigned relays, bool overloaded, std::uint64_t feed_end, Instant now);
  // Fewer than now.
  void shrink(unsigned relays, Instant now);
  // It has grown or shrunk a moment ago: no time for another doubling.
  [[nodiscard]] bool is_settling(Instant now) const { return changed_ && now - *changed_ < kSettle; }
  // So lately that nobody else can have waited for long enough, though they may have changed before this one.
  [[nodiscard]] bool has_just_changed(Instant now) const { return changed_ && now - *changed_ < kSettle / 2; }
  // Others may know of more relays still: those that have not heard yet that all agree.
  [[nodiscard]] bool has_just_shrunk(Instant now) const { return shrunk_ && now - *shrunk_ < kSpareFor; }
  // A relay at rest says that there are so many. What this node has to believe then, if it is another number.
  // `at_rest`: this node is one of those that keep the number.
  [[nodiscard]] std::optional<unsigned> hear(unsigned relays, bool at_rest, Instant now);

  // --- halving --------------------------------------------------------------------------------------------
  // As one of half as many: the cooldown is over.
  [[nodiscard]] bool may_halve(Instant now) const { return now >= attempt_; }
  // It could not do without the others: later.
  void postpone_halving(Instant now);
  // Whether the others are to be asked now to go: others of the smaller set may have to wait longer, so not
  // all the time. Remembers that they are.
  [[nodiscard]] bool ask_to_halve(Instant now);
  [[nodiscard]] bool has_asked(Instant now) const;
  // One of the smaller set could do without this node.
  void vote(const std::string& origin, Instant now) { votes_[origin] = now; }
  // All of these have said so lately.
  [[nodiscard]] bool has_votes(const std::vector<std::string>& voters, Instant now) const;

  // --- hot spares -----------------------------------------------------------------------------------------
  void become_spare(unsigned of, Instant now) { spare_ = Spare{of, now + kSpareFor}; }
  [[nodiscard]] unsigned spare_of() const { return spare_ ? spare_->of : 0; }
  // As a strained relay: whether the spares of the next larger set are to be warned now.
  [[nodiscard]] bool warn_spares(Instant now);
  // The relays at rest gave their lists of followers, and knew of so many relays.
  void note_list(unsigned relays, Instant now) { list_ = HeldList{relays, now}; }
  // The list is good enough to become one of twice as many.
  [[nodiscard]] bool holds_list(unsigned relays, Instant now) const {
    return list_ && list_->relays >= relays && now - list_->at < kListGood;
  }

  // --- as a relay -----------------------------------------------------------------------------------------
  // What was taken since it became one begins after that place in the feed.
  [[nodiscard]] std::uint64_t feed_from() const { return feed_from_; }
  void take_from(std::uint64_t feed_end) { feed_from_ = feed_end; }

  // --- draining -------------------------------------------------------------------------------------------
  // No relay any more.
  void retire(Instant now) { draining_ = Draining{now}; }
  void return_to_set() { draining_.reset(); }
  void finish_draining() { draining_.reset(); }
  // Who followed the others while this node was a relay, and came here too late, has to get what it took: the
  // list of those who stay is wanted once more. No longer than they give it.
  [[nodiscard]] bool wants_last_list(Instant now) const;
  void note_last_list() {
    if (draining_) draining_->has_list = true;
  }
  // The last place in the feed that its followers have to get from this node; nothing if it is not draining,
  // or something may still be on its way into the feed, or the last list is missing.
  [[nodiscard]] std::optional<std::uint64_t> drain_to(std::uint64_t feed_end, Instant now);
  struct Draining {
    Instant since;
    std::optional<std::uint64_t> to{};  // nothing while something may still be on its way
    bool has_list = false;
  };
  [[nodiscard]] const std::optional<Draining>& draining() const { return draining_; }

 private:
  struct Spare {
    unsigned of;
    Instant until;
  };
  struct Larger {
    unsigned relays;
    Instant until;
  };
  struct HeldList {
    unsigned relays;
    Instant at;
  };
  void change(unsigned relays, Instant now);

  Options options_;
  unsigned relays_;
  Duration cooldown_;
  std::optional<Larger> lately_;
  std::optional<Instant> changed_;
  std::optional<Instant> shrunk_;
  Instant attempt_{};  // not before: to halve it
  Instant asked_{};    // the others to go
  std::map<std::string, Instant> votes_;
  std::optional<Instant> contradicted_;  // since when the relays at rest say that there are fewer
  std::optional<Spare> spare_;
  Instant warned_{};
  std::optional<HeldList> list_;
  std::uint64_t feed_from_ = 0;
  std::optional<Draining> draining_;
};

}  // namespace tagring::redundancy
