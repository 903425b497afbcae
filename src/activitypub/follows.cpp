#include "activitypub/follows.hpp"

#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "activitypub/answers.hpp"
#include "delivery/wire.hpp"
#include "fediverse/builders.hpp"
#include "fediverse/vocabulary.hpp"
#include "hashtag/uri.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {

constexpr const char* kOfNobodyHere = "the Block is of no actor of this node";

}  // namespace

// A Follow and the Undo of the one before it may come together: which of them an actor's Undo ends is known
// when the one that came first is on disk. Nodes follow thousands at a time, and what they undo is about
// actor and objects.
Task<HttpResponse> Follows::follow(fediverse::Activity activity, fediverse::RemoteActor sender,
                                   Envelope envelope) {
  if (sender.is_node)
    co_return co_await follow_as_asked(std::move(activity), std::move(sender), std::move(envelope));
  const queues::Turns::Turn turn = co_await turns_.take(sender.id);
  const std::string actor = sender.id;
  const std::string id = activity.id;
  const std::string object = followed(std::get<fediverse::Follow>(activity.content).objects, envelope.target);
  const Result<bool> undone = co_await instances_.is_undone(actor, id);
  if (!undone) co_return error_response(undone.error());
  if (*undone) {
    HttpResponse refusal = co_await refuse_undone(object, id, std::move(sender), std::move(envelope.body));
    if (refusal.status != 202) co_return refusal;  // it comes again, and is none that holds then either
    const Result<bool> taken = co_await instances_.take_undone(actor, id);
    co_return taken ? std::move(refusal) : error_response(taken.error());
  }
  HttpResponse response =
      co_await follow_as_asked(std::move(activity), std::move(sender), std::move(envelope));
  if (response.status != 202) co_return response;
  const Result<void> noted = co_await instances_.note_follow(actor, object, id);
  co_return noted ? std::move(response) : error_response(noted.error());
}

// Said to who may wait for an answer: where all Follows of a pair have one id, it may be another. To who
// follows by a later one it would end that.
Task<HttpResponse> Follows::refuse_undone(std::string object, std::string id, fediverse::RemoteActor sender,
                                          std::string body) {
  const bool may_wait = is_ours(object) && !holds(sender.id, object);
  if (!may_wait || !blocks_.check_actor(sender.id)) co_return ignored("the Follow was undone before it came");
  const Result<void> welcome = instances_.check_asker(sender.inbox, body);
  if (!welcome) co_return error_response(welcome.error());
  co_return co_await tags_.reject(std::move(object), std::move(id), std::move(sender), std::move(body));
}

Task<HttpResponse> Follows::follow_as_asked(fediverse::Activity activity, fediverse::RemoteActor sender,
                                            Envelope envelope) {
  const auto& follow = std::get<fediverse::Follow>(activity.content);
  // All of them are kept with each hashtag; and of actor and object there is an index, where PostgreSQL takes
  // no more than 2704 bytes.
  const std::size_t longest =
      std::max({activity.id.size(), sender.id.size(), sender.inbox.size(), sender.delivery_inbox().size()});
  if (longest > fediverse::kSharedIdSizeMax)
    co_return error_response(
        {ErrorCode::kTooLarge,
         fmt::format("the Follow, or its sender, has an id or inbox of more than {} bytes",
                     fediverse::kSharedIdSizeMax)});
  Result<void> welcome = blocks_.check_actor(sender.id);
  if (welcome && !sender.is_node) welcome = instances_.check_asker(sender.inbox, envelope.body);
  if (!welcome) co_return error_response(welcome.error());
  // A Reject, and no status: one that says that the actor is gone would have servers take the inbox for dead,
  // and send it no Undo either.
  const std::string object = followed(follow.objects, envelope.target);
  if (!sender.is_node && has_moved(object, sender.id))
    co_return co_await tags_.reject(object, activity.id, std::move(sender), std::move(envelope.body));
  const bool of_public = follow.objects == std::vector<std::string>{std::string(fediverse::kPublic)};
  if (of_public || (follow.objects.size() == 1 && identity_.is_node_actor(follow.objects.front())))
    co_return co_await follow_relay(std::move(sender), object, of_public, std::move(envelope.body));
  if (const Result<Tag> tag = parse_hashtag_uri(follow.objects.front()))
    co_return co_await follow_by_uri(std::move(sender), *tag, std::move(envelope.body));
  co_return co_await follow_tags(std::move(activity), std::move(sender), std::move(envelope.body));
}

Task<HttpResponse> Follows::follow_relay(fediverse::RemoteActor sender, std::string relay, bool of_public,
                                         std::string body) {
  if (sender.is_node)
    co_return error_response({ErrorCode::kInvalid, "nodes follow hashtag actors, not a relay"});
  const std::optional<Tag> tag = identity_.tag_of_actor(relay);
  const Result<void> offered = tag ? blocks_.check_tag(tag->canonical()) : Result<void>();
  if (!offered) co_return error_response(offered.error());
  const Result<void> taken =
      co_await instances_.follow(std::move(sender), std::move(relay), of_public, std::move(body));
  co_return taken ? accepted() : error_response(taken.error());
}

// Of a server that leaves the rings to this node: as if it had added the hashtag's actor here as a relay.
Task<HttpResponse> Follows::follow_by_uri(fediverse::RemoteActor sender, Tag tag, std::string body) {
  if (sender.is_node) co_return error_response({ErrorCode::kInvalid, "nodes find the owners themselves"});
  const Result<void> offered = blocks_.check_tag(tag.canonical());
  if (!offered) co_return error_response(offered.error());
  const Result<void> taken = co_await instances_.follow(std::move(sender), identity_.tag_actor(tag),
                                                        /*of_public=*/true, std::move(body));
  co_return taken ? accepted() : error_response(taken.error());
}

Task<HttpResponse> Follows::follow_tags(fediverse::Activity activity, fediverse::RemoteActor sender,
                                        std::string body) {
  const auto& follow = std::get<fediverse::Follow>(activity.content);
  std::vector<delivery::Follower> followers;
  for (const std::string& object : follow.objects) {
    const std::optional<Tag> tag = identity_.tag_of_actor(object);
    if (!tag) co_return error_response({ErrorCode::kInvalid, object + " is no hashtag actor of this node"});
    const Result<void> offered = sender.is_node ? Result<void>() : blocks_.check_tag(tag->canonical());
    if (!offered) co_return error_response(offered.error());
    followers.push_back({*tag, sender.id, sender.delivery_inbox(), activity.id,
                         sender.is_node ? delivery::Via::kNode : delivery::Via::kBoost, 0});
  }
  if (sender.is_node) co_return co_await tags_.follow_as_node(std::move(followers));
  co_return co_await tags_.follow(std::move(followers), follow.objects.front(), std::move(sender),
                                  std::move(body));
}

std::string Follows::followed(const std::vector<std::string>& objects, const std::string& target) const {
  const std::string object = objects.empty() ? std::string() : objects.front();
  if (const Result<Tag> tag = parse_hashtag_uri(object)) return identity_.tag_actor(*tag);
  if (object == fediverse::kPublic || object == identity_.actor()) return relay_at(target);
  const std::optional<Tag> tag = identity_.tag_of_actor(object);
  return tag ? identity_.tag_actor(*tag) : object;
}

bool Follows::has_moved(const std::string& object, const std::string& actor) const {
  return !identity_.moved_to.empty() && is_ours(object) && !holds(actor, object);
}

bool Follows::is_ours(const std::string& object) const {
  return identity_.tag_of_actor(object) || identity_.is_node_actor(object);
}

bool Follows::holds(const std::string& actor, const std::string& object) const {
  const std::optional<Tag> tag = identity_.tag_of_actor(object);
  return instances_.uses(actor, object) || (tag && tags_.follows(*tag, actor));
}

// Which of our actors is used as a relay by who writes to that inbox.
std::string Follows::relay_at(const std::string& target) const {
  const std::string url = identity_.origin() + std::string(path_of(target));
  constexpr std::string_view kSuffix = "/inbox";
  const std::optional<Tag> tag = identity_.tag_of_actor(url.substr(0, url.size() - kSuffix.size()));
  return tag ? identity_.tag_actor(*tag) : identity_.actor();
}

Task<HttpResponse> Follows::unfollow(fediverse::RemoteActor sender, fediverse::FollowRef follow,
                                     Envelope envelope) {
  const std::string& actor = sender.id;
  std::optional<queues::Turns::Turn> turn;
  if (!sender.is_node) turn.emplace(co_await turns_.take(actor));
  // By actor and object: some servers (Misskey, of people) undo with another id than they followed with. But
  // a Follow that was replaced by a later one is not what holds now, whenever its Undo comes.
  if (!follow.id.empty()) {
    const std::string object = followed(follow.objects, envelope.target);
    const Result<bool> former = co_await instances_.is_former_follow(actor, object, follow.id);
    if (!former) co_return error_response(former.error());
    if (*former) co_return ignored("another Follow has replaced the one that is undone");
    Result<void> noted;
    if (!sender.is_node) noted = co_await instances_.note_undo(actor, follow.id, holds(actor, object));
    if (!noted) co_return error_response(noted.error());
  }
  std::vector<std::pair<Tag, std::string>> pairs;
  bool of_relay = false;
  std::string relay;
  if (const Result<Tag> tag = parse_hashtag_uri(follow.objects.empty() ? "" : follow.objects.front())) {
    const Result<void> done = co_await instances_.unfollow(actor, identity_.tag_actor(*tag));
    co_return done ? accepted() : error_response(done.error());
  }
  for (const std::string& object : follow.objects) {
    const std::optional<Tag> tag = identity_.tag_of_actor(object);
    if (tag) pairs.emplace_back(*tag, actor);
    of_relay = of_relay || object == fediverse::kPublic || identity_.is_node_actor(object);
    if (object == identity_.relay()) relay = object;
  }
  if (pairs.empty() && !of_relay) co_return ignored("the Undo names no actor of this node");
  const TagFollows::Undone undone = delivery::is_move(envelope.body) ? TagFollows::Undone::kInMove
                                    : sender.is_node                 ? TagFollows::Undone::kByNode
                                                                     : TagFollows::Undone::kByPeople;
  Result<void> done = co_await tags_.unfollow(std::move(pairs), undone);
  // One actor may have several, and send their Undos wherever.
  if (of_relay && relay.empty() && !follow.id.empty()) relay = instances_.relay_followed(actor, follow.id);
  if (relay.empty()) relay = relay_at(envelope.target);
  if (done && of_relay) done = co_await instances_.unfollow(actor, std::move(relay));
  co_return done ? accepted() : error_response(done.error());
}

Task<HttpResponse> Follows::unfollow_by_id(std::string actor, std::string follow_id) {
  const queues::Turns::Turn turn = co_await turns_.take(actor);
  std::string object = instances_.relay_followed(actor, follow_id);
  std::vector<std::pair<Tag, std::string>> pairs;
  if (object.empty()) {
    const Result<Tag> tag = co_await tags_.followed(actor, follow_id);
    if (!tag && tag.error().code != ErrorCode::kNotFound) co_return error_response(tag.error());
    if (tag) {
      object = identity_.tag_actor(*tag);
      pairs.emplace_back(*tag, actor);
    }
  }
  Result<void> done = co_await instances_.note_undo(actor, std::move(follow_id), !object.empty());
  if (done && object.empty()) co_return ignored("what is undone by its id is no Follow that holds");
  if (done && pairs.empty()) {
    done = co_await instances_.unfollow(std::move(actor), std::move(object));
  } else if (done) {
    done = co_await tags_.unfollow(std::move(pairs), TagFollows::Undone::kByPeople);
  }
  co_return done ? accepted() : error_response(done.error());
}

Task<HttpResponse> Follows::take_accept(std::string actor, std::vector<fediverse::FollowRef> follows) {
  const Result<void> taken = co_await instances_.take_accept(std::move(actor), std::move(follows));
  co_return taken ? accepted() : error_response(taken.error());
}

Task<HttpResponse> Follows::take_reject(std::string actor, std::vector<fediverse::FollowRef> follows) {
  std::set<std::string> ids;
  for (const fediverse::FollowRef& follow : follows) {
    if (!follow.id.empty()) ids.insert(follow.id);
  }
  announcer_.rejected(host_of(actor), ids);
  const Result<void> taken = co_await instances_.take_reject(std::move(actor), std::move(follows));
  co_return taken ? accepted() : error_response(taken.error());
}

Task<HttpResponse> Follows::take_moved(std::string actor, fediverse::RemoveFollower remove) {
  const std::optional<Tag> tag = identity_.tag_of_actor(remove.followed);
  if (!tag || origin_of(actor) != identity_.moved_to)
    co_return ignored("the Remove is from no followers of an actor that has moved to its sender");
  const Result<void> done =
      co_await tags_.unfollow({{*tag, std::move(remove.follower)}}, TagFollows::Undone::kByPeople);
  co_return done ? accepted() : error_response(done.error());
}

std::optional<federation::Refusal> Follows::refusal_of(const std::string& author,
                                                       const std::string& object) const {
  const std::optional<Tag> tag = identity_.tag_of_actor(object);
  if (!tag && !identity_.is_node_actor(object)) return std::nullopt;
  return federation::Refusal{author, tag ? tag->canonical() : std::string()};
}

Task<HttpResponse> Follows::take_block(std::string author, std::string object, std::string id) {
  const std::optional<federation::Refusal> refusal = refusal_of(author, object);
  if (!refusal) co_return ignored(kOfNobodyHere);
  const queues::Turns::Turn turn = co_await turns_.take(author);
  const Result<bool> undone = co_await instances_.take_undone(author, std::move(id));
  if (!undone) co_return error_response(undone.error());
  if (*undone) co_return ignored("the Block was undone before it came");
  Result<void> done = co_await moderation_.refuse(*refusal, /*on=*/true);
  const std::optional<Tag> tag = identity_.tag_of_actor(object);
  if (done && tag) done = co_await tags_.unfollow({{*tag, author}}, TagFollows::Undone::kByPeople);
  if (!tag) {
    // The node's actor is one, whichever of its addresses is named.
    for (const std::string& relay : {identity_.actor(), identity_.relay()})
      if (done) done = co_await instances_.unfollow(author, relay);
  }
  co_return done ? accepted() : error_response(done.error());
}

Task<HttpResponse> Follows::end_block(std::string author, std::string object, std::string id) {
  const std::optional<federation::Refusal> refusal = refusal_of(author, object);
  if (!refusal) co_return ignored(kOfNobodyHere);
  const queues::Turns::Turn turn = co_await turns_.take(author);
  Result<void> done;
  if (!id.empty()) done = co_await instances_.note_undo(author, std::move(id), blocks_.contains(*refusal));
  if (done) done = co_await moderation_.refuse(*refusal, /*on=*/false);
  co_return done ? accepted() : error_response(done.error());
}

Task<HttpResponse> Follows::answer(HttpRequest request) {
  const std::string id = identity_.origin() + std::string(path_of(request.target));
  const std::optional<instances::OwnFollow> follow = instances_.own_follow(id);
  if (!follow) co_return error_response({ErrorCode::kNotFound, "no such Follow, or it was undone"});
  HttpResponse response;
  response.headers.add("Content-Type", std::string(fediverse::kActivityJson));
  response.body = json::serialize(fediverse::make_follow(id, follow->actor, {follow->object}));
  co_return response;
}

}  // namespace tagring::activitypub
