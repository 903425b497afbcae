#include "instances/publisher.hpp"

#include "fediverse/vocabulary.hpp"

namespace tagring::instances {
// --- posts -------------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::post(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                         std::string signed_body) {
  if (!takes(note.author)) co_return "this node takes no posts of that author's server";
  co_return co_await take(std::move(note), std::move(author), is_update, std::move(signed_body));
}

Task<Publisher::Outcome> Publisher::take(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                         std::string signed_body) {
  if (moderation_.blocks().of_actor(note.author) != nullptr) co_return "the author is blocked here";
  if (!note.may_be_announced && !is_update) co_return "the author lets not everybody announce the post";
  const bool is_public = note.visibility == fediverse::Visibility::kPublic && note.may_be_announced;
  if (!is_public && !is_update) co_return "only posts addressed to the public (`to`) are relayed";
  relay::PublishedPost post{note.id, note.author, note.published, {}};
  // An edit that makes a post less than public takes it out of every tag.
  for (const Tag& tag : note.tags) {
    if (is_public) post.tags.push_back(tag.canonical());
  }
  std::erase_if(post.tags, [this](const std::string& tag) { return !moderation_.blocks().check_tag(tag); });
  // Only new posts count against the limits. A Create is new, unless it comes again.
  std::vector<std::string> admitted;
  Result<relay::PublishedPost> known = fail(ErrorCode::kNotFound, "not looked for");
  if (!is_update) admitted = moderation_.admit(note.author, note.id, post.tags);
  if (post.tags.empty() || admitted.size() < post.tags.size()) {
    known = co_await store_.find_post(note.id);
    if (!known && post.tags.empty()) co_return "the post has no hashtags that are relayed here";
    if (!known && is_update) admitted = moderation_.admit(note.author, note.id, post.tags);
    if (!known && admitted.empty()) co_return "too many hashtags, or too many posts under them";
    if (!known) post.tags = admitted;
  }
  if (known && is_update && is_public && !signed_body.empty()) {
    post.signed_copy = copies_.keep(signed_body);
    hand_on(*known, post.signed_copy, relay::Op::kAdd);
  }
  Outcome outcome = co_await hand_in(std::move(post), std::move(author));
  // Or one post that comes again and again while the disk is full uses up the limit, and is passed over then.
  if (!outcome) moderation_.take_back(note.author, note.id, admitted);
  co_return outcome;
}

Task<Publisher::Outcome> Publisher::hand_in(relay::PublishedPost post, fediverse::RemoteActor author) {
  if (!post.tags.empty()) {
    CO_TRY(const relay::Consent consent, co_await consents_.of(std::move(author)));
    const bool refused = moderation_.blocks().is_refused_by(post.author);
    if (!consent.relay || refused) co_return "the author does not wish to be relayed";
    post.indexable = consent.archive;
  }
  CO_TRY_VOID(co_await owners_.publish(std::move(post)));
  co_return "";
}

Task<Publisher::Outcome> Publisher::deletion(std::string uri, std::string actor, std::string signed_body) {
  Result<relay::PublishedPost> known = co_await store_.find_post(uri);
  if (!known && known.error().code == ErrorCode::kNotFound && takes(actor)) {
    // Servers try again at random times: what is deleted while a node is away may come after its deletion.
    CO_TRY_VOID(co_await store_.bury(std::move(uri)));
  }
  if (!known) co_return "the post is not known here";
  if (!fediverse::is_same_origin(known->author, actor))
    co_return fail(ErrorCode::kDenied, "only the author's server may delete a post");
  if (!signed_body.empty()) known->signed_copy = copies_.keep(signed_body);
  hand_on(*known, known->signed_copy, relay::Op::kRemove);
  known->tags.clear();
  CO_TRY_VOID(co_await owners_.publish(std::move(*known)));
  co_return "";
}

// To who follows here: through the rings it goes only from the nodes of its own server.
void Publisher::hand_on(const relay::PublishedPost& known, const std::string& signed_copy, relay::Op op) {
  for (const std::string& tag : known.tags)
    copies_.hand_on({tag, op, known.uri, known.author, known.published, false, signed_copy});
}

Task<Result<void>> Publisher::take_out(std::string uri) {
  Result<relay::PublishedPost> known = co_await store_.find_post(std::move(uri));
  if (!known && known.error().code == ErrorCode::kNotFound) co_return Result<void>();
  if (!known) co_return std::unexpected(known.error());
  known->tags.clear();
  co_return co_await owners_.publish(std::move(*known));
}

// --- authors -----------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::changed(std::string author,
                                            std::optional<fediverse::RemoteActor> profile) {
  if (!instances_.may_publish(author)) co_return "nobody whose posts are relayed here";
  if (profile) {
    CO_TRY_VOID(co_await consents_.state(*std::move(profile)));
    co_return "";
  }
  CO_TRY_VOID(co_await consents_.ask(std::move(author)));
  co_return "";
}

Task<Result<void>> Publisher::refused_by(std::string author) {
  if (!moderation_.blocks().is_refused_by(author)) co_return Result<void>();
  co_return co_await consents_.forget(std::move(author));
}

Task<Publisher::Outcome> Publisher::gone(std::string author, bool is_signed) {
  CO_TRY(const std::vector<relay::PublishedPost> posts, co_await store_.posts_of(author, "", 1));
  if (posts.empty()) co_return "an account that this node does not know is gone";
  // Mastodon tells before it deletes, and answers from a cache for minutes after that.
  bool is_gone = is_signed;
  if (!is_gone) {
    CO_TRY(is_gone, co_await consents_.is_gone(author));
  }
  if (!is_gone) co_return "the account is still there";
  CO_TRY_VOID(co_await consents_.forget(std::move(author)));
  co_return "";
}

}  // namespace tagring::instances
