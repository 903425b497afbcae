// Which hashtags a server wants: pages of followed hashtags, /.well-known/x-social-relay. The text stands for
// each of them.
#include "fediverse/tag_wishes.hpp"

#include <set>

#include "fuzz/target.hpp"
#include "hashtag/tag.hpp"

namespace tagring::fuzzing {
namespace {

// In canonical form, each once.
void check(const std::vector<std::string>& tags) {
  for (const std::string& tag : tags) {
    const Result<Tag> parsed = Tag::parse(tag);
    TR_ASSERT(parsed && parsed->canonical() == tag);
  }
  TR_ASSERT(std::set<std::string>(tags.begin(), tags.end()).size() == tags.size());
}

}  // namespace

void fuzz(std::string_view text) {
  const auto followed = fediverse::parse_followed_tags(text);
  if (followed) check(*followed);
  const auto relay = fediverse::parse_social_relay(text);
  TR_ASSERT(!relay || !followed);
  if (relay) {
    check(relay->tags);
    TR_ASSERT(relay->tags.empty() || relay->ignored.empty());
    TR_ASSERT(relay->ignored.size() < 100);
  }
}

}  // namespace tagring::fuzzing
