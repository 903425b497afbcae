#include "fediverse/documents.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "fediverse/vocabulary.hpp"
#include "hashtag/typed.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

// Of the node's actor where its host has no dot. It was that of every node once, and those who were told so
// still find it.
constexpr std::string_view kDottedName = "node.actor";
constexpr std::string_view kAccount = "acct:";

json::array actor_context() {
  return {kContext, "https://w3id.org/security/v1",
          json::object{{"toot", "http://joinmastodon.org/ns#"},
                       {"discoverable", "toot:discoverable"},
                       {"indexable", "toot:indexable"},
                       {"featured", json::object{{"@id", "toot:featured"}, {"@type", "@id"}}},
                       {kNodeMark, "urn:tagring:protocol"},
                       {"schema", "http://schema.org#"},
                       {"PropertyValue", "schema:PropertyValue"},
                       {"value", "schema:value"},
                       {"manuallyApprovesFollowers", "as:manuallyApprovesFollowers"}}};
}

json::object picture(std::string_view url, std::string_view shows) {
  return {{"type", "Image"}, {"mediaType", "image/png"}, {"url", url}, {"summary", shows}};
}

// A row of the table in a profile. Nothing in names of hosts and hashtags needs to be escaped.
json::object field(std::string_view name, std::string_view html) {
  return {{"type", "PropertyValue"}, {"name", name}, {"value", html}};
}

// `rel` "me": the page links back, and is marked as the actor's own.
std::string link_to(std::string_view url, std::string_view rel, std::string_view text) {
  return fmt::format(R"(<a href="{}" rel="{}" target="_blank">{}</a>)", url, rel, text);
}

// Nothing in such an address needs to be escaped (config/config.cpp).
std::string mail_to(std::string_view address) {
  return link_to(fmt::format("mailto:{}", address), "nofollow noopener", address);
}

std::string page_of(const NodeUrls& urls, const Tag& tag, std::string_view rel) {
  return link_to(urls.tag_page(tag), rel, fmt::format("{}/tags/{}", urls.authority(), tag.canonical()));
}

// A field that is this link and nothing else: Mastodon verifies it only if its text is its address, to the
// letter, and hides what is "invisible".
std::string own_page(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  return link_to(url, "me nofollow noopener",
                 fmt::format(R"(<span class="invisible">{}</span>{})", kScheme, url.substr(kScheme.size())));
}

json::object make_actor(std::string_view id, std::string_view type, std::string_view username,
                        std::string_view inbox, const NodeUrls& urls, std::string_view public_key_pem) {
  const std::string base(id);
  return {{"@context", actor_context()},
          {"id", id},
          {"type", type},
          {"preferredUsername", username},
          {"url", id},
          {"inbox", inbox},
          {"outbox", base + "/outbox"},
          {"followers", followers_of(id)},
          {"following", base + "/following"},
          {"featured", base + "/featured"},
          {"icon", picture(base + "/icon.png", "Hash sign")},
          {"image", picture(base + "/header.png", "Hash signs")},
          {"endpoints", {{"sharedInbox", urls.shared_inbox()}}},
          {"manuallyApprovesFollowers", false},
          {"indexable", false},
          {"publicKey", {{"id", key_id_of(id)}, {"owner", id}, {"publicKeyPem", public_key_pem}}}};
}

// Of RFC 3986, 3.1.
bool has_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string scheme = ascii_lower(uri.substr(0, colon));
  return scheme[0] >= 'a' && scheme[0] <= 'z' && std::ranges::all_of(scheme, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
         });
}

// Of hashtags, whatever is no letter is left out of what people write. Of a name it is not: whoever looks for
// "a.b" must not find "ab", and follow that.
bool is_name(std::string_view name) {
  // Longer ones are no hashtags.
  if (name.size() > 4 * Tag::kSizeMax || !is_utf8(name)) return false;
  std::string letters(name);
  if (ascii_lower(name.substr(0, 4)) == "xn--") std::erase(letters, '-');
  return first_left_out(letters).empty();
}

std::optional<Tag> tag_below(std::string_view url, const std::string& prefix,
                             Result<Tag> (*parse)(std::string_view)) {
  if (!url.starts_with(prefix)) return std::nullopt;
  const std::optional<std::string> name = percent_decode(url.substr(prefix.size()));
  if (!name || !is_name(*name)) return std::nullopt;
  const Result<Tag> tag = parse(*name);
  return tag ? std::optional<Tag>(*tag) : std::nullopt;
}

// "caturday@tags.example.org"; nothing is the node's own actor.
Result<std::optional<Tag>> account_of(std::string_view account, const NodeUrls& urls) {
  if (account.starts_with('@')) account.remove_prefix(1);
  const std::size_t at = account.rfind('@');
  if (at == std::string_view::npos)
    return fail(ErrorCode::kInvalid, "resource is neither acct:name@host nor a URL");
  const std::optional<std::string> name = percent_decode(account.substr(0, at));
  if (!name) return fail(ErrorCode::kInvalid, "resource has a broken percent escape");
  if (!ascii_iequals(account.substr(at + 1), urls.authority()))
    return fail(ErrorCode::kNotFound, "resource is of another host");
  if (ascii_iequals(*name, node_actor_name(urls)) || ascii_iequals(*name, urls.authority()) ||
      ascii_iequals(*name, kDottedName))
    return std::nullopt;
  const Result<Tag> tag = Tag::from_actor_name(*name);
  if (!tag) return fail(ErrorCode::kNotFound, "no hashtag: " + tag.error().message);
  if (!is_name(*name))
    return fail(ErrorCode::kNotFound, "no account has such a name; #" + tag->canonical() + " does");
  return *tag;
}

}  // namespace

std::optional<Tag> NodeUrls::tag_of_actor(std::string_view actor) const {
  return tag_below(actor, origin_ + "/tag/", Tag::from_actor_name);
}

std::optional<Tag> NodeUrls::tag_of_page(std::string_view page) const {
  return tag_below(page, origin_ + "/tags/", Tag::parse);
}

std::string NodeUrls::tag_page(const Tag& tag) const {
  return origin_ + "/tags/" + percent_encode(tag.canonical());
}

std::string node_actor_name(const NodeUrls& urls) {
  std::string host = host_of(urls.origin());
  const bool is_name = host.contains('.') && !host.starts_with('[');
  return is_name ? host : std::string(kDottedName);
}

json::object make_node_actor(const NodeUrls& urls, std::string_view public_key_pem,
                             std::optional<WallTime> since, std::string_view contact) {
  json::object actor = make_actor(urls.actor(), "Application", node_actor_name(urls), urls.shared_inbox(),
                                  urls, public_key_pem);
  if (since) actor["published"] = to_rfc3339(*since);
  actor["name"] = urls.authority();
  // What accepting means must be said where it is asked for.
  actor["summary"] = fmt::format(
      "<p>Relays public posts under hashtags between servers, and keeps no copy of what they say. Servers "
      "add {} as "
      "a relay. Where this node works for people too: who follows this account and accepts its follow in "
      "return has "
      "public posts with hashtags relayed from then on, and nobody else. It reads nothing that is not "
      "public.</p>"
      "<p>Not wanted? #nobot in your profile, or block this account.</p>",
      urls.shared_inbox());
  actor["attachment"] =
      json::array{field("Hashtags", own_page(urls.origin() + "/")), field("Software", "tagring, automated")};
  if (!contact.empty()) actor["attachment"].get_array().push_back(field("Contact", mail_to(contact)));
  actor["discoverable"] = false;
  actor[kNodeMark] = 1;
  return actor;
}

json::object make_relay_actor(const NodeUrls& urls, std::string_view public_key_pem,
                              std::optional<WallTime> since, std::string_view contact) {
  json::object actor = make_node_actor(urls, public_key_pem, since, contact);
  const std::string id = urls.relay();
  actor["id"] = id;
  // Friendica finds an actor by this, too: were it the other's, it would take one for the other.
  actor["url"] = id;
  actor["publicKey"] = json::object{{"id", key_id_of(id)}, {"owner", id}, {"publicKeyPem", public_key_pem}};
  // Nodes speak by the other.
  for (const std::string_view key : {std::string_view("followers"), std::string_view("following"),
                                     std::string_view("featured"), kNodeMark})
    actor.erase(key);
  return actor;
}

json::object make_tag_actor(const NodeUrls& urls, const Tag& tag, std::string_view public_key_pem,
                            std::optional<WallTime> since, std::string_view contact) {
  const std::string id = urls.tag_actor(tag);
  json::object actor = make_actor(id, "Service", tag.actor_name(), id + "/inbox", urls, public_key_pem);
  actor["name"] = "#" + tag.canonical();
  if (since) actor["published"] = to_rfc3339(*since);
  // Letters, digits and a few separators: nothing in a tag needs to be escaped. What matters comes first:
  // what is shown of it at a glance ends after some 90 letters.
  actor["summary"] = fmt::format(
      R"(<p>Every public post under <a href="{}" class="mention hashtag" rel="tag">#<span>{}</span></a> that reaches )"
      "this network, from many servers. Older posts: {}</p>",
      urls.tag_page(tag), tag.canonical(), page_of(urls, tag, "nofollow noopener"));
  actor["attachment"] =
      json::array{field("Posts", own_page(urls.tag_page(tag))),
                  field("Run by", link_to(urls.origin() + "/", "nofollow noopener", urls.authority()) +
                                      ", automatically; for no person or brand" +
                                      (contact.empty() ? "" : ". Contact: " + mail_to(contact))),
                  field("Not here, please", "#nobot in your profile, or block this account")};
  // It announces all day, and would stand before all people in a directory.
  actor["discoverable"] = false;
  return actor;
}

std::string actor_at(const std::string& origin, const std::optional<Tag>& tag) {
  const NodeUrls urls(origin);
  return tag ? urls.tag_actor(*tag) : urls.actor();
}

void name_others(json::object& actor, std::string_view also_known_as, std::string_view moved_to) {
  json::object terms;
  const auto is_link = [&](std::string_view term) {
    terms[term] = json::object{{"@id", fmt::format("as:{}", term)}, {"@type", "@id"}};
  };
  if (!also_known_as.empty()) {
    is_link("alsoKnownAs");
    actor["alsoKnownAs"] = json::array{also_known_as};
  }
  if (!moved_to.empty()) {
    is_link("movedTo");
    actor["movedTo"] = moved_to;
  }
  if (!terms.empty()) actor.at("@context").as_array().push_back(std::move(terms));
}

std::string about_note_of(std::string_view tag_actor) { return std::string(tag_actor) + "/about"; }

json::object make_about_note(const NodeUrls& urls, const Tag& tag) {
  const std::string actor = urls.tag_actor(tag);
  return {{"@context", kContext},
          {"id", about_note_of(actor)},
          {"type", "Note"},
          {"attributedTo", actor},
          {"to", json::array{kPublic}},
          {"cc", json::array{followers_of(actor)}},
          {"url", urls.tag_page(tag)},
          {"content",
           fmt::format(
               "<p>New posts under #{} appear here as they are published; older ones: {}.</p><p>Put me on a "
               "list that hides its members from your home timeline, and you have the hashtag by itself. I "
               "only boost: the bell never rings, and nobody reads what is sent to me.</p>",
               tag.canonical(), page_of(urls, tag, "nofollow noopener"))}};
}

json::object make_webfinger(const WebfingerTarget& target) {
  const std::string& actor = target.actor;
  return {{"subject", target.subject},
          {"aliases", json::array{actor, target.page}},
          {"links", json::array{json::object{{"rel", "self"}, {"type", kActivityJson}, {"href", actor}},
                                json::object{{"rel", "self"}, {"type", kLdJson}, {"href", actor}},
                                json::object{{"rel", "http://webfinger.net/rel/profile-page"},
                                             {"type", "text/html"},
                                             {"href", target.page}}}}};
}

std::string make_host_meta(const NodeUrls& urls) {
  return fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>
<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">
  <Link rel="lrdd" template="{}/.well-known/webfinger?resource={{uri}}"/>
</XRD>
)",
      urls.origin());
}

json::object make_nodeinfo_links(const NodeUrls& urls) {
  json::array links;
  for (const std::string_view version : kNodeinfoVersions) {
    links.push_back(json::object{{"rel", nodeinfo_schema(version)},
                                 {"href", fmt::format("{}/nodeinfo/{}", urls.origin(), version)}});
  }
  links.push_back(
      json::object{{"rel", "https://www.w3.org/ns/activitystreams#Application"}, {"href", urls.actor()}});
  return {{"links", std::move(links)}};
}

std::string nodeinfo_schema(std::string_view version) {
  return fmt::format("http://nodeinfo.diaspora.software/ns/schema/{}", version);
}

json::object make_nodeinfo(std::string_view version, std::string_view software_version,
                           json::object metadata) {
  return {{"version", version},
          {"software", {{"name", "tagring"}, {"version", software_version}}},
          {"protocols", json::array{"activitypub"}},
          {"services", {{"inbound", json::array()}, {"outbound", json::array()}}},
          {"openRegistrations", false},
          {"usage", {{"users", json::object()}}},
          {"metadata", std::move(metadata)}};
}

json::object make_collection_page(std::string_view id, std::string_view collection, json::array items,
                                  std::string_view next) {
  json::object page = {{"@context", kContext},
                       {"id", id},
                       {"type", "OrderedCollectionPage"},
                       {"partOf", collection},
                       {"orderedItems", std::move(items)}};
  if (!next.empty()) page["next"] = next;
  return page;
}

json::object make_whole_collection(std::string_view id, const std::vector<std::string>& items) {
  return {{"@context", kContext},
          {"id", id},
          {"type", "OrderedCollection"},
          {"totalItems", items.size()},
          {"orderedItems", json::array(items.begin(), items.end())}};
}

Result<WebfingerTarget> parse_webfinger_resource(std::string_view resource, const NodeUrls& urls) {
  std::optional<Tag> tag;
  if (!has_scheme(resource)) return fail(ErrorCode::kInvalid, "resource is neither acct:name@host nor a URL");
  if (ascii_iequals(resource.substr(0, kAccount.size()), kAccount)) {
    TRY(tag, account_of(resource.substr(kAccount.size()), urls));
  } else {
    const Result<Url> url = Url::parse(resource);
    const std::string text = url ? url->text() : std::string();
    tag = urls.tag_of_actor(text);
    if (!tag) tag = urls.tag_of_page(text);
    if (!tag && text != urls.actor() && text != urls.origin() + "/")
      return fail(ErrorCode::kNotFound, "no such actor on this node");
  }
  WebfingerTarget target{.tag = tag,
                         .subject = {},
                         .actor = tag ? urls.tag_actor(*tag) : urls.actor(),
                         .page = tag ? urls.tag_page(*tag) : urls.origin() + "/"};
  target.subject =
      fmt::format("acct:{}@{}", tag ? tag->actor_name() : node_actor_name(urls), urls.authority());
  return target;
}

}  // namespace tagring::fediverse
