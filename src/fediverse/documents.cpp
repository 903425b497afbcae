#include "fediverse/documents.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/url.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::fediverse {
namespace {

json::array actor_context() {
  return {kContext, "https://w3id.org/security/v1",
          json::object{{"toot", "http://joinmastodon.org/ns#"},
                       {"discoverable", "toot:discoverable"},
                       {"indexable", "toot:indexable"},
                       {"manuallyApprovesFollowers", "as:manuallyApprovesFollowers"}}};
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
          {"endpoints", {{"sharedInbox", urls.shared_inbox()}}},
          {"manuallyApprovesFollowers", false},
          {"indexable", false},
          {"publicKey", {{"id", key_id_of(id)}, {"owner", id}, {"publicKeyPem", public_key_pem}}}};
}

}  // namespace

std::optional<Tag> NodeUrls::tag_of_actor(std::string_view actor) const {
  const std::string prefix = origin_ + "/tag/";
  if (!actor.starts_with(prefix)) return std::nullopt;
  const std::optional<std::string> name = percent_decode(actor.substr(prefix.size()));
  if (!name || name->find_first_of("/?#") != std::string::npos) return std::nullopt;
  const Result<Tag> tag = Tag::from_actor_name(*name);
  return tag ? std::optional<Tag>(*tag) : std::nullopt;
}

json::object make_node_actor(const NodeUrls& urls, std::string_view public_key_pem) {
  json::object actor =
      make_actor(urls.actor(), "Application", kNodeActorName, urls.shared_inbox(), urls, public_key_pem);
  actor["name"] = urls.authority();
  actor["summary"] = "<p>Hashtag relay. Automated; acts for no person.</p>";
  actor["discoverable"] = false;
  actor[kNodeMark] = 1;
  return actor;
}

json::object make_tag_actor(const NodeUrls& urls, const Tag& tag, std::string_view public_key_pem) {
  const std::string id = urls.tag_actor(tag);
  json::object actor = make_actor(id, "Service", tag.actor_name(), id + "/inbox", urls, public_key_pem);
  actor["name"] = "#" + tag.canonical();
  // Letters, digits and a few separators: nothing in a tag needs to be escaped.
  actor["summary"] = fmt::format(
      "<p>Boosts public posts tagged #{}. Automated, run by {}; not affiliated with any person or brand.</p>",
      tag.canonical(), urls.authority());
  actor["discoverable"] = true;
  return actor;
}

json::object make_webfinger(std::string_view subject, std::string_view actor) {
  return {{"subject", subject},
          {"aliases", json::array{actor}},
          {"links", json::array{json::object{{"rel", "self"}, {"type", kActivityJson}, {"href", actor}},
                                json::object{{"rel", "self"}, {"type", kLdJson}, {"href", actor}}}}};
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
  return {{"links", json::array{json::object{{"rel", "http://nodeinfo.diaspora.software/ns/schema/2.1"},
                                             {"href", urls.origin() + "/nodeinfo/2.1"}},
                                json::object{{"rel", "https://www.w3.org/ns/activitystreams#Application"},
                                             {"href", urls.actor()}}}}};
}

json::object make_nodeinfo(std::string_view software_version, json::object metadata) {
  return {{"version", "2.1"},
          {"software", {{"name", "tagring"}, {"version", software_version}}},
          {"protocols", json::array{"activitypub"}},
          {"services", {{"inbound", json::array()}, {"outbound", json::array()}}},
          {"openRegistrations", false},
          {"usage", {{"users", json::object()}}},
          {"metadata", std::move(metadata)}};
}

json::object make_collection(std::string_view id, std::uint64_t total, std::string_view first) {
  return {{"@context", kContext},
          {"id", id},
          {"type", "OrderedCollection"},
          {"totalItems", total},
          {"first", first}};
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

std::string make_error_body(const Error& error) {
  return json::serialize(json::object{{"error", to_string(error.code)}, {"message", error.message}});
}

Result<WebfingerTarget> parse_webfinger_resource(std::string_view resource, const NodeUrls& urls) {
  std::optional<Tag> tag;
  if (resource.starts_with("https://") || resource.starts_with("http://")) {
    if (resource != urls.actor()) {
      tag = urls.tag_of_actor(resource);
      if (!tag) return fail(ErrorCode::kNotFound, "no such actor on this node");
    }
  } else {
    if (resource.starts_with("acct:")) resource.remove_prefix(5);
    if (resource.starts_with('@')) resource.remove_prefix(1);
    const std::size_t at = resource.rfind('@');
    if (at == std::string_view::npos)
      return fail(ErrorCode::kInvalid, "resource is neither acct:name@host nor a URL");
    if (!ascii_iequals(resource.substr(at + 1), urls.authority())) {
      return fail(ErrorCode::kNotFound, "resource is of another host");
    }
    const std::optional<std::string> name = percent_decode(resource.substr(0, at));
    if (!name) return fail(ErrorCode::kInvalid, "resource has a broken percent escape");
    if (*name != kNodeActorName) {
      const Result<Tag> parsed = Tag::from_actor_name(*name);
      if (!parsed) return fail(ErrorCode::kNotFound, "no hashtag: " + parsed.error().message);
      tag = *parsed;
    }
  }
  WebfingerTarget target{.tag = tag, .subject = {}, .actor = tag ? urls.tag_actor(*tag) : urls.actor()};
  target.subject =
      fmt::format("acct:{}@{}", tag ? tag->actor_name() : std::string(kNodeActorName), urls.authority());
  return target;
}

}  // namespace tagring::fediverse
