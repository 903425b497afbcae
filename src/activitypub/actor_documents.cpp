#include "activitypub/actor_documents.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "federation/version.hpp"
#include "fediverse/badge.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/negotiation.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {

HttpResponse document(std::string_view type, std::string body) {
  HttpResponse response;
  response.headers.add("Content-Type", std::string(type));
  response.body = std::move(body);
  return response;
}

HttpResponse activity(const json::object& object) {
  return document(fediverse::kActivityJson, json::serialize(object));
}

// A note without a date is one of now to some, and a warning in the log to others (GoToSocial).
HttpResponse note(json::object object, std::optional<WallTime> published) {
  if (published) object["published"] = to_rfc3339(*published);
  return activity(object);
}

// A collection of which is said how many are in it, but not who.
json::object counted(std::string id, std::size_t size) {
  return {{"@context", fediverse::kContext},
          {"id", std::move(id)},
          {"type", "OrderedCollection"},
          {"totalItems", size}};
}

HttpResponse picture(std::string png) {
  HttpResponse response = document("image/png", std::move(png));
  response.headers.add("Cache-Control", "public, max-age=604800");
  return response;
}

// The colour of the node's own actor, which has no key.
constexpr std::size_t kOwnColour = 4;

HttpResponse not_found(const std::string& what) { return error_response({ErrorCode::kNotFound, what}); }

// Who opens an actor in a browser is shown a page (web/site.hpp).
bool is_browser(const HttpRequest& request) {
  return fediverse::prefers_html(request.headers.joined("Accept").value_or(""));
}

HttpResponse by_accept(HttpResponse response) {
  response.headers.add("Vary", "Accept");
  return response;
}

// A plus is itself here, and no blank (RFC 7033, 4.1).
std::string resource_in(std::string query) {
  for (std::size_t at = query.find('+'); at != std::string::npos; at = query.find('+', at))
    query.replace(at, 1, "%2B");
  return query_value(query, "resource");
}

}  // namespace

Task<HttpResponse> ActorDocuments::answer(HttpRequest request) {
  const std::string path(path_of(request.target));
  const std::string query(query_of(request.target));
  if (path == "/actor" || path == "/relay") {
    if (is_browser(request)) co_return by_accept(redirect(303, "/"));
    const std::optional<WallTime> born = co_await since(std::nullopt, request.peer);
    const std::string key = identity_.key.public_key().pem();
    if (path == "/relay")
      co_return by_accept(activity(fediverse::make_relay_actor(identity_, key, born, identity_.contact)));
    json::object actor = fediverse::make_node_actor(identity_, key, born, identity_.contact);
    co_return by_accept(activity(with_names(std::move(actor), std::nullopt)));
  }
  if (path == "/.well-known/webfinger") co_return co_await webfinger(query, request.peer);
  if (path == "/.well-known/host-meta")
    co_return document("application/xrd+xml", fediverse::make_host_meta(identity_));
  if (path == "/.well-known/nodeinfo") {
    co_return document("application/json", json::serialize(fediverse::make_nodeinfo_links(identity_)));
  }
  for (const std::string_view version : fediverse::kNodeinfoVersions) {
    if (path != fmt::format("/nodeinfo/{}", version)) continue;
    const json::object info = fediverse::make_nodeinfo(version, federation::kVersion,
                                                       json::object{{"tagring", rings_.announcement()}});
    co_return document(fmt::format("application/json; profile=\"{}#\"", fediverse::nodeinfo_schema(version)),
                       json::serialize(info));
  }
  if (path == "/robots.txt") co_return document("text/plain", "User-agent: *\nDisallow: /tagring/\n");
  if (path.starts_with("/actor/") || path == "/followers") co_return own_page(path);
  if (path.starts_with("/tag/")) {
    co_return co_await tag_page(std::move(request), path.substr(5), query);
  }
  co_return not_found("no such page");
}

HttpResponse ActorDocuments::own_page(const std::string& path) const {
  if (path == "/actor/icon.png") return picture(fediverse::make_icon(kOwnColour));
  if (path == "/actor/header.png") return picture(fediverse::make_header(kOwnColour));
  if (path == "/actor/followers")
    return activity(counted(identity_.origin() + path, followers_.all().own_people()));
  if (path == "/actor/following" || path == "/actor/outbox" || path == "/actor/featured" ||
      path == "/followers")
    return activity(fediverse::make_whole_collection(identity_.origin() + path, {}));
  return not_found("no such page");
}

json::object ActorDocuments::with_names(json::object actor, const std::optional<Tag>& tag) const {
  const auto at = [&](const std::string& origin) {
    return origin.empty() ? std::string() : fediverse::actor_at(origin, tag);
  };
  fediverse::name_others(actor, at(identity_.moved_from), at(identity_.moved_to));
  return actor;
}

Task<HttpResponse> ActorDocuments::webfinger(std::string query, IpAddress asker) {
  Result<fediverse::WebfingerTarget> target =
      fediverse::parse_webfinger_resource(resource_in(std::move(query)), identity_);
  if (!target) co_return error_response(target.error());
  if (target->tag && blocks_.of_tag(target->tag->canonical()) != nullptr)
    co_return not_found("this hashtag is not offered here");
  // Who looks for a hashtag asks for its document next: by then it may be known how old it is.
  if (target->tag && !since_.contains(target->tag) && tasks_.size() < kLookUpsMax) {
    Executor executor = co_await boost::asio::this_coro::executor;
    tasks_.spawn("since", charged_to(std::move(executor), learn_since(*target->tag, asker)));
  }
  // People are sent on. The account stays what it is: servers that look at it again, and so hear that it has
  // moved, refuse one whose name is another's.
  if (!identity_.moved_to.empty()) {
    const fediverse::NodeUrls there(identity_.moved_to);
    target->page = target->tag ? there.tag_page(*target->tag) : there.origin() + "/";
  }
  co_return document("application/jrd+json", json::serialize(fediverse::make_webfinger(*target)));
}

Task<HttpResponse> ActorDocuments::tag_page(HttpRequest request, std::string rest, std::string query) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string name = percent_decode(rest.substr(0, slash)).value_or("");
  const Result<Tag> tag = Tag::from_actor_name(name);
  if (!tag) co_return not_found("no such hashtag: " + tag.error().message);
  // Or who looks for "a.b" would find "ab", as nobody does by WebFinger.
  if (!identity_.tag_of_actor(identity_.origin() + "/tag/" + rest.substr(0, slash)))
    co_return not_found("no such hashtag: its name has letters, digits and _ only");
  if (const federation::Block* block = blocks_.of_tag(tag->canonical()))
    co_return not_found("this hashtag is not offered here: " + block->reason);
  const std::string part = rest.substr(slash);
  if (part.empty() && is_browser(request))
    co_return by_accept(redirect(303, "/tags/" + percent_encode(tag->canonical())));
  // Servers refuse a document whose id is not, to the letter, where they got it from.
  if (rest.substr(0, slash) != tag->actor_name())
    co_return by_accept(redirect(308, identity_.tag_actor(*tag) + part + (query.empty() ? "" : "?" + query)));
  if (part.empty()) {
    const std::optional<WallTime> born = co_await since(*tag, request.peer);
    json::object actor =
        fediverse::make_tag_actor(identity_, *tag, identity_.key.public_key().pem(), born, identity_.contact);
    co_return by_accept(activity(with_names(std::move(actor), *tag)));
  }
  if (part == "/icon.png") co_return picture(fediverse::make_icon(fediverse::colour_of(tag->key())));
  if (part == "/header.png") co_return picture(fediverse::make_header(fediverse::colour_of(tag->key())));
  if (part == "/about")
    co_return note(fediverse::make_about_note(identity_, *tag), co_await since(*tag, request.peer));
  if (part == "/featured") {
    const std::string actor = identity_.tag_actor(*tag);
    co_return activity(fediverse::make_whole_collection(actor + part, {fediverse::about_note_of(actor)}));
  }
  if (part == "/outbox") co_return co_await outbox_.answer(*tag, std::move(query), request.peer);
  // People only, since nobody else is shown by those who count.
  if (part == "/followers" || part == "/following")
    co_return activity(
        counted(identity_.tag_actor(*tag) + part, part == "/followers" ? followers_.all().people(*tag) : 0));
  co_return not_found("no such page of a hashtag");
}

Task<std::optional<WallTime>> ActorDocuments::since(std::optional<Tag> tag, IpAddress asker) {
  const auto may_look = [this](const Since& known) {
    return clock_.now() >= known.look_again && tasks_.size() < kLookUpsMax;
  };
  auto known = since_.find(tag);
  const bool is_new = known == since_.end();
  if (!is_new && (!tag || !may_look(known->second))) co_return known->second.day;
  if (tag && outbox_.wait_for(*tag, asker) > Duration::zero())
    co_return is_new ? std::nullopt : std::optional(known->second.day);
  if (is_new) {
    const Result<std::optional<WallTime>> stored = co_await followers_.actor_since(tag);
    if (!stored || !*stored) co_return std::nullopt;
    make_room(since_, kSinceMax);
    known = since_.try_emplace(tag, Since{**stored}).first;
  }
  const WallTime day = known->second.day;
  if (!tag || !may_look(known->second)) co_return day;
  known->second.look_again = Instant::max();
  Executor executor = co_await boost::asio::this_coro::executor;
  tasks_.spawn("first_day", charged_to(std::move(executor), find_first_day(*std::move(tag))));
  co_return day;
}

Task<void> ActorDocuments::learn_since(Tag tag, IpAddress asker) {
  (void)co_await since(std::move(tag), asker);
}

Task<void> ActorDocuments::charged_to(Executor asker, Task<void> work) {
  TaskGroup charged(asker);
  charged.spawn("for_asker", std::move(work));
  co_await charged.join();
}

Task<void> ActorDocuments::find_first_day(Tag tag) {
  const std::optional<Outbox::Extent> extent = co_await outbox_.extent(tag);
  const auto known = since_.find(tag);
  if (known == since_.end()) co_return;
  if (!extent) known->second.look_again = clock_.now() + kLookAgain;
  if (extent && extent->first_day) known->second.day = std::min(known->second.day, *extent->first_day);
}

Task<void> ActorDocuments::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace tagring::activitypub
