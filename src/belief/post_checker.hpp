// Whom owners and subscribers believe (paper §3.4): a node about posts of its own host, two relays of a
// hashtag that have nothing in common about what both say, and anybody else about what the post's own server
// bears out. So one who lies changes nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "belief/origin_checker.hpp"
#include "belief/tag_event.hpp"
#include "belief/witnesses.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/relay_hints.hpp"

namespace tagring::belief {

class PostChecker {
 public:
  struct Options {
    unsigned relays = 2;                 // of a hashtag at rest
    double check_share = 1.0 / 64;       // of vouched posts, fetched from their origin all the same
    std::size_t fetches_per_batch = 50;  // of posts that nobody vouches for; more are asked for again
  };
  // The role that takes the posts.
  class Owner {
   public:
    virtual ~Owner() = default;
    // kNotOwner or kBusy unless the event belongs here.
    [[nodiscard]] virtual Result<void> check_place(const TagEvent& event) const = 0;
    // Which relays of the hashtag the sender is, who does not speak for the post's server: what it says
    // counts if another relay says the same. 0: none.
    [[nodiscard]] virtual Task<redundancy::RelayHalves> witness(
        Tag tag, std::string sender, std::optional<redundancy::RelayClaim> claim) = 0;
    // Those that say nothing new: it has just that, and nobody has said otherwise since it was found true.
    [[nodiscard]] virtual Task<std::set<const TagEvent*>> known(std::vector<const TagEvent*> events);
    // Somebody takes this node for an owner of the tag, and it is none.
    virtual void mistaken_for_owner(const Tag& tag, const std::string& host) = 0;
    // A share of what senders vouch for is fetched all the same.
    [[nodiscard]] virtual bool samples() const = 0;
    // It keeps posts, and does not relay them.
    [[nodiscard]] virtual bool is_archive() const = 0;
  };

  PostChecker(Options options, const federation::Identity& identity, const federation::Blocks& blocks,
              OriginChecker& origins, const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  // The events to take. Others are added to `refusals`: not ours, not wanted, not true, or too many to check
  // at once. Nothing is awaited after an event's place was checked last.
  [[nodiscard]] Task<std::vector<TagEvent>> believable(Owner& owner, std::vector<TagEvent> events,
                                                       std::string sender, redundancy::RelayClaims claims,
                                                       std::vector<Refusal>* refusals);
  // The hashtags of which a node surely is a relay, and of which of the halves.
  using Relayed = std::map<Tag, redundancy::RelayHalves>;
  // Of what a relay of the hashtags `relayed` says, what can be believed: waits a moment for another one to
  // say the same, and then asks the posts' servers, as for other hashtags at once. Others are added to
  // `refusals`, never as kDenied: that would be about the relay.
  [[nodiscard]] Task<std::vector<TagEvent>> corroborated(std::vector<TagEvent> events, std::string relay,
                                                         Relayed relayed, std::vector<Refusal>* refusals);
  // A node has said so, out of turn. Whether that can be believed now.
  [[nodiscard]] bool hear(const TagEvent& event, const std::string& relay, const Relayed& relayed);
  // Two that have nothing in common have said so lately.
  [[nodiscard]] bool is_said_by_two(const TagEvent& event) { return witnesses_.agree_on(event); }
  // What that node was heard to say, as it is: another relay has said the same meanwhile, or the post's
  // server is asked.
  [[nodiscard]] Task<Result<TagEvent>> look_into(TagEvent event, std::string relay);
  // kDenied if post, author or hashtag are blocked here.
  [[nodiscard]] Result<void> check_blocks(const TagEvent& event) const;

  [[nodiscard]] std::uint64_t checked() const { return origins_.asked(); }  // fetched from their origin

 private:
  [[nodiscard]] Result<void> check_door(const Owner& owner, const TagEvent& event,
                                        const std::string& sender) const;
  // Of events that outlive the task.
  Task<void> await_witnesses(std::vector<const TagEvent*> events);
  Task<Result<void>> check_truth(TagEvent* event, std::string sender, std::size_t* fetches, bool of_archive);
  Task<Result<void>> ask_origin(TagEvent* event, bool of_archive, std::string sender);
  Task<void> spot_check(TagEvent event, std::string sender);
  void sample(const TagEvent& event, const std::string& sender);
  [[nodiscard]] bool vouches(const std::string& sender, const TagEvent& event) const;
  [[nodiscard]] bool is_liar(const std::string& sender) const;

  Options options_;
  const federation::Identity& identity_;
  const federation::Blocks& blocks_;
  OriginChecker& origins_;
  Clock& clock_;
  Log& log_;
  Rng rng_;
  Witnesses witnesses_;
  std::set<Contested::Key> sampled_;      // what is spot checked
  std::map<std::string, Instant> liars_;  // origins whose word about their own posts was wrong; until then
  TaskGroup tasks_;
};

}  // namespace tagring::belief
