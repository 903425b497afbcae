#include "instances/instances.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string_view>

#include "base/counted.hpp"
#include "delivery/wire.hpp"
#include "followers/authority.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::instances {
namespace {

// Pleroma's relay is an Application; other LitePub relays are told by their address, which no account has.
// An Application that follows the second address of the node's actor does as Friendica does, whose people
// send their posts themselves, and which takes no Follow of the Application that asks for them (a0a8aeb,
// Transmitter::sendRelayFollow, Processor::followUser). No person speaks for a server so.
Style style_of(const fediverse::RemoteActor& sender, bool of_public, bool of_second) {
  const bool is_litepub = sender.id == origin_of(sender.id) + "/relay";
  const bool is_server = is_litepub || sender.type == "Application";
  if (of_public || (of_second && is_server && !is_litepub)) return Style::kMastodon;
  return is_server ? Style::kLitePub : Style::kPerson;
}

constexpr std::uint64_t kNoteSize = 100;  // bytes of a Follow that is noted, beside its URIs

Task<Result<void>> nothing() { co_return Result<void>(); }

}  // namespace

Task<Result<void>> Instances::load() {
  CO_TRY(std::vector<Permission> permissions, co_await store_.permissions());
  for (Permission& permission : permissions) permissions_[permission.host] = std::move(permission);
  CO_TRY(std::vector<Link> links, co_await store_.links());
  for (Link& link : links) keep(std::move(link));
  CO_TRY(std::vector<OwnFollow> own, co_await store_.own_follows());
  for (OwnFollow& follow : own) own_follows_[{follow.actor, follow.object}] = std::move(follow);
  co_return Result<void>();
}

// --- who may what ------------------------------------------------------------------------------------------

// What was decided for the host or for one that it is below, the nearest first; none: nothing yet.
std::optional<Permission> Instances::decision(const std::string& host) const {
  const Permission* nearest = nullptr;
  for (const auto& [name, permission] : permissions_) {
    if (!is_same_or_below(host, name)) continue;
    if (nearest == nullptr || nearest->host.size() < name.size()) nearest = &permission;
  }
  if (nearest != nullptr) return *nearest;
  if (options_.open || is_own(host)) return Permission{host, true, true};
  return std::nullopt;
}

bool Instances::is_own(const std::string& host) const {
  return std::ranges::any_of(options_.own,
                             [&](const std::string& name) { return is_same_or_below(host, name); });
}

std::string Instances::own_within(std::string_view domain) const {
  const auto found = std::ranges::find_if(
      options_.own, [&](const std::string& name) { return is_same_or_below(name, domain); });
  return found == options_.own.end() ? std::string() : *found;
}

bool Instances::is_trusted(const std::string& host) const {
  const auto permission = decision(host);
  const bool allowed = permission && (permission->publishes || permission->receives);
  return allowed && (!options_.open || is_own(host) || permissions_.contains(host));
}

bool Instances::is_served(const std::string& host) const {
  const auto permission = decision(host);
  return permission && (permission->publishes || is_trusted(host));
}

bool Instances::may_publish(const std::string& author) const {
  const auto permission = decision(host_of(author));
  if (permission) return permission->publishes;
  const auto link = links_.find({author, identity_.actor()});
  // A follow alone may be meant otherwise: who lets the node follow knows that it reads.
  const auto own = own_follows_.find({identity_.actor(), author});
  return link != links_.end() && link->second.style == Style::kPerson && own != own_follows_.end() &&
         own->second.accepted;
}

bool Instances::is_denied(const std::string& host) const {
  const auto permission = decision(host);
  return permission && !permission->publishes && !permission->receives;
}

bool Instances::denies_any() const {
  return std::ranges::any_of(
      permissions_, [](const auto& known) { return !known.second.publishes && !known.second.receives; });
}

bool Instances::is_litepub_relay(const std::string& actor) const {
  const Link* link = general_link(actor);
  return link != nullptr && link->style == Style::kLitePub && link->accepted;
}

const Link* Instances::general_link(const std::string& actor) const {
  auto link = links_.find({actor, identity_.actor()});
  if (link == links_.end()) link = links_.find({actor, identity_.relay()});
  return link == links_.end() ? nullptr : &link->second;
}

delivery::Via Instances::via_of(const std::string& relay) const {
  if (relay == identity_.actor()) return delivery::Via::kRelay;
  return relay == identity_.relay() ? delivery::Via::kBareRelay : delivery::Via::kTagRelay;
}

std::optional<Instances::Recipient> Instances::recipient(const std::string& host, const Tag& tag) const {
  const auto permission = decision(host);
  if (!permission || !permission->receives) return std::nullopt;
  for (const auto& [key, link] : links_) {
    if (link.host != host || !link.accepted || link.style == Style::kPerson) continue;
    const delivery::Followers::Target* target = followers_.all().target(tag, link.delivery_inbox);
    if (target == nullptr) continue;
    const auto asked = [&](delivery::Via via) {
      return target->followers[static_cast<std::size_t>(via)] > 0;
    };
    for (const std::string& relay : {identity_.tag_actor(tag), identity_.relay(), identity_.actor()})
      if (asked(via_of(relay))) return Recipient{relay, link.delivery_inbox};
  }
  return std::nullopt;
}

std::uint64_t Instances::live_since(const Recipient& recipient, const Tag& tag) const {
  const delivery::Followers::Target* target = followers_.all().target(tag, recipient.inbox);
  return target == nullptr ? std::numeric_limits<std::uint64_t>::max() : target->since;
}

bool Instances::believes_copies(const std::string& host) const {
  bool has_litepub = false;
  for (const auto& [key, link] : links_) {
    if (link.host != host || !link.accepted) continue;
    if (link.style == Style::kMastodon) return true;
    has_litepub = has_litepub || link.style == Style::kLitePub;
  }
  return !has_litepub;
}

std::vector<std::string> Instances::receivers() const {
  std::set<std::string> hosts;
  for (const auto& [key, link] : links_) {
    const auto permission = decision(link.host);
    if (permission && permission->receives && link_of(link.host) != nullptr) hosts.insert(link.host);
  }
  return {hosts.begin(), hosts.end()};
}

// --- handshakes --------------------------------------------------------------------------------------------

Task<Result<void>> Instances::follow(fediverse::RemoteActor sender, std::string relay, bool of_public,
                                     std::string body) {
  const Style style = style_of(sender, of_public, relay == identity_.relay());
  Link link{sender.id,
            std::move(relay),
            host_of(sender.id),
            sender.inbox,
            sender.delivery_inbox(),
            std::move(body),
            style,
            false,
            clock_.wall_now()};
  if (!identity_.is_node_actor(link.relay) && !links_.contains({link.actor, link.relay})) {
    const auto count = std::ranges::count_if(links_, [&](const auto& known) {
      return known.second.host == link.host && !identity_.is_node_actor(known.second.relay);
    });
    if (static_cast<std::size_t>(count) >= options_.tags_max)
      co_return fail(ErrorCode::kTooLarge, fmt::format("{} follows {} hashtags here", link.host, count));
  }
  const auto known = links_.find({link.actor, link.relay});
  const bool is_new = known == links_.end();
  // Servers repeat a Follow whose answer they have not seen: what was sent since the first is theirs still,
  // and what they may do, until this one is answered as well.
  if (!is_new && known->second.accepted && decision(link.host)) {
    link.since = known->second.since;
    link.accepted = link.style == known->second.style;
  }
  budget::Share place;  // until it is counted itself
  if (is_new && !is_trusted(link.host)) {
    place = budget::Share(options_.budget, budget::Resource::kLinks, options_.budget->who(link.host));
    if (!place.is_granted())
      co_return fail(ErrorCode::kUnavailable,
                     "too many of " + link.host + " use this node as a relay already");
  }
  if (is_new && link.style != Style::kPerson && !decision(link.host))
    co_return co_await make_wait(std::move(link), std::move(place));
  CO_TRY_VOID(co_await store_.save_link(link));
  place.release();
  keep(link);
  co_return co_await settle(std::move(link));
}

// Of a stranger, of whom nothing has been decided.
Task<Result<void>> Instances::make_wait(Link link, budget::Share place) {
  co_await drop_expired();
  if (!options_.budget->has_room(budget::Resource::kWaiting, options_.budget->who(link.host)))
    co_return fail(ErrorCode::kUnavailable,
                   "too many of " + link.host + " wait for the administrator already");
  place.release();
  keep(link);
  const Result<void> saved = co_await store_.save_link(link);
  if (saved) co_return co_await settle(std::move(link));
  forget(link);
  co_return saved;
}

Task<void> Instances::drop_expired() {
  const WallTime latest = clock_.wall_now() - kWaitMax;
  std::vector<Link> expired;
  for (const auto& [key, link] : links_)
    if (!link.accepted && link.since < latest) expired.push_back(link);
  for (const Link& link : expired) {
    // If it fails, the next start has it again, and the next stranger lets it go again.
    (void)co_await store_.drop_link(link.actor, link.relay, std::nullopt);
    forget(link);
  }
}

// And not the public collection.
bool Instances::follows_own_actor(const Link& link) const {
  return link.accepted && link.style != Style::kMastodon && link.relay == identity_.actor();
}

std::optional<delivery::Store::FormerServer> Instances::left_by(const Link& link) const {
  const auto authority = followers::Authority::of(link.actor);
  if (!authority || !follows_own_actor(link)) return std::nullopt;
  return delivery::Store::FormerServer{{std::string(), authority->text()}, link.delivery_inbox};
}

void Instances::keep(Link link) {
  forget(link);
  options_.budget->count(budget::Resource::kLinks, options_.budget->who(link.host));
  if (!link.accepted) options_.budget->count(budget::Resource::kWaiting, options_.budget->who(link.host));
  if (follows_own_actor(link))
    followers_.count_own(link.actor, link.style == Style::kPerson, /*enters=*/true);
  links_[{link.actor, link.relay}] = std::move(link);
}

void Instances::forget(const Link& link) {
  const auto known = links_.find({link.actor, link.relay});
  if (known == links_.end()) return;
  if (follows_own_actor(known->second))
    followers_.count_own(link.actor, known->second.style == Style::kPerson, /*enters=*/false);
  options_.budget->give_back(budget::Resource::kLinks, options_.budget->who(known->second.host));
  if (!known->second.accepted)
    options_.budget->give_back(budget::Resource::kWaiting, options_.budget->who(known->second.host));
  links_.erase(known);
}

Result<void> Instances::check_asker(const std::string& inbox, const std::string& body) const {
  if (body.size() > kFollowMax)
    return fail(ErrorCode::kTooLarge, fmt::format("a Follow of more than {} bytes", kFollowMax));
  return activities_.check_room(inbox);
}

// Once: it may follow, undo that and follow as often as it likes, and with as many names.
void Instances::log_waiting(const std::string& host) {
  const std::string domain = ring::domain_of(host);
  if (logged_waiting_.contains(domain)) return;
  make_room(logged_waiting_, kLoggedWaitingMax);
  logged_waiting_.insert(domain);
  log_.info("instance_waits", {{"host", host}, {"allow_with", "tagring instance allow " + host}});
}

// Answers a link as it was decided, if it was.
Task<Result<void>> Instances::settle(Link link) {
  const auto permission = decision(link.host);
  if (link.style == Style::kPerson) {
    const bool is_here = link.relay != identity_.relay();  // that address is for servers
    const bool welcome = is_here && (permission ? permission->publishes : options_.people);
    co_return welcome ? co_await accept(std::move(link)) : co_await drop(std::move(link));
  }
  if (!permission) {
    log_waiting(link.host);
    co_return Result<void>();
  }
  if (permission->publishes || permission->receives) co_return co_await accept(std::move(link));
  co_return co_await drop(std::move(link));
}

Task<Result<void>> Instances::accept(Link link) {
  std::optional<federation::ActivityQueue::ComingAccept> coming;
  coming.emplace(activities_, link.relay, host_of(link.inbox));
  if (const auto tag = identity_.tag_of_actor(link.relay)) {
    const auto permission = decision(link.host);
    if (!permission || !permission->receives) co_return co_await drop(std::move(link));
    std::vector<delivery::Follower> followers = {
        {*tag, link.actor, link.delivery_inbox, "", delivery::Via::kTagRelay, 0}};
    CO_TRY_VOID(co_await followers_.follow(std::move(followers)));
  }
  const std::string id = activities_.fresh_answer_id(link.relay, link.follow);
  std::string answer = delivery::accept_activity(id, link.relay, link.follow);
  CO_TRY_VOID(co_await activities_.send(link.relay, link.inbox, std::move(answer)));
  coming.reset();
  // It may have been undone meanwhile.
  const auto still = links_.find({link.actor, link.relay});
  if (still == links_.end()) co_return co_await end_tag_relay(link);
  if (still->second.follow != link.follow) co_return Result<void>();
  link.accepted = true;
  CO_TRY_VOID(co_await store_.save_link(link));
  keep(link);
  CO_TRY_VOID(co_await subscribe_again(link));
  if (link.style != Style::kMastodon) co_return co_await follow_back(std::move(link));
  co_return Result<void>();
}

// Who removes the relay and adds it again, which is all that an administrator of Mastodon can do about a
// relay that is stuck, gets what was subscribed for it before.
// `only`: of these hashtags; of all, if it is empty.
Task<Result<void>> Instances::subscribe_again(Link link, std::set<std::string> only) {
  const auto permission = decision(link.host);
  const bool is_general = identity_.is_node_actor(link.relay) && link.style != Style::kPerson;
  if (!is_general || !permission || !permission->receives) co_return Result<void>();
  CO_TRY(const std::vector<TagReason> reasons, co_await store_.tag_reasons());
  std::set<std::string> known;
  for (std::string& tag : tags_of(link)) known.insert(std::move(tag));
  const std::size_t room = options_.tags_max - std::min(options_.tags_max, known.size());
  for (const TagReason& reason : reasons) {
    if (reason.host == link.host && reason.source == kExcludedTags) known.insert(reason.tag);
  }
  // As many as fit, and first those of the administrator: no other source would bring them.
  std::vector<std::string> missing;
  for (const bool by_hand : {true, false}) {
    for (const TagReason& reason : reasons) {
      const bool fits = reason.host == link.host && (reason.source == kChosenTags) == by_hand &&
                        (only.empty() || only.contains(reason.tag));
      if (fits && missing.size() < room && known.insert(reason.tag).second) missing.push_back(reason.tag);
    }
  }
  if (missing.empty()) co_return Result<void>();
  log_.info("instance_tags", {{"host", link.host}, {"subscribed_again", missing.size()}});
  co_return co_await subscribe(link.host, std::move(missing));
}

// Tells the instance that it is not wanted, and forgets it.
Task<Result<void>> Instances::drop(Link link) {
  const std::string id = activities_.fresh_answer_id(link.relay, link.follow);
  std::string answer = delivery::reject_activity(id, link.relay, link.follow);
  CO_TRY_VOID(co_await activities_.send(link.relay, link.inbox, std::move(answer)));
  const Result<void> dropped = co_await unfollow(link.actor, link.relay);
  // Not before that: an answer to what names it still may come meanwhile.
  if (const auto left = left_by(link)) followers_.note_turned_away(left->key);
  co_return dropped;
}

// What is not noted counts as well: only an Undo that comes too late, or too early, is not known as such.
bool Instances::may_note(const std::string& actor, std::string_view object, const std::string& follow_id) {
  const std::uint64_t size = kNoteSize + actor.size() + object.size() + follow_id.size();
  const budget::Spender domain = options_.budget->who(host_of(actor));
  return options_.budget->take(budget::Resource::kFollowNotes, domain, size) == Duration::zero();
}

Task<Result<void>> Instances::note_follow(std::string actor, std::string object, std::string follow_id) {
  if (!may_note(actor, object, follow_id)) return nothing();
  return store_.note_follow(std::move(actor), std::move(object), std::move(follow_id), clock_.wall_now());
}

Task<Result<void>> Instances::note_undo(std::string actor, std::string follow_id, bool has_ended) {
  if (!may_note(actor, "", follow_id)) return nothing();
  return store_.note_undo(std::move(actor), std::move(follow_id), has_ended, clock_.wall_now());
}

std::string Instances::relay_followed(const std::string& actor, const std::string& follow_id) const {
  for (auto at = links_.lower_bound({actor, ""}); at != links_.end() && at->first.first == actor; ++at) {
    const Result<json::object> follow = json::parse_object(at->second.follow);
    if (follow && json::id_of(*follow) == follow_id) return at->second.relay;
  }
  return {};
}

Task<Result<bool>> Instances::is_former_follow(std::string actor, std::string object, std::string follow_id) {
  return store_.is_former_follow(std::move(actor), std::move(object), std::move(follow_id));
}

Task<Result<void>> Instances::unfollow(std::string actor, std::optional<std::string> relay) {
  std::vector<Link> gone;
  for (const auto& [key, link] : links_) {
    if (link.actor == actor && (!relay || link.relay == *relay)) gone.push_back(link);
  }
  for (const Link& link : gone) {
    if (identity_.tag_of_actor(link.relay)) {
      CO_TRY_VOID(co_await end_tag_relay(link));
    } else {
      CO_TRY_VOID(co_await drop_tags(link.actor, tags_of(link)));
    }
    CO_TRY_VOID(co_await store_.drop_link(link.actor, link.relay, left_by(link)));
    forget(link);
    const auto own = own_follows_.find({link.relay, link.actor});
    if (own != own_follows_.end()) {
      CO_TRY_VOID(co_await end(own->second));
    }
    CO_TRY_VOID(co_await bring_as_chosen(link));
  }
  co_return Result<void>();
}

Task<Result<void>> Instances::end_tag_relay(Link link) {
  const std::optional<Tag> tag = identity_.tag_of_actor(link.relay);
  if (!tag) co_return Result<void>();
  std::vector<std::pair<Tag, std::string>> pairs = {{*tag, link.actor}};
  co_return co_await followers_.unfollow(std::move(pairs));
}

// A hashtag whose own relay was removed may be chosen for the server, too; and whoever has the node's actor
// by both addresses, and removes one, gets by the other what it got by that.
Task<Result<void>> Instances::bring_as_chosen(Link gone) {
  const std::optional<Tag> tag = identity_.tag_of_actor(gone.relay);
  const Link* general = general_link(gone.actor);
  if (general == nullptr || !general->accepted) co_return Result<void>();
  std::set<std::string> only;
  if (tag) only.insert(tag->canonical());
  co_return co_await subscribe_again(*general, std::move(only));
}

Task<Result<void>> Instances::gone(std::string actor) {
  CO_TRY_VOID(co_await followers_.unfollow_all(actor));
  for (const OwnFollow& own : groups()) {
    if (own.object != actor) continue;
    CO_TRY_VOID(co_await drop_follow(own));
  }
  co_return co_await unfollow(std::move(actor), std::nullopt);
}

bool Instances::knows(const std::string& actor) const {
  const auto link = links_.lower_bound({actor, ""});
  const bool uses = link != links_.end() && link->first.first == actor;
  return uses || !followers_.all().tags_of(actor).empty() ||
         std::ranges::any_of(groups(), [&](const OwnFollow& own) { return own.object == actor; });
}

}  // namespace tagring::instances
