// How post URIs become small. A node keeps hundreds of millions of them, and most of each repeats what is
// known:
//
//   author  https://mastodon.social/users/somebody123
//   uri     https://mastodon.social/users/somebody123/statuses/113512345678901234
//   form    "=/statuses/"                  shared by all posts of Mastodon servers: kept once
//   tail    113512345678901234             8 bytes
//
// No SQL here: history_store.cpp keeps forms in a dictionary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace tagring::db_history {

// A UUID, as its 16 bytes.
struct Uuid {
  std::string bytes;
  friend bool operator==(const Uuid&, const Uuid&) = default;
};

// What follows the form: a decimal number, a UUID in lower case, or any text.
using Tail = std::variant<std::int64_t, Uuid, std::string>;

struct SplitUri {
  std::string form;  // one byte that says what comes before it ('=' the author, '@' the author's origin,
                     // '!' nothing), then text up to the tail
  Tail tail;
};

SplitUri split_uri(std::string_view uri, std::string_view author);
// The inverse for the same author, whatever the texts are.
std::string join_uri(std::string_view author, std::string_view form, const Tail& tail);

// Everything up to and including the last '/': what authors of one server have in common.
std::size_t author_prefix_size(std::string_view author);

}  // namespace tagring::db_history
