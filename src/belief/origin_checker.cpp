#include "belief/origin_checker.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/note.hpp"
#include "fediverse/vocabulary.hpp"

namespace tagring::belief {

OriginChecker::OriginChecker(budget::Manager& budget, federation::SignedClient& client,
                             const Runtime& runtime)
    : budget_(budget),
      client_(client),
      clock_(runtime.clock),
      hosts_(runtime.clock),
      standing_(runtime.clock) {}

// What a removal says is always looked at anew, as is a tag that was not there.
const OriginChecker::Post* OriginChecker::known(const Claim& claim) const {
  const auto post = posts_.find(claim.uri);
  const bool bears_out =
      !claim.removed && post != posts_.end() && clock_.now() - post->second.at < kRemembered &&
      post->second.author == claim.author &&
      std::ranges::any_of(post->second.tags, [&](const Tag& tag) { return tag.canonical() == claim.tag; });
  return bears_out ? &post->second : nullptr;
}

bool OriginChecker::is_borne_out(const Claim& claim) const {
  const auto wishes = wishes_.find(claim.author);
  return known(claim) != nullptr && wishes != wishes_.end() && clock_.now() - wishes->second.at < kRemembered;
}

Task<Result<Answer>> OriginChecker::ask(Claim claim) {
  Result<Answer> answer = co_await ask_of_post(claim);
  // That it carries the hashtag still is no lie if its author has withdrawn consent.
  const bool stands = claim.removed && !answer && answer.error().code == ErrorCode::kInvalid;
  if (!answer && !stands) co_return answer;
  if (claim.removed && answer) co_return answer;
  const Result<fediverse::Wishes> wishes = co_await wishes_of(claim.author);
  if (claim.removed) {
    if (wishes && !wishes->archive) co_return Answer{.published = claim.published};
    co_return answer;
  }
  if (!wishes) co_return std::unexpected(wishes.error());
  if (!wishes->relay) co_return fail(ErrorCode::kDenied, "the author does not wish to be relayed");
  answer->archive = wishes->archive;
  co_return answer;
}

Task<Result<Answer>> OriginChecker::ask_about_dispute(Claim claim) {
  const std::pair key(claim.tag, claim.uri);
  const auto absent = absent_.find(key);
  if (absent != absent_.end() && clock_.now() - absent->second.at < kAbsentRemembered)
    co_return std::unexpected(absent->second.why);
  Result<Answer> answer = co_await ask(std::move(claim));
  // That it is by somebody else says nothing of who else is named.
  const bool is_absent = !answer && is_refuted(answer.error().code);
  if (is_absent && answer.error().code != ErrorCode::kConflict) {
    make_room(absent_, kRememberedMax);
    absent_.insert_or_assign(key, Absent{answer.error(), clock_.now()});
  }
  co_return answer;
}

Task<Result<Answer>> OriginChecker::ask_of_post(Claim claim) {
  if (const Post* post = known(claim))
    co_return Answer{.published = post->published.value_or(claim.published)};
  if (hosts_.was_gone(claim.uri)) {
    if (claim.removed) co_return Answer{.published = claim.published, .gone = true};
    co_return fail(ErrorCode::kNotFound, claim.uri + " was not there a while ago");
  }
  CO_TRY_VOID(may_fetch(claim.uri));
  const std::string uri = claim.uri;
  const std::string author = claim.author;
  const bool added = !claim.removed;
  Result<Answer> answer = co_await look(std::move(claim));
  // Of what is not there, anybody can name as much as they like.
  if (answer && added) was_there(uri);
  // A post that is somebody else's, or lacks the hashtag, is a post. Removals of what never was aim at a host
  // as well as posts that never were.
  const bool was_in_vain = answer ? answer->gone : added && answer.error().code == ErrorCode::kNotFound;
  if (was_in_vain) co_await note_absence(uri, author);
  co_return answer;
}

// Where people publish they delete as well: at a host that is not known the author is looked for, so that
// what is gone does not stand in the way of what is there.
Task<void> OriginChecker::note_absence(std::string uri, std::string author) {
  const std::string host = host_of(uri);
  hosts_.gone(uri);
  if (hosts_.is_known(host)) co_return;
  if (!hosts_.has_nothing(host) && host_of(author) == host) {
    const auto wishes = co_await wishes_of(std::move(author));
    if (wishes || !is_refuted(wishes.error().code)) co_return;
  }
  hosts_.found_nothing(uri);
}

// Fetches the post: an addition is true if it is public and carries the tag, a removal if it is gone or does
// not.
Task<Result<Answer>> OriginChecker::look(Claim claim) {
  ++asked_;
  const Result<std::string> body = co_await fetch(claim.uri);
  const Result<json::object> document = body ? json::parse_object(*body) : std::unexpected(body.error());
  const bool gone = !document && document.error().code == ErrorCode::kNotFound;
  if (claim.removed && gone) co_return Answer{.published = claim.published, .gone = true};
  if (!document) co_return std::unexpected(document.error());
  if (!fediverse::is_post(*document)) {
    if (claim.removed) co_return Answer{.published = claim.published};  // a Tombstone, say
    co_return fail(ErrorCode::kInvalid, "what stands at the post's place is no post");
  }
  const fediverse::ParseLimits limits;
  const auto authors =
      fediverse::parse_ids(json::find(*document, "attributedTo"), "attributedTo", limits.items_max);
  // That the post is by somebody else makes it no less alive.
  if (authors && std::ranges::find(*authors, claim.author) == authors->end())
    co_return fail(ErrorCode::kConflict, "the post is by somebody else");
  const Result<fediverse::Note> note =
      fediverse::parse_note(*document, claim.author, clock_.wall_now(), limits);
  if (!note) co_return std::unexpected(note.error());
  const bool offered =
      note->id == claim.uri && note->visibility == fediverse::Visibility::kPublic && note->may_be_announced;
  const bool dated = json::get_string(*document, "published").has_value();
  const auto published = dated ? std::optional(note->published) : std::nullopt;
  if (offered) {
    make_room(posts_, kRememberedMax);
    posts_[claim.uri] = {claim.author, note->tags, published, clock_.now()};
  } else {
    posts_.erase(claim.uri);
  }
  const bool tagged = offered && std::ranges::any_of(note->tags, [&](const Tag& tag) {
                        return tag.canonical() == claim.tag;
                      });
  if (tagged != claim.removed) co_return Answer{.published = published.value_or(claim.published)};
  co_return fail(ErrorCode::kInvalid,
                 tagged ? "the post still carries the tag" : "the post is not public or lacks the tag");
}

Task<Result<fediverse::Wishes>> OriginChecker::wishes_of(std::string author) {
  const auto known = wishes_.find(author);
  if (known != wishes_.end() && clock_.now() - known->second.at < kRemembered) co_return known->second.wishes;
  CO_TRY_VOID(may_fetch(author));
  CO_TRY(const std::string body, co_await fetch(author));
  CO_TRY(const fediverse::RemoteActor actor, fediverse::parse_actor(body, author));
  was_there(author);
  make_room(wishes_, kRememberedMax);
  const fediverse::Wishes wishes = fediverse::wishes_of(actor);
  wishes_.insert_or_assign(std::move(author), Wishes{wishes, clock_.now()});
  co_return wishes;
}

// That host is not asked for too many things that others have named, nor where it is left alone: which says
// nothing of this node's load, as kUnavailable would (docs/protocol.md §6.1).
Result<void> OriginChecker::may_fetch(const std::string& url) {
  const std::string host = host_of(url);
  if (hosts_.is_left_alone(host) || !client_.hosts().may_fetch(host))
    return fail(ErrorCode::kBusy, "the origin is unavailable now: " + host +
                                      " did not answer a moment ago, or had nothing of what was named");
  if (budget_.take(budget::Resource::kChecks, budget_.who(host_of(url))) == Duration::zero()) return {};
  return fail(ErrorCode::kBusy, "too many posts of " + host_of(url) + " to check: send them again later");
}

// What is as it was said to be costs its host no more than it wants: it publishes that.
void OriginChecker::was_there(const std::string& url) {
  hosts_.found(host_of(url));
  budget_.give_back(budget::Resource::kChecks, budget_.who(host_of(url)));
}

// Of an origin that does not answer, or asks for patience, the sender is to come again.
Task<Result<std::string>> OriginChecker::fetch(std::string url) {
  const std::string host = host_of(url);
  Result<std::string> body = co_await client_.fetch_body(std::move(url));
  const bool unreached =
      !body && (body.error().code == ErrorCode::kUnavailable || body.error().code == ErrorCode::kTimedOut);
  if (!unreached) {
    hosts_.answered(host);
    co_return body;
  }
  hosts_.silent(host);
  co_return fail(ErrorCode::kBusy, "the origin is unavailable now: " + body.error().message);
}

}  // namespace tagring::belief
