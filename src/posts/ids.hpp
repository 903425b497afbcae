// Names of things in Mastodon's API. A status has an id that tells its place in a timeline, as Mastodon's own
// do: milliseconds since 1970, times 2^20, plus 20 bits that tell posts of one millisecond apart. So an id
// seen a year ago still leads back to its place, on any node. Most servers tell times in whole seconds, so
// two posts of a busy hashtag may get the same id all the same: what tells posts apart is their URI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace tagring::posts {

using StatusId = std::uint64_t;

// The low bits are a hash of the URI. Times before 1970 count as 1970.
StatusId status_id(WallTime published, std::string_view uri);
// The first id of that millisecond: all that was published earlier has a smaller one.
StatusId first_id_at(WallTime published);
WallTime time_of(StatusId id);
// Nothing if it is no decimal number of 64 bits.
std::optional<StatusId> parse_status_id(std::string_view text);

// Of an account, an attachment or a hashtag: a number from the hash of its URI. Says nothing of its age.
std::string stable_id(std::string_view uri);

// "2026-11-21T02:24:00.000Z": always with milliseconds, which some clients insist on.
std::string datetime(WallTime time);

}  // namespace tagring::posts
