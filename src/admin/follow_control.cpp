#include "admin/follow_control.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "followers/authority.hpp"
#include "hashtag/tag.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kCountedPage = 5'000;

}  // namespace

void FollowControl::add_routes(Routes& routes) {
  routes.post("/subscribe", [this](Request request) { return subscribe(std::move(request.body), true); });
  routes.post("/unsubscribe", [this](Request request) { return subscribe(std::move(request.body), false); });
  routes.get("/subscriptions", [this](const Request&) { return subscriptions(); });
  routes.get("/followers", [this](const Request&) { return replied(followers()); });
  routes.post(
      "/followers/check", [this](Request request) { return check(std::move(request.body)); }, Role::kAll,
      [](const json::object& body) { return !json::get_flag(body, "apply"); });
  routes.post("/followers/verify", [this](const Request&) { return verify(); });
}

Task<Reply> FollowControl::subscribe(json::object body, bool on) {
  CO_TRY(std::vector<Tag> tags, tags_in(body));
  json::array changed;
  json::array unknown;
  for (const Tag& tag : tags)
    (on || subscriptions_.wants(tag) ? changed : unknown).emplace_back(tag.canonical());
  if (on) {
    CO_TRY_VOID(co_await subscriptions_.want(std::move(tags), "admin"));
    co_return json::object{{"subscribed", std::move(changed)}};
  }
  CO_TRY_VOID(co_await subscriptions_.unwant(std::move(tags), "admin"));
  co_return json::object{{"unsubscribed", std::move(changed)}, {"unknown", std::move(unknown)}};
}

Task<Reply> FollowControl::subscriptions() {
  struct Count {
    std::uint64_t posts = 0;
    WallTime latest;
  };
  std::map<Tag, Count> counts;
  CO_TRY(std::uint64_t after, co_await store_.feed_start(clock_.wall_now() - kCounted));
  std::size_t counted = 0;
  bool complete = false;
  while (!complete && counted < kCountedMax) {
    CO_TRY(const std::vector<delivery::FeedEntry> page, co_await store_.feed(after, kCountedPage));
    complete = page.size() < kCountedPage;
    counted += page.size();
    for (const delivery::FeedEntry& entry : page) {
      after = entry.seq;
      if (entry.event.op != delivery::Op::kAdd || !subscriptions_.wants(entry.event.tag)) continue;
      Count& count = counts[entry.event.tag];
      ++count.posts;
      count.latest = std::max(count.latest, entry.event.published);
    }
  }
  json::array tags;
  for (const Tag& tag : subscriptions_.wanted()) {
    const Count& count = counts[tag];
    const std::vector<std::string> owners = subscriptions_.owners_of(tag);
    json::object item = {{"tag", tag.canonical()},
                         {"posts", count.posts},
                         {"owners", json::array(owners.begin(), owners.end())}};
    if (count.posts > 0) item["latest"] = to_rfc3339(count.latest);
    tags.push_back(std::move(item));
  }
  co_return json::object{
      {"hours", kCounted.count()},
      {"complete", complete},
      {"hashtags", head_of(std::move(tags), [](const json::value& i) { return number_at(i, "posts"); })}};
}

json::object FollowControl::followers() const {
  json::array tags;
  followers_.visit_tags([&](const Tag& tag, const std::array<std::size_t, delivery::kVias>& counts) {
    const auto of = [&counts](delivery::Via via) { return counts.at(static_cast<std::size_t>(via)); };
    tags.push_back(json::object{
        {"tag", tag.canonical()},
        {"boosts", of(delivery::Via::kBoost)},
        {"nodes", of(delivery::Via::kNode)},
        {"relays", of(delivery::Via::kRelay) + of(delivery::Via::kBareRelay) + of(delivery::Via::kTagRelay)},
        {"fasps", of(delivery::Via::kFasp)}});
  });
  const auto all = [](const json::value& i) {
    return number_at(i, "boosts") + number_at(i, "nodes") + number_at(i, "relays") + number_at(i, "fasps");
  };
  return {{"followers", followers_.size()},
          {"people", followers_.people()},
          {"hashtags", head_of(std::move(tags), all)}};
}

Task<Reply> FollowControl::check_server(json::object body) const {
  std::string name = text_in(body, "server");
  while (name.ends_with('.')) name.pop_back();  // as DNS writes it
  const auto server = followers::Authority::of(name.contains("://") ? name : "https://" + name);
  if (!server) co_return fail(ErrorCode::kInvalid, "'server' is no host name: " + name);
  std::string collection;
  if (body.contains("tag")) {
    CO_TRY(const Tag tag, tag_in(body));
    collection = tag.canonical();
  }
  json::object report = partials_.report(collection, server->text());
  if (json::get_int(report, "count") > 0 || report.contains("header") || report.contains("fetch"))
    co_return report;
  CO_TRY(const auto former, co_await store_.former_servers());
  const bool was_known = std::ranges::any_of(former, [&](const delivery::Store::FormerServer& known) {
    return known.key == delivery::PartialKey{collection, server->text()};
  });
  // Of a name with a slip in it nothing differs either.
  if (!was_known)
    co_return fail(
        ErrorCode::kNotFound,
        "nobody at " + server->text() + " follows " +
            (collection.empty() ? "this node's actor" : "#" + collection) +
            " here, and since the node started it was sent no header and fetched no list: is that its name?");
  co_return report;
}

Task<Reply> FollowControl::check(json::object body) {
  if (body.contains("server")) co_return co_await check_server(std::move(body));
  co_return co_await sync_.check(text_in(body, "actor"), json::get_flag(body, "apply"));
}

Task<Reply> FollowControl::verify() {
  CO_TRY(const delivery::Store::PartialsCheck check, co_await store_.check_partials());
  json::array repaired;
  for (const delivery::PartialKey& key : check.repaired)
    repaired.push_back(json::object{{"tag", key.collection}, {"server", key.authority}});
  co_return json::object{{"followers", check.followers}, {"repaired", std::move(repaired)}};
}

}  // namespace tagring::admin
