#include "node/publisher.hpp"

#include "fediverse/vocabulary.hpp"

namespace tagring::node {

Task<Publisher::Outcome> Publisher::post(fediverse::Note note, bool is_update) {
  if (!instances_.may_publish(note.author)) {
    co_return fail(ErrorCode::kDenied, "this node takes no posts from " + host_of(note.author));
  }
  const bool is_public = note.visibility == fediverse::Visibility::kPublic;
  if (!is_public && !is_update)
    co_return fail(ErrorCode::kInvalid, "only posts addressed to the public (`to`) are relayed");
  relay::PublishedPost post{note.id, note.author, note.published, {}};
  // An edit that makes a post less than public takes it out of every tag.
  for (const Tag& tag : note.tags) {
    if (is_public) post.tags.push_back(tag.canonical());
  }
  if (post.tags.empty()) {
    const Result<relay::PublishedPost> known = co_await store_.find_post(note.id);
    if (!known) co_return "the post has no hashtags";
  }
  CO_TRY_VOID(co_await roles_.publish(std::move(post)));
  co_return "";
}

Task<Publisher::Outcome> Publisher::deletion(std::string uri, std::string actor) {
  Result<relay::PublishedPost> known = co_await store_.find_post(uri);
  if (!known) co_return "the post is not known here";
  if (!fediverse::is_same_origin(known->author, actor))
    co_return fail(ErrorCode::kDenied, "only the author's server may delete a post");
  known->tags.clear();
  CO_TRY_VOID(co_await roles_.publish(std::move(*known)));
  co_return "";
}

Task<Publisher::Outcome> Publisher::announced(std::string uri) {
  if (!instances_.may_publish(uri)) {
    co_return fail(ErrorCode::kDenied, "this node takes no posts from " + host_of(uri));
  }
  CO_TRY(const std::string body, co_await courier_.fetch_body(uri));
  CO_TRY(const json::object document, json::parse_object(body));
  if (json::id_of(document) != uri) co_return fail(ErrorCode::kInvalid, uri + " has another id");
  if (!fediverse::is_post(document)) co_return "what was announced is no post";
  std::string author = json::id_of(document, "attributedTo");
  CO_TRY(fediverse::Note note,
         fediverse::parse_note(document, author, clock_.wall_now(), fediverse::ParseLimits{}));
  // Boosts of what is not public happen; they are nobody's fault.
  if (note.visibility != fediverse::Visibility::kPublic) co_return "the post is not public";
  co_return co_await post(std::move(note), /*is_update=*/false);
}

}  // namespace tagring::node
