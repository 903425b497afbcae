// What the administrator sees and decides.
#include <algorithm>
#include <fmt/ranges.h>
#include <set>
#include <string_view>

#include "delivery/store.hpp"
#include "fediverse/builders.hpp"
#include "instances/instances.hpp"

namespace tagring::instances {
namespace {

constexpr std::string_view style_name(Style style) {
  switch (style) {
    case Style::kMastodon:
      return "mastodon";
    case Style::kLitePub:
      return "litepub";
    case Style::kPerson:
      return "person";
  }
  return "";
}

}  // namespace

json::array Instances::list() const {
  std::set<std::string> hosts(options_.own.begin(), options_.own.end());
  for (const auto& [host, permission] : permissions_) hosts.insert(host);
  for (const auto& [key, link] : links_) hosts.insert(link.host);
  const std::vector<OwnFollow> groups = this->groups();
  for (const OwnFollow& own : groups) hosts.insert(host_of(own.object));
  const auto untaken = activities_.untaken_accepts();
  json::array items;
  for (const std::string& host : hosts) {
    std::set<std::string> tags;
    for (std::vector<std::string> of : {hashtags(host), relayed_hashtags(host)})
      tags.insert(of.begin(), of.end());
    const auto permission = decision(host);
    json::array links;
    for (const auto& [key, link] : links_) {
      if (link.host != host) continue;
      json::object shown = {{"actor", link.actor},
                            {"relay", link.relay},
                            {"style", style_name(link.style)},
                            {"accepted", link.accepted}};
      const auto why = untaken.find({link.relay, link.inbox});
      if (link.accepted && why != untaken.end()) shown["untaken"] = why->second;
      if (link.style != Style::kMastodon) {
        const auto own = own_follows_.find({link.relay, link.actor});
        const bool asked = own != own_follows_.end();
        shown["followed_back"] = !asked ? "rejected" : own->second.accepted ? "accepted" : "waits";
      }
      links.push_back(std::move(shown));
    }
    for (const OwnFollow& own : groups) {
      if (host_of(own.object) != host) continue;
      links.push_back(json::object{{"actor", own.object},
                                   {"relay", own.actor},
                                   {"style", "group"},
                                   {"accepted", true},
                                   {"followed_back", own.accepted ? "accepted" : "waits"}});
    }
    items.push_back(json::object{{"host", host},
                                 {"publishes", permission && permission->publishes},
                                 {"receives", permission && permission->receives},
                                 {"decided", permission.has_value()},
                                 {"links", std::move(links)},
                                 {"hashtags", tags.size()}});
  }
  return items;
}

std::vector<std::string> Instances::hosts() const {
  std::set<std::string> hosts;
  for (const auto& [key, link] : links_) hosts.insert(link.host);
  for (const OwnFollow& own : groups()) hosts.insert(host_of(own.object));
  return {hosts.begin(), hosts.end()};
}

std::vector<std::string> Instances::hashtags(const std::string& host) const {
  const Link* link = link_of(host);
  return link == nullptr ? std::vector<std::string>() : tags_of(*link);
}

std::vector<std::string> Instances::tags_of(const Link& link) const {
  std::vector<std::string> tags;
  for (const Tag& tag : followers_.all().tags_of(link.actor)) {
    const delivery::Followers::Target* target = followers_.all().target(tag, link.delivery_inbox);
    const auto via = static_cast<std::size_t>(via_of(link.relay));
    if (target != nullptr && target->followers[via] > 0) tags.push_back(tag.canonical());
  }
  return tags;
}

std::vector<std::string> Instances::relayed_hashtags(const std::string& host) const {
  std::vector<std::string> tags;
  for (const auto& [key, link] : links_) {
    const std::optional<Tag> tag = identity_.tag_of_actor(link.relay);
    if (tag && link.host == host && link.accepted) tags.push_back(tag->canonical());
  }
  return tags;
}

Task<Result<void>> Instances::permit(Permission permission) {
  CO_TRY_VOID(co_await store_.permit(permission));
  permissions_[permission.host] = permission;
  std::vector<Link> concerned;
  for (const auto& [key, link] : links_) {
    if (is_same_or_below(link.host, permission.host)) concerned.push_back(link);
  }
  for (const Link& link : concerned) {
    CO_TRY_VOID(co_await take_away(link, permission));
    const auto kept = links_.find({link.actor, link.relay});
    if (kept == links_.end()) continue;
    if (!kept->second.accepted) {
      CO_TRY_VOID(co_await settle(kept->second));
    } else if (permission.publishes && !is_followed_back(kept->second)) {
      CO_TRY_VOID(co_await follow_back(kept->second));
    }
  }
  if (permission.publishes) co_return Result<void>();
  co_return co_await leave_groups_of(std::move(permission.host));
}

// What a link has and may not have by that decision.
Task<Result<void>> Instances::take_away(Link link, Permission permission) {
  const bool of_tag = identity_.tag_of_actor(link.relay).has_value();
  // The relay of one hashtag is there to receive.
  const bool wanted = permission.receives || (permission.publishes && !of_tag);
  if (!permission.receives && !of_tag) {
    CO_TRY_VOID(co_await drop_tags(link.actor, tags_of(link)));
  }
  if (wanted) co_return Result<void>();
  co_return co_await settle(std::move(link));
}

// Or does not want that.
bool Instances::is_followed_back(const Link& link) const {
  return link.style == Style::kMastodon || own_follows_.contains({link.relay, link.actor});
}

Task<Result<void>> Instances::enforce() {
  std::vector<std::pair<Link, Permission>> limited;
  for (const auto& [key, link] : links_) {
    const auto permission = decision(link.host);
    if (permission && !(permission->publishes && permission->receives))
      limited.emplace_back(link, *permission);
  }
  for (auto& [link, permission] : limited) {
    CO_TRY_VOID(co_await take_away(std::move(link), std::move(permission)));
  }
  for (OwnFollow& own : groups()) {
    const auto permission = decision(host_of(own.object));
    if (!permission || permission->publishes) continue;
    CO_TRY_VOID(co_await end(std::move(own)));
  }
  co_return Result<void>();
}

std::vector<Instances::User> Instances::users() const {
  std::vector<User> users;
  for (const auto& [key, link] : links_) users.push_back({link.actor, link.style == Style::kPerson});
  for (OwnFollow& own : groups()) users.push_back({std::move(own.object), false});
  return users;
}

std::vector<std::string> Instances::inboxes_of_followers() const {
  std::vector<std::string> inboxes;
  for (const auto& [key, link] : links_) {
    const bool follows = link.relay == identity_.actor() && link.style != Style::kMastodon;
    if (follows && link.accepted) inboxes.push_back(link.delivery_inbox);
  }
  return inboxes;
}

Task<Result<void>> Instances::expel(IsUnwanted is_unwanted) {
  std::vector<Link> gone;
  for (const auto& [key, link] : links_) {
    if (is_unwanted(link.actor, identity_.tag_of_actor(link.relay))) gone.push_back(link);
  }
  for (Link& link : gone) {
    CO_TRY_VOID(co_await drop(std::move(link)));
  }
  for (OwnFollow& own : groups()) {
    if (!is_unwanted(own.object, identity_.tag_of_actor(own.actor))) continue;
    CO_TRY_VOID(co_await end(std::move(own)));
  }
  co_return Result<void>();
}

Task<Result<void>> Instances::give_back(std::set<std::string> tags) {
  std::vector<Link> relays;
  for (const auto& [key, link] : links_) {
    if (link.accepted) relays.push_back(link);
  }
  for (Link& link : relays) {
    CO_TRY_VOID(co_await subscribe_again(std::move(link), tags));
  }
  co_return Result<void>();
}

// Else their servers show them as following for ever, and they cannot follow again.
Task<Result<void>> Instances::turn_away(std::vector<std::pair<Tag, std::string>> pairs) {
  CO_TRY(const std::vector<delivery::Follower> gone, co_await followers_.turn_away(std::move(pairs)));
  for (const delivery::Follower& follower : gone) {
    if (follower.via != delivery::Via::kBoost) continue;  // nodes ask again, and relays have links
    const std::string actor = identity_.tag_actor(follower.tag);
    const std::string id = activities_.fresh_answer_id(actor, follower.follow_id);
    const json::object follow = fediverse::make_follow(follower.follow_id, follower.actor, {actor});
    std::string answer = json::serialize(fediverse::make_reject(id, actor, follow));
    CO_TRY_VOID(co_await activities_.send(actor, follower.inbox, std::move(answer)));
  }
  co_return Result<void>();
}

// The link through which a host gets the hashtags that it chose.
const Link* Instances::link_of(const std::string& host) const {
  for (const auto& [key, link] : links_) {
    const bool fits =
        link.host == host && identity_.is_node_actor(link.relay) && link.style != Style::kPerson;
    if (fits && link.accepted) return &link;
  }
  return nullptr;
}

// Who means the server of a domain may have named the domain.
std::unexpected<Error> Instances::has_no_relay(const std::string& host) const {
  std::set<std::string> below;
  for (const auto& [key, link] : links_)
    if (is_same_or_below(link.host, host) && link_of(link.host) != nullptr) below.insert(link.host);
  if (!below.empty())
    return fail(ErrorCode::kNotFound, fmt::format("{} itself does not use this node as a relay, but {} does: "
                                                  "name that",
                                                  host, fmt::join(below, " and ")));
  return fail(
      ErrorCode::kNotFound,
      fmt::format(
          "{} does not use this node as a relay yet: its administrator adds {} ({} in Pleroma and "
          "Akkoma, {} in Friendica; where there are no relays, as in GoToSocial, people follow hashtags: "
          "docs/gotosocial.md)",
          host, identity_.shared_inbox(), identity_.actor(), identity_.relay()));
}

Task<Result<void>> Instances::subscribe(std::string host, std::vector<std::string> tags) {
  const Link* link = link_of(host);
  if (link == nullptr) co_return has_no_relay(host);
  const auto permission = decision(host);
  if (!permission || !permission->receives) {
    co_return fail(ErrorCode::kDenied,
                   fmt::format("{} may not receive: tagring instance allow --receive {}", host, host));
  }
  std::set<std::string> all(tags.begin(), tags.end());
  for (std::string& tag : tags_of(*link)) all.insert(std::move(tag));
  if (all.size() > options_.tags_max) {
    co_return fail(ErrorCode::kTooLarge,
                   fmt::format("an instance may have {} hashtags, not {}", options_.tags_max, all.size()));
  }
  const std::string actor = link->actor;
  const delivery::Via via = via_of(link->relay);
  std::vector<delivery::Follower> followers;
  for (const std::string& name : tags) {
    const Tag tag = Tag::from_canonical(name);
    if (!has_tag_relay(actor, tag)) followers.push_back({tag, actor, link->delivery_inbox, "", via, 0});
  }
  co_return co_await followers_.follow(std::move(followers));
}

// The actor that a server has for relays follows a hashtag once: while the hashtag's own actor is one of
// them, that brings the posts, whoever else wants them for the server.
bool Instances::has_tag_relay(const std::string& actor, const Tag& tag) const {
  const auto link = links_.find({actor, identity_.tag_actor(tag)});
  return link != links_.end() && link->second.accepted;
}

Task<Result<void>> Instances::unsubscribe(std::string host, std::vector<std::string> tags) {
  const Link* link = link_of(host);
  if (link == nullptr) co_return has_no_relay(host);
  co_return co_await drop_tags(link->actor, std::move(tags));
}

Task<Result<void>> Instances::drop_tags(std::string actor, std::vector<std::string> tags) {
  std::vector<std::pair<Tag, std::string>> pairs;
  for (const std::string& name : tags) {
    const Tag tag = Tag::from_canonical(name);
    if (!has_tag_relay(actor, tag)) pairs.emplace_back(tag, actor);
  }
  co_return co_await followers_.unfollow(std::move(pairs));
}

}  // namespace tagring::instances
