// This node as one of the relays of hashtags whose relays are more than at rest, or may soon be (paper §7.1;
// docs/protocol.md, "Relay sets").
//
// The relays at rest are always among them, and keep the number: it doubles when one of the relays signs that
// it is overloaded, and they have a part of that load themselves, and is halved when all of the smaller set
// say that they could do without the others, or after long calm half of them. All of it is in memory: who has
// forgotten is told again by the others.
//
// What follows from what it hears is decided in redundancy/relay_set.hpp; how it is said is in
// relay/relay_calls.hpp, and what relays tell each other of followers in relay/follower_lists.hpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "belief/doubt_queue.hpp"
#include "delivery/announcer.hpp"
#include "delivery/results.hpp"
#include "redundancy/load_meter.hpp"
#include "redundancy/relay_set.hpp"
#include "relay/follower_lists.hpp"
#include "relay/relay_calls.hpp"

namespace tagring::relay {

class RelayRedundancy {
 public:
  struct Options {
    double capacity = 0;  // deliveries a second (LoadMeter)
    Duration cooldown =
        std::chrono::minutes(1);               // before a set is halved; doubles while that is not possible
    Duration every = std::chrono::seconds(5);  // how often lists are compared
  };
  static constexpr std::string_view kPath = RelayCalls::kPath;

  RelayRedundancy(Options options, RelayPlaces& places, RelayCalls& calls, FollowerLists& lists,
                  delivery::Announcer& announcer, const Runtime& runtime);

  [[nodiscard]] Task<void> stop();

  // --- taking posts ---------------------------------------------------------------------------------------
  // Of how many relays of the tag this node believes to be one.
  [[nodiscard]] unsigned relays_of(const Tag& tag) const;
  // The tag has more relays than at rest.
  [[nodiscard]] bool is_raised(const Tag& tag) const { return relays_of(tag) > places_.at_rest(); }
  // This node is one of the relays that the tag has beyond those at rest.
  [[nodiscard]] bool is_relay_beyond_rest(const Tag& tag) const;
  // The post is one of those that publishers send to this node, of as many relays as it believes there are.
  [[nodiscard]] bool is_its_own(const Tag& tag, const std::string& uri) const;
  // Takes a post upon itself, as far as the load is concerned; false if it is too much.
  bool admit(const Tag& tag);
  // What goes with the answer to a publisher or follower about these tags: "relays", and "overloaded" for
  // those that were refused as too much.
  [[nodiscard]] json::object news(const std::set<Tag>& tags, const std::vector<delivery::Refusal>& refusals);
  // Tokens that a publisher shows: this node becomes a relay if they prove that it is needed.
  [[nodiscard]] Task<void> present(std::vector<redundancy::OverloadToken> tokens);
  // The node of that host takes this one for a relay of the tag, and it is none: perhaps it should be.
  void doubt(const Tag& tag, const std::string& host) { doubts_.add(tag, host); }
  [[nodiscard]] std::optional<redundancy::RelayClaim> claim(const Tag& tag) const;

  // --- followers ------------------------------------------------------------------------------------------
  // Another node has asked, just now, to follow the tag here, or not to.
  void note_request(const Tag& tag, const std::string& actor, bool follows) {
    lists_.note_request(tag, actor, follows);
  }
  // No relay of the tag any more, but still delivering to that inbox, or perhaps about to.
  [[nodiscard]] bool is_draining(const Tag& tag, const std::string& inbox) const;

  // --- others as relays -----------------------------------------------------------------------------------
  // The node at that origin is one of the tag's relays: as it claims, or at rest, for which it needs no
  // claim. kBusy if that may be found out later.
  [[nodiscard]] Task<Result<void>> check_relay(Tag tag, std::string origin,
                                               std::optional<redundancy::RelayClaim> claim);

  // The same, so that its word counts as that of one relay: nobody else's word alone makes it one. Whoever
  // stands at one of the places at rest, and who has one of more places of which all those know that answer.
  [[nodiscard]] Task<redundancy::RelayHalves> witness(Tag tag, std::string origin,
                                                      std::optional<redundancy::RelayClaim> claim);

  // Answers kPath: GET to anybody, POST to relays of the tag.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  // A tag with more relays than at rest, or a spare's.
  [[nodiscard]] json::array status() const;
  [[nodiscard]] const redundancy::LoadMeter& load() const { return meter_; }

 private:
  // A tag whose set is looked after.
  struct Tended {
    redundancy::RelaySet set;
    FollowerLists::List list;  // of other relays, as a spare or until it is applied
    bool tending = false;      // now
  };
  struct Heard {
    RelayCalls::Count count;  // the most that one of them says
    unsigned agreed = 0;      // the least that one of them says of `lately`
    Instant at;
  };

  // --- changing ---
  Tended& tended(const Tag& tag);
  [[nodiscard]] const redundancy::RelaySet* set_of(const Tag& tag) const;
  // So many relays are not far more than the ring has places, and this node looks after few enough sets.
  [[nodiscard]] bool has_room_for(const Tag& tag, unsigned relays) const;
  // As a relay at rest: another one may have too much of what this one has some of, too.
  [[nodiscard]] bool bears_out_overload(const Tag& tag) const;
  // `overloaded`: a token says that more are needed, and not others that there are more.
  void set_relays(const Tag& tag, unsigned relays, bool overloaded = false);
  std::optional<redundancy::OverloadToken> sign(const Tag& tag);
  Task<void> raise(redundancy::OverloadToken token);
  Task<Result<void>> become_relay(Tag tag, unsigned relays, bool attested);
  Task<void> consider(Tag tag);
  void hear_of_more(const Tag& tag, unsigned relays, std::string origin);
  Task<void> consider_at_rest(Tag tag);
  Task<void> tell_relays_at_rest(Tag tag, redundancy::OverloadToken token);
  Task<void> tell_next_set(Tag tag, std::string action, unsigned relays);
  Task<void> try_to_halve(Tag tag);
  Task<void> count_votes(Tag tag, unsigned relays);
  Task<void> lose_places(Tag tag);
  Task<void> pull_last_list(Tag tag);
  Task<void> drain(Tag tag);
  // --- lists ---
  Task<Result<unsigned>> pull(Tag tag, std::string origin, unsigned of, FollowerLists::List* into);
  Task<Result<unsigned>> pull_pages(Tag tag, std::string origin, unsigned of, FollowerLists::List* list);
  Task<Result<unsigned>> pull_at_rest(Tag tag, unsigned of);
  Task<void> pull_by_turns(Tag tag);
  Task<bool> apply_list(Tag tag);
  Task<Result<RelayCalls::Count>> ask_count(Tag tag, Duration age_max);
  // --- upkeep ---
  Task<void> upkeep();
  Task<void> tend(Tag tag);
  void tend_soon(const Tag& tag, Tended& tended);
  [[nodiscard]] bool has_just_shrunk(const Tag& tag) const;
  [[nodiscard]] bool is_relay(const Tag& tag) const;
  // --- answering ---
  Task<Result<json::object>> act(json::object request, std::string origin);
  Task<Result<json::object>> give_list(Tag tag, std::string origin, unsigned index, unsigned of,
                                       std::string after);
  Task<Result<void>> hear_raise(json::object request, Tag tag, unsigned relays, std::string origin);
  [[nodiscard]] RelayCalls::Count count(const Tag& tag) const;

  Options options_;
  RelayPlaces& places_;
  RelayCalls& calls_;
  FollowerLists& lists_;
  delivery::Announcer& announcer_;
  Clock& clock_;
  Log& log_;
  redundancy::LoadMeter meter_;
  std::map<Tag, Tended> sets_;
  std::map<Tag, Heard> heard_;  // of tags that others are relays of
  std::set<Tag> raising_;
  struct Claimed {
    unsigned relays;
    std::string by;  // origin
  };
  std::map<Tag, Claimed> claimed_;  // by another relay at rest, and not looked into yet
  std::map<Tag, std::pair<redundancy::OverloadToken, Instant>> signed_;  // what is given out now
  unsigned turn_ = 0;
  bool keeping_up_ = false;
  belief::DoubtQueue doubts_;
  TaskGroup tasks_;
};

}  // namespace tagring::relay
