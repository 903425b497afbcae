#include "publisher/fetched_posts.hpp"

#include "fediverse/consent.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/note.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::publisher {

Task<Result<void>> FetchedPosts::take_out(std::string uri) { return publisher_.take_out(std::move(uri)); }

Task<Result<void>> FetchedPosts::withdraw(std::string uri) { return publisher_.withdraw(std::move(uri)); }

Task<Result<FetchedPosts::Shared>> FetchedPosts::shared(std::string uri, bool by_sharing) {
  const Result<Fetched> fetched = co_await fetch(uri);
  if (!fetched && fetched.error().code != ErrorCode::kNotFound) co_return std::unexpected(fetched.error());
  if (!fetched) co_return Shared::kGone;
  if (!fediverse::is_post(fetched->document)) {  // a Tombstone
    CO_TRY_VOID(co_await take_out(std::move(uri)));
    co_return Shared::kNothing;
  }
  CO_TRY(fediverse::Note note, fetched->note(clock_.wall_now()));
  if (note.visibility != fediverse::Visibility::kPublic || !note.may_be_announced) {
    CO_TRY_VOID(co_await publisher_.withdraw(std::move(uri), note.updated.value_or(note.as_of)));
    co_return Shared::kNothing;
  }
  co_return co_await take_shared(std::move(note), by_sharing);
}

Task<Result<FetchedPosts::Shared>> FetchedPosts::take_shared(fediverse::Note note, bool by_sharing) {
  const std::string uri = note.id;
  const std::string author_id = note.author;
  CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
  // Most posts have no hashtags, and nobody need be asked about them.
  if (!known && note.tags.empty()) co_return Shared::kNothing;
  if (!blocks_.check_actor(author_id)) co_return Shared::kBlocked;
  Result<Consents::Profile> author = co_await consents_.fetch(author_id);
  const bool is_gone = !author && author.error().code == ErrorCode::kNotFound;
  if (!author && !is_gone) co_return std::unexpected(author.error());
  bool agrees = author && fediverse::wishes_of(author->actor).archive;
  // What its server brings here itself is relayed all the same: only the archive lacks it from now on.
  const bool only_shared = by_sharing && !publisher_.takes(author_id);
  // Before the profile counts: what stands in the archive then leaves that for ever.
  if (!agrees && !is_gone && only_shared) {
    CO_TRY_VOID(co_await publisher_.withdraw_from_archive(uri));
  }
  if (author) {
    CO_TRY(const std::optional<delivery::Consent> before, co_await consents_.known(author_id));
    if (agrees || before) {
      CO_TRY_VOID(co_await consents_.learn(*author));
      // What was signed counts more than what may be from a cache.
      CO_TRY(const std::optional<delivery::Consent> now, co_await consents_.known(author_id));
      agrees = agrees && now && now->archive;
    }
  }
  if (!agrees) {
    if (is_gone) co_return Shared::kGone;
    if (only_shared) {
      CO_TRY_VOID(co_await publisher_.withdraw_from_archive(uri));
    }
    co_return Shared::kUnwanted;
  }
  CO_TRY(const std::string passed_over, co_await publisher_.take(std::move(note), std::move(author->actor),
                                                                 /*is_update=*/known.has_value()));
  if (!passed_over.empty()) co_return Shared::kNothing;
  CO_TRY(const std::optional<delivery::PublishedPost> now, co_await store_.find_post(uri));
  co_return now && !now->tags.empty() ? Shared::kPublished : Shared::kNothing;
}

Task<Publisher::Outcome> FetchedPosts::look_again(std::string author) {
  CO_TRY(const std::optional<delivery::Consent> known, co_await consents_.known(author));
  if (!known) co_return "nobody whose posts are known here";
  CO_TRY_VOID(co_await consents_.ask(std::move(author)));
  co_return "";
}

Task<Publisher::Outcome> FetchedPosts::gone(std::string author) {
  return publisher_.gone(std::move(author), /*is_signed=*/false);
}

Task<Result<FetchedPosts::Fetched>> FetchedPosts::fetch(std::string uri) {
  CO_TRY(const federation::SignedClient::Document answer, co_await client_.fetch(uri));
  CO_TRY(json::object document, fediverse::parse_document(answer.body));
  if (json::id_of(document) != uri) co_return fail(ErrorCode::kInvalid, uri + " has another id");
  co_return Fetched{std::move(document), clock_.wall_now() - (clock_.now() - answer.as_of)};
}

Result<fediverse::Note> FetchedPosts::Fetched::note(WallTime now) const {
  TRY(fediverse::Note read, fediverse::parse_fetched_note(document, now));
  read.as_of = as_of;
  return read;
}

Task<Publisher::Outcome> FetchedPosts::announced(std::string uri, Told told) {
  if (!publisher_.takes(told.by.empty() ? uri : told.by)) {
    // But an edit may take back what is known.
    CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
    if (!known || !told.is_update) co_return "this node takes no posts of that author's server";
  }
  Result<Fetched> answer = co_await fetch(uri);
  if (!answer && answer.error().code == ErrorCode::kNotFound && told.is_update) {
    CO_TRY_VOID(co_await take_out(std::move(uri)));
    co_return "what was announced is gone";
  }
  CO_TRY(Fetched fetched, std::move(answer));
  const json::object& document = fetched.document;
  if (fediverse::has_type(document, "Create") || fediverse::has_type(document, "Update")) {
    // What was announced is what happened to the post.
    const std::string post = json::id_of(document, "object");
    if (!fediverse::is_same_origin(post, uri)) co_return "what was announced is of another server";
    CO_TRY(fetched, co_await fetch(post));
  }
  if (!fediverse::is_post(document)) {
    if (told.is_update && fediverse::has_type(document, "Tombstone")) {
      CO_TRY_VOID(co_await take_out(json::id_of(document)));
    }
    co_return "what was announced is no post";
  }
  CO_TRY(fediverse::Note note, fetched.note(clock_.wall_now()));
  if (note.published < told.not_before) co_return std::string(kTooOld);
  if (!told.by.empty() && note.author != told.by) co_return "the post is by somebody else";
  // Boosts of what is not public happen; they are nobody's fault.
  if (note.visibility != fediverse::Visibility::kPublic && !told.is_update)
    co_return "the post is not public";
  const std::string post = note.id;
  // As most comments in a group: nobody need be asked about them.
  if (note.tags.empty() && !told.is_update) {
    CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(post));
    if (!known) co_return "the post has no hashtags";
  }
  CO_TRY(Consents::Profile author, co_await consents_.profile(note.author));
  CO_TRY(std::string why_not,
         co_await publisher_.post(std::move(note), std::move(author.actor), told.is_update));
  if (told.is_update && told.by_id_only) {
    CO_TRY_VOID(co_await look_later(post));
  }
  co_return why_not;
}

Task<Result<void>> FetchedPosts::look_later(const std::string& uri) {
  CO_TRY(std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
  if (!known || known->tags.empty()) co_return Result<void>();
  co_return co_await publisher_.look_later(*std::move(known));
}

Task<Result<bool>> FetchedPosts::ask_later(std::string uri) {
  const WallTime now = clock_.wall_now();
  CO_TRY(const std::optional<delivery::PublishedPost> post, co_await store_.find_post(uri));
  delivery::PublishedPost look{uri, post ? post->author : author_of_unknown(uri), now, {}};
  CO_TRY(const bool kept, co_await store_.put_off(std::move(look), now + Publisher::kTryAgain));
  if (kept) publisher_.note_put_off(publisher_.put_off() + 1);
  co_return kept;
}

Task<Publisher::Outcome> FetchedPosts::deleted(std::string uri) {
  CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
  if (!known) co_return "the post is not known here";
  const Result<Fetched> fetched = co_await fetch(uri);
  if (!fetched && fetched.error().code != ErrorCode::kNotFound) co_return std::unexpected(fetched.error());
  if (fetched && fediverse::is_post(fetched->document)) {
    CO_TRY_VOID(co_await look_later(uri));
    co_return "the post is still there, or in a cache: it is looked at again";
  }
  CO_TRY_VOID(co_await take_out(std::move(uri)));
  co_return "";
}

}  // namespace tagring::publisher
