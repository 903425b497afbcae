#include "publisher/publisher.hpp"

#include <algorithm>
#include <iterator>

#include "fediverse/vocabulary.hpp"
#include "http/url.hpp"

namespace tagring::publisher {
namespace {

bool is_public(const fediverse::Note& note) {
  return note.visibility == fediverse::Visibility::kPublic && note.may_be_announced;
}

// Mastodon tells of votes as of an edit, and of who may quote a post, whose text names no time until the
// first edit: one that is known may be later. With votes nothing says when they were.
std::optional<WallTime> told_at(const fediverse::Note& note) {
  if (note.updated || note.as_of != WallTime::max()) return std::nullopt;
  return note.type == "Question" ? note.told.value_or(WallTime()) : note.told;
}

// Servers name seconds.
bool is_later(WallTime edit, std::optional<WallTime> told) {
  return edit != WallTime() && told && *told <= std::chrono::floor<std::chrono::seconds>(edit);
}

}  // namespace

// --- posts -------------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::post(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                         std::string signed_body) {
  if (takes(note.author))
    co_return co_await take(std::move(note), std::move(author), is_update, std::move(signed_body));
  CO_TRY(const bool withdraws, co_await leave_what_is_known(&note, is_update));
  if (!withdraws) co_return "this node takes no posts of that author's server";
  co_return co_await take_welcome(std::move(note), std::move(author), is_update, {});
}

Task<Publisher::Outcome> Publisher::take(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                         std::string signed_body) {
  if (moderation_.blocks().of_actor(note.author) != nullptr) {
    CO_TRY(const bool withdraws, co_await leave_what_is_known(&note, is_update));
    if (!withdraws) co_return "the author is blocked here";
    signed_body.clear();
  }
  co_return co_await take_welcome(std::move(note), std::move(author), is_update, std::move(signed_body));
}

// Whoever may publish nothing may still take hashtags out of what was published before: leaves those that the
// post has already. False if nothing is taken out.
Task<Result<bool>> Publisher::leave_what_is_known(fediverse::Note* note, bool is_update) {
  if (!is_update) co_return false;
  CO_TRY_VOID(co_await drop_tags_put_off(note->id));
  CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(note->id));
  if (!known) co_return false;
  std::erase_if(note->tags, [&](const Tag& tag) { return !std::ranges::binary_search(known->tags, tag); });
  co_return !is_public(*note) || note->tags != known->tags;
}

Task<Publisher::Outcome> Publisher::take_welcome(fediverse::Note note, fediverse::RemoteActor author,
                                                 bool is_update, std::string signed_body) {
  if (!note.may_be_announced && !is_update) co_return "the author lets not everybody announce the post";
  const bool for_all = is_public(note);
  if (!for_all && !is_update) co_return "only posts addressed to the public (`to`) are relayed";
  delivery::PublishedPost post{note.id, note.author, note.published, {}};
  post.is_edit = is_update;
  post.as_of = told_at(note).value_or(note.as_of);
  // Servers that name seconds date an edit of the first one as the post itself.
  if (note.updated && (is_update || *note.updated > note.published))
    post.changed = std::max(*note.updated, note.published);
  // An edit that makes a post less than public takes it out of every tag.
  for (const Tag& tag : note.tags) {
    if (for_all) post.tags.push_back(tag);
  }
  std::erase_if(post.tags,
                [this](const Tag& tag) { return !moderation_.blocks().check_tag(tag.canonical()); });
  std::ranges::sort(post.tags);
  const bool has_tags = !post.tags.empty();
  CO_TRY(Admitted admitted, co_await admit(&post, is_update));
  const std::optional<delivery::PublishedPost>& known = admitted.known;
  if (!known && post.tags.empty() && admitted.later.empty()) {
    CO_TRY_VOID(co_await drop_tags_put_off(note.id));
    // What it was before may come later: servers try again at random times.
    const bool is_dated = post.changed != WallTime();
    if (is_update && !has_tags && (is_dated || post.as_of != WallTime())) {
      const WallTime edited = is_dated ? post.changed : std::min(post.as_of, clock_.wall_now());
      CO_TRY_VOID(co_await store_.bury(note.id, edited));
    }
    co_return has_tags ? "too many hashtags: taken for advertising"
                       : "the post has no hashtags that are relayed here";
  }
  if (known && is_update && is_later(known->changed, told_at(note))) {
    moderation_.take_back(note.author, note.id, admitted.counted);
    CO_TRY_VOID(co_await look_later(*known));
    co_return "it may be from before the last edit: the post is looked at again";
  }
  // Servers try again at random times: an older one may come later.
  const bool is_past = known && post.changed != WallTime() &&
                       post.changed < std::chrono::floor<std::chrono::seconds>(known->changed);
  if (known && is_update && !is_past && for_all && !signed_body.empty()) {
    CO_TRY(const delivery::Consent consent, co_await consent_of(author));
    if (consent.relay) {
      CO_TRY(post.signed_copy, co_await copies_.keep(signed_body, note.author));
      delivery::PublishedPost before = *known;
      before.signed_copy = post.signed_copy;
      copies_.hand_on(before, delivery::Op::kAdd);
    }
  }
  const std::string uri = note.id;
  Outcome outcome = co_await hand_in(std::move(post), std::move(author), std::move(admitted.later));
  // Or one post that comes again and again while the disk is full uses up the limit, and is passed over then.
  if (!outcome) moderation_.take_back(note.author, uri, admitted.counted);
  co_return outcome;
}

// Leaves of the post's hashtags those that it has already, and those that the limits allow. Only new ones
// count: a Create is new, unless it comes again.
Task<Result<Publisher::Admitted>> Publisher::admit(delivery::PublishedPost* post, bool is_update) {
  Admitted admitted;
  std::vector<Tag> fresh;
  if (moderation_.allows(post->tags.size())) fresh = post->tags;
  if (!is_update) {
    admitted.counted = moderation_.admit(post->author, post->uri, fresh);
    if (!post->tags.empty() && admitted.counted.size() == post->tags.size()) co_return admitted;
  }
  CO_TRY(admitted.known, co_await store_.find_post(post->uri));
  std::vector<Tag> kept;
  if (admitted.known)
    std::ranges::set_intersection(post->tags, admitted.known->tags, std::back_inserter(kept));
  if (is_update) {
    std::erase_if(fresh, [&](const Tag& tag) { return std::ranges::binary_search(kept, tag); });
    admitted.counted = moderation_.admit(post->author, post->uri, fresh);
  }
  post->tags.clear();
  std::ranges::set_union(kept, admitted.counted, std::back_inserter(post->tags));
  std::ranges::set_difference(fresh, post->tags, std::back_inserter(admitted.later));
  co_return admitted;
}

Task<Result<delivery::Consent>> Publisher::consent_of(fediverse::RemoteActor author) {
  const std::string id = author.id;
  CO_TRY(delivery::Consent consent, co_await consents_.of(std::move(author)));
  const bool refuses = moderation_.blocks().is_refused_by(id);
  consent.relay = consent.relay && !refuses;
  co_return consent;
}

// `later`: its hashtags that are over the limits now.
Task<Publisher::Outcome> Publisher::hand_in(delivery::PublishedPost post, fediverse::RemoteActor author,
                                            std::vector<Tag> later) {
  if (!post.tags.empty() || !later.empty()) {
    CO_TRY(const delivery::Consent consent, co_await consent_of(std::move(author)));
    if (!consent.relay) co_return "the author does not wish to be relayed";
    post.indexable = consent.archive;
  }
  bool is_lost = false;
  const bool waits = !later.empty();
  const std::string uri = post.uri;
  if (waits) {
    delivery::PublishedPost rest{post.uri, post.author, clock_.wall_now(), std::move(later)};
    CO_TRY(const bool kept, co_await store_.put_off(std::move(rest), clock_.wall_now() + kTryAgain));
    is_lost = !kept;
    put_off_ += kept ? 1 : 0;  // or some more, until they are counted
  }
  CO_TRY_VOID(co_await owners_.publish(std::move(post)));
  if (!waits) {
    CO_TRY_VOID(co_await drop_tags_put_off(uri));
  }
  co_return is_lost ? "too many posts under these hashtags, and too many of them wait already" : "";
}

Task<Result<void>> Publisher::look_later(delivery::PublishedPost known) {
  // If too many wait, the next change of the post is seen.
  known.tags.clear();  // it waits for no limit
  known.published = clock_.wall_now();
  CO_TRY_VOID(co_await store_.put_off(std::move(known), clock_.wall_now() + Consents::kLifetime));
  ++put_off_;
  co_return Result<void>();
}

Task<Result<void>> Publisher::drop_put_off(std::string uri) {
  if (put_off_ == 0) co_return Result<void>();
  co_return co_await store_.drop_put_off(std::move(uri));
}

// What says how the post is now may be older than what it is to be looked at for.
Task<Result<void>> Publisher::drop_tags_put_off(std::string uri) {
  if (put_off_ == 0) co_return Result<void>();
  co_return co_await store_.drop_tags_put_off(std::move(uri));
}

Task<void> Publisher::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- who is denied -----------------------------------------------------------------------------------------

void Publisher::take_out_denied() {
  sweeps_again_ = instances_.denies_any();
  if (sweeps_again_ && !std::exchange(sweeping_, true)) tasks_.spawn("take_out_denied", sweep());
}

Task<void> Publisher::sweep() {
  while (std::exchange(sweeps_again_, false)) {
    const Result<void> swept = co_await sweep_once();
    if (swept) continue;
    sweeps_again_ = true;
    const Instant again = clock_.now() + kSweepAgain;
    co_await clock_.sleep_until(again);
  }
  sweeping_ = false;
}

// What one post fails by holds up no other.
Task<Result<void>> Publisher::sweep_once() {
  std::string author;
  std::string uri;
  Result<void> swept;
  for (;;) {
    CO_TRY(const auto page, co_await store_.posts_after(author, uri, kSweepPage));
    if (page.empty()) co_return swept;
    author = page.back().author;
    uri = page.back().uri;
    for (const delivery::PublishedPost& post : page) {
      if (!instances_.is_denied(host_of(post.author))) continue;
      const Result<void> withdrawn = co_await withdraw(post.uri);
      if (!withdrawn) swept = withdrawn;
    }
    const Instant next = clock_.now() + kSweepPause;
    co_await clock_.sleep_until(next);
  }
}

// --- deletions ---------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::deletion(std::string uri, std::string actor, std::string signed_body) {
  CO_TRY_VOID(co_await drop_put_off(uri));
  CO_TRY(std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
  // It may have been found gone before its server said so, whose word others need.
  if (!known && !signed_body.empty()) {
    CO_TRY(known, co_await store_.find_unsigned_deletion(uri));
  }
  if (!known && takes(actor)) {
    // Servers try again at random times: what is deleted while a node is away may come after its deletion, or
    // have come just now.
    CO_TRY_VOID(co_await store_.bury(uri));
    CO_TRY(known, co_await store_.find_post(uri));
  }
  if (!known) co_return "the post is not known here";
  if (!fediverse::is_same_origin(known->author, actor))
    co_return fail(ErrorCode::kDenied, "only the author's server may delete a post");
  if (!signed_body.empty()) {
    CO_TRY(known->signed_copy, co_await copies_.keep(signed_body, known->author));
  }
  copies_.forget_edits(known->uri);
  copies_.hand_on(*known, delivery::Op::kRemove);
  known->tags.clear();
  known->deleted = true;
  CO_TRY_VOID(co_await owners_.publish(std::move(*known)));
  co_return "";
}

Task<Result<void>> Publisher::take_out(std::string uri) {
  CO_TRY_VOID(co_await drop_put_off(uri));
  CO_TRY(std::optional<delivery::PublishedPost> known, co_await store_.find_post(std::move(uri)));
  if (!known) co_return Result<void>();
  copies_.forget_edits(known->uri);
  known->tags.clear();
  known->deleted = true;
  co_return co_await owners_.publish(std::move(*known));
}

// Not as of now: or an edit of before, which was not seen yet, would be thought older than this.
Task<Result<void>> Publisher::withdraw(std::string uri, WallTime edited) {
  CO_TRY_VOID(co_await drop_tags_put_off(uri));
  CO_TRY(std::optional<delivery::PublishedPost> known, co_await store_.find_post(std::move(uri)));
  if (!known || known->tags.empty()) co_return Result<void>();
  copies_.forget_edits(known->uri);
  known->tags.clear();
  known->is_edit = true;
  known->changed = std::max({known->changed, known->published, edited});
  co_return co_await owners_.publish(std::move(*known));
}

// Dated: the archive takes what is later, should the author agree again.
Task<Result<void>> Publisher::withdraw_from_archive(std::string uri) {
  CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
  if (known && !known->tags.empty()) {
    std::vector<delivery::TagEvent> removals;
    for (const Tag& tag : known->tags) removals.push_back(dated_removal(*known, tag));
    CO_TRY_VOID(co_await owners_.reassign(Ring::kStorage, std::move(removals)));
  }
  co_return co_await withdraw(std::move(uri));
}

// --- authors -----------------------------------------------------------------------------------------------

Task<Publisher::Outcome> Publisher::changed(std::string author, std::optional<fediverse::RemoteActor> profile,
                                            std::string signed_body) {
  consents_.forget_profile(author);
  if (!instances_.may_publish(author)) {
    CO_TRY(const std::optional<delivery::Consent> known, co_await consents_.known(author));
    if (!known) co_return "nobody whose posts are relayed here";
  }
  if (profile) {
    CO_TRY_VOID(co_await consents_.state(*std::move(profile), std::move(signed_body)));
    co_return "";
  }
  CO_TRY_VOID(co_await consents_.ask(std::move(author)));
  co_return "";
}

Task<Result<void>> Publisher::refused_by(std::string author) {
  if (!moderation_.blocks().is_refused_by(author)) co_return Result<void>();
  co_return co_await consents_.forget(std::move(author));
}

Task<Publisher::Outcome> Publisher::gone(std::string author, bool is_signed, std::string signed_body) {
  constexpr const char* kNotRelayed = "an account whose posts are not relayed here is gone";
  CO_TRY(const std::optional<delivery::Consent> known, co_await consents_.known(author));
  const bool is_relayed = known && known->relay;
  // Mastodon tells before it deletes, and answers from a cache for minutes after that.
  if (!is_signed) {
    if (!is_relayed) co_return kNotRelayed;
    CO_TRY(const bool is_gone, co_await consents_.is_gone(author));
    if (!is_gone) co_return "the account is still there";
  }
  CO_TRY_VOID(co_await consents_.gone(std::move(author), std::move(signed_body)));
  co_return is_relayed ? "" : kNotRelayed;
}

}  // namespace tagring::publisher
