#include "belief/origin_checker.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "belief/tag_event.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/note.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"

namespace tagring::belief {
namespace {

constexpr Duration kRestOfSecond = Duration(999);

Contested::Key key_of(const Claim& claim) { return {claim.tag, claim.uri, claim.removed}; }

std::unexpected<Error> not_yet(const Claim& claim) {
  return fail(ErrorCode::kBusy, "what " + host_of(claim.uri) + " answers may be from before this");
}

// What cannot be read is no post that carries the hashtag still.
std::unexpected<Error> unread(const Claim& claim, Error why) {
  if (claim.removed && why.code == ErrorCode::kInvalid) why.code = ErrorCode::kDenied;
  return std::unexpected(std::move(why));
}

}  // namespace

OriginChecker::OriginChecker(budget::Manager& budget, federation::SignedClient& client,
                             const Runtime& runtime)
    : budget_(budget),
      client_(client),
      clock_(runtime.clock),
      hosts_(runtime.clock),
      standing_(runtime.clock),
      contested_(runtime.clock),
      posts_in_turn_(runtime.clock, runtime.executor),
      authors_in_turn_(runtime.clock, runtime.executor) {}

bool OriginChecker::Post::has(const Tag& tag) const {
  return std::ranges::find(tags, crypto::sha256(tag.canonical())) != tags.end();
}

// What a removal says is always looked at anew, as is a tag that was not there.
const OriginChecker::Post* OriginChecker::known(const Claim& claim) const {
  const auto post = posts_.find(crypto::sha256(claim.uri));
  const bool bears_out = !claim.removed && post != posts_.end() &&
                         clock_.now() - post->second.at < kRemembered &&
                         post->second.author == crypto::sha256(claim.author) &&
                         claim.changed <= post->second.edited.value_or(WallTime()) + kRestOfSecond &&
                         post->second.has(claim.tag);
  return bears_out ? &post->second : nullptr;
}

bool OriginChecker::is_borne_out(const Claim& claim) const {
  const auto wishes = wishes_.find(claim.author);
  return known(claim) != nullptr && wishes != wishes_.end() && clock_.now() - wishes->second.at < kRemembered;
}

bool OriginChecker::was_edited(const std::string& uri) const {
  const auto post = posts_.find(crypto::sha256(uri));
  return post != posts_.end() && post->second.edited.has_value();
}

Task<Result<Answer>> OriginChecker::ask(Claim claim) {
  const Contested::Key key = key_of(claim);
  contested_.give_up(standing_);
  if (contested_.is_looked_at(key)) co_return not_yet(claim);
  const Instant heard = contested_.heard(key);
  Verdict verdict = co_await judge(claim);
  co_return weigh(claim, heard, std::move(verdict));
}

Task<Result<Answer>> OriginChecker::ask_of_post(Claim claim) {
  const Contested::Key key = key_of(claim);
  if (contested_.is_looked_at(key)) co_return not_yet(claim);
  const Instant heard = contested_.heard(key);
  Verdict verdict = co_await judge_post(claim);
  co_return weigh(claim, heard, std::move(verdict));
}

// What bears the claim out does. What speaks against it does if it is not from before the claim.
Result<Answer> OriginChecker::weigh(const Claim& claim, Instant heard, Verdict verdict) {
  const Contested::Key key = key_of(claim);
  const bool refuted = !verdict.answer && is_refuted(verdict.answer.error().code);
  // A server that does not show a post now may do so later, or no server else says whether it is there.
  const bool is_hidden = claim.removed && refuted && verdict.answer.error().code == ErrorCode::kDenied &&
                         clock_.now() - heard < kHiddenFor;
  const bool settled = verdict.answer.has_value() || (refuted && !is_hidden && verdict.as_of >= heard);
  if (settled) contested_.settle(key);
  if (settled || !refuted) return std::move(verdict.answer);
  contested_.put_off(key, heard);
  if (is_hidden) return fail(ErrorCode::kBusy, verdict.answer.error().message);
  return not_yet(claim);
}

void OriginChecker::note_sender(const Claim& claim, const std::string& sender) {
  contested_.note_sender(key_of(claim), sender);
}

Task<OriginChecker::Verdict> OriginChecker::judge(Claim claim) {
  if (claim.removed) co_return co_await judge_removal(std::move(claim));
  Verdict verdict = co_await judge_post(claim);
  if (!verdict.answer) co_return verdict;
  const Instant claimed = contested_.heard(key_of(claim));
  const Result<Wishes> wishes = co_await wishes_of(claim.author, claimed, claim.sender);
  if (!wishes) co_return Verdict{std::unexpected(wishes.error())};
  if (!wishes->wishes.relay)
    co_return Verdict{fail(ErrorCode::kDenied, "the author does not wish to be relayed"), wishes->as_of};
  verdict.answer->archive = wishes->wishes.archive;
  co_return verdict;
}

// That the post carries the hashtag still, or is not shown, is no lie if its author has withdrawn consent, is
// suspended or gone. Whose a post is that is not shown only its URI can say: or whoever is believed about one
// author would be so about all others of that server.
Task<OriginChecker::Verdict> OriginChecker::judge_removal(Claim claim) {
  Verdict verdict = co_await judge_post(claim);
  if (verdict.answer) co_return verdict;
  const bool is_shown = verdict.answer.error().code == ErrorCode::kInvalid;
  const bool is_hidden =
      verdict.answer.error().code == ErrorCode::kDenied && claim.uri.starts_with(claim.author + "/");
  if (!is_shown && !is_hidden) co_return verdict;
  const Instant claimed = contested_.heard(key_of(claim));
  const Result<Wishes> wishes = co_await wishes_of(claim.author, claimed, claim.sender);
  const bool is_gone = is_shown && !wishes && wishes.error().code == ErrorCode::kNotFound;
  const bool agrees = wishes && (claim.of_archive ? wishes->wishes.archive : wishes->wishes.relay);
  const bool is_withdrawn = wishes && (wishes->is_suspended || (is_shown && !agrees));
  if (is_gone || is_withdrawn) {
    if (is_hidden && hosts_.make_up_for_gone(host_of(claim.uri))) give_back(claim.uri);
    clear(claim.sender);
    // Nobody says for ever what the author will do.
    const WallTime changed = std::min(version_of(true, claim.changed).at, clock_.wall_now());
    co_return Verdict{Answer{.published = claim.published, .changed = changed}};
  }
  if (wishes) verdict.as_of = std::min(verdict.as_of, wishes->as_of);
  if (!wishes && wishes.error().code == ErrorCode::kBusy) verdict.answer = std::unexpected(wishes.error());
  co_return verdict;
}

Task<Result<Answer>> OriginChecker::ask_about_dispute(Claim claim) {
  const std::pair key(claim.tag, claim.uri);
  const auto absent = absent_.find(key);
  if (absent != absent_.end() && clock_.now() - absent->second.at < kAbsentRemembered &&
      claim.changed <= absent->second.changed)
    co_return std::unexpected(absent->second.why);
  const WallTime changed = claim.changed;
  Result<Answer> answer = co_await ask(std::move(claim));
  // That it is by somebody else says nothing of who else is named.
  const bool is_absent = !answer && is_refuted(answer.error().code);
  if (is_absent && answer.error().code != ErrorCode::kConflict) {
    make_room(absent_, kRememberedMax);
    absent_.insert_or_assign(key, Absent{answer.error(), clock_.now(), changed});
  }
  co_return answer;
}

Task<OriginChecker::Verdict> OriginChecker::judge_post(Claim claim) {
  // Owners and subscribers of several hashtags of a post are told of it at once: its server is asked once.
  // And whoever invents posts does so by the dozen: one that nobody knows is asked for one at a time.
  std::string host = host_of(claim.uri);
  const bool is_known = hosts_.is_known(host);
  const queues::Turns::Turn turn = co_await posts_in_turn_.take(is_known ? claim.uri : std::move(host));
  if (const Post* post = known(claim))
    co_return Verdict{Answer{.published = post->published.value_or(claim.published),
                             .changed = changed_by(claim, post->edited, clock_.now())}};
  if (hosts_.was_gone(claim.uri)) {
    if (claim.removed)
      co_return Verdict{Answer{.published = claim.published, .gone = true, .changed = claim.changed}};
    co_return Verdict{fail(ErrorCode::kNotFound, claim.uri + " was not there a while ago")};
  }
  if (const Result<void> may = may_fetch(claim.uri, claim.sender, claim.is_vouched); !may)
    co_return Verdict{std::unexpected(may.error())};
  const std::string uri = claim.uri;
  const std::string author = claim.author;
  const std::string sender = claim.sender;
  const bool added = !claim.removed;
  Verdict verdict = co_await look(std::move(claim));
  // A post that is somebody else's, or lacks the hashtag, is a post. Removals of what never was aim at a host
  // as well as posts that never were.
  const bool was_in_vain =
      verdict.answer ? verdict.answer->gone : added && verdict.answer.error().code == ErrorCode::kNotFound;
  if (was_in_vain) co_await note_absence(uri, author, sender);
  co_return verdict;
}

// Where people publish they delete as well: at a host that is not known the author is looked for, so that
// what is gone does not stand in the way of what is there.
Task<void> OriginChecker::note_absence(std::string uri, std::string author, std::string sender) {
  const std::string host = host_of(uri);
  hosts_.gone(uri);
  if (hosts_.make_up_for_gone(host)) {
    give_back(uri);
    clear(sender);
  }
  if (hosts_.is_known(host)) co_return;
  if (!hosts_.has_nothing(host) && host_of(author) == host) {
    const auto wishes = co_await wishes_of(std::move(author), clock_.now(), std::move(sender));
    if (wishes || !is_refuted(wishes.error().code)) co_return;
  }
  hosts_.found_nothing(uri);
}

// Fetches the post: an addition is true if it is public and carries the tag, a removal if it is gone or does
// not.
Task<OriginChecker::Verdict> OriginChecker::look(Claim claim) {
  ++asked_;
  const Result<Document> fetched = co_await fetch(claim.uri);
  if (!fetched && claim.removed && fetched.error().code == ErrorCode::kNotFound)
    co_return Verdict{Answer{.published = claim.published, .gone = true, .changed = claim.changed}};
  if (!fetched) co_return Verdict{unread(claim, fetched.error())};
  const Result<json::object> document = fediverse::parse_document(fetched->body);
  if (!document) co_return Verdict{unread(claim, document.error())};
  Result<Answer> answer = read_post(claim, *document, *fetched);
  // Who wrote it never changes.
  const bool never_changes = !answer && answer.error().code == ErrorCode::kConflict;
  co_return Verdict{std::move(answer), never_changes ? Instant::max() : fetched->as_of};
}

// Servers name the second. Of one that names nothing, what it answered may be from before the claim.
WallTime OriginChecker::changed_by(const Claim& claim, std::optional<WallTime> edited, Instant as_of) const {
  const Instant now = clock_.now();
  const WallTime latest = edited ? std::chrono::floor<std::chrono::seconds>(*edited) + kRestOfSecond
                                 : clock_.wall_now() - (now - std::min(as_of, now));
  return std::min(version_of(claim.removed, claim.changed).at, latest);
}

Result<Answer> OriginChecker::read_post(const Claim& claim, const json::object& document,
                                        const Document& fetched) {
  if (!fediverse::is_post(document)) {
    if (fediverse::has_type(document, "Tombstone") && json::id_of(document) == claim.uri) {
      hosts_.found_post(host_of(claim.uri));  // its server says that it was there
      if (claim.removed) return Answer{.published = claim.published, .gone = true, .changed = claim.changed};
      return fail(ErrorCode::kNotFound, claim.uri + " was deleted");
    }
    if (claim.removed) return Answer{.published = claim.published, .changed = claim.changed};
    return fail(ErrorCode::kInvalid, "what stands at the post's place is no post");
  }
  const fediverse::ParseLimits limits;
  const auto authors =
      fediverse::parse_ids(json::find(document, "attributedTo"), "attributedTo", limits.items_max);
  // That the post is by somebody else makes it no less alive.
  if (authors && std::ranges::find(*authors, claim.author) == authors->end())
    return fail(ErrorCode::kConflict, "the post is by somebody else");
  const Result<fediverse::Note> note =
      fediverse::parse_note(document, claim.author, clock_.wall_now(), limits);
  if (!note) return unread(claim, note.error());
  if (note->id == claim.uri) {
    hosts_.found_post(host_of(claim.uri));
    give_back(claim.uri, fetched.requests);
  }
  const bool offered =
      note->id == claim.uri && note->visibility == fediverse::Visibility::kPublic && note->may_be_announced;
  // What it was said to be stays where the post does not say.
  const auto published = note->is_dated ? std::optional(note->published) : std::nullopt;
  const bool is_edited = note->updated && *note->updated > note->published;
  const auto edited = is_edited ? note->updated : std::nullopt;
  const crypto::Hash256 place = crypto::sha256(claim.uri);
  if (offered) {
    Post post{crypto::sha256(claim.author), {}, published, edited, clock_.now()};
    for (const Tag& tag : note->tags) post.tags.push_back(crypto::sha256(tag.canonical()));
    if (posts_.size() >= kPostsMax) {
      std::erase_if(posts_,
                    [now = clock_.now()](const auto& old) { return now - old.second.at >= kRemembered; });
      make_room(posts_, kPostsMax);
    }
    posts_.insert_or_assign(place, std::move(post));
  } else {
    posts_.erase(place);
  }
  const bool tagged = offered && std::ranges::find(note->tags, claim.tag) != note->tags.end();
  if (tagged != claim.removed) {
    clear(claim.sender);
    return Answer{.published = published.value_or(claim.published),
                  .changed = changed_by(claim, edited, fetched.as_of)};
  }
  return fail(ErrorCode::kInvalid,
              tagged ? "the post still carries the tag" : "the post is not public or lacks the tag");
}

// What is remembered from before the claim is of no use for long.
Task<Result<OriginChecker::Wishes>> OriginChecker::wishes_of(std::string author, Instant claimed,
                                                             std::string sender) {
  const queues::Turns::Turn turn = co_await authors_in_turn_.take(author);
  const auto known = wishes_.find(author);
  if (known != wishes_.end()) {
    const Duration age = clock_.now() - known->second.at;
    const bool is_contested = claimed < clock_.now() && known->second.as_of < claimed;
    if (age < (is_contested ? Contested::kLookEvery : kRemembered)) co_return known->second;
  }
  CO_TRY_VOID(may_fetch(author, sender));
  CO_TRY(const Document document, co_await fetch(author));
  CO_TRY(const fediverse::RemoteActor actor, fediverse::parse_actor(document.body, author));
  hosts_.found(host_of(author));
  give_back(author, document.requests);
  clear(sender);
  make_room(wishes_, kRememberedMax);
  const Wishes wishes{fediverse::wishes_of(actor), actor.suspended, document.as_of, clock_.now()};
  wishes_.insert_or_assign(std::move(author), wishes);
  co_return wishes;
}

// That host is not asked for too many things that others have named, nor where it is left alone: which says
// nothing of this node's load, as kUnavailable would (docs/protocol.md §6.1).
Result<void> OriginChecker::may_fetch(const std::string& url, const std::string& sender, bool is_vouched) {
  const std::string host = host_of(url);
  const bool is_left_alone = is_vouched ? hosts_.is_silent(host) : hosts_.is_left_alone(host);
  if (is_left_alone || !client_.hosts().may_fetch(host))
    return fail(ErrorCode::kBusy, "the origin is unavailable now: " + host +
                                      " did not answer a moment ago, or had nothing of what was named");
  using enum budget::Resource;
  if (!sender.empty() && budget_.take(kVainChecks, teller(sender)) > Duration::zero())
    return fail(ErrorCode::kBusy,
                "too much was looked for in vain that " + host_of(sender) + " names: send it again later");
  if (budget_.take(kChecks, budget_.who(host)) == Duration::zero()) return {};
  if (!sender.empty()) budget_.give_back(kVainChecks, teller(sender));
  return fail(ErrorCode::kBusy, "too many posts of " + host + " to check: send them again later");
}

bool OriginChecker::has_budget(const std::string& url, const std::string& sender) const {
  using enum budget::Resource;
  return (sender.empty() || budget_.has_room(kVainChecks, teller(sender))) &&
         budget_.has_room(kChecks, budget_.who(host_of(url)));
}

// Whoever it is: to be known is not to be right.
budget::Spender OriginChecker::teller(const std::string& sender) const {
  budget::Spender spender = budget_.who(host_of(sender));
  spender.known = false;
  return spender;
}

// What is there costs its host no more than it wants, whatever was said of it: it publishes that. Of what is
// not there, anybody can name as much as they like.
void OriginChecker::give_back(const std::string& url, std::uint64_t requests) {
  budget_.give_back(budget::Resource::kChecks, budget_.who(host_of(url)), requests);
}

// What it said was so: else it counts, also of a post that is there, which others would have fetched as often
// as they say something else of it.
void OriginChecker::clear(const std::string& sender) {
  if (!sender.empty()) budget_.give_back(budget::Resource::kVainChecks, teller(sender));
}

// Of an origin that does not answer, or asks for patience, the sender is to come again.
Task<Result<OriginChecker::Document>> OriginChecker::fetch(std::string url) {
  const std::string host = host_of(url);
  bool refused = false;
  const auto may_ask_more = [&] {
    refused = budget_.take(budget::Resource::kChecks, budget_.who(host)) > Duration::zero();
    return !refused;
  };
  Result<Document> document = co_await client_.fetch(std::move(url), may_ask_more);
  if (refused) co_return fail(ErrorCode::kBusy, "too much of " + host + " to check: send it again later");
  if (document || !is_unanswered(document.error())) {
    hosts_.answered(host);
    co_return document;
  }
  hosts_.silent(host);
  co_return fail(ErrorCode::kBusy, "the origin is unavailable now: " + document.error().message);
}

}  // namespace tagring::belief
