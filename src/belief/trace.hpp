// A post's way through the logs of all nodes that it passes, at the level debug:
//
//   event=post trace=5f0c2a91d3e47b60 step=announced op=add tag=cats with=https://far.example/inbox
//   post=https://…
//
// `trace` is made of the post's URI: every node writes the same, without its travelling.
#pragma once

#include <string_view>

#include "base/log.hpp"
#include "belief/tag_event.hpp"

namespace tagring::belief {

enum class Step : std::uint8_t {
  kPublished,  // came from its author's server, and is owed to owners
  kRelay,      // a relay owner answered, or
  kStorage,    // a storage owner: with its origin
  kEntered,    // is in this node's feed, as of a relay or a subscriber
  kAnnounced,  // an inbox answered: a node's, a person's or an instance's
};

// `refused`: why who answered did not take it.
void trace(Log& log, Step step, const TagEvent& event, std::string_view with = {},
           std::string_view refused = {});

}  // namespace tagring::belief
