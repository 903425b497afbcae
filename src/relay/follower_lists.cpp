#include "relay/follower_lists.hpp"

#include <algorithm>

#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::relay {
namespace {

WallTime time_of(const json::object& item) {
  return WallTime(Duration(std::max<std::int64_t>(0, json::get_int(item, "at").value_or(0))));
}

}  // namespace

void FollowerLists::note_request(const Tag& tag, const std::string& actor, bool follows) {
  times_.note(tag, actor, ring::domain_of(host_of(actor)), {clock_.wall_now(), follows});
}

double FollowerLists::deliveries(const Tag& tag) const {
  const auto* targets = followers_.targets(tag);
  return targets == nullptr ? 1 : static_cast<double>(targets->size());
}

json::object FollowerLists::page(const Tag& tag, const std::string& after) const {
  json::array items;
  json::object page;
  for (const auto& [actor, inbox] : followers_.nodes(tag)) {
    if (actor <= after) continue;
    if (items.size() == kPage) {
      page["after"] = items.back().as_object().at("actor");
      break;
    }
    const redundancy::FollowTimes::Request last = times_.last(tag, actor, ring::domain_of(host_of(actor)));
    const WallTime at = last.follows ? last.at : WallTime{};
    items.push_back(json::object{{"actor", actor}, {"inbox", inbox}, {"at", to_ms(at)}});
  }
  page["followers"] = std::move(items);
  return page;
}

void FollowerLists::read_page(const json::object& page, List* list) const {
  json::for_each(json::find(page, "followers"), [&](const json::value& element) {
    if (!element.is_object() || list->size() >= kPage * kPagesMax) return;
    const json::object& item = element.get_object();
    const std::string actor = json::text_of(item, "actor");
    const std::string inbox = json::text_of(item, "inbox");
    const std::string node = origin_of(actor);
    if (node.empty() || node == identity_.origin() || places_.rings().is_blocked_at(actor)) return;
    if (origin_of(inbox) != node) return;
    list->insert_or_assign(actor, Listed{inbox, time_of(item)});
  });
}

void FollowerLists::merge(List list, List* into) {
  into->merge(list);
  for (auto& [actor, listed] : list) {
    Listed& known = into->at(actor);
    if (known.at <= listed.at) known = std::move(listed);
  }
}

FollowerLists::Changes FollowerLists::changes(const Tag& tag, const List& list) const {
  Changes changes;
  for (const auto& [actor, listed] : list) {
    const redundancy::FollowTimes::Request last = times_.last(tag, actor, ring::domain_of(host_of(actor)));
    const bool wanted = last.follows || listed.at > last.at || last.at == WallTime{};
    if (followers_.follows(tag, actor) || !wanted) continue;
    changes.come.push_back({tag, actor, listed.inbox, {}, delivery::Via::kNode, 0});
    changes.inboxes.push_back(listed.inbox);
  }
  return changes;
}

Task<Result<void>> FollowerLists::add(std::vector<delivery::Follower> followers) {
  std::vector<std::pair<std::string, std::string>> named;
  for (const delivery::Follower& follower : followers) named.emplace_back(follower.actor, follower.inbox);
  const std::vector<bool> nodes = co_await node_actors_.are_nodes(std::move(named));
  std::vector<delivery::Follower> believed;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    if (!nodes[i]) continue;
    delivery::Follower& follower = believed.emplace_back(std::move(followers[i]));
    // What its Follow was called, others may say wrongly; an Undo that names it names the hashtag as well.
    follower.follow_id = identity_.activity_id("lists", follower.tag.canonical() + " " + follower.actor);
  }
  CO_TRY(const std::vector<delivery::Follower> stored, co_await store_.follow(std::move(believed)));
  for (const delivery::Follower& follower : stored) followers_.add(follower);
  co_return Result<void>();
}

Task<Result<void>> FollowerLists::remove(Pairs gone) {
  CO_TRY_VOID(co_await store_.unfollow(gone));
  for (const auto& [tag, actor] : gone) followers_.remove(tag, actor);
  co_return Result<void>();
}

}  // namespace tagring::relay
