// Which inboxes were told of an entry of the feed, where that does not follow from how far they have got: a
// post is announced under some of the hashtags that are followed at an inbox, and not at all where it is kept
// away. Without them a node that has been restarted would undo what it never said, or leave undone what it
// did. And what nodes were owed only when they had got further. They stand beside the entry, 12 characters an
// inbox, the later ones behind the earlier.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tagring::delivery {

// By crypto::hash64 of the inbox: whether it was told. Of a removal told to people: what followed from it has
// been seen to.
using ToldNotes = std::map<std::uint64_t, bool>;

std::string to_note(std::uint64_t inbox, bool told);
// Of what is no note, nothing.
ToldNotes read_notes(std::string_view text);

}  // namespace tagring::delivery
