// This node as one of the relays of hashtags whose relays are more than at rest, or may soon be (paper §7.1;
// docs/protocol.md, "Relay sets").
//
// The relays at rest are always among them, and keep the number: it doubles when one of the relays signs that
// it is overloaded, and is halved when all of the smaller set say that they could do without the others. All
// of it is in memory: who has forgotten is told again by the others.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "federation/authenticator.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/load_meter.hpp"
#include "relay/announcer.hpp"
#include "relay/follow_times.hpp"
#include "relay/owner_queue.hpp"

namespace tagring::relay {

class RelayRedundancy {
 public:
  struct Options {
    std::string network;
    double capacity = 0;  // deliveries a second (LoadMeter)
    Duration cooldown =
        std::chrono::minutes(1);               // before a set is halved; doubles while that is not possible
    Duration every = std::chrono::seconds(5);  // how often lists are compared
    std::size_t page = 1000;                   // followers in one answer
  };
  static constexpr std::string_view kPath = "/tagring/v1/relays";

  RelayRedundancy(Options options, redundancy::RelayHints& counts, Store& store, Followers& followers,
                  overlay::RingService& rings, Announcer& announcer, federation::SignedClient& client,
                  federation::Authenticator& authenticator, const Runtime& runtime);

  [[nodiscard]] Task<void> stop();

  // --- taking posts ---------------------------------------------------------------------------------------
  // Of how many relays of the tag this node believes to be one.
  [[nodiscard]] unsigned relays_of(const std::string& tag) const;
  // The tag has more relays than at rest.
  [[nodiscard]] bool is_raised(const std::string& tag) const { return relays_of(tag) > counts_.at_rest(); }
  // This node is one of the relays that the tag has beyond those at rest.
  [[nodiscard]] bool is_extra(const Tag& tag) const;
  // Takes a post upon itself, as far as the load is concerned; false if it is too much.
  bool admit(const std::string& tag);
  // What goes with the answer to a publisher or follower about these tags: "relays", and "overloaded" for
  // those that were refused as too much.
  [[nodiscard]] json::object news(const std::set<std::string>& tags, const std::vector<Refusal>& refusals);
  // Tokens that a publisher shows: this node becomes a relay if they prove that it is needed.
  [[nodiscard]] Task<void> present(std::vector<redundancy::OverloadToken> tokens);
  // Somebody takes this node for a relay of the tag, and it is none: perhaps it should be.
  void doubt(const Tag& tag);
  [[nodiscard]] std::optional<redundancy::RelayClaim> claim(const std::string& tag) const;

  // --- followers ------------------------------------------------------------------------------------------
  // Another node has asked, just now, to follow the tag here, or not to.
  void note_request(const std::string& tag, const std::string& actor, bool follows);
  // No relay of the tag any more, but still delivering to that inbox.
  [[nodiscard]] bool is_draining(const std::string& tag, const std::string& inbox) const;

  // --- others as relays -----------------------------------------------------------------------------------
  // The node at that origin is one of the tag's relays, as it claims. kBusy if that may be found out later.
  [[nodiscard]] Task<Result<void>> check_relay(Tag tag, std::string origin,
                                               std::optional<redundancy::RelayClaim> claim);

  // Answers kPath: GET to anybody, POST to relays of the tag.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  // A tag with more relays than at rest, or a spare's.
  [[nodiscard]] json::array status() const;
  [[nodiscard]] const redundancy::LoadMeter& load() const { return meter_; }

 private:
  struct Listed {
    std::string inbox;
    WallTime at;
    bool follows = false;
  };
  using List = std::map<std::string, Listed>;  // by actor
  struct Set {
    unsigned relays = 0;
    unsigned lately = 0;  // the most in the time before `lately_until`
    Instant lately_until{};
    Instant since{};   // of the last change
    Instant shrunk{};  // last
    Duration cooldown{};
    Instant attempt{};                     // to halve it
    Instant asked{};                       // the others to go, last
    std::map<std::string, Instant> votes;  // origins of the smaller set that could do without this node
    Instant contradicted{};                // since when the relays at rest say that there are fewer
    Instant spare_until{};                 // told to hold the list for a set of `spare_of`
    unsigned spare_of = 0;
    Instant warned{};  // spares, last
    List list;         // of other relays
    Instant pulled{};  // when the relays at rest gave it, and of how many relays they knew
    unsigned pulled_with = 0;
    std::uint64_t feed_from = 0;   // what was taken since it became a relay
    Instant retired{};             // since when it is no relay any more, and still delivers
    std::uint64_t retired_at = 0;  // in the feed
    bool tending = false;
  };
  // What a relay says of the number of relays.
  struct Heard {
    unsigned relays = 0;
    unsigned lately = 0;
    Instant at{};
  };

  // --- changing ---
  Task<void> raise(redundancy::OverloadToken token);
  Task<Result<void>> check_token(redundancy::OverloadToken token);
  std::optional<redundancy::OverloadToken> sign(const std::string& tag);
  Set& set_of(const std::string& tag);
  Task<Result<void>> become_relay(Tag tag, unsigned relays, bool attested);
  Task<void> consider(std::string tag);
  // `overloaded`: a token says that more are needed, and not others that there are more.
  void set_relays(const std::string& tag, unsigned relays, bool overloaded = false);
  Task<void> tell_base(Tag tag, redundancy::OverloadToken token);
  Task<void> tell_children(Tag tag, std::string action, unsigned relays);
  Task<void> try_to_shrink(Tag tag);
  Task<void> count_votes(Tag tag, unsigned relays);
  Task<void> drain(std::string tag);
  // --- lists ---
  Task<Result<Heard>> pull(Tag tag, std::string origin, unsigned of, List* into);
  Task<Result<unsigned>> pull_base(Tag tag, unsigned of);
  Task<void> pull_by_turns(Tag tag);
  Task<void> apply_list(std::string tag);
  Task<Result<Heard>> ask_count(Tag tag, Duration age_max);
  Task<Result<Heard>> ask_count_at(ring::Contact owner, Tag tag);
  // --- upkeep ---
  Task<void> upkeep();
  Task<void> tend(Tag tag);
  [[nodiscard]] bool has_just_shrunk(const std::string& tag) const;
  // --- the ring ---
  // That place of a set of so many is also one of those at rest.
  [[nodiscard]] bool is_at_rest(unsigned place, unsigned of) const;
  [[nodiscard]] bool is_base(const Tag& tag) const;
  [[nodiscard]] bool is_relay(const Tag& tag) const { return is_base(tag) || is_extra(tag); }
  [[nodiscard]] std::vector<unsigned> own_places(const Tag& tag, unsigned relays) const;
  Task<std::vector<std::string>> origins(Tag tag, unsigned relays, unsigned first, unsigned step);
  Task<Result<void>> check_place(Tag tag, std::string origin, unsigned index, unsigned of);
  Task<Result<json::object>> call(std::string origin, Tag tag, unsigned of, json::object body);
  // --- answering ---
  Task<Result<json::object>> act(json::object request, std::string origin);
  [[nodiscard]] json::object list_page(const std::string& tag, const std::string& after) const;
  [[nodiscard]] json::object counts(const std::string& tag) const;

  Options options_;
  redundancy::RelayHints& counts_;
  Store& store_;
  Followers& followers_;
  overlay::RingService& rings_;
  Announcer& announcer_;
  federation::SignedClient& client_;
  federation::Authenticator& authenticator_;
  const federation::Identity& identity_;
  Clock& clock_;
  Log& log_;
  redundancy::LoadMeter meter_;
  FollowTimes times_;
  std::map<std::string, Set> sets_;     // by tag
  std::map<std::string, Heard> heard_;  // of tags that others are relays of
  std::set<std::string> raising_;
  std::map<std::string, Instant> doubted_;
  std::map<std::string, std::pair<redundancy::OverloadToken, Instant>>
      signed_;  // by tag: what is given out now
  unsigned turn_ = 0;
  bool keeping_up_ = false;
  TaskGroup tasks_;
};

}  // namespace tagring::relay
