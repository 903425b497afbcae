// Whom an owner believes (paper §3.4): a node about posts of its own host, a relay of a hashtag about what it
// relays, and anybody else about what the post's own server confirms.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "federation/blocks.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/consent.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/relay_hints.hpp"
#include "relay/results.hpp"
#include "relay/store.hpp"

namespace tagring::relay {

class PostChecker {
 public:
  struct Options {
    double check_share = 1.0 / 64;       // of vouched posts, fetched from their origin all the same
    std::size_t fetches_per_batch = 50;  // of posts that nobody vouches for; more are asked for again
  };
  // The role that takes the posts.
  class Owner {
   public:
    virtual ~Owner() = default;
    // kNotOwner or kBusy unless the event belongs here.
    [[nodiscard]] virtual Result<void> check_place(const TagEvent& event) const = 0;
    // The sender, who does not speak for the post's server, is believed all the same.
    [[nodiscard]] virtual Task<bool> trusts(Tag tag, std::string sender,
                                            std::optional<redundancy::RelayClaim> claim) = 0;
    // Somebody takes this node for an owner of the tag, and it is none.
    virtual void mistaken_for_owner(const Tag& tag) = 0;
    // A share of what senders vouch for is fetched all the same.
    [[nodiscard]] virtual bool samples() const = 0;
  };

  PostChecker(Options options, budget::Manager& budget, const federation::Blocks& blocks,
              federation::SignedClient& client, const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  // The events to take. Others are added to `refusals`: not ours, not wanted, not true, or too many to check
  // at once. Nothing is awaited after an event's place was checked last.
  [[nodiscard]] Task<std::vector<TagEvent>> believable(Owner& owner, std::vector<TagEvent> events,
                                                       std::string sender, redundancy::RelayClaims claims,
                                                       std::vector<Refusal>* refusals);
  // kDenied if post, author or hashtag are blocked here.
  [[nodiscard]] Result<void> check_blocks(const TagEvent& event) const;

  [[nodiscard]] std::uint64_t checked() const { return checked_; }  // fetched from their origin

 private:
  // What was fetched lately is not fetched again: for less time than other servers answer from their caches.
  static constexpr Duration kRemembered = std::chrono::minutes(3);
  static constexpr std::size_t kRememberedMax = 10'000;
  struct Asked {
    fediverse::Wishes wishes;
    Instant at;
  };
  struct Borne {  // a post that is there, public, and by that author
    std::string author;
    std::vector<Tag> tags;
    Instant at;
  };
  Task<Result<void>> check_truth(Owner& owner, TagEvent* event, std::string sender,
                                 std::optional<redundancy::RelayClaim> claim, std::size_t* fetches);
  [[nodiscard]] bool was_borne_out(const TagEvent& event) const;
  [[nodiscard]] Result<void> may_fetch(const std::string& url);
  void was_there(const std::string& url);
  Task<Result<void>> check_at_origin(TagEvent event);
  Task<Result<void>> ask_author(TagEvent* event);
  Task<Result<std::string>> fetch(std::string url);
  Task<void> spot_check(TagEvent event, std::string sender);
  [[nodiscard]] bool vouches(const std::string& sender, const TagEvent& event) const;

  Options options_;
  budget::Manager& budget_;
  const federation::Blocks& blocks_;
  federation::SignedClient& client_;
  Clock& clock_;
  Log& log_;
  Rng rng_;
  std::set<std::string> liars_;            // origins whose word about their own posts was wrong
  std::map<std::string, Asked> asked_;     // by author
  std::map<std::string, Borne> borne_;     // by URI
  std::map<std::string, Instant> silent_;  // hosts that did not answer, and when
  std::uint64_t checked_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::relay
