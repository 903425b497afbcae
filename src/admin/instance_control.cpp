#include "admin/instance_control.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "fediverse/domain.hpp"
#include "hashtag/typed.hpp"
#include "http/url.hpp"
#include "ring/public_suffix.hpp"

namespace tagring::admin {

void InstanceControl::add_routes(Routes& routes) {
  routes.get("/instances", [this](const Request&) {
    json::object reply = {{"instances", list()}};
    if (!instances_.moved_to().empty()) reply["moved_to"] = instances_.moved_to();
    return replied(std::move(reply));
  });
  routes.get("/instances/hashtags", [this](const Request& request) {
    const std::string host = fediverse::domain_in(query_value(request.query, "host"));
    if (!is_host_name(host)) return replied(fail(ErrorCode::kInvalid, "'" + host + "' is no host name"));
    return replied(tag_sources_.describe(host));
  });
  routes.post("/instances/permit", [this](Request request) { return permit(std::move(request.body)); });
  routes.post("/instances/subscribe",
              [this](Request request) { return subscribe(std::move(request.body), true); });
  routes.post("/instances/unsubscribe",
              [this](Request request) { return subscribe(std::move(request.body), false); });
}

// With what is known elsewhere of each: blocks, servers that answer 4xx to everything or take nothing, and
// those whose people follow hashtags, whether or not they use this node as a relay. A server that is blocked
// has no links any more: those that were blocked by hand are listed all the same.
json::array InstanceControl::list() const {
  std::set<std::string> refusing;
  for (const auto& [inbox, times] : announcer_.refusing()) refusing.insert(host_of(inbox));
  const auto failing = announcer_.failing();
  std::map<std::string, std::size_t> follows;  // by host
  followers_.visit_tags([&](const Tag& tag, const auto& /*counts*/) {
    for (const auto& [inbox, target] : *followers_.targets(tag)) {
      if (!target.people.empty()) follows[target.host] += target.people.size();
    }
  });
  json::array items = instances_.list();
  const auto complete = [&](json::object& item, const std::string& host, std::size_t people) {
    item["blocked"] = blocks_.of_host(host) != nullptr;
    item["refuses"] = refusing.contains(host);
    if (const auto fails = failing.find(host); fails != failing.end()) item["fails"] = fails->second.reason;
    item["follows"] = people;
  };
  for (json::value& element : items) {
    json::object& item = element.get_object();
    const std::string host = json::text_of(item, "host");
    const auto known = follows.extract(host);
    complete(item, host, known ? known.mapped() : 0);
  }
  const auto add = [&](const std::string& host, std::size_t people) {
    if (items.size() >= kListedMax) return;
    json::object item = {{"host", host},     {"publishes", false},     {"receives", false},
                         {"decided", false}, {"links", json::array()}, {"hashtags", 0}};
    complete(item, host, people);
    items.push_back(std::move(item));
  };
  for (const auto& [host, people] : follows) add(host, people);
  std::set<std::string> listed;
  for (const json::value& item : items) listed.insert(json::text_of(item.get_object(), "host"));
  for (const federation::Block& block : blocks_.all())
    if (block.kind == federation::BlockKind::kDomain && block.source == federation::kByHand &&
        !listed.contains(block.what))
      add(block.what, 0);
  return items;
}

Task<Reply> InstanceControl::permit(json::object body) {
  const std::string host = fediverse::domain_in(text_in(body, "host"));
  if (!is_host_name(host)) co_return fail(ErrorCode::kInvalid, "'" + host + "' is no host name");
  const instances::Permission permission{host, json::get_flag(body, "publishes"),
                                         json::get_flag(body, "receives")};
  CO_TRY_VOID(co_await instances_.permit(permission));
  if (!permission.publishes && !permission.receives) publisher_.take_out_denied();
  const std::vector<std::string> hosts = instances_.hosts();
  const bool added = std::ranges::find(hosts, host) != hosts.end();
  co_return json::object{{"host", host},
                         {"publishes", permission.publishes},
                         {"receives", permission.receives},
                         {"added", added},
                         {"suffix", !ring::registered_domain(host)}};
}

Task<Reply> InstanceControl::subscribe(json::object body, bool on) {
  const std::string host = fediverse::domain_in(text_in(body, "host"));
  CO_TRY(const std::vector<Tag> named, tags_in(body));
  std::vector<std::string> tags;
  for (const Tag& tag : named) tags.push_back(tag.canonical());
  if (on) {
    json::array subscribed(tags.begin(), tags.end());
    CO_TRY_VOID(co_await tag_sources_.subscribe(host, std::move(tags)));
    co_return json::object{{"host", host}, {"subscribed", std::move(subscribed)}};
  }
  const std::set<std::string> known = tag_sources_.subscribed(host);
  json::array unsubscribed;
  json::array unknown;
  for (const std::string& tag : tags) (known.contains(tag) ? unsubscribed : unknown).emplace_back(tag);
  CO_TRY_VOID(co_await tag_sources_.unsubscribe(host, std::move(tags)));
  co_return json::object{
      {"host", host}, {"unsubscribed", std::move(unsubscribed)}, {"unknown", std::move(unknown)}};
}

// --- groups ------------------------------------------------------------------------------------------------

void GroupControl::add_routes(Routes& routes) {
  routes.post("/instances/follow", [this](Request request) { return follow(std::move(request.body)); });
  routes.post("/instances/unfollow", [this](Request request) { return unfollow(std::move(request.body)); });
}

// A hashtag's actor and not the node's: Lemmy and PieFed take followers of type Person and Service only.
Task<Reply> GroupControl::follow(json::object body) {
  const std::string group = text_in(body, "group");
  const Result<Url> url = Url::parse(group);
  if (!url) co_return fail(ErrorCode::kInvalid, "'" + group + "' is no URL of a group");
  std::string name = text_in(body, "tag");
  if (name.empty()) {
    const std::string_view path = std::string_view(group).substr(0, group.find_last_not_of('/') + 1);
    name = path.substr(path.rfind('/') + 1);
  }
  const Result<Tag> tag = parse_typed_tag(name);
  if (!tag)
    co_return fail(ErrorCode::kInvalid, "name the hashtag whose actor is to follow: " + tag.error().message);
  CO_TRY_VOID(blocks_.check_actor(group));
  CO_TRY_VOID(blocks_.check_tag(tag->canonical()));
  const std::string host = host_of(group);
  if (!instances_.may_publish(group))
    co_return fail(ErrorCode::kDenied,
                   fmt::format("no posts of {0} are taken: tagring instance allow --publish {0}", host));
  CO_TRY(const publisher::Consents::Profile profile, co_await consents_.fetch(group));
  const fediverse::RemoteActor& actor = profile.actor;
  if (actor.type != "Group")
    co_return fail(
        ErrorCode::kInvalid,
        fmt::format("{} is no group but a {}: people follow the node themselves", group, actor.type));
  const std::string follower = identity_.tag_actor(*tag);
  CO_TRY_VOID(co_await instances_.follow_as(follower, actor.id, actor.inbox));
  co_return json::object{{"group", group}, {"by", follower}};
}

Task<Reply> GroupControl::unfollow(json::object body) {
  const std::string group = text_in(body, "group");
  CO_TRY_VOID(co_await instances_.leave_group(group));
  co_return json::object{{"unfollowed", group}};
}

}  // namespace tagring::admin
