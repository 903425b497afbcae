#include "node/inbox.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "node/results.hpp"
#include "node/wire.hpp"

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

}  // namespace

Inbox::Inbox(std::vector<std::string> instances, Authenticator& authenticator, Roles& roles,
             relay::Store& store, relay::Followers& followers, Subscriber& subscriber, Mailbox& mailbox,
             const Identity& identity, Clock& clock)
    : instances_(std::move(instances)),
      authenticator_(authenticator),
      roles_(roles),
      store_(store),
      followers_(followers),
      subscriber_(subscriber),
      mailbox_(mailbox),
      identity_(identity),
      clock_(clock) {}

Task<HttpResponse> Inbox::answer(HttpRequest request) {
  // Form first: garbage must not make us fetch keys.
  Result<fediverse::Activity> activity = fediverse::parse_activity(request.body, clock_.wall_now());
  if (!activity) {
    ++counters_.refused;
    co_return error_response(activity.error());
  }
  std::string body = request.body;
  Result<fediverse::RemoteActor> sender = co_await authenticator_.authenticate(std::move(request));
  if (!sender) {
    const auto* deletion = std::get_if<fediverse::Delete>(&activity->content);
    if (deletion != nullptr && deletion->uri == activity->actor &&
        sender.error().code == ErrorCode::kNotFound) {
      // Deleted accounts take their key with them; servers tell everybody about everyone.
      ++counters_.ignored;
      co_return ignored("an account that this node does not know is gone");
    }
    ++counters_.refused;
    co_return not_authentic(sender.error());
  }
  if (sender->id != activity->actor) {
    ++counters_.refused;
    co_return error_response(
        {ErrorCode::kDenied, fmt::format("signed by {}, but it speaks for {}", sender->id, activity->actor)});
  }
  HttpResponse response = co_await dispatch(std::move(*activity), std::move(*sender), std::move(body));
  if (response.status >= 400) {
    ++counters_.refused;
  } else {
    ++counters_.accepted;
  }
  co_return response;
}

Task<HttpResponse> Inbox::dispatch(fediverse::Activity activity, fediverse::RemoteActor sender,
                                   std::string body) {
  const std::string origin = origin_of(activity.actor);
  auto& content = activity.content;
  if (auto* create = std::get_if<fediverse::Create>(&content))
    co_return co_await take_post(std::move(create->note), false);
  if (auto* update = std::get_if<fediverse::Update>(&content))
    co_return co_await take_post(std::move(update->note), true);
  if (auto* deletion = std::get_if<fediverse::Delete>(&content)) {
    co_return co_await take_deletion(std::move(deletion->uri), activity.actor);
  }
  if (std::holds_alternative<fediverse::Follow>(content)) {
    co_return co_await take_follow(std::move(activity), std::move(sender), std::move(body));
  }
  if (auto* undo = std::get_if<fediverse::UndoFollow>(&content)) {
    fediverse::FollowRef follow = std::move(undo->follow);
    co_return co_await take_unfollow(std::move(activity), std::move(follow));
  }
  if (auto* add = std::get_if<fediverse::Add>(&content)) {
    co_return co_await take_events(add->target, relay::Op::kAdd, std::move(add->posts), origin);
  }
  if (auto* remove = std::get_if<fediverse::Remove>(&content)) {
    co_return co_await take_events(remove->target, relay::Op::kRemove, std::move(remove->posts), origin);
  }
  if (auto* announce = std::get_if<fediverse::Announce>(&content)) {
    co_return co_await take_events("", relay::Op::kAdd, std::move(announce->posts), origin);
  }
  if (auto* undo = std::get_if<fediverse::UndoAnnounce>(&content)) {
    co_return co_await take_events("", relay::Op::kRemove, std::move(undo->posts), origin);
  }
  ++counters_.ignored;
  if (const auto* other = std::get_if<fediverse::Ignored>(&content)) co_return ignored(other->reason);
  co_return ignored("nothing that concerns this node");
}

// --- posts of own instances --------------------------------------------------------------------------------

Task<HttpResponse> Inbox::take_post(fediverse::Note note, bool is_update) {
  const std::string host = host_of(note.author);
  const bool own = std::ranges::any_of(
      instances_, [&](const std::string& instance) { return is_same_or_below(host, instance); });
  if (!own) co_return error_response({ErrorCode::kDenied, "this node takes no posts from " + host});
  const bool is_public = note.visibility == fediverse::Visibility::kPublic;
  if (!is_public && !is_update) {
    co_return error_response({ErrorCode::kInvalid, "only posts addressed to the public (`to`) are relayed"});
  }
  relay::PublishedPost post{note.id, note.author, note.published, {}};
  // An edit that makes a post less than public takes it out of every tag.
  for (const Tag& tag : note.tags) {
    if (is_public) post.tags.push_back(tag.canonical());
  }
  if (post.tags.empty()) {
    const Result<relay::PublishedPost> known = co_await store_.find_post(note.id);
    if (!known) co_return ignored("the post has no hashtags");
  }
  const Result<void> published = co_await roles_.publish(std::move(post));
  co_return published ? accepted() : error_response(published.error());
}

Task<HttpResponse> Inbox::take_deletion(std::string uri, std::string actor) {
  Result<relay::PublishedPost> known = co_await store_.find_post(uri);
  if (!known) co_return ignored("the post is not known here");
  if (origin_of(known->author) != origin_of(actor)) {
    co_return error_response({ErrorCode::kDenied, "only the author's server may delete a post"});
  }
  known->tags.clear();
  const Result<void> published = co_await roles_.publish(std::move(*known));
  co_return published ? accepted() : error_response(published.error());
}

// --- following ---------------------------------------------------------------------------------------------

Task<HttpResponse> Inbox::take_follow(fediverse::Activity activity, fediverse::RemoteActor sender,
                                      std::string body) {
  const auto& follow = std::get<fediverse::Follow>(activity.content);
  std::vector<relay::Follower> followers;
  for (const std::string& object : follow.objects) {
    const std::optional<Tag> tag = identity_.tag_of_actor(object);
    if (!tag) co_return error_response({ErrorCode::kInvalid, object + " is no hashtag actor of this node"});
    followers.push_back({tag->canonical(), sender.id, sender.delivery_inbox(), activity.id,
                         sender.is_node ? relay::Via::kNode : relay::Via::kBoost, 0});
  }
  if (sender.is_node) {
    const std::size_t asked = followers.size();
    const Batch refusals = co_await follow_as_node(std::move(followers));
    co_return refusals ? results_response(asked, *refusals) : error_response(refusals.error());
  }
  std::vector<std::string> tags;
  for (const relay::Follower& follower : followers) tags.push_back(follower.tag);
  const std::string actor = follow.objects.front();
  const Result<std::vector<relay::Follower>> stored = co_await store_.follow(std::move(followers));
  if (!stored) co_return error_response(stored.error());
  for (const relay::Follower& follower : *stored) followers_.add(follower);
  // Somebody here wants the tag: then this node wants it.
  const Result<void> wanted = co_await subscriber_.want(std::move(tags), "followers");
  if (!wanted) co_return error_response(wanted.error());
  const auto hash = crypto::sha256(actor + " " + activity.id);
  const std::string id = fmt::format("{}/accepts/{}", identity_.origin(), to_hex(hash).substr(0, 32));
  const Result<void> answered = co_await mailbox_.send(actor, sender.inbox, accept_activity(id, actor, body));
  co_return answered ? accepted() : error_response(answered.error());
}

// A node follows owners only. Its answer says at once which tags are not ours.
Task<Inbox::Batch> Inbox::follow_as_node(std::vector<relay::Follower> followers) {
  std::vector<Refusal> refusals;
  std::vector<relay::Follower> taken;
  for (relay::Follower& follower : followers) {
    const Result<Tag> tag = Tag::parse(follower.tag);
    const Result<void> serving = roles_.check_serving(Ring::kRelay, *tag);
    if (serving) {
      taken.push_back(std::move(follower));
    } else {
      refusals.push_back({"", follower.tag, serving.error()});
    }
  }
  if (!taken.empty()) {
    CO_TRY(const std::vector<relay::Follower> stored, co_await store_.follow(std::move(taken)));
    for (const relay::Follower& follower : stored) followers_.add(follower);
  }
  co_return refusals;
}

Task<HttpResponse> Inbox::take_unfollow(fediverse::Activity activity, fediverse::FollowRef follow) {
  // By actor and object; an id alone says which of the actor's follows is meant only to whom has kept it.
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& object : follow.objects) {
    const std::optional<Tag> tag = identity_.tag_of_actor(object);
    if (tag) pairs.emplace_back(tag->canonical(), activity.actor);
  }
  if (pairs.empty()) co_return ignored("the Undo names no hashtag actor of this node");
  const Result<void> done = co_await store_.unfollow(pairs);
  if (!done) co_return error_response(done.error());
  std::vector<std::string> unwanted;
  for (const auto& [tag, actor] : pairs) {
    followers_.remove(tag, actor);
    if (!followers_.has_people(tag)) unwanted.push_back(tag);
  }
  const Result<void> let_go = co_await subscriber_.unwant(std::move(unwanted), "followers");
  co_return let_go ? accepted() : error_response(let_go.error());
}

// --- between nodes -----------------------------------------------------------------------------------------

Task<HttpResponse> Inbox::take_events(std::string target, relay::Op op, std::vector<fediverse::PostRef> posts,
                                      std::string sender) {
  std::vector<relay::TagEvent> events = events_of(op, posts, clock_.wall_now());
  const std::size_t asked = events.size();
  if (target.empty()) {
    if (events.empty()) co_return ignored("an Announce without hashtags");
    const Batch refusals = co_await roles_.receive(std::move(events), std::move(sender));
    co_return refusals ? results_response(asked, *refusals) : error_response(refusals.error());
  }
  if (target == identity_.relay()) {
    const Batch refusals = co_await roles_.relay(std::move(events), std::move(sender));
    co_return refusals ? results_response(asked, *refusals) : error_response(refusals.error());
  }
  if (target == identity_.storage()) {
    const Batch refusals = co_await roles_.archive(std::move(events), std::move(sender));
    co_return refusals ? results_response(asked, *refusals) : error_response(refusals.error());
  }
  co_return error_response({ErrorCode::kInvalid, "`target` is neither this node's relay nor its storage"});
}

}  // namespace tagring::node
