#include "instances/publisher.hpp"

#include "fediverse/vocabulary.hpp"

namespace tagring::instances {
namespace {

constexpr std::size_t kForwardedMax = 16'384;  // bytes; those of Mastodon have 1500

}  // namespace

// --- posts -------------------------------------------------------------------------------------------------

Result<void> Publisher::check_taken(const std::string& url) const {
  if (instances_.may_publish(url)) return {};
  const std::string host = host_of(url);
  return fail(ErrorCode::kDenied, "this node takes no posts from " + host +
                                      "; its administrator can: tagring instance allow " + host);
}

Task<Publisher::Outcome> Publisher::post(fediverse::Note note, fediverse::RemoteActor author,
                                         bool is_update) {
  CO_TRY_VOID(check_taken(note.author));
  co_return co_await take(std::move(note), std::move(author), is_update);
}

Task<Publisher::Outcome> Publisher::take(fediverse::Note note, fediverse::RemoteActor author,
                                         bool is_update) {
  CO_TRY_VOID(moderation_.blocks().check_actor(note.author));
  const bool is_public = note.visibility == fediverse::Visibility::kPublic;
  if (!is_public && !is_update)
    co_return fail(ErrorCode::kInvalid, "only posts addressed to the public (`to`) are relayed");
  relay::PublishedPost post{note.id, note.author, note.published, {}};
  // An edit that makes a post less than public takes it out of every tag.
  for (const Tag& tag : note.tags) {
    if (is_public) post.tags.push_back(tag.canonical());
  }
  std::erase_if(post.tags, [this](const std::string& tag) { return !moderation_.blocks().check_tag(tag); });
  // Only new posts count against the limits. A Create is new, unless it comes again.
  std::vector<std::string> admitted;
  if (!is_update) admitted = moderation_.admit(note.author, post.tags);
  if (post.tags.empty() || admitted.size() < post.tags.size()) {
    const Result<relay::PublishedPost> known = co_await store_.find_post(note.id);
    if (!known && post.tags.empty()) co_return "the post has no hashtags that are relayed here";
    if (!known && is_update) admitted = moderation_.admit(note.author, post.tags);
    if (!known && admitted.empty()) co_return "too many hashtags, or too many posts under them";
    if (!known) post.tags = admitted;
  }
  Outcome outcome = co_await hand_in(std::move(post), std::move(author));
  // Or one post that comes again and again while the disk is full uses up the limit, and is passed over then.
  if (!outcome) moderation_.take_back(note.author, admitted);
  co_return outcome;
}

Task<Publisher::Outcome> Publisher::hand_in(relay::PublishedPost post, fediverse::RemoteActor author) {
  if (!post.tags.empty()) {
    CO_TRY(const relay::Consent consent, co_await consents_.of(std::move(author)));
    if (!consent.relay) co_return "the author does not wish to be relayed";
    post.indexable = consent.archive;
  }
  CO_TRY_VOID(co_await owners_.publish(std::move(post)));
  co_return "";
}

Task<Publisher::Outcome> Publisher::deletion(std::string uri, std::string actor, std::string signed_body) {
  Result<relay::PublishedPost> known = co_await store_.find_post(uri);
  if (!known) co_return "the post is not known here";
  if (!fediverse::is_same_origin(known->author, actor))
    co_return fail(ErrorCode::kDenied, "only the author's server may delete a post");
  // Before, so that a Delete that could not be forwarded comes again.
  CO_TRY_VOID(co_await forward(*known, std::move(signed_body)));
  known->tags.clear();
  CO_TRY_VOID(co_await owners_.publish(std::move(*known)));
  co_return "";
}

// Servers that had a post from a relay do not take its deletion from the relay's word: the boost that is
// undone was never one. They want the author's own.
Task<Result<void>> Publisher::forward(relay::PublishedPost post, std::string signed_body) {
  if (signed_body.empty() || signed_body.size() > kForwardedMax) co_return Result<void>();
  const std::string host = host_of(post.author);
  for (Instances::Recipient& recipient : instances_.recipients_of_signed(post.tags)) {
    if (recipient.host == host || !moderation_.blocks().may_go(host, recipient.host)) continue;
    CO_TRY_VOID(co_await instances_.forward(std::move(recipient), signed_body));
  }
  co_return Result<void>();
}

Task<Result<void>> Publisher::take_out(std::string uri) {
  Result<relay::PublishedPost> known = co_await store_.find_post(std::move(uri));
  if (!known && known.error().code == ErrorCode::kNotFound) co_return Result<void>();
  if (!known) co_return std::unexpected(known.error());
  known->tags.clear();
  co_return co_await owners_.publish(std::move(*known));
}

// --- authors -----------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::changed(std::string author) {
  if (!instances_.may_publish(author)) co_return "nobody whose posts are relayed here";
  CO_TRY_VOID(co_await consents_.ask(std::move(author)));
  co_return "";
}

Task<Publisher::Outcome> Publisher::gone(std::string author) {
  CO_TRY(const std::vector<relay::PublishedPost> posts, co_await store_.posts_of(author, "", 1));
  if (posts.empty()) co_return "an account that this node does not know is gone";
  CO_TRY(const bool is_gone, co_await consents_.is_gone(author));
  if (!is_gone) co_return "the account is still there";
  CO_TRY_VOID(co_await consents_.forget(std::move(author)));
  co_return "";
}

}  // namespace tagring::instances
