#include "subscriber/hashtag_followers.hpp"

#include <map>

#include "delivery/partial.hpp"
#include "followers/authority.hpp"
#include "http/url.hpp"

namespace tagring::subscriber {

Task<Result<void>> HashtagFollowers::load(std::function<void(const delivery::Follower&)> visit) {
  std::optional<Tag> tag;
  std::string actor;
  for (;;) {
    CO_TRY(const std::vector<delivery::Follower> page,
           co_await store_.followers(tag, actor, delivery::kLoadPage));
    if (page.empty()) break;
    tag = page.back().tag;
    actor = page.back().actor;
    for (const delivery::Follower& follower : page) {
      followers_.add(follower);
      visit(follower);
    }
  }
  // Whose first follower came shortly before the node stopped, or whose last one went.
  std::vector<Tag> followed;
  followers_.visit_tags([&](const Tag& tag, const auto& /*counts*/) {
    if (followers_.has_people(tag) && !subscriber_.wanted().contains(tag)) followed.push_back(tag);
  });
  if (!followed.empty()) {
    CO_TRY_VOID(co_await subscriber_.want(std::move(followed), kReason));
  }
  std::vector<Tag> unwanted(subscriber_.wanted().begin(), subscriber_.wanted().end());
  std::erase_if(unwanted, [this](const Tag& tag) { return followers_.has_people(tag); });
  if (unwanted.empty()) co_return Result<void>();
  co_return co_await subscriber_.unwant(std::move(unwanted), kReason);
}

void HashtagFollowers::start(std::vector<std::string> own) {
  tasks_.spawn("remind_servers", remind(std::move(own)));
}

Task<void> HashtagFollowers::remind(std::vector<std::string> own) {
  const auto former = co_await store_.former_servers();
  if (!former) co_return;  // the next start does it
  Reminders servers;
  for (const delivery::Store::FormerServer& server : *former)
    servers.emplace(server.key, Reminder{.inbox = server.inbox});
  for (std::string& inbox : own) {
    const auto server = followers::Authority::of(inbox);
    if (server)
      servers.emplace(delivery::PartialKey{std::string(), server->text()},
                      Reminder{.inbox = std::move(inbox)});
  }
  const Instant start = clock_.now();
  const Instant first = start + kRemindAfter;
  co_await clock_.sleep_until(first);
  servers = co_await remind_all(std::move(servers));
  for (const Duration after : kRemindAgain) {
    if (servers.empty()) co_return;
    const Instant next = start + after;
    co_await clock_.sleep_until(next);
    servers = co_await remind_all(std::move(servers));
  }
  std::erase_if(servers, [](const auto& server) { return !server.second.is_gone; });
  if (!servers.empty()) co_await drop_gone(std::move(servers));
}

Task<HashtagFollowers::Reminders> HashtagFollowers::remind_all(Reminders servers) {
  Reminders left;
  for (auto& [key, server] : servers) {
    const Instant next = clock_.now() + kRemindEvery;
    co_await clock_.sleep_until(next);
    // Where somebody follows a hashtag, the next post brings the header.
    if (!key.collection.empty() && followers_.partial(key).count > 0) continue;
    const delivery::AnnouncementSender::Reminded told = co_await sender_.remind(key, server.inbox);
    if (told == delivery::AnnouncementSender::Reminded::kDone) continue;
    server.is_gone = server.is_gone && told == delivery::AnnouncementSender::Reminded::kGone;
    left.emplace(key, std::move(server));
  }
  co_return left;
}

// Who came back meanwhile, and left again, may have done so from another inbox.
Task<void> HashtagFollowers::drop_gone(Reminders servers) {
  const auto former = co_await store_.former_servers();
  if (!former) co_return;
  for (const delivery::Store::FormerServer& server : *former) {
    const auto gone = servers.find(server.key);
    if (gone == servers.end() || gone->second.inbox != server.inbox) continue;
    (void)co_await store_.drop_former_server(server.key);
  }
}

Task<void> HashtagFollowers::stop() {
  co_await idle_.stop();
  tasks_.cancel();
  co_await tasks_.join();
}

std::optional<budget::Resource> HashtagFollowers::charged(const delivery::Follower& follower) const {
  const auto resource = delivery::resource_of(follower.via);
  const bool comes_back =
      resource == budget::Resource::kWanted && idle_.is_of(follower.tag.canonical(), host_of(follower.actor));
  return comes_back || followers_.follows(follower.tag, follower.actor) ? std::nullopt : resource;
}

std::vector<delivery::Follower> HashtagFollowers::take_out_excess(
    std::vector<delivery::Follower>* followers) const {
  std::map<std::pair<budget::Resource, std::string>, std::uint64_t> fresh;  // by host
  std::vector<delivery::Follower> kept;
  std::vector<delivery::Follower> excess;
  for (delivery::Follower& follower : *followers) {
    const auto resource = charged(follower);
    bool has_room = true;
    if (resource) {
      std::string host = host_of(follower.actor);
      const budget::Spender who = budget_.who(host);
      std::uint64_t& count = fresh[{*resource, std::move(host)}];
      has_room = budget_.has_room(*resource, who, count + 1);
      if (has_room) ++count;
    }
    (has_room ? kept : excess).push_back(std::move(follower));
  }
  *followers = std::move(kept);
  return excess;
}

Task<Result<void>> HashtagFollowers::follow(std::vector<delivery::Follower> followers) {
  // Until they are counted themselves, so that who comes while they are written down does not get their
  // place.
  std::vector<budget::Share> places;
  for (const delivery::Follower& follower : followers) {
    const auto resource = charged(follower);
    if (!resource) continue;
    const std::string host = host_of(follower.actor);
    if (!places.emplace_back(&budget_, *resource, budget_.who(host)).is_granted())
      co_return fail(ErrorCode::kUnavailable, "too many hashtags are followed from " + host);
  }
  std::vector<Tag> wanted;
  std::map<Tag, std::string> from;  // who pays for it when nobody follows it
  for (delivery::Follower& follower : followers) {
    if (follower.via != delivery::Via::kNode) {
      wanted.push_back(follower.tag);
      from[follower.tag] = delivery::resource_of(follower.via) ? host_of(follower.actor) : std::string();
    }
    // What the inbox was told for others, who may leave, is to be undone there.
    const auto* target = followers_.target(follower.tag, follower.inbox);
    if (target != nullptr && follower.since == 0) follower.since = target->since;
    followers_.note_asked(follower.tag, follower.inbox);
  }
  CO_TRY(const std::vector<delivery::Follower> stored, co_await store_.follow(std::move(followers)));
  places.clear();
  for (const delivery::Follower& follower : stored) {
    followers_.add(follower);
    if (follower.via != delivery::Via::kNode) idle_.take_up(follower.tag.canonical());
  }
  if (wanted.empty()) co_return Result<void>();
  const Result<void> done = co_await subscriber_.want(std::move(wanted), kReason);
  // Who followed may have left before it was wanted; or it could not be written down, and not all who are
  // told so try again: the end of what lingers looks at who follows.
  for (auto& [tag, host] : from)
    if (!done || !followers_.has_people(tag)) idle_.let_go(tag.canonical(), std::move(host));
  co_return done;
}

Task<Result<void>> HashtagFollowers::unfollow(std::vector<std::pair<Tag, std::string>> pairs) {
  CO_TRY_VOID(co_await drop(std::move(pairs)));
  co_return Result<void>();
}

Task<Result<std::vector<delivery::Follower>>> HashtagFollowers::turn_away(
    std::vector<std::pair<Tag, std::string>> pairs) {
  CO_TRY(std::vector<delivery::Follower> gone, co_await drop(std::move(pairs)));
  for (const delivery::Follower& follower : gone) {
    const auto member = delivery::membership_of(follower);
    if (member) note_turned_away(member->key);
  }
  co_return gone;
}

Task<Result<std::vector<delivery::Follower>>> HashtagFollowers::drop(
    std::vector<std::pair<Tag, std::string>> pairs) {
  if (pairs.empty()) co_return std::vector<delivery::Follower>();
  CO_TRY(std::vector<delivery::Follower> gone, co_await store_.unfollow(pairs));
  for (const auto& [tag, actor] : pairs) {
    const std::optional<delivery::Via> via = followers_.remove(tag, actor);
    const bool was_reason = via && *via != delivery::Via::kNode && !followers_.has_people(tag);
    if (!was_reason || !subscriber_.wants(tag)) continue;
    idle_.let_go(tag.canonical(), delivery::resource_of(*via) ? host_of(actor) : std::string());
  }
  co_return gone;
}

Task<Result<void>> HashtagFollowers::unsubscribe(std::vector<std::string> idle) {
  std::vector<Tag> tags;
  std::vector<Tag> followed;  // and could not be written down as wanted
  for (std::string& name : idle) {
    Tag tag = Tag::from_canonical(std::move(name));
    (followers_.has_people(tag) ? followed : tags).push_back(std::move(tag));
  }
  if (!followed.empty()) {
    CO_TRY_VOID(co_await subscriber_.want(std::move(followed), kReason));
  }
  if (tags.empty()) co_return Result<void>();
  CO_TRY_VOID(co_await subscriber_.unwant(tags, kReason));
  // Somebody may have come while that was written down, and have found the hashtag wanted.
  std::erase_if(tags, [this](const Tag& tag) { return !followers_.has_people(tag); });
  if (tags.empty()) co_return Result<void>();
  co_return co_await subscriber_.want(std::move(tags), kReason);
}

Task<Result<void>> HashtagFollowers::unfollow_all(std::string actor) {
  std::vector<std::pair<Tag, std::string>> pairs;
  for (Tag& tag : followers_.tags_of(actor)) pairs.emplace_back(std::move(tag), actor);
  co_return co_await unfollow(std::move(pairs));
}

void HashtagFollowers::lose(const Tag& tag, const std::string& inbox) {
  const std::uint64_t asked = followers_.asked(tag, inbox);
  if (asked != 0) tasks_.spawn("lose_follower", unfollow_lost(tag, inbox, asked));
}

// The database would take the end after a Follow that is on its way there.
Task<void> HashtagFollowers::unfollow_lost(Tag tag, std::string inbox, std::uint64_t asked) {
  if (followers_.asked(tag, inbox) != asked) co_return;
  std::vector<std::pair<Tag, std::string>> lost;
  for (std::string& actor : followers_.actors(tag, inbox)) lost.emplace_back(tag, std::move(actor));
  co_await turn_away(std::move(lost));
}

}  // namespace tagring::subscriber
