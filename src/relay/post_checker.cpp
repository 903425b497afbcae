#include "relay/post_checker.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "fediverse/note.hpp"

namespace tagring::relay {
namespace {
constexpr Duration kSpotCheckSpread = std::chrono::seconds(30);
constexpr Duration kSilentFor = std::chrono::seconds(10);
}  // namespace

PostChecker::PostChecker(Options options, budget::Manager& budget, const federation::Blocks& blocks,
                         federation::SignedClient& client, const Runtime& runtime)
    : options_(options),
      budget_(budget),
      blocks_(blocks),
      client_(client),
      clock_(runtime.clock),
      log_(runtime.log),
      rng_(runtime.rng.fork("roles")),
      tasks_(runtime.executor) {}

Task<void> PostChecker::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Result<void> PostChecker::check_blocks(const TagEvent& event) const {
  TRY_VOID(blocks_.check_actor(event.uri));
  TRY_VOID(blocks_.check_actor(event.author));
  return blocks_.check_tag(event.tag);
}

bool PostChecker::vouches(const std::string& sender, const TagEvent& event) const {
  return is_same_or_below(host_of(sender), host_of(event.uri)) && !liars_.contains(sender);
}

Task<std::vector<TagEvent>> PostChecker::believable(Owner& owner, std::vector<TagEvent> events,
                                                    std::string sender, redundancy::RelayClaims claims,
                                                    std::vector<Refusal>* refusals) {
  std::vector<TagEvent> believed;
  std::size_t fetches = 0;
  for (TagEvent& event : events) {
    const Result<Tag> tag = Tag::parse(event.tag);
    Result<void> verdict = tag ? Result<void>() : std::unexpected(tag.error());
    if (verdict && event.op == Op::kAdd) verdict = check_blocks(event);
    if (verdict && event.op == Op::kAdd && sender != client_.identity().origin())
      verdict = blocks_.check_actor(sender);
    if (verdict) verdict = owner.check_place(event);  // before anybody is asked about it
    if (verdict && sender != client_.identity().origin()) {
      const auto claim = claims.find(event.tag);
      const auto claimed = claim == claims.end() ? std::nullopt : std::optional(claim->second);
      verdict = co_await check_truth(owner, &event, sender, claimed, &fetches);
    }
    // Last, and with no wait between it and the write: ownership may change at any await.
    if (verdict) verdict = owner.check_place(event);
    if (!verdict && tag && verdict.error().code == ErrorCode::kNotOwner) owner.mistaken_for_owner(*tag);
    if (verdict) {
      believed.push_back(std::move(event));
    } else {
      refusals->push_back({std::move(event.uri), std::move(event.tag), verdict.error()});
    }
  }
  std::erase_if(believed, [&](TagEvent& event) {
    const Result<void> still = owner.check_place(event);
    if (!still) refusals->push_back({event.uri, event.tag, still.error()});
    return !still;
  });
  co_return believed;
}

// Of what another node says. `event` leaves the archive out if its author wishes so.
Task<Result<void>> PostChecker::check_truth(Owner& owner, TagEvent* event, std::string sender,
                                            std::optional<redundancy::RelayClaim> claim,
                                            std::size_t* fetches) {
  bool trusted = vouches(sender, *event);
  if (!trusted) trusted = co_await owner.trusts(*Tag::parse(event->tag), sender, claim);
  if (trusted) {
    if (owner.samples() && rng_.chance(options_.check_share))
      tasks_.spawn("spot_check", spot_check(*event, std::move(sender)));
    co_return Result<void>();
  }
  if (!was_borne_out(*event)) {
    if (++*fetches > options_.fetches_per_batch)
      co_return fail(ErrorCode::kBusy, "too many posts to check at once: send the rest again");
    CO_TRY_VOID(may_fetch(event->uri));
    CO_TRY_VOID(co_await check_at_origin(*event));
    // Of what is not there, anybody can name as much as they like.
    if (event->op == Op::kAdd) was_there(event->uri);
  }
  if (event->op == Op::kAdd) co_return co_await ask_author(event);
  co_return Result<void>();
}

// That host is not asked for too many things that others have named, nor again when it did not answer: which
// says nothing of this node's load, as kUnavailable would (docs/protocol.md §6.1).
Result<void> PostChecker::may_fetch(const std::string& url) {
  const std::string host = host_of(url);
  const auto silent = silent_.find(host);
  if ((silent != silent_.end() && clock_.now() - silent->second < kSilentFor) ||
      !client_.hosts().may_fetch(host))
    return fail(ErrorCode::kBusy, "the origin is unavailable now: " + host + " did not answer a moment ago");
  if (budget_.take(budget::Resource::kChecks, budget_.who(host_of(url))) == Duration::zero()) return {};
  return fail(ErrorCode::kBusy, "too many posts of " + host_of(url) + " to check: send them again later");
}

// What is as it was said to be costs its host no more than it wants: it publishes that.
void PostChecker::was_there(const std::string& url) {
  budget_.give_back(budget::Resource::kChecks, budget_.who(host_of(url)));
}

// A removal is always looked at anew, as is a tag that was not there.
bool PostChecker::was_borne_out(const TagEvent& event) const {
  const auto known = borne_.find(event.uri);
  return event.op == Op::kAdd && known != borne_.end() && clock_.now() - known->second.at < kRemembered &&
         known->second.author == event.author &&
         std::ranges::any_of(
             known->second.tags, [&](const Tag& tag) { return tag.canonical() == event.tag; });
}

// Of an origin that does not answer, or asks for patience, the sender is to come again.
Task<Result<std::string>> PostChecker::fetch(std::string url) {
  const std::string host = host_of(url);
  Result<std::string> body = co_await client_.fetch_body(std::move(url));
  const bool unreached =
      !body && (body.error().code == ErrorCode::kUnavailable || body.error().code == ErrorCode::kTimedOut);
  if (!unreached) {
    silent_.erase(host);
    co_return body;
  }
  make_room(silent_, kRememberedMax);
  silent_[host] = clock_.now();
  co_return fail(ErrorCode::kBusy, "the origin is unavailable now: " + body.error().message);
}

// Fetches the post: an Add is true if it is public and carries the tag, a Remove if it is gone or does not.
Task<Result<void>> PostChecker::check_at_origin(TagEvent event) {
  ++checked_;
  const Result<std::string> body = co_await fetch(event.uri);
  const Result<json::object> document = body ? json::parse_object(*body) : std::unexpected(body.error());
  const bool gone = !document && document.error().code == ErrorCode::kNotFound;
  if (event.op == Op::kRemove && gone) co_return Result<void>();
  if (!document) co_return std::unexpected(document.error());
  if (!fediverse::is_post(*document)) {
    if (event.op == Op::kRemove) co_return Result<void>();  // a Tombstone, say
    co_return fail(ErrorCode::kInvalid, "what stands at the post's place is no post");
  }
  // Whoever names a wrong author is told so: that the post is by somebody else makes it no less alive.
  const Result<fediverse::Note> note =
      fediverse::parse_note(*document, event.author, clock_.wall_now(), fediverse::ParseLimits{});
  if (!note) co_return std::unexpected(note.error());
  const bool offered =
      note->id == event.uri && note->visibility == fediverse::Visibility::kPublic && note->may_be_announced;
  if (offered) {
    make_room(borne_, kRememberedMax);
    borne_[event.uri] = {event.author, note->tags, clock_.now()};
  } else {
    borne_.erase(event.uri);
  }
  const bool tagged = offered && std::ranges::any_of(note->tags, [&](const Tag& tag) {
                        return tag.canonical() == event.tag;
                      });
  if (tagged == (event.op == Op::kAdd)) co_return Result<void>();
  co_return fail(ErrorCode::kInvalid,
                 tagged ? "the post still carries the tag" : "the post is not public or lacks the tag");
}

// Leaves the archive out of it if the author says so. kDenied if the author does not wish to be relayed at
// all.
Task<Result<void>> PostChecker::ask_author(TagEvent* event) {
  auto known = asked_.find(event->author);
  if (known == asked_.end() || clock_.now() - known->second.at >= kRemembered) {
    CO_TRY_VOID(may_fetch(event->author));
    CO_TRY(const std::string body, co_await fetch(event->author));
    CO_TRY(const fediverse::RemoteActor author, fediverse::parse_actor(body, event->author));
    was_there(event->author);
    make_room(asked_, kRememberedMax);
    known = asked_.insert_or_assign(event->author, Asked{fediverse::wishes_of(author), clock_.now()}).first;
  }
  const fediverse::Wishes wishes = known->second.wishes;
  if (!wishes.relay) co_return fail(ErrorCode::kDenied, "the author does not wish to be relayed");
  event->indexable = event->indexable && wishes.archive;
  co_return Result<void>();
}

Task<void> PostChecker::spot_check(TagEvent event, std::string sender) {
  // Owners of several tags draw the same post at about the same time: not all at once to its server.
  const auto spread = static_cast<std::uint64_t>(kSpotCheckSpread.count());
  const Instant later = clock_.now() + Duration(static_cast<Duration::rep>(rng_.below(spread)));
  co_await clock_.sleep_until(later);
  const std::string uri = event.uri;
  // Whoever invents posts of their own, so that their server or another's is asked for each, gets no further
  // than others.
  if (liars_.contains(sender) || !may_fetch(uri)) co_return;
  const bool is_added = event.op == Op::kAdd;
  const Result<void> verdict = co_await check_at_origin(std::move(event));
  if (verdict && is_added) was_there(uri);
  if (verdict || verdict.error().code != ErrorCode::kInvalid) co_return;
  log_.warn("sender_not_believed_any_more",
            {{"sender", sender}, {"post", uri}, {"because", verdict.error().message}});
  liars_.insert(std::move(sender));
}

}  // namespace tagring::relay
