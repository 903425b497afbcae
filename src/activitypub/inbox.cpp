#include "activitypub/inbox.hpp"

#include <functional>
#include <optional>

#include "activitypub/answers.hpp"
#include "crypto/hash.hpp"
#include "delivery/store.hpp"
#include "fediverse/json_ld.hpp"
#include "followers/header.hpp"
#include "http/http_error.hpp"
#include "ring/contact.hpp"

namespace tagring::activitypub {

namespace {

// The signature is by a key in the actor's own document, or below it (GoToSocial).
bool names_key_of(const Headers& headers, const std::string& actor) {
  const std::string quoted = '"' + actor;
  for (const char* name : {"Signature", "Signature-Input"}) {
    const std::string value = headers.joined(name).value_or("");
    const std::size_t at = value.find(quoted);
    const std::size_t end = at == std::string::npos ? at : at + quoted.size();
    if (end < value.size() && std::string_view("\"#/").contains(value[end])) return true;
  }
  return false;
}

std::uint64_t hash_of_signatures(const Headers& headers) {
  return crypto::hash64(headers.joined("Signature").value_or("") +
                        headers.joined("Signature-Input").value_or(""));
}

}  // namespace

Task<HttpResponse> Inbox::answer(HttpRequest request) {
  // Form first: garbage must not make us fetch keys. Hashtags last: what they cost is for who has signed.
  Result<json::object> object = fediverse::parse_document(request.body);
  Result<fediverse::Activity> activity =
      object ? fediverse::parse_activity(*object, clock_.wall_now(), {.with_tags = false})
             : std::unexpected(object.error());
  const std::string actor = activity ? activity->actor : std::string();
  HttpResponse response;
  if (activity) {
    response = co_await take(*std::move(object), *std::move(activity), std::move(request));
  } else {
    response = error_response(activity.error());
  }
  tally_.count(response, actor);
  co_return response;
}

// `form` is what can be said of the activity before it is known who sent it.
Task<HttpResponse> Inbox::take(json::object object, fediverse::Activity form, HttpRequest request) {
  const auto* deletion = std::get_if<fediverse::Delete>(&form.content);
  const bool is_farewell = deletion != nullptr && deletion->uri == form.actor;
  Envelope envelope{request.target, request.body};
  const IpAddress peer = request.peer;
  const std::optional<std::string> synchronization = request.headers.joined(followers::kHeaderName);
  const bool by_own_key = names_key_of(request.headers, form.actor);
  const std::uint64_t signature = hash_of_signatures(request.headers);
  const std::string domain = ring::domain_of(host_of(form.actor));
  Result<federation::Authentic> sender = co_await authenticator_.authenticate(
      std::move(request), is_farewell ? federation::Gone::kTaken : federation::Gone::kRefused);
  if (!sender && sender.error().code == ErrorCode::kNotFound) {
    // Deleted accounts take their keys with them, and servers tell everybody about everyone.
    if (is_farewell) co_return co_await posts_.gone(form.actor);
    // Mastodon sends posts of accounts that wait for approval, and stops sending anybody's after ten
    // refusals.
    if (by_own_key) co_return ignored("the sender's account does not exist, or not yet");
  }
  // Whoever has lost the answer gets it again. An error would read as if the key were wrong.
  if (!sender && sender.error().code == ErrorCode::kConflict && taken_.contains(domain, signature))
    co_return accepted();
  if (!sender) co_return federation::not_authentic(sender.error());
  // Mastodon hands on what others have signed, replies and deletions, to whoever follows somebody concerned.
  // Nothing is taken from it; but no refusal either, or it would soon send nobody's posts any more.
  if (sender->actor.id != form.actor) co_return ignored("somebody else's activity, handed on by who signed");
  Result<fediverse::Activity> activity = fediverse::parse_activity(object, clock_.wall_now());
  if (!activity) co_return error_response(activity.error());
  HttpResponse response = co_await dispatch(std::move(*activity), sender->actor, std::move(envelope));
  authenticator_.answered(*sender, response);
  // Whatever comes of it, the answer is the same.
  if (synchronization) sync_.take(*synchronization, *sender);
  if (response.status < 400 && posts_.is_trusted(sender->actor.id))
    authenticator_.note_known(sender->actor.id, peer);
  // Nodes read what became of each item, which is not kept.
  if (response.status < 400 && !sender->actor.is_node) taken_.add(domain, signature, clock_.now());
  co_return response;
}

Task<HttpResponse> Inbox::dispatch(fediverse::Activity activity, fediverse::RemoteActor sender,
                                   Envelope envelope) {
  auto& content = activity.content;
  if (auto* create = std::get_if<fediverse::Create>(&content))
    co_return co_await posts_.post(std::move(create->note), std::move(sender), /*is_update=*/false);
  if (auto* update = std::get_if<fediverse::Update>(&content)) {
    std::string signed_body = update->is_signed ? std::move(envelope.body) : std::string();
    co_return co_await posts_.post(std::move(update->note), std::move(sender), /*is_update=*/true,
                                   std::move(signed_body));
  }
  if (auto* update = std::get_if<fediverse::UpdateActor>(&content))
    co_return co_await posts_.changed(activity.actor, std::move(*update), std::move(envelope.body));
  if (auto* deletion = std::get_if<fediverse::Delete>(&content))
    co_return co_await posts_.deletion(std::move(*deletion), activity.actor, std::move(envelope.body));
  if (auto* told = std::get_if<fediverse::Told>(&content))
    co_return co_await posts_.told(std::move(*told), activity.actor);
  if (std::holds_alternative<fediverse::Follow>(content))
    co_return co_await follows_.follow(std::move(activity), std::move(sender), std::move(envelope));
  if (auto* undo = std::get_if<fediverse::UndoFollow>(&content))
    co_return co_await follows_.unfollow(std::move(sender), std::move(undo->follow), std::move(envelope));
  co_return co_await dispatch_other(std::move(activity), std::move(sender), std::move(envelope));
}

Task<HttpResponse> Inbox::dispatch_other(fediverse::Activity activity, fediverse::RemoteActor sender,
                                         Envelope envelope) {
  auto& content = activity.content;
  if (auto* undo = std::get_if<fediverse::UndoById>(&content))
    co_return co_await follows_.unfollow_by_id(activity.actor, std::move(undo->id));
  if (auto* accept = std::get_if<fediverse::Accept>(&content))
    co_return co_await follows_.take_accept(activity.actor, std::move(accept->follows));
  if (auto* reject = std::get_if<fediverse::Reject>(&content))
    co_return co_await follows_.take_reject(activity.actor, std::move(reject->follows));
  if (auto* block = std::get_if<fediverse::Block>(&content)) {
    HttpResponse answer = co_await follows_.take_block(activity.actor, std::move(block->object), activity.id);
    if (answer.status != 202) co_return answer;
    const Result<void> taken_back = co_await posts_.blocked(activity.actor);
    co_return taken_back ? answer : error_response(taken_back.error());
  }
  if (auto* undo = std::get_if<fediverse::UndoBlock>(&content))
    co_return co_await follows_.end_block(activity.actor, std::move(undo->object), std::move(undo->id));
  if (auto* remove = std::get_if<fediverse::RemoveFollower>(&content))
    co_return co_await follows_.take_moved(activity.actor, std::move(*remove));
  if (auto* flag = std::get_if<fediverse::Flag>(&content))
    co_return co_await posts_.reported(std::move(*flag), std::move(activity.id), activity.actor);
  auto* announce = std::get_if<fediverse::Announce>(&content);
  if (announce != nullptr && posts_.is_announcer(sender))
    co_return co_await posts_.announced(std::move(*announce));
  const bool is_boost = announce != nullptr || std::holds_alternative<fediverse::UndoAnnounce>(content);
  if (is_boost && !sender.is_node)
    co_return ignored(
        "a boost, by nobody who speaks for others here: what people boost is no wish of its author");
  co_return co_await between_nodes(std::move(activity), std::move(envelope.body));
}

Task<HttpResponse> Inbox::between_nodes(fediverse::Activity activity, std::string body) {
  using delivery::Op;
  const std::string origin = origin_of(activity.actor);
  auto& content = activity.content;
  if (auto* add = std::get_if<fediverse::Add>(&content))
    co_return co_await events_.take(add->target, {Op::kAdd, std::move(add->posts), origin, std::move(body)});
  if (auto* remove = std::get_if<fediverse::Remove>(&content))
    co_return co_await events_.take(remove->target,
                                    {Op::kRemove, std::move(remove->posts), origin, std::move(body)});
  if (auto* announce = std::get_if<fediverse::Announce>(&content);
      announce != nullptr && announce->of == fediverse::Announce::Of::kPosts)
    co_return co_await events_.take_announced(
        {Op::kAdd, std::move(announce->posts), origin, std::move(body)});
  if (auto* undo = std::get_if<fediverse::UndoAnnounce>(&content))
    co_return co_await events_.take_announced({Op::kRemove, std::move(undo->posts), origin, std::move(body)});
  if (const auto* other = std::get_if<fediverse::Ignored>(&content)) co_return ignored(other->reason);
  co_return ignored("nothing that concerns this node");
}

}  // namespace tagring::activitypub
