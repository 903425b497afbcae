#include "activitypub/actor_documents.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/http_error.hpp"
#include "federation/version.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/vocabulary.hpp"
#include "relay/results.hpp"

namespace tagring::activitypub {
namespace {

constexpr std::size_t kPageSize = 40;

HttpResponse document(std::string_view type, std::string body) {
  HttpResponse response;
  response.headers.add("Content-Type", std::string(type));
  response.body = std::move(body);
  return response;
}

HttpResponse activity(const json::object& object) {
  return document(fediverse::kActivityJson, json::serialize(object));
}

HttpResponse not_found(const std::string& what) { return error_response({ErrorCode::kNotFound, what}); }

// Asks for HTML, as servers do not.
bool is_browser(const HttpRequest& request) {
  const std::string accept = request.headers.find("Accept").value_or("");
  return accept.contains("text/html") && !accept.contains("json");
}

// Who opens a hashtag's actor in a browser is shown its posts (web/site.hpp).
HttpResponse redirect_to_timeline(std::string_view actor_name) {
  const Result<Tag> tag = Tag::from_actor_name(percent_decode(actor_name).value_or(""));
  if (!tag) return not_found("no such hashtag: " + tag.error().message);
  HttpResponse response;
  response.status = 303;
  response.headers.add("Location", "/tags/" + percent_encode(tag->canonical()));
  response.headers.add("Vary", "Accept");
  return response;
}

}  // namespace

Task<HttpResponse> ActorDocuments::answer(HttpRequest request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  const std::string path = request.target.substr(0, mark);
  const std::string query = request.target.substr(std::min(mark + 1, request.target.size()));
  const std::string key = identity_.key.public_key().pem();
  if (path == "/actor") co_return activity(fediverse::make_node_actor(identity_, key));
  if (path == "/.well-known/webfinger") co_return webfinger(query);
  if (path == "/.well-known/host-meta")
    co_return document("application/xrd+xml", fediverse::make_host_meta(identity_));
  if (path == "/.well-known/nodeinfo") {
    co_return document("application/json", json::serialize(fediverse::make_nodeinfo_links(identity_)));
  }
  if (path == "/nodeinfo/2.1") {
    const json::object info =
        fediverse::make_nodeinfo(federation::kVersion, json::object{{"tagring", rings_.announcement()}});
    co_return document("application/json; profile=\"http://nodeinfo.diaspora.software/ns/schema/2.1#\"",
                       json::serialize(info));
  }
  if (path == "/robots.txt") co_return document("text/plain", "User-agent: *\nDisallow: /tagring/\n");
  if (path == "/followers" || path == "/actor/followers" || path == "/actor/following" ||
      path == "/actor/outbox") {
    co_return activity(fediverse::make_whole_collection(identity_.origin() + path, {}));
  }
  if (path.starts_with("/tag/")) {
    const std::string rest = path.substr(5);
    if (!rest.contains('/') && is_browser(request)) co_return redirect_to_timeline(rest);
    co_return co_await tag_page(rest, query);
  }
  co_return not_found("no such page");
}

HttpResponse ActorDocuments::webfinger(std::string_view query) const {
  const Result<fediverse::WebfingerTarget> target =
      fediverse::parse_webfinger_resource(query_value(query, "resource"), identity_);
  if (!target) return error_response(target.error());
  if (target->tag && blocks_.of_tag(target->tag->canonical()) != nullptr)
    return not_found("this hashtag is not offered here");
  return document("application/jrd+json",
                  json::serialize(fediverse::make_webfinger(target->subject, target->actor)));
}

Task<HttpResponse> ActorDocuments::tag_page(std::string rest, std::string query) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::optional<std::string> name = percent_decode(rest.substr(0, slash));
  const Result<Tag> tag = Tag::from_actor_name(name.value_or(""));
  if (!tag) co_return not_found("no such hashtag: " + tag.error().message);
  if (const federation::Block* block = blocks_.of_tag(tag->canonical()))
    co_return not_found("this hashtag is not offered here: " + block->reason);
  const std::string part = rest.substr(slash);
  if (part.empty())
    co_return activity(fediverse::make_tag_actor(identity_, *tag, identity_.key.public_key().pem()));
  if (part == "/outbox") co_return co_await outbox(*tag, std::move(query));
  if (part == "/followers" || part == "/following") {
    // How many, but not who.
    const std::string id = identity_.tag_actor(*tag) + part;
    co_return activity({{"@context", fediverse::kContext},
                        {"id", id},
                        {"type", "OrderedCollection"},
                        {"totalItems", part == "/followers" ? followers_.count(tag->canonical()) : 0}});
  }
  co_return not_found("no such page of a hashtag");
}

// The tag's history as a collection of announcements, a page at a time; any node shows it.
Task<HttpResponse> ActorDocuments::outbox(Tag tag, std::string query) {
  const std::string id = identity_.tag_actor(tag) + "/outbox";
  const std::string page = query_value(query, "page");
  if (page.empty()) {
    co_return activity({{"@context", fediverse::kContext},
                        {"id", id},
                        {"type", "OrderedCollection"},
                        {"first", id + "?page=true"}});
  }
  std::optional<storage::HistoryCursor> cursor;
  if (page != "true") {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(page);
    if (!parsed) co_return error_response(parsed.error());
    cursor = std::move(*parsed);
  }
  const Result<storage::HistoryPage> history = co_await history_.query(tag, std::move(cursor), kPageSize);
  if (!history) co_return error_response(history.error());
  json::array items;
  for (const storage::HistoryEntry& entry : history->entries) {
    items.push_back(json::object{{"type", "Announce"},
                                 {"actor", identity_.tag_actor(tag)},
                                 {"published", to_rfc3339(entry.published)},
                                 {"object", entry.uri}});
  }
  std::string next;
  if (history->more && history->next) {
    next = id + "?page=" + percent_encode(history->next->text());
  }
  co_return activity(
      fediverse::make_collection_page(id + "?page=" + percent_encode(page), id, std::move(items), next));
}

}  // namespace tagring::activitypub
