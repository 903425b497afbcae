#include "publisher/consents.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "fediverse/consent.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::publisher {
namespace {

using PostsOf = delivery::Store::PostsOf;

constexpr std::size_t kAuthorsMax = 20'000;  // remembered
constexpr std::size_t kPage = 500;

}  // namespace

delivery::TagEvent dated_removal(const delivery::PublishedPost& post, Tag tag) {
  delivery::TagEvent removal{std::move(tag), delivery::Op::kRemove, post.uri, post.author, post.published};
  removal.changed = std::max(post.changed, post.published);
  return removal;
}

Task<void> Consents::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

delivery::Consent Consents::read(const fediverse::RemoteActor& author) const {
  const fediverse::Wishes wishes = fediverse::wishes_of(author);
  const bool all = options_.archive_all && !author.hides_from_web;
  return {wishes.relay, wishes.relay && (wishes.archive || all)};
}

Task<Result<delivery::Consent>> Consents::of(fediverse::RemoteActor author) {
  const auto known = authors_.find(author.id);
  if (known != authors_.end()) {
    const delivery::Consent consent = known->second.consent;
    if (clock_.now() - known->second.asked > kLifetime) {
      if (!consent.relay) co_return co_await ask_who_refused(std::move(author.id));
      known->second.asked = clock_.now();
      tasks_.spawn("ask_again", ask_again(author.id));
    }
    co_return consent;
  }
  const std::string id = author.id;
  CO_TRY(std::optional<delivery::Consent> consent, co_await store_.consent(id));
  const bool is_old = clock_.now() - author.fetched >= kLifetime;
  if (!consent && is_old) {
    CO_TRY(consent, co_await ask_first(id));
    if (consent) co_return *consent;
  }
  // Of a time when the archive got less. What was signed counts more than a profile of unknown age.
  const bool may_be_more = !is_old && consent && options_.archive_all && consent->relay && !consent->archive;
  if (may_be_more && consent->stated == WallTime() && read(author).archive) {
    CO_TRY(consent, co_await learn(id, read(author), clock_.now()));
  }
  if (consent && !consent->relay) co_return co_await ask_who_refused(id);
  if (consent) {
    remember(id, *consent);
    tasks_.spawn("ask_again", ask_again(id));
  } else {
    CO_TRY(consent, co_await learn(id, read(author), clock_.now()));
    CO_TRY_VOID(co_await look_later(id, kLifetime));
  }
  co_return *consent;
}

// Before the first post is taken or passed over. If the profile cannot be had, it is as it was with the key.
Task<Result<std::optional<delivery::Consent>>> Consents::ask_first(std::string author) {
  const queues::Turns::Turn turn = co_await in_turn_.take(author);
  if (!authors_.contains(author)) static_cast<void>(co_await ask(author));
  co_return co_await store_.consent(std::move(author));
}

// Before the post is passed over, which does not come again. If the profile cannot be had, it is as it was.
Task<Result<delivery::Consent>> Consents::ask_who_refused(std::string author) {
  const queues::Turns::Turn turn = co_await in_turn_.take(author);
  const auto known = authors_.find(author);
  if (known != authors_.end() && clock_.now() - known->second.asked <= kLifetime)
    co_return known->second.consent;
  static_cast<void>(co_await ask(author));
  CO_TRY(const std::optional<delivery::Consent> consent, co_await store_.consent(author));
  const delivery::Consent counts = consent.value_or(delivery::Consent{.relay = false});
  remember(author, counts);
  co_return counts;
}

Task<Result<std::optional<delivery::Consent>>> Consents::known(std::string author) {
  return store_.consent(std::move(author));
}

Task<Result<Consents::Profile>> Consents::fetch(std::string author) {
  CO_TRY(const federation::SignedClient::Document document, co_await client_.fetch(author));
  CO_TRY(fediverse::RemoteActor actor, fediverse::parse_actor(document.body, author));
  actor.fetched = clock_.now();
  Profile profile{std::move(actor), document.as_of};
  profiles_.erase(author);
  if (document.body.size() <= kProfileMax) {
    make_room(profiles_, kProfilesMax);
    profiles_.emplace(std::move(author), Fetched{profile, clock_.now()});
  }
  co_return profile;
}

Task<Result<Consents::Profile>> Consents::profile(std::string author) {
  std::optional<Profile> profile;
  const auto kept = profiles_.find(author);
  if (kept != profiles_.end() && clock_.now() - kept->second.when < kLifetime) profile = kept->second.profile;
  const bool is_kept = profile.has_value();
  if (!is_kept) {
    CO_TRY(profile, co_await fetch(author));
  }
  CO_TRY(const std::optional<delivery::Consent> before, co_await known(author));
  if (before) {
    // Whoever fetched one that was kept may not be through with what it withdraws.
    CO_TRY_VOID(co_await learn(author, read(profile->actor), profile->as_of));
    if (!is_kept) {
      CO_TRY_VOID(co_await look_later(author, kLifetime));
    }
  }
  co_return *std::move(profile);
}

Task<Result<void>> Consents::ask(std::string author) {
  CO_TRY(const Profile profile, co_await fetch(author));
  CO_TRY_VOID(co_await learn(author, read(profile.actor), profile.as_of));
  co_return co_await look_later(std::move(author), kLifetime);
}

Task<Result<void>> Consents::state(fediverse::RemoteActor author, std::string signed_body) {
  delivery::Consent consent = read(author);
  consent.stated = clock_.wall_now();
  CO_TRY(const std::optional<delivery::Consent> before, co_await store_.consent(author.id));
  if (before && std::chrono::abs(consent.stated - before->stated) < kLifetime) {
    consent.relay = consent.relay && before->relay;
    consent.archive = consent.archive && before->archive;
  }
  CO_TRY_VOID(co_await learn(author.id, consent, clock_.now(), std::move(signed_body)));
  co_return co_await look_later(std::move(author.id), kLifetime);
}

// A profile that cannot be fetched now is asked for again at the next post.
Task<void> Consents::ask_again(std::string author) { co_await ask(std::move(author)); }

void Consents::remember(const std::string& author, delivery::Consent consent) {
  make_room(authors_, kAuthorsMax);
  authors_[author] = {consent, clock_.now()};
}

// --- looking again -----------------------------------------------------------------------------------------

Task<Result<void>> Consents::look_later(std::string author, Duration wait, unsigned missing) {
  return store_.save_look({std::move(author), clock_.wall_now() + wait, missing});
}

Task<void> Consents::look_again() {
  for (;;) {
    const Instant next = clock_.now() + std::chrono::minutes(1);
    co_await clock_.sleep_until(next);
    auto due = co_await store_.looks_due(clock_.wall_now(), kLooksAMinute);
    if (!due) continue;
    std::map<std::string, std::vector<delivery::ProfileLook>> by_host;
    for (delivery::ProfileLook& one : *due) by_host[host_of(one.author)].push_back(std::move(one));
    for (auto& [host, looks] : by_host) {
      if (looked_at_.insert(host).second) {
        tasks_.spawn("profile_look", look_at(host, std::move(looks)));
        continue;
      }
      // Or those of a slow server would always be the next.
      for (delivery::ProfileLook& one : looks)
        co_await look_later(std::move(one.author), kBusyFor, one.missing);
    }
  }
}

Task<void> Consents::look_at(std::string host, std::vector<delivery::ProfileLook> due) {
  for (delivery::ProfileLook& one : due) {
    const auto silent = silent_.find(host);
    const bool is_silent = silent != silent_.end() && clock_.now() < silent->second.until;
    if (is_silent) {
      const Duration wait = silent->second.until - clock_.now();
      co_await look_later(std::move(one.author), wait, one.missing);
    } else {
      co_await look(std::move(one));
    }
  }
  looked_at_.erase(host);
}

Duration Consents::note_silent(const std::string& host_or_author) {
  if (!silent_.contains(host_or_author)) make_room(silent_, kSilentMax);
  Silent& silent = silent_[host_or_author];
  const Duration wait =
      std::min(Duration(kLookEvery), Duration(kMissingFor) * (1U << std::min(silent.times, 10U)));
  ++silent.times;
  silent.until = clock_.now() + wait;
  return wait;
}

Task<void> Consents::look(delivery::ProfileLook due) {
  const auto posts = co_await store_.posts_of(due.author, "", 1, PostsOf::kRelayed);
  if (!posts) co_return;
  if (posts->empty()) {
    co_await look_at_who_refused(due.author);
    co_await look_for_account(std::move(due));
    co_return;
  }
  const Result<Profile> actor = co_await fetch(due.author);
  if (!actor && actor.error().code == ErrorCode::kNotFound) {
    co_await look_was_in_vain(std::move(due), kMissingFor, 1);
    co_return;
  }
  const std::string host = host_of(due.author);
  if (!actor && is_unanswered(actor.error())) {
    const Duration later = note_silent(host);
    co_await look_later(std::move(due.author), later, due.missing);
    co_return;
  }
  silent_.erase(host);
  if (!actor) {  // 401 or 403, say, which may be for ever
    const Duration later = note_silent(due.author);
    co_await look_later(std::move(due.author), later);
    co_return;
  }
  silent_.erase(due.author);
  const auto learnt = co_await learn(due.author, read(actor->actor), actor->as_of);
  // Not at once: what was written of it is written anew.
  if (!learnt) {
    co_await look_later(std::move(due.author), kFailedFor, due.missing);
    co_return;
  }
  // Not all on the same day that were published on one.
  const auto spread = static_cast<std::uint64_t>(Duration(kLookEvery).count() / 4);
  const Duration wait = kLookEvery - Duration(static_cast<Duration::rep>(rng_.below(spread)));
  co_await look_later(std::move(due.author), wait);
}

// Of a refusal and its end that came at one time only the profile says which was the last word.
Task<void> Consents::look_at_who_refused(std::string author) {
  const Result<std::optional<delivery::Consent>> consent = co_await store_.consent(author);
  if (!consent || !*consent || (*consent)->relay) co_return;
  if (const Result<Profile> shown = co_await fetch(author))
    co_await learn(std::move(author), read(shown->actor), shown->as_of);
}

// Of one who has no posts here.
Task<void> Consents::look_for_account(delivery::ProfileLook due) {
  const bool is_refuser = !moderation_.blocks().refusals_by(due.author).empty();
  if (!is_refuser && !moderation_.knows(due.author)) {
    co_await store_.drop_look(due.author);
    co_return;
  }
  const Duration later = instances::Moderation::look_at_refuser_in(due.author);
  const Result<bool> gone = co_await is_gone(due.author);
  const bool is_silent = !gone && is_unanswered(gone.error());
  if (gone && *gone) {
    co_await look_was_in_vain(std::move(due), kMissingFor, 1);
  } else if (is_silent && is_refuser) {
    co_await look_was_in_vain(std::move(due), later, kLooksInVainMax);
  } else if (is_silent) {
    const Duration wait = note_silent(host_of(due.author));
    co_await look_later(std::move(due.author), wait, due.missing);
  } else if (is_refuser) {
    co_await look_later(std::move(due.author), later);
  } else {
    co_await store_.drop_look(due.author);
  }
}

// Who says it again and again puts nothing off.
Task<Result<bool>> Consents::look_for(std::string account) {
  CO_TRY(const auto posts, co_await store_.posts_of(account, "", 1, PostsOf::kRelayed));
  if (posts.empty() && !moderation_.knows(account)) co_return false;
  const auto known = farewells_.find(account);
  if (known != farewells_.end() && clock_.now() - known->second < 2 * kMissingFor) co_return true;
  make_room(farewells_, kAuthorsMax);
  farewells_.insert_or_assign(account, clock_.now());
  CO_TRY_VOID(co_await look_later(std::move(account), Duration::zero()));
  co_return true;
}

// There is another look, unless there have been `most` in vain.
Task<void> Consents::look_was_in_vain(delivery::ProfileLook due, Duration wait, unsigned most) {
  if (due.missing < most) {
    co_await look_later(std::move(due.author), wait, due.missing + 1);
  } else if (const Result<void> done = co_await gone(due.author)) {
    co_await store_.drop_look(due.author);
  }
}

// --- what follows from it ----------------------------------------------------------------------------------

Task<Result<void>> Consents::learn(Profile profile) {
  CO_TRY(const std::optional<delivery::Consent> before, co_await known(profile.actor.id));
  CO_TRY_VOID(co_await learn(profile.actor.id, read(profile.actor), profile.as_of));
  if (before) co_return Result<void>();  // is looked at every few days
  co_return co_await look_later(std::move(profile.actor.id), kLifetime);
}

// A profile as of then may be from before what was signed. By a clock that may have been set back: what is
// older than any cache keeps it counts.
bool Consents::is_outdated(Instant as_of, WallTime stated) const {
  constexpr Duration kOldest = federation::SignedClient::kCachedMax + kLifetime;
  const Duration by = clock_.now() - as_of - (clock_.wall_now() - stated);
  const bool is_before = Duration::zero() <= by && by < kOldest;
  return is_before || std::chrono::abs(clock_.wall_now() - stated) < kLifetime;
}

Task<Result<delivery::Consent>> Consents::learn(std::string author, delivery::Consent consent, Instant as_of,
                                                std::string signed_body) {
  const bool is_fetched = consent.stated == WallTime();
  CO_TRY(const std::optional<delivery::Consent> before, co_await store_.consent(author));
  if (before && is_fetched && is_outdated(as_of, before->stated)) co_return *before;
  if (before && is_fetched && before->relay == consent.relay && before->archive == consent.archive) {
    remember(author, consent);
    co_return consent;
  }
  const bool leaves_archive = before && before->archive && !consent.archive;
  std::string signed_copy;
  if (before && !consent.relay) {
    CO_TRY(signed_copy, co_await keep_end(author, End::kSuspended, before->relay, std::move(signed_body)));
  }
  if ((before && before->relay && !consent.relay) || leaves_archive || !signed_copy.empty()) {
    const Result<void> withdrawn = co_await withdraw_as(author, consent, std::move(signed_copy));
    if (withdrawn) co_return consent;
    ends_.erase({author, End::kSuspended});
    co_return std::unexpected(withdrawn.error());
  }
  CO_TRY_VOID(co_await store_.save_consent(author, consent));
  remember(author, consent);
  co_return consent;
}

Task<Result<bool>> Consents::is_gone(std::string author) {
  const Result<std::string> document = co_await client_.fetch_body(std::move(author));
  if (document) co_return false;
  if (document.error().code != ErrorCode::kNotFound) co_return std::unexpected(document.error());
  co_return true;
}

Task<Result<void>> Consents::forget(std::string author) {
  return withdraw(std::move(author), /*from_archive_only=*/false);
}

Task<Result<void>> Consents::gone(std::string author, std::string signed_body) {
  CO_TRY(const std::optional<delivery::Consent> before, co_await store_.consent(author));
  if (before) {
    CO_TRY(std::string signed_copy,
           co_await keep_end(author, End::kDeleted, before->relay, std::move(signed_body)));
    // Or what its server still shows from a cache would be published again.
    const delivery::Consent consent = {.relay = false, .archive = false, .stated = clock_.wall_now()};
    if (before->relay || !signed_copy.empty()) {
      const Result<void> withdrawn = co_await withdraw_as(author, consent, std::move(signed_copy));
      if (!withdrawn) ends_.erase({author, End::kDeleted});
      CO_TRY_VOID(withdrawn);
    } else {
      CO_TRY_VOID(co_await store_.save_consent(author, consent));
      remember(author, consent);
    }
  }
  co_return co_await moderation_.gone(std::move(author));
}

// Those who got a post have it still when its hashtags are gone, or the author's word for it is taken back.
// Noted before anything is awaited: many may say it at once.
Task<Result<std::string>> Consents::keep_end(std::string author, End end, bool is_relayed,
                                             std::string signed_body) {
  if (signed_body.empty()) co_return "";
  const std::pair key(author, end);
  const auto last = ends_.find(key);
  if (!is_relayed && last != ends_.end() && clock_.now() - last->second < kEndEvery) co_return "";
  if (last == ends_.end()) make_room(ends_, kAuthorsMax);
  ends_.insert_or_assign(key, clock_.now());
  const auto posts = co_await store_.posts_of(std::move(author), "", 1, PostsOf::kAll);
  Result<std::string> kept = posts ? Result<std::string>("") : std::unexpected(posts.error());
  if (posts && !posts->empty()) kept = co_await copies_.keep(signed_body, key.first);
  if (!kept || kept->empty()) ends_.erase(key);
  co_return kept;
}

// Once before the refusal is on the disk, or a restart would leave the rest where it is; and once after it,
// since who handed something in meanwhile knew of no refusal.
Task<Result<void>> Consents::withdraw_as(std::string author, delivery::Consent consent,
                                         std::string signed_copy) {
  const bool from_archive_only = consent.relay;
  CO_TRY_VOID(co_await withdraw(author, from_archive_only, signed_copy, /*with_former=*/true));
  CO_TRY_VOID(co_await store_.save_consent(author, consent));
  remember(author, consent);
  co_return co_await withdraw(std::move(author), from_archive_only, std::move(signed_copy));
}

// Owners that do not go by this node's word have refused what it took back for a reason that nobody else
// sees, as after a Block.
Task<Result<void>> Consents::say_again(Ring ring, std::string uri) {
  CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(std::move(uri)));
  if (!known || !known->tags.empty() || known->former.empty()) co_return Result<void>();
  std::vector<delivery::TagEvent> removals;
  for (const Tag& tag : known->former) {
    removals.push_back(dated_removal(*known, tag));
    // As it was said first: what puts a hashtag in again is later than that, and may not be than the post.
    if (known->changed != WallTime()) removals.back().changed = known->changed;
  }
  co_return co_await owners_.reassign(ring, std::move(removals));
}

Task<Result<void>> Consents::withdraw(std::string author, bool from_archive_only, std::string signed_copy,
                                      bool with_former) {
  if (!from_archive_only) {
    CO_TRY_VOID(co_await store_.drop_put_off_of(author));
  }
  std::string after;
  for (;;) {
    CO_TRY(std::vector<delivery::PublishedPost> posts,
           co_await store_.posts_of(author, after, kPage, with_former ? PostsOf::kAll : PostsOf::kRelayed));
    if (posts.empty()) co_return Result<void>();
    after = posts.back().uri;
    std::vector<delivery::TagEvent> removals;
    for (delivery::PublishedPost& post : posts) {
      if (post.tags.empty() && signed_copy.empty()) {
        CO_TRY_VOID(co_await say_again(from_archive_only ? Ring::kStorage : Ring::kRelay, post.uri));
      } else if (from_archive_only) {
        for (Tag& tag : post.tags)
          removals.push_back({std::move(tag), delivery::Op::kRemove, post.uri, author, post.published});
      } else {
        copies_.forget_edits(post.uri);
        post.signed_copy = signed_copy;
        copies_.hand_on(post, delivery::Op::kRemove);
        post.tags.clear();
        post.is_edit = true;
        CO_TRY_VOID(co_await owners_.publish(std::move(post)));
      }
    }
    if (!removals.empty()) {
      CO_TRY_VOID(co_await owners_.reassign(Ring::kStorage, std::move(removals)));
    }
  }
}

}  // namespace tagring::publisher
