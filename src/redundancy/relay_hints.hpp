// How many relays the hashtags have that this node publishes under or follows: what their relays said last.
// A relay knows better, and says so in every answer; so this is a hint that may be wrong at any time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/overload_token.hpp"
#include "redundancy/relay_place.hpp"

namespace tagring::redundancy {

// What a relay says of itself: one of so many relays of the tag.
struct RelayClaim {
  unsigned relays = 0;
  unsigned index = 0;
};
// On the wire: [{"tag", "relays", "index"}].
using RelayClaims = std::map<Tag, RelayClaim>;
json::array to_json(const RelayClaims& claims);
// What is malformed is left out.
RelayClaims claims_from_json(const json::value* list);

class RelayHints {
 public:
  // `at_rest`: of every hashtag that is not known to have more.
  // `on_more` is called when a tag is known to have more relays than before.
  RelayHints(unsigned at_rest, Clock& clock, std::function<void(const Tag& tag)> on_more)
      : at_rest_(at_rest), clock_(clock), on_more_(std::move(on_more)) {}

  [[nodiscard]] unsigned at_rest() const { return at_rest_; }
  [[nodiscard]] unsigned copies() const { return copies_of_post(at_rest_); }
  // A hashtag may have so many relays: a power of two from those at rest to kRelaysMax.
  [[nodiscard]] bool is_count(std::int64_t relays) const {
    return relays >= at_rest_ && is_relay_count(relays);
  }
  [[nodiscard]] unsigned of(const Tag& tag) const;
  // The tag had more relays than at rest in the last day: some that are none any more may still deliver.
  [[nodiscard]] bool was_raised(const Tag& tag) const;

  // A relay says so.
  void learn(const Tag& tag, unsigned relays);
  // What somebody claims who announces posts of these tags, and was found to be a relay of each of them: more
  // than is known. What it says of others is looked at by nobody.
  void hear(const RelayClaims& claims, const std::set<Tag>& tags);
  // A relay of as many relays as are known is overloaded: twice as many are to be tried. Kept to be shown to
  // them.
  void learn(OverloadToken token);
  // What an answer of a relay to something about these tags says: "relays", where there are more than at
  // rest, and "overloaded".
  void read_answer(const json::object& answer, const std::set<Tag>& tags);
  // Of the tags, those that are still good.
  [[nodiscard]] std::vector<OverloadToken> tokens(const std::set<Tag>& tags) const;

 private:
  struct Entry {
    unsigned relays = 0;
    Instant told;    // when a relay said so
    Instant raised;  // when it last had more than at rest
    std::optional<OverloadToken> token;
  };
  void forget_old();

  unsigned at_rest_;
  Clock& clock_;
  const std::function<void(const Tag& tag)> on_more_;
  std::map<Tag, Entry> tags_;
};

}  // namespace tagring::redundancy
