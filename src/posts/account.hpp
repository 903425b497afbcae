// Mastodon's Account and CustomEmoji, made of the documents of other servers.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "http/url.hpp"

namespace tagring::posts {

inline constexpr std::string_view kMissingImage = "/avatars/original/missing.png";
inline constexpr std::string_view kMissingHeader = "/headers/original/missing.png";
inline constexpr std::size_t kNameMax = 500;  // bytes of a name

// Where this node's own pages are: "https://host[:port]".
struct Site {
  std::string origin;

  [[nodiscard]] std::string tag_url(std::string_view canonical) const;
  // What stands where somebody has no picture, and no header: two addresses, as in Mastodon, by which clients
  // know that there is none.
  [[nodiscard]] std::string missing_image() const { return origin + std::string(kMissingImage); }
  [[nodiscard]] std::string missing_header() const { return origin + std::string(kMissingHeader); }
};

// The Account of the actor with that URI. kInvalid if the document is no JSON object, or of another actor.
Result<json::object> read_account(std::string_view body, const std::string& uri, const Site& site);

// --- for the other entities --------------------------------------------------------------------------------
// The CustomEmojis among a document's `tag`, at most kEmojisMax.
inline constexpr std::size_t kEmojisMax = 64;
json::array emojis_of(const json::object& document);
// The http(s) URL of an image, link or attachment: a text, an object with `url` or `href`, or the first of
// several that has one. Empty if there is none.
std::string url_of(const json::value* v);
// What a browser shows of an actor or a post: its `url`, else the id. What is on another server is not its
// page but somebody else's; of one server are a domain and those below it, as where ids are of example.org
// and pages of social.example.org. Neighbours below one domain are not: they may be customers of a hoster.
std::string page_of(const json::object& o, const std::string& id);
// The count of a collection that is given whole or by its first page; 0 if it does not say.
std::int64_t count_of(const json::object& o, std::string_view key);
// "host", or "host:port" if the port is not the usual one; empty if `uri` is no URL.
std::string authority_of(const std::string& uri);

}  // namespace tagring::posts
