#include "admin/control.hpp"

#include <charconv>

#include "base/bytes.hpp"
#include "base/http_error.hpp"
#include "relay/results.hpp"
#include "relay/wire.hpp"
#include "ring/codec.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kTagsMax = 200'000;
constexpr std::size_t kLoggedMax = 200;  // octets of a request
constexpr std::int64_t kNumberMax = 4'000'000'000;

HttpResponse answer_json(const json::object& object) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(object);
  return response;
}

std::uint64_t number(std::string_view query, std::string_view name, std::uint64_t otherwise) {
  const std::string text = query_value(query, name);
  std::uint64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool get_flag(const json::object& o, std::string_view key) {
  const json::value* value = json::find(o, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

json::object to_json(const Segment& segment) {
  return {{"from", segment.from.hex()}, {"to", segment.to.hex()}};
}

// The canonical forms of `tags`.
Result<std::vector<std::string>> tags_in(const json::object& request) {
  std::vector<std::string> tags;
  Result<void> readable;
  json::for_each(json::find(request, "tags"), [&](const json::value& element) {
    if (!readable) return;
    const Result<Tag> tag =
        Tag::parse(element.is_string() ? std::string_view(element.get_string()) : std::string_view());
    if (!tag) {
      readable = std::unexpected(tag.error());
    } else {
      tags.push_back(tag->canonical());
    }
  });
  if (!readable) return std::unexpected(readable.error());
  if (tags.empty() || tags.size() > kTagsMax)
    return fail(ErrorCode::kInvalid, "'tags' must name 1 to 200000 hashtags");
  return tags;
}

}  // namespace

Task<HttpResponse> Control::answer(HttpRequest request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  const std::string path = request.target.substr(0, mark);
  const std::string query = request.target.substr(std::min(mark + 1, request.target.size()));
  if (request.method == "GET" && path == "/status") co_return answer_json(actions_.status());
  if (request.method == "GET" && path == "/ring") co_return ring();
  if (request.method == "GET" && path == "/history") co_return co_await history(query);
  if (request.method == "GET" && path == "/feed") co_return co_await feed(query);
  if (request.method == "GET" && path == "/owners") co_return co_await owners(query);
  if (request.method == "GET" && path == "/audit") co_return co_await audit(query);
  if (request.method == "GET" && path == "/audits")
    co_return answer_json({{"audits", json::array(audit_.last().begin(), audit_.last().end())}});
  if (request.method == "GET" && path == "/takedowns") {
    const Result<json::object> list = co_await heads_.take_downs();
    co_return list ? answer_json(*list) : error_response(list.error());
  }
  if (request.method == "GET" && path == "/blocks") co_return answer_json(moderation_.list());
  if (request.method == "GET" && path == "/fasp") co_return answer_json(fasp_.list());
  if (request.method == "GET" && path == "/instances")
    co_return answer_json({{"instances", instances_.list()}});
  if (request.method == "GET" && path == "/instances/replays")
    co_return answer_json({{"replays", replayer_.list()}});
  if (request.method == "GET" && path == "/instances/hashtags") {
    co_return answer_json(tag_sources_.describe(query_value(query, "host")));
  }
  if (request.method == "GET") {
    if (const auto answered = co_await overview_.answer(path))
      co_return *answered ? answer_json(**answered) : error_response(answered->error());
  }
  if (request.method == "POST") {
    log_.info("admin", {{"does", path}, {"with", request.body.substr(0, kLoggedMax)}});
    Result<json::object> body = request.body.empty() ? json::object() : json::parse_object(request.body);
    if (!body) co_return error_response(body.error());
    co_return co_await change(path, std::move(*body));
  }
  co_return error_response({ErrorCode::kNotFound, "no such control request"});
}

Task<HttpResponse> Control::change(std::string path, json::object request) {
  if (path == "/leave") {
    co_await actions_.leave();
    co_return answer_json({{"left", true}});
  }
  if (path == "/login") {
    // Behind '#', where it stays in the browser and gets into no log.
    co_return answer_json({{"url", identity_.origin() + "/admin#" + logins_.open()},
                           {"seconds", std::chrono::floor<std::chrono::seconds>(Logins::kLifetime).count()}});
  }
  if (path == "/logout") {
    logins_.close();
    co_return answer_json({{"closed", true}});
  }
  if (path == "/followers/check") {
    const std::string actor = json::get_string(request, "actor").value_or("");
    co_return co_await check_followers(actor, get_flag(request, "apply"));
  }
  if (path == "/followers/verify") co_return co_await verify_followers();
  const std::string host = ascii_lower(json::get_string(request, "host").value_or(""));
  if (path.starts_with("/blocks/") || path.starts_with("/separations/")) {
    const Result<json::object> done = co_await moderation_.change(path, std::move(request));
    co_return done ? answer_json(*done) : error_response(done.error());
  }
  if (path.starts_with("/fasp/")) {
    const Result<json::object> done = co_await fasp_.change(path, std::move(request));
    co_return done ? answer_json(*done) : error_response(done.error());
  }
  if (path == "/takedown") co_return co_await take_down(std::move(request));
  if (path == "/takedown/undo") co_return co_await undo_take_down(std::move(request));
  if (path == "/instances/permit") co_return co_await permit(host, std::move(request));
  if (path == "/instances/replay") co_return co_await replay(host, std::move(request));
  if (path == "/instances/cancel-replay") co_return co_await cancel_replay(host, std::move(request));
  const bool on = path.ends_with("/subscribe");
  const bool of_instance = path == "/instances/subscribe" || path == "/instances/unsubscribe";
  if (!of_instance && path != "/subscribe" && path != "/unsubscribe")
    co_return error_response({ErrorCode::kNotFound, "no such control request"});
  Result<std::vector<std::string>> tags = tags_in(request);
  if (!tags) co_return error_response(tags.error());
  if (of_instance) co_return co_await subscribe_instance(host, std::move(*tags), on);
  co_return co_await subscribe(std::move(*tags), on);
}

Task<HttpResponse> Control::permit(std::string host, json::object request) {
  if (!is_host_name(host)) {
    co_return error_response({ErrorCode::kInvalid, "'" + host + "' is no host name"});
  }
  const instances::Permission permission{host, get_flag(request, "publishes"), get_flag(request, "receives")};
  const Result<void> done = co_await instances_.permit(permission);
  if (!done) co_return error_response(done.error());
  co_return answer_json(
      {{"host", host}, {"publishes", permission.publishes}, {"receives", permission.receives}});
}

Task<HttpResponse> Control::subscribe_instance(std::string host, std::vector<std::string> tags, bool on) {
  json::array canonical(tags.begin(), tags.end());
  Result<void> done;
  if (on) {
    done = co_await tag_sources_.subscribe(host, std::move(tags));
  } else {
    done = co_await tag_sources_.unsubscribe(host, std::move(tags));
  }
  if (!done) co_return error_response(done.error());
  co_return answer_json({{"host", host}, {on ? "subscribed" : "unsubscribed", std::move(canonical)}});
}

Task<HttpResponse> Control::check_followers(std::string actor, bool apply) {
  const Result<json::object> report = co_await sync_.check(std::move(actor), apply);
  co_return report ? answer_json(*report) : error_response(report.error());
}

Task<HttpResponse> Control::verify_followers() {
  const Result<relay::Store::PartialsCheck> check = co_await store_.check_partials();
  if (!check) co_return error_response(check.error());
  json::array repaired;
  for (const relay::PartialKey& key : check->repaired)
    repaired.push_back(json::object{{"tag", key.collection}, {"server", key.authority}});
  co_return answer_json({{"followers", check->followers}, {"repaired", std::move(repaired)}});
}

Task<HttpResponse> Control::replay(std::string host, json::object request) {
  const Result<Tag> tag = Tag::parse(json::get_string(request, "tag").value_or(""));
  if (!tag) co_return error_response(tag.error());
  const std::string order = json::get_string(request, "order").value_or("newest_first");
  if (order != "newest_first" && order != "oldest_first")
    co_return error_response({ErrorCode::kInvalid, "'order' is newest_first or oldest_first"});
  instances::Replayer::Request wish;
  wish.host = std::move(host);
  wish.tag = tag->canonical();
  wish.newest_first = order == "newest_first";
  // Beyond any limit, so that too much is refused and not wrapped around.
  const auto bounded = [&](std::string_view key) -> std::optional<std::int64_t> {
    const auto value = json::get_int(request, key);
    return value ? std::optional(std::clamp<std::int64_t>(*value, 0, kNumberMax)) : std::nullopt;
  };
  if (const auto seconds = bounded("max_age_s")) wish.age_max = std::chrono::seconds(*seconds);
  if (const auto posts = bounded("max_posts")) wish.posts_max = static_cast<std::uint64_t>(*posts);
  if (const auto rate = bounded("per_minute")) wish.per_minute = static_cast<std::uint32_t>(*rate);
  const Result<instances::Replay> begun = co_await replayer_.begin(std::move(wish));
  if (!begun) co_return error_response(begun.error());
  co_return answer_json({{"host", begun->host},
                         {"tag", begun->tag},
                         {"not_before", to_rfc3339(begun->not_before)},
                         {"max_posts", begun->posts_max},
                         {"per_minute", begun->per_minute}});
}

Task<HttpResponse> Control::cancel_replay(std::string host, json::object request) {
  const Result<Tag> tag = Tag::parse(json::get_string(request, "tag").value_or(""));
  if (!tag) co_return error_response(tag.error());
  const Result<void> done = co_await replayer_.cancel(host, tag->canonical());
  if (!done) co_return error_response(done.error());
  co_return answer_json({{"host", host}, {"tag", tag->canonical()}, {"cancelled", true}});
}

HttpResponse Control::ring() const {
  json::object result;
  for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
    json::array vservers;
    for (const auto& vserver : rings_.of(which).vservers()) {
      json::object item = {{"self", ring::to_json(vserver->self())}, {"member", vserver->is_member()}};
      if (vserver->predecessor()) item["predecessor"] = ring::to_json(*vserver->predecessor());
      json::array successors;
      for (const ring::Contact& contact : vserver->successors().contacts())
        successors.push_back(ring::to_json(contact));
      item["successors"] = std::move(successors);
      if (const auto owned = vserver->owned()) item["owned"] = to_json(*owned);
      if (const auto serving = vserver->serving()) item["serving"] = to_json(*serving);
      item["estimated_size"] = vserver->estimated_size();
      vservers.push_back(std::move(item));
    }
    result[ring::to_string(which)] = std::move(vservers);
  }
  return answer_json(result);
}

Task<HttpResponse> Control::history(std::string query) {
  const Result<Tag> tag = Tag::parse(query_value(query, "tag"));
  if (!tag) co_return error_response(tag.error());
  std::optional<storage::HistoryCursor> cursor;
  if (const std::string text = query_value(query, "before"); !text.empty()) {
    Result<storage::HistoryCursor> parsed = storage::HistoryCursor::parse(text);
    if (!parsed) co_return error_response(parsed.error());
    cursor = std::move(*parsed);
  }
  const Result<storage::HistoryPage> page =
      co_await history_.query(*tag, std::move(cursor), number(query, "limit", 40));
  if (!page) co_return error_response(page.error());
  json::object result = {{"tag", tag->canonical()}, {"entries", storage::to_json(page->entries, false)}};
  if (page->more && page->next) result["before"] = page->next->text();
  co_return answer_json(result);
}

Task<HttpResponse> Control::feed(std::string query) {
  const Result<std::vector<relay::FeedEntry>> entries = co_await store_.feed(
      number(query, "after", 0), std::min<std::uint64_t>(number(query, "limit", 1000), 10'000));
  if (!entries) co_return error_response(entries.error());
  co_return answer_json({{"entries", relay::to_json(*entries)}});
}

Task<HttpResponse> Control::owners(std::string query) {
  const Result<Tag> tag = Tag::parse(query_value(query, "tag"));
  if (!tag) co_return error_response(tag.error());
  json::object result = {{"tag", tag->canonical()}, {"key", tag->key().hex()}};
  for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
    json::array list;
    const unsigned replicas = history_.replicas(which);
    for (unsigned i = 0; i < replicas; ++i) {
      const Result<ring::Owner> owner =
          co_await rings_.of(which).find_owner(replica_key(tag->key(), i, replicas));
      if (owner) list.push_back(ring::to_json(owner->contact));
    }
    result[ring::to_string(which)] = std::move(list);
  }
  co_return answer_json(result);
}

Task<HttpResponse> Control::audit(std::string query) {
  const Result<Tag> tag = Tag::parse(query_value(query, "tag"));
  if (!tag) co_return error_response(tag.error());
  const Result<json::object> report = co_await audit_.of(*tag);
  co_return report ? answer_json(*report) : error_response(report.error());
}

Task<HttpResponse> Control::take_down(json::object request) {
  const Result<Tag> tag = Tag::parse(json::get_string(request, "tag").value_or(""));
  if (!tag) co_return error_response(tag.error());
  const auto notice = co_await heads_.take_down(*tag, json::get_string(request, "uri").value_or(""),
                                                json::get_string(request, "reason").value_or(""));
  co_return notice ? answer_json(storage::to_json(*notice)) : error_response(notice.error());
}

Task<HttpResponse> Control::undo_take_down(json::object request) {
  const Result<Tag> tag = Tag::parse(json::get_string(request, "tag").value_or(""));
  if (!tag) co_return error_response(tag.error());
  const std::string uri = json::get_string(request, "uri").value_or("");
  const Result<void> done = co_await heads_.undo_take_down(*tag, uri);
  if (!done) co_return error_response(done.error());
  co_return answer_json({{"tag", tag->canonical()}, {"uri", uri}, {"undone", true}});
}

Task<HttpResponse> Control::subscribe(std::vector<std::string> tags, bool on) {
  json::array canonical(tags.begin(), tags.end());
  Result<void> done;
  if (on) {
    done = co_await subscriber_.want(std::move(tags), "admin");
  } else {
    done = co_await subscriber_.unwant(std::move(tags), "admin");
  }
  if (!done) co_return error_response(done.error());
  co_return answer_json({{on ? "subscribed" : "unsubscribed", std::move(canonical)}});
}

}  // namespace tagring::admin
