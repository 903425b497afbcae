// The words of ActivityStreams that every part of this module needs, and how strangers spell them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace tagring::fediverse {

inline constexpr std::string_view kContext = "https://www.w3.org/ns/activitystreams";
inline constexpr std::string_view kPublic = "https://www.w3.org/ns/activitystreams#Public";
inline constexpr std::string_view kActivityJson = "application/activity+json";
inline constexpr std::string_view kLdJson =
    R"(application/ld+json; profile="https://www.w3.org/ns/activitystreams")";

inline constexpr std::size_t kIdSizeMax = 2048;
// Of a post, its author, who follows, and their Follow: nodes hand each other 400 of these in a page, which
// has to stay below the megabyte that they read (http/message.hpp). Misskey keeps 512.
inline constexpr std::size_t kSharedIdSizeMax = 640;

// The public collection in any of its three spellings.
bool is_public(std::string_view id);

// The types of an object, without the prefixes "as:" and the namespace.
std::vector<std::string> types_of(const json::object& o);
bool has_type(const json::object& o, std::string_view type);

// The id of `v`, given by itself or as an object that has it. kInvalid, naming `what`, if it is no http(s)
// URL; kTooLarge if it is longer than kIdSizeMax. The public collection is an id too, and comes back as
// kPublic.
Result<std::string> parse_id(const json::value* v, std::string_view what);
// One or several. kTooLarge for more than `items_max`.
Result<std::vector<std::string>> parse_ids(const json::value* v, std::string_view what,
                                           std::size_t items_max);

// Both are http(s) URLs with the same scheme, host and port: one server speaks for both.
bool is_same_origin(std::string_view a, std::string_view b);

// Content-Type of an ActivityStreams document: application/activity+json, or application/ld+json whose
// profile names ActivityStreams. Anything else may be a file that some user uploaded.
bool is_activity_json(std::string_view content_type);

}  // namespace tagring::fediverse
