#include "subscriber/hashtag_followers.hpp"

#include <map>

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
  std::map<delivery::PartialKey, std::string> inboxes;
  for (const delivery::Store::FormerServer& server : *former) inboxes.emplace(server.key, server.inbox);
  for (std::string& inbox : own) {
    const auto server = followers::Authority::of(inbox);
    if (server) inboxes.emplace(delivery::PartialKey{std::string(), server->text()}, std::move(inbox));
  }
  const Instant later = clock_.now() + kRemindAfter;
  co_await clock_.sleep_until(later);
  for (const auto& [key, inbox] : inboxes) {
    const Instant next = clock_.now() + kRemindEvery;
    co_await clock_.sleep_until(next);
    // Where somebody follows a hashtag, the next post brings the header.
    if (!key.collection.empty() && followers_.partial(key).count > 0) continue;
    const bool there = co_await sender_.remind(key, inbox);
    if (!there) (void)co_await store_.drop_former_server(key);
  }
}

Task<void> HashtagFollowers::stop() {
  co_await idle_.stop();
  tasks_.cancel();
  co_await tasks_.join();
}

Result<void> HashtagFollowers::check_room(const std::vector<delivery::Follower>& followers) const {
  std::map<std::pair<budget::Resource, std::string>, std::uint64_t> fresh;  // by host
  for (const delivery::Follower& follower : followers) {
    const auto resource = delivery::resource_of(follower.via);
    std::string host = host_of(follower.actor);
    const bool comes_back =
        resource == budget::Resource::kWanted && idle_.is_of(follower.tag.canonical(), host);
    if (resource && !comes_back && !followers_.follows(follower.tag, follower.actor))
      ++fresh[{*resource, std::move(host)}];
  }
  for (const auto& [where, count] : fresh) {
    if (!budget_.has_room(where.first, budget_.who(where.second), count))
      return fail(ErrorCode::kUnavailable, "too many hashtags are followed from " + where.second);
  }
  return {};
}

Task<Result<void>> HashtagFollowers::follow(std::vector<delivery::Follower> followers) {
  CO_TRY_VOID(check_room(followers));
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
  for (const delivery::Follower& follower : stored) {
    followers_.add(follower);
    if (follower.via != delivery::Via::kNode) idle_.take_up(follower.tag.canonical());
  }
  if (wanted.empty()) co_return Result<void>();
  CO_TRY_VOID(co_await subscriber_.want(std::move(wanted), kReason));
  // Who followed may have left before it was wanted.
  for (auto& [tag, host] : from)
    if (!followers_.has_people(tag)) idle_.let_go(tag.canonical(), std::move(host));
  co_return Result<void>();
}

Task<Result<void>> HashtagFollowers::unfollow(std::vector<std::pair<Tag, std::string>> pairs) {
  CO_TRY_VOID(co_await drop(std::move(pairs)));
  co_return Result<void>();
}

Task<Result<std::vector<delivery::Follower>>> HashtagFollowers::drop(
    std::vector<std::pair<Tag, std::string>> pairs) {
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
  for (std::string& name : idle) tags.push_back(Tag::from_canonical(std::move(name)));
  return subscriber_.unwant(std::move(tags), kReason);
}

Task<Result<void>> HashtagFollowers::unfollow_all(std::string actor) {
  std::vector<std::pair<Tag, std::string>> pairs;
  for (Tag& tag : followers_.tags_of(actor)) pairs.emplace_back(std::move(tag), actor);
  if (pairs.empty()) co_return Result<void>();
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
  co_await unfollow(std::move(lost));
}

}  // namespace tagring::subscriber
