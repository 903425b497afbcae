// The documents that a node serves about itself.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::fediverse {

// Where everything of a node is. The inbox of the node's actor is its shared inbox, and what an administrator
// enters as relay: Mastodon takes announcements only from an actor whose `inbox` is that very URL.
class NodeUrls {
 public:
  // "https://host[:port]"
  explicit NodeUrls(std::string origin) : origin_(std::move(origin)) {}

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] std::string authority() const { return origin_.substr(origin_.find("//") + 2); }
  [[nodiscard]] std::string actor() const { return origin_ + "/actor"; }
  [[nodiscard]] std::string shared_inbox() const { return origin_ + "/inbox"; }
  // The node's actor by its second address (make_relay_actor); target of Add and Remove between nodes.
  [[nodiscard]] std::string relay() const { return origin_ + "/relay"; }
  [[nodiscard]] std::string storage() const { return origin_ + "/storage"; }  // target of Add and Remove
  // The node's own actor, by either address.
  [[nodiscard]] bool is_node_actor(std::string_view id) const { return id == actor() || id == relay(); }
  [[nodiscard]] std::string tag_actor(const Tag& tag) const { return origin_ + "/tag/" + tag.actor_name(); }
  // The tag of one of this node's tag actors.
  [[nodiscard]] std::optional<Tag> tag_of_actor(std::string_view actor) const;
  // The page of a tag, for people, and its tag.
  [[nodiscard]] std::string tag_page(const Tag& tag) const;
  [[nodiscard]] std::optional<Tag> tag_of_page(std::string_view page) const;
  // That of an inbox of any of its actors.
  [[nodiscard]] static bool is_inbox(std::string_view path) {
    return path == "/inbox" || (path.starts_with("/tag/") && path.ends_with("/inbox"));
  }

 private:
  std::string origin_;
};

// Of an own actor.
inline std::string key_id_of(std::string_view actor) { return std::string(actor) + "#main-key"; }
inline std::string followers_of(std::string_view actor) { return std::string(actor) + "/followers"; }

// The property by which a node's actor says that it speaks the batched forms; its value is the protocol
// version.
inline constexpr std::string_view kNodeMark = "tagring";

// Name of the node's actor in WebFinger: the host's, as servers call their own actors. Its dot keeps it apart
// from every hashtag; where there is none, it is another one that has.
std::string node_actor_name(const NodeUrls& urls);

// The actor as which the node itself signs, follows and relays. `since`: when it came to be, if that is
// known. `contact`: an e-mail address of who runs the node, or empty.
json::object make_node_actor(const NodeUrls& urls, std::string_view public_key_pem,
                             std::optional<WallTime> since = std::nullopt, std::string_view contact = {});
// The same for servers that take an actor for a relay only if it has no collections of who follows it and
// whom it follows (Friendica a0a8aeb, APContact::isRelay). It has its own id, and the same inbox. Its account
// is that of the other: no WebFinger leads to it.
json::object make_relay_actor(const NodeUrls& urls, std::string_view public_key_pem,
                              std::optional<WallTime> since = std::nullopt, std::string_view contact = {});
// The actor that people follow to get a hashtag.
json::object make_tag_actor(const NodeUrls& urls, const Tag& tag, std::string_view public_key_pem,
                            std::optional<WallTime> since = std::nullopt, std::string_view contact = {});

// The actor of a hashtag, or the node's own, at the node of that origin.
std::string actor_at(const std::string& origin, const std::optional<Tag>& tag);
// Says in an actor's document what the actor was called before, and what it is called from now on. Either may
// be empty. A move is believed if the new actor names the old one so (Mastodon).
void name_others(json::object& actor, std::string_view also_known_as, std::string_view moved_to);

// What stands first on the profile of a hashtag: a note of its actor, which is in the collection `featured`.
std::string about_note_of(std::string_view tag_actor);
json::object make_about_note(const NodeUrls& urls, const Tag& tag);

// Whom a WebFinger query means.
struct WebfingerTarget {
  std::optional<Tag> tag;  // absent: the node's own actor
  std::string subject;     // "acct:name@host", the one spelling that is given back
  std::string actor;
  std::string page;  // for people
};
// "acct:caturday@host", also with the name in Unicode or percent-encoded, or the URL of an actor or of a
// hashtag's page. `resource` is decoded once, as it stood in the query. kNotFound for other hosts and schemes
// and for names of no account, kInvalid without a scheme (RFC 7033, 4.2 and 4.5).
Result<WebfingerTarget> parse_webfinger_resource(std::string_view resource, const NodeUrls& urls);

// Served as application/jrd+json.
json::object make_webfinger(const WebfingerTarget& target);
// Served as application/xrd+xml.
std::string make_host_meta(const NodeUrls& urls);
// /.well-known/nodeinfo, which also tells the node's actor (FEP-2677).
json::object make_nodeinfo_links(const NodeUrls& urls);
// The newest, and what older crawlers and clients look for; the last that a reader knows is what it takes.
inline constexpr std::array<std::string_view, 2> kNodeinfoVersions = {"2.0", "2.1"};
std::string nodeinfo_schema(std::string_view version);
json::object make_nodeinfo(std::string_view version, std::string_view software_version,
                           json::object metadata);

// One page of a collection; `next` is empty on the last.
json::object make_collection_page(std::string_view id, std::string_view collection, json::array items,
                                  std::string_view next);
// A collection in one piece. `orderedItems` is there even when it is empty: programs read a list without
// asking whether there is one.
json::object make_whole_collection(std::string_view id, const std::vector<std::string>& items);

}  // namespace tagring::fediverse
