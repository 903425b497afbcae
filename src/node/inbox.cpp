#include "node/inbox.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/http_error.hpp"
#include "fediverse/vocabulary.hpp"
#include "followers/header.hpp"
#include "hashtag/uri.hpp"
#include "relay/results.hpp"
#include "relay/wire.hpp"

namespace tagring::node {
namespace {

HttpResponse accepted() {
  HttpResponse response;
  response.status = 202;
  return response;
}

HttpResponse ignored(const std::string& reason) {
  HttpResponse response;
  response.status = 202;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(json::object{{"ignored", reason}});
  return response;
}

HttpResponse respond(const instances::Publisher::Outcome& outcome) {
  if (!outcome) return error_response(outcome.error());
  return outcome->empty() ? accepted() : ignored(*outcome);
}

}  // namespace

Task<HttpResponse> Inbox::answer(HttpRequest request) {
  // Form first: garbage must not make us fetch keys.
  Result<fediverse::Activity> activity = fediverse::parse_activity(request.body, clock_.wall_now());
  if (!activity) {
    ++counters_.refused;
    co_return error_response(activity.error());
  }
  Envelope envelope{request.target, request.body};
  const std::optional<std::string> synchronization = request.headers.joined(followers::kHeaderName);
  Result<federation::Authentic> sender = co_await authenticator_.authenticate(std::move(request));
  if (!sender) {
    const auto* deletion = std::get_if<fediverse::Delete>(&activity->content);
    if (deletion != nullptr && deletion->uri == activity->actor &&
        sender.error().code == ErrorCode::kNotFound) {
      // Deleted accounts take their key with them; servers tell everybody about everyone.
      co_return respond(co_await publisher_.gone(activity->actor));
    }
    ++counters_.refused;
    co_return federation::not_authentic(sender.error());
  }
  if (sender->actor.id != activity->actor) {
    ++counters_.refused;
    co_return error_response({ErrorCode::kDenied, fmt::format("signed by {}, but it speaks for {}",
                                                              sender->actor.id, activity->actor)});
  }
  HttpResponse response = co_await dispatch(std::move(*activity), sender->actor, std::move(envelope));
  // Whatever comes of it, the answer is the same.
  if (synchronization) sync_.take(*synchronization, *sender);
  if (response.status >= 400) {
    ++counters_.refused;
  } else {
    ++counters_.accepted;
  }
  co_return response;
}

Task<HttpResponse> Inbox::dispatch(fediverse::Activity activity, fediverse::RemoteActor sender,
                                   Envelope envelope) {
  const std::string origin = origin_of(activity.actor);
  auto& content = activity.content;
  if (auto* create = std::get_if<fediverse::Create>(&content))
    co_return respond(co_await publisher_.post(std::move(create->note), std::move(sender), false));
  if (auto* update = std::get_if<fediverse::Update>(&content))
    co_return respond(co_await publisher_.post(std::move(update->note), std::move(sender), true));
  if (std::holds_alternative<fediverse::UpdateActor>(content))
    co_return respond(co_await publisher_.changed(activity.actor));
  if (auto* deletion = std::get_if<fediverse::Delete>(&content)) {
    if (deletion->uri == activity.actor) co_return respond(co_await publisher_.gone(activity.actor));
    std::string signed_body = deletion->is_signed ? std::move(envelope.body) : std::string();
    co_return respond(
        co_await publisher_.deletion(std::move(deletion->uri), activity.actor, std::move(signed_body)));
  }
  if (std::holds_alternative<fediverse::Follow>(content)) {
    co_return co_await take_follow(std::move(activity), std::move(sender), std::move(envelope));
  }
  if (auto* undo = std::get_if<fediverse::UndoFollow>(&content)) {
    fediverse::FollowRef follow = std::move(undo->follow);
    co_return co_await take_unfollow(std::move(activity), std::move(follow), std::move(envelope));
  }
  if (auto* add = std::get_if<fediverse::Add>(&content)) {
    co_return co_await take_events(add->target, relay::Op::kAdd, std::move(add->posts), origin,
                                   std::move(envelope.body));
  }
  if (auto* remove = std::get_if<fediverse::Remove>(&content)) {
    co_return co_await take_events(remove->target, relay::Op::kRemove, std::move(remove->posts), origin,
                                   std::move(envelope.body));
  }
  if (auto* accept = std::get_if<fediverse::Accept>(&content)) {
    co_return co_await take_accept(activity.actor, std::move(accept->follows));
  }
  auto* announce = std::get_if<fediverse::Announce>(&content);
  if (announce != nullptr && instances_.is_litepub_relay(sender.id)) {
    if (announce->posts.size() != 1) co_return ignored("a relay announces one post at a time");
    co_return respond(co_await publisher_.announced(std::move(announce->posts.front().uri)));
  }
  if (announce != nullptr) {
    co_return co_await take_events("", relay::Op::kAdd, std::move(announce->posts), origin,
                                   std::move(envelope.body));
  }
  if (auto* undo = std::get_if<fediverse::UndoAnnounce>(&content)) {
    co_return co_await take_events("", relay::Op::kRemove, std::move(undo->posts), origin,
                                   std::move(envelope.body));
  }
  ++counters_.ignored;
  if (const auto* other = std::get_if<fediverse::Ignored>(&content)) co_return ignored(other->reason);
  co_return ignored("nothing that concerns this node");
}

// --- following ---------------------------------------------------------------------------------------------

Task<HttpResponse> Inbox::take_follow(fediverse::Activity activity, fediverse::RemoteActor sender,
                                      Envelope envelope) {
  const auto& follow = std::get<fediverse::Follow>(activity.content);
  const Result<void> welcome = blocks_.check_actor(sender.id);
  if (!welcome) co_return error_response(welcome.error());
  const bool of_public = follow.objects == std::vector<std::string>{std::string(fediverse::kPublic)};
  if (of_public || follow.objects == std::vector<std::string>{identity_.actor()}) {
    if (sender.is_node) {
      co_return error_response({ErrorCode::kInvalid, "nodes follow hashtag actors, not a relay"});
    }
    const Result<void> taken =
        co_await instances_.follow(std::move(sender), relay_at(envelope.target), of_public, envelope.body);
    co_return taken ? accepted() : error_response(taken.error());
  }
  if (const Result<Tag> tag = parse_hashtag_uri(follow.objects.front())) {
    co_return co_await follow_by_uri(std::move(sender), *tag, std::move(envelope.body));
  }
  std::vector<relay::Follower> followers;
  for (const std::string& object : follow.objects) {
    const std::optional<Tag> tag = identity_.tag_of_actor(object);
    if (!tag) co_return error_response({ErrorCode::kInvalid, object + " is no hashtag actor of this node"});
    const Result<void> offered = sender.is_node ? Result<void>() : blocks_.check_tag(tag->canonical());
    if (!offered) co_return error_response(offered.error());
    followers.push_back({tag->canonical(), sender.id, sender.delivery_inbox(), activity.id,
                         sender.is_node ? relay::Via::kNode : relay::Via::kBoost, 0});
  }
  if (sender.is_node) {
    const std::size_t asked = followers.size();
    std::set<std::string> tags;
    for (const relay::Follower& follower : followers) tags.insert(follower.tag);
    const Batch refusals = co_await follow_as_node(std::move(followers));
    co_return refusals ? relay::results_response(asked, *refusals, sets_.news(tags, {}))
                       : error_response(refusals.error());
  }
  const std::string actor = follow.objects.front();
  const Result<void> followed = co_await followers_.follow(std::move(followers));
  if (!followed) co_return error_response(followed.error());
  const std::string id = identity_.activity_id("accepts", actor + " " + activity.id);
  const Result<void> answered =
      co_await mailbox_.send(actor, sender.inbox, relay::accept_activity(id, actor, envelope.body));
  co_return answered ? accepted() : error_response(answered.error());
}

// Of a server that leaves the rings to this node: as if it had added the hashtag's actor here as a relay.
Task<HttpResponse> Inbox::follow_by_uri(fediverse::RemoteActor sender, Tag tag, std::string body) {
  if (sender.is_node) co_return error_response({ErrorCode::kInvalid, "nodes find the owners themselves"});
  const Result<void> offered = blocks_.check_tag(tag.canonical());
  if (!offered) co_return error_response(offered.error());
  const Result<void> taken = co_await instances_.follow(std::move(sender), identity_.tag_actor(tag),
                                                        /*of_public=*/true, std::move(body));
  co_return taken ? accepted() : error_response(taken.error());
}

// Which of our actors is used as a relay by who writes to that inbox.
std::string Inbox::relay_at(const std::string& target) const {
  const std::string url = identity_.origin() + target.substr(0, target.find('?'));
  constexpr std::string_view kSuffix = "/inbox";
  const std::optional<Tag> tag = identity_.tag_of_actor(url.substr(0, url.size() - kSuffix.size()));
  return tag ? identity_.tag_actor(*tag) : identity_.actor();
}

Task<HttpResponse> Inbox::take_accept(std::string actor, std::vector<fediverse::FollowRef> follows) {
  for (fediverse::FollowRef& follow : follows) {
    const Result<void> taken = co_await instances_.take_accept(actor, std::move(follow));
    if (!taken) co_return error_response(taken.error());
  }
  co_return accepted();
}

// A node follows owners only. Its answer says at once which tags are not ours.
Task<Inbox::Batch> Inbox::follow_as_node(std::vector<relay::Follower> followers) {
  std::vector<relay::Refusal> refusals;
  std::vector<relay::Follower> taken;
  for (relay::Follower& follower : followers) {
    const Result<Tag> tag = Tag::parse(follower.tag);
    Result<void> serving = relay_.check_serving(*tag);
    if (serving) serving = blocks_.check_tag(follower.tag);
    if (serving) {
      sets_.note_request(follower.tag, follower.actor, /*follows=*/true);
      taken.push_back(std::move(follower));
    } else if (!sets_.is_draining(follower.tag, follower.inbox)) {
      if (serving.error().code == ErrorCode::kNotOwner) sets_.doubt(*tag);
      refusals.push_back({"", follower.tag, serving.error()});
    }
  }
  if (!taken.empty()) {
    CO_TRY_VOID(co_await followers_.follow(std::move(taken)));
  }
  co_return refusals;
}

Task<HttpResponse> Inbox::take_unfollow(fediverse::Activity activity, fediverse::FollowRef follow,
                                        Envelope envelope) {
  // By actor and object; an id alone says which of the actor's follows is meant only to whom has kept it.
  std::vector<std::pair<std::string, std::string>> pairs;
  bool of_relay = false;
  if (const Result<Tag> tag = parse_hashtag_uri(follow.objects.empty() ? "" : follow.objects.front())) {
    const Result<void> done = co_await instances_.unfollow(activity.actor, identity_.tag_actor(*tag));
    co_return done ? accepted() : error_response(done.error());
  }
  for (const std::string& object : follow.objects) {
    const std::optional<Tag> tag = identity_.tag_of_actor(object);
    if (tag) pairs.emplace_back(tag->canonical(), activity.actor);
    of_relay = of_relay || object == fediverse::kPublic || object == identity_.actor();
  }
  if (pairs.empty() && !of_relay) co_return ignored("the Undo names no actor of this node");
  if (!relay::is_move(envelope.body)) {
    for (const auto& [tag, actor] : pairs) sets_.note_request(tag, actor, /*follows=*/false);
  }
  Result<void> done = co_await followers_.unfollow(std::move(pairs));
  if (done && of_relay) done = co_await instances_.unfollow(activity.actor, relay_at(envelope.target));
  co_return done ? accepted() : error_response(done.error());
}

// --- between nodes -----------------------------------------------------------------------------------------

Task<HttpResponse> Inbox::take_events(std::string target, relay::Op op, std::vector<fediverse::PostRef> posts,
                                      std::string sender, std::string body) {
  std::vector<relay::TagEvent> events = relay::events_of(op, posts, clock_.wall_now());
  relay::RelayNews news = relay::news_of(body);
  if (target.empty()) {
    if (events.empty()) co_return ignored("an Announce without hashtags");
    co_return co_await take_announced(std::move(events), std::move(sender), std::move(news.claims));
  }
  if (target == identity_.relay())
    co_return co_await take_as_relay(std::move(events), std::move(sender), std::move(news));
  if (target == identity_.storage())
    co_return co_await take_as_storage(std::move(events), std::move(sender), std::move(news.claims));
  co_return error_response({ErrorCode::kInvalid, "`target` is neither this node's relay nor its storage"});
}

Task<HttpResponse> Inbox::take_announced(std::vector<relay::TagEvent> events, std::string sender,
                                         redundancy::RelayClaims claims) {
  const std::size_t asked = events.size();
  const Batch refusals = co_await subscriber_.receive(std::move(events), std::move(sender), claims);
  if (!refusals) co_return error_response(refusals.error());
  for (const relay::Refusal& refusal : *refusals) claims.erase(refusal.tag);
  for (const auto& [tag, claim] : claims) {
    if (claim.relays > counts_.of(tag)) counts_.learn(tag, claim.relays);
  }
  co_return relay::results_response(asked, *refusals);
}

Task<HttpResponse> Inbox::take_as_relay(std::vector<relay::TagEvent> events, std::string sender,
                                        relay::RelayNews news) {
  const std::size_t asked = events.size();
  std::set<std::string> tags;
  for (const relay::TagEvent& event : events) tags.insert(event.tag);
  std::erase_if(news.tokens,
                [&](const redundancy::OverloadToken& token) { return !tags.contains(token.tag); });
  const Batch refusals = co_await relay_.take(events, std::move(sender), std::move(news.tokens));
  if (!refusals) co_return error_response(refusals.error());
  json::object receipt = co_await receipts_.issue(Ring::kRelay, std::move(events), *refusals);
  json::object more = sets_.news(tags, *refusals);
  if (!receipt.empty()) more["receipt"] = std::move(receipt);
  co_return relay::results_response(asked, *refusals, std::move(more));
}

Task<HttpResponse> Inbox::take_as_storage(std::vector<relay::TagEvent> events, std::string sender,
                                          redundancy::RelayClaims claims) {
  const std::size_t asked = events.size();
  std::set<std::string> tags;
  for (const relay::TagEvent& event : events) tags.insert(event.tag);
  const Batch refusals = co_await storage_.take(events, std::move(sender), std::move(claims));
  if (!refusals) co_return error_response(refusals.error());
  json::object receipt = co_await receipts_.issue(Ring::kStorage, std::move(events), *refusals);
  json::object more = stores_.news(tags);
  if (!receipt.empty()) more["receipt"] = std::move(receipt);
  co_return relay::results_response(asked, *refusals, std::move(more));
}

}  // namespace tagring::node
