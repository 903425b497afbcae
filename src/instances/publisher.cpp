#include "instances/publisher.hpp"

#include "fediverse/vocabulary.hpp"

namespace tagring::instances {
namespace {

constexpr std::size_t kAuthorsMax = 20'000;  // remembered
constexpr std::size_t kPage = 500;
constexpr std::size_t kForwardedMax = 16'384;  // octets; those of Mastodon have 1500

std::string not_taken(const std::string& url) {
  const std::string host = host_of(url);
  return "this node takes no posts from " + host + "; its administrator can: tagring instance allow " + host;
}

}  // namespace

Task<void> Publisher::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- posts -------------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::post(fediverse::Note note, fediverse::RemoteActor author,
                                         bool is_update) {
  if (!instances_.may_publish(note.author)) {
    co_return fail(ErrorCode::kDenied, not_taken(note.author));
  }
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
    CO_TRY(const relay::Consent consent, co_await this->consent(std::move(author)));
    if (!consent.relay) co_return "the author does not wish to be relayed";
    post.indexable = consent.archive;
  }
  CO_TRY_VOID(co_await outbox_.publish(std::move(post)));
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
  CO_TRY_VOID(co_await outbox_.publish(std::move(*known)));
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

Task<Publisher::Outcome> Publisher::announced(std::string uri) {
  if (!instances_.may_publish(uri)) {
    co_return fail(ErrorCode::kDenied, not_taken(uri));
  }
  CO_TRY(const std::string body, co_await courier_.fetch_body(uri));
  CO_TRY(const json::object document, json::parse_object(body));
  if (json::id_of(document) != uri) co_return fail(ErrorCode::kInvalid, uri + " has another id");
  if (!fediverse::is_post(document)) co_return "what was announced is no post";
  CO_TRY(fediverse::Note note, fediverse::parse_fetched_note(document, clock_.wall_now()));
  // Boosts of what is not public happen; they are nobody's fault.
  if (note.visibility != fediverse::Visibility::kPublic) co_return "the post is not public";
  CO_TRY(fediverse::RemoteActor author, co_await fetch_author(note.author));
  co_return co_await post(std::move(note), std::move(author), /*is_update=*/false);
}

// --- what servers tell of by URI ---------------------------------------------------------------------------

Task<Result<void>> Publisher::take_out(std::string uri) {
  Result<relay::PublishedPost> known = co_await store_.find_post(std::move(uri));
  if (!known && known.error().code == ErrorCode::kNotFound) co_return Result<void>();
  if (!known) co_return std::unexpected(known.error());
  known->tags.clear();
  co_return co_await outbox_.publish(std::move(*known));
}

Task<Result<bool>> Publisher::shared(std::string uri, bool by_sharing) {
  const Result<std::string> body = co_await courier_.fetch_body(uri);
  bool is_gone = !body && body.error().code == ErrorCode::kNotFound;
  if (!body && !is_gone) co_return std::unexpected(body.error());
  json::object document;
  if (!is_gone) {
    CO_TRY(document, json::parse_object(*body));
    if (json::id_of(document) != uri) co_return fail(ErrorCode::kInvalid, uri + " has another id");
    is_gone = !fediverse::is_post(document);  // a Tombstone
  }
  if (is_gone) {
    CO_TRY_VOID(co_await take_out(std::move(uri)));
    co_return false;
  }
  const std::string author = json::id_of(document, "attributedTo");
  CO_TRY(fediverse::Note note,
         fediverse::parse_note(document, author, clock_.wall_now(), fediverse::ParseLimits{}));
  if (note.visibility != fediverse::Visibility::kPublic) {
    CO_TRY_VOID(co_await take_out(std::move(uri)));
    co_return false;
  }
  co_return co_await take_shared(std::move(note), by_sharing);
}

Task<Result<bool>> Publisher::take_shared(fediverse::Note note, bool by_sharing) {
  const std::string uri = note.id;
  const std::string author_id = note.author;
  const Result<relay::PublishedPost> known = co_await store_.find_post(uri);
  // Most posts have no hashtags, and nobody need be asked about them.
  if (!known && note.tags.empty()) co_return false;
  CO_TRY_VOID(moderation_.blocks().check_actor(author_id));
  Result<fediverse::RemoteActor> author = co_await fetch_author(author_id);
  const bool is_gone = !author && author.error().code == ErrorCode::kNotFound;
  if (!author && !is_gone) co_return std::unexpected(author.error());
  const bool agrees = author && fediverse::wishes_of(*author).archive;
  if (author) {
    CO_TRY(const std::optional<relay::Consent> before, co_await store_.consent(author_id));
    if (agrees || before) {
      CO_TRY_VOID(co_await learn(author_id, consent_of(*author)));
    }
  }
  if (!agrees) {
    if (is_gone || by_sharing) {
      CO_TRY_VOID(co_await take_out(uri));
    }
    co_return false;
  }
  CO_TRY(const std::string passed_over,
         co_await take(std::move(note), std::move(*author), /*is_update=*/known.has_value()));
  if (!passed_over.empty()) co_return false;
  const Result<relay::PublishedPost> now = co_await store_.find_post(uri);
  co_return now && !now->tags.empty();
}

Task<Publisher::Outcome> Publisher::look_again(std::string author) {
  CO_TRY(const std::optional<relay::Consent> known, co_await store_.consent(author));
  if (!known) co_return "nobody whose posts are known here";
  CO_TRY(const fediverse::RemoteActor actor, co_await fetch_author(author));
  CO_TRY_VOID(co_await learn(std::move(author), consent_of(actor)));
  co_return "";
}

// --- consent -----------------------------------------------------------------------------------------------

relay::Consent Publisher::consent_of(const fediverse::RemoteActor& author) const {
  const fediverse::Wishes wishes = fediverse::wishes_of(author);
  return {wishes.relay, wishes.relay && (wishes.archive || options_.archive_all)};
}

// As far as it is known. `author` is from the key that signed the post and may be hours old; what was learned
// since counts more.
Task<Result<relay::Consent>> Publisher::consent(fediverse::RemoteActor author) {
  const auto known = authors_.find(author.id);
  if (known != authors_.end()) {
    const relay::Consent consent = known->second.consent;
    if (clock_.now() - known->second.asked > kWishesLifetime) {
      known->second.asked = clock_.now();
      tasks_.spawn("ask_again", ask_again(author.id));
    }
    co_return consent;
  }
  const std::string id = author.id;
  CO_TRY(std::optional<relay::Consent> consent, co_await store_.consent(id));
  if (consent) {
    remember(id, *consent);
    tasks_.spawn("ask_again", ask_again(id));
  } else {
    consent = consent_of(author);
    CO_TRY_VOID(co_await learn(id, *consent));
  }
  co_return *consent;
}

Task<Result<fediverse::RemoteActor>> Publisher::fetch_author(std::string author) {
  CO_TRY(const std::string body, co_await courier_.fetch_body(author));
  co_return fediverse::parse_actor(body, author);
}

// A profile that cannot be fetched now is asked for again at the next post.
Task<void> Publisher::ask_again(std::string author) {
  const Result<fediverse::RemoteActor> actor = co_await fetch_author(author);
  if (actor) co_await learn(std::move(author), consent_of(*actor));
}

void Publisher::remember(const std::string& author, relay::Consent consent) {
  if (authors_.size() >= kAuthorsMax) authors_.clear();
  authors_[author] = {consent, clock_.now()};
}

// Durable when it completes: what the author has withdrawn is owed to the owners.
Task<Result<void>> Publisher::learn(std::string author, relay::Consent consent) {
  CO_TRY(const std::optional<relay::Consent> before, co_await store_.consent(author));
  if (before == consent) {
    remember(author, consent);
    co_return Result<void>();
  }
  if (before && before->archive && !consent.archive) {
    CO_TRY_VOID(co_await withdraw(author, /*from_archive_only=*/consent.relay));
  } else if (before && before->relay && !consent.relay) {
    CO_TRY_VOID(co_await withdraw(author, /*from_archive_only=*/false));
  }
  CO_TRY_VOID(co_await store_.save_consent(author, consent));
  remember(author, consent);
  co_return Result<void>();
}

Task<Result<void>> Publisher::withdraw(std::string author, bool from_archive_only) {
  std::string after;
  for (;;) {
    CO_TRY(std::vector<relay::PublishedPost> posts, co_await store_.posts_of(author, after, kPage));
    if (posts.empty()) co_return Result<void>();
    after = posts.back().uri;
    std::vector<relay::TagEvent> removals;
    for (relay::PublishedPost& post : posts) {
      if (from_archive_only) {
        for (std::string& tag : post.tags)
          removals.push_back({std::move(tag), relay::Op::kRemove, post.uri, author, post.published});
      } else {
        post.tags.clear();
        CO_TRY_VOID(co_await outbox_.publish(std::move(post)));
      }
    }
    if (!removals.empty()) {
      CO_TRY_VOID(co_await outbox_.reassign(Ring::kStorage, std::move(removals)));
    }
  }
}

Task<Publisher::Outcome> Publisher::changed(std::string author) {
  if (!instances_.may_publish(author)) co_return "nobody whose posts are relayed here";
  CO_TRY(const fediverse::RemoteActor actor, co_await fetch_author(author));
  CO_TRY_VOID(co_await learn(std::move(author), consent_of(actor)));
  co_return "";
}

Task<Publisher::Outcome> Publisher::gone(std::string author) {
  CO_TRY(const std::vector<relay::PublishedPost> posts, co_await store_.posts_of(author, "", 1));
  if (posts.empty()) co_return "an account that this node does not know is gone";
  const Result<std::string> document = co_await courier_.fetch_body(author);
  if (document) co_return "the account is still there";
  if (document.error().code != ErrorCode::kNotFound) co_return std::unexpected(document.error());
  CO_TRY_VOID(co_await withdraw(std::move(author), /*from_archive_only=*/false));
  co_return "";
}

}  // namespace tagring::instances
