#include "delivery/announcement_sender.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <ranges>
#include <set>

#include "base/counted.hpp"
#include "belief/latest.hpp"
#include "belief/trace.hpp"
#include "crypto/hash.hpp"
#include "delivery/results.hpp"
#include "delivery/wire.hpp"
#include "fediverse/builders.hpp"
#include "fediverse/fasp.hpp"
#include "redundancy/relay_hints.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kLettersMax = 16;
constexpr std::size_t kHandedOnMax = 10'000;

using Names = std::set<std::pair<std::string, Tag>>;  // of posts, by URI, under hashtags

Announcements named(const Announcements& batch, const Names& names) {
  Announcements found;
  std::ranges::copy_if(batch, std::back_inserter(found), [&](const auto& item) {
    return names.contains({item->entry.event.uri, item->entry.event.tag});
  });
  return found;
}

// It is this announcement that the server does not take (docs/fasp.md), and not whoever sends it.
bool is_unacceptable(const Result<HttpResponse>& response) {
  return response && (response->status == 400 || response->status == 413 || response->status == 422);
}

// So may what the server, or a proxy before it (kTooLarge), says of a smaller one. Who is not there, or asks
// for a pause, or refuses whoever asks, says nothing of what was asked.
bool may_take_less(const Result<HttpResponse>& response) {
  if (!response) return response.error().code == ErrorCode::kTooLarge;
  return is_unacceptable(response) || (response->status >= 500 && response->status != 503);
}

// Of each post the last that is to be said, in that order; nothing new of authors who have not agreed.
Announcements last_words(const Announcements& items) {
  std::map<std::string_view, std::uint64_t> last;  // by URI
  Announcements said;
  for (const auto& item : items) {
    const TagEvent& event = item->entry.event;
    if (event.op != Op::kRemove && !event.indexable) continue;
    std::uint64_t& seq = last[event.uri];
    seq = std::max(seq, item->entry.seq);
    said.push_back(item);
  }
  std::erase_if(said, [&](const auto& item) { return last[item->entry.event.uri] != item->entry.seq; });
  return said;
}

}  // namespace

AnnouncementSender::AnnouncementSender(const Followers& followers, PartialCollections& partials,
                                       federation::SignedClient& client, Observer& observer,
                                       const Runtime& runtime)
    : followers_(followers),
      partials_(partials),
      client_(client),
      observer_(observer),
      identity_(client.identity()),
      clock_(runtime.clock),
      log_(runtime.log),
      rng_(runtime.rng.fork("announcer")) {}

std::string AnnouncementSender::fresh_id() {
  return fmt::format("{}/activities/{}-{}", identity_.origin(), crypto::public_draw(rng_), ++activity_);
}

Task<Result<HttpResponse>> AnnouncementSender::deliver(std::string collection, std::string inbox,
                                                       std::string body) {
  const std::optional<std::string> header = partials_.header(collection, inbox);
  const Result<HttpResponse> response =
      co_await client_.deliver_as(partials_.actor_of(collection), inbox, std::move(body), header);
  if (header) {
    const std::string problem = federation::was_accepted(response) ? "" : federation::why_not(response);
    partials_.note_sent(collection, inbox, *header, problem);
  }
  co_return response;
}

Task<AnnouncementSender::Reminded> AnnouncementSender::remind(PartialKey key, std::string inbox) {
  if (!observer_.is_offered(key.collection) || observer_.is_denied(inbox) ||
      !partials_.header(key.collection, inbox))
    co_return Reminded::kDone;
  const std::string actor = partials_.actor_of(key.collection);
  const std::string id = federation::Identity::passing_id(actor, "updates", fresh_id());
  std::string body = json::serialize(fediverse::make_update(id, actor));
  const Result<HttpResponse> response = co_await deliver(key.collection, inbox, std::move(body));
  if (federation::was_accepted(response)) co_return Reminded::kDone;
  log_.info("server_not_reminded", {{"inbox", inbox}, {"because", federation::why_not(response)}});
  // A refusal may be of a proxy, or of a server that could not fetch the key yet.
  co_return federation::is_gone(response) ? Reminded::kGone : Reminded::kAgain;
}

// One activity for all who get the same posts.
std::string AnnouncementSender::letter(Op op, const Announcements& items) {
  const auto same = std::ranges::find_if(
      letters_, [&](const Letter& letter) { return letter.op == op && letter.items == items; });
  if (same != letters_.end()) return same->body;
  std::vector<TagEvent> events;
  redundancy::RelayClaims claims;
  for (const auto& item : items) {
    events.push_back(item->entry.event);
    const Tag& tag = item->entry.event.tag;
    if (claims.contains(tag)) continue;
    if (const std::optional<redundancy::RelayClaim> claim = observer_.claim(tag)) claims.emplace(tag, *claim);
  }
  const std::string id = fresh_id();
  std::string body = op == Op::kAdd
                         ? announce_activity(id, identity_.actor(), events, clock_.wall_now(), claims)
                         : undo_announce_activity(id, identity_.actor(), events, claims);
  if (letters_.size() == kLettersMax) letters_.pop_back();
  letters_.push_front({op, items, body});
  return body;
}

Task<AnnouncementSender::Sent> AnnouncementSender::send_to_node(std::string inbox, Announcements items,
                                                                IfGone if_gone) {
  Sent sent;
  belief::Latest latest;
  for (const auto& item : items) latest.note(item->entry.event);
  for (const Op op : {Op::kAdd, Op::kRemove}) {
    Announcements batch;
    std::ranges::copy_if(items, std::back_inserter(batch), [&](const auto& item) {
      return item->entry.event.op == op && &latest.of(item->entry.event) == &item->entry.event;
    });
    if (batch.empty()) continue;
    std::map<Tag, std::uint64_t> asked;
    for (const auto& item : batch)
      asked[item->entry.event.tag] = followers_.asked(item->entry.event.tag, inbox);
    // Whoever has followed again meanwhile answers what was said before that.
    const auto lose = [&](const Tag& tag) {
      const auto before = asked.find(tag);
      if (before != asked.end() && followers_.asked(tag, inbox) == before->second)
        observer_.lost_follower(tag, inbox);
    };
    std::string body = letter(op, batch);
    const std::size_t bytes = body.size() / batch.size();
    const Result<HttpResponse> response = co_await deliver("", inbox, std::move(body));
    for (const auto& item : batch) note(inbox, item->entry.event, response);
    sent.is_gone = federation::is_gone(response);
    if (sent.is_gone && if_gone == IfGone::kLost) {
      for (const auto& item : batch) lose(item->entry.event.tag);
      continue;
    }
    Result<std::vector<Refusal>> refusals = read_results(response);
    if (!refusals && is_unreadable(refusals.error()) && !sent.is_gone)
      refusals = co_await send_apart_to_node(inbox, op, batch, std::move(refusals).error());
    if (!refusals) {
      // Both kinds again: what was taken is known there.
      co_return Sent{std::move(items), federation::why_not(refusals.error()), false, sent.is_gone};
    }
    sent.answered = true;
    Names later;
    Names strayed;
    Names denied;
    for (const auto& item : batch) observer_.relayed(item->entry.event.tag, bytes);
    for (const Refusal& refusal : *refusals) {
      const ErrorCode code = refusal.error.code;
      if (code == ErrorCode::kDenied) {
        lose(refusal.tag);
        denied.emplace(refusal.uri, refusal.tag);
      }
      if (code == ErrorCode::kDenied || code == ErrorCode::kNotOwner)
        strayed.emplace(refusal.uri, refusal.tag);
      if (code != ErrorCode::kBusy) continue;
      later.emplace(refusal.uri, refusal.tag);
      sent.because = federation::why_not(refusal.error);
    }
    std::ranges::copy(named(batch, later), std::back_inserter(sent.again));
    const Announcements lost = named(batch, strayed);
    if (const Result<void> handed = co_await hand_on(lost); !handed) {
      // Who sees another relay here may see it otherwise the next time; who follows no more will not.
      const bool is_ours = handed.error().code == ErrorCode::kBusy;
      std::ranges::copy_if(lost, std::back_inserter(sent.again), [&](const auto& item) {
        return !is_ours || !denied.contains({item->entry.event.uri, item->entry.event.tag});
      });
      if (!sent.again.empty()) sent.because = federation::why_not(handed.error());
    }
  }
  std::ranges::sort(sent.again, {}, [](const auto& item) { return item->entry.seq; });
  co_return sent;
}

Task<Result<std::vector<Refusal>>> AnnouncementSender::send_apart_to_node(std::string inbox, Op op,
                                                                          Announcements batch, Error whole) {
  Part events;
  for (const auto& item : batch) events.push_back(&item->entry.event);
  const SendPart send = [&](Part part) -> Task<Result<std::vector<Refusal>>> {
    Announcements of_part;
    std::ranges::copy_if(batch, std::back_inserter(of_part), [&](const auto& item) {
      return std::ranges::find(part, &item->entry.event) != part.end();
    });
    co_return read_results(co_await deliver("", inbox, letter(op, of_part)));
  };
  co_return co_await send_apart(std::move(events), std::move(whole), send, rng_);
}

Task<Result<void>> AnnouncementSender::hand_on(Announcements items) {
  std::map<Tag, Announcements> by_tag;  // this node may relay some of them
  for (const auto& item : items) {
    make_room(handed_on_, kHandedOnMax);
    if (handed_on_.insert(item->entry.seq).second) by_tag[item->entry.event.tag].push_back(item);
  }
  Result<void> all_handed;
  for (const auto& [tag, of_tag] : by_tag) {
    std::vector<TagEvent> events;
    for (const auto& item : of_tag) events.push_back(item->entry.event);
    const Result<void> handed = co_await observer_.hand_to_relays(std::move(events));
    if (handed) continue;
    for (const auto& item : of_tag) handed_on_.erase(item->entry.seq);
    all_handed = handed;
  }
  co_return all_handed;
}

Task<AnnouncementSender::ToldFasp> AnnouncementSender::send_to_fasp_server(std::string inbox, Tag tag,
                                                                           Announcements items,
                                                                           std::size_t most) {
  ToldFasp sent;
  const std::uint64_t asked = followers_.asked(tag, inbox);
  if (asked == 0) co_return sent;
  Announcements part;
  std::vector<std::string> uris;
  for (auto& item : last_words(items)) {
    const bool fits =
        part.size() < most && (part.empty() || part.front()->entry.event.op == item->entry.event.op);
    if (fits) uris.push_back(item->entry.event.uri);
    (fits ? part : sent.left).push_back(std::move(item));
  }
  if (part.empty()) co_return sent;
  sent.tried = part.size();
  const bool has_left = part.front()->entry.event.op == Op::kRemove;
  std::string body = fediverse::make_fasp_hashtag_announcement(tag.canonical(), has_left, uris);
  const Result<HttpResponse> response = co_await observer_.deliver_to_fasp_server(inbox, std::move(body));
  for (const auto& item : part) note(inbox, item->entry.event, response);
  if (federation::was_accepted(response)) {
    sent.told = Told::kTaken;
    co_return sent;
  }
  sent.because = federation::why_not(response);
  sent.told = is_unacceptable(response) ? Told::kRefused : Told::kAgain;
  sent.divides = may_take_less(response);
  // It may have subscribed again meanwhile.
  if (federation::is_gone(response) && followers_.asked(tag, inbox) == asked) {
    log_.info("fasp_server_not_subscribed", {{"inbox", inbox}, {"hashtag", tag.canonical()}});
    observer_.lost_follower(tag, inbox);
    sent.told = Told::kGone;
    sent.left.clear();
  } else if (sent.told == Told::kRefused && part.size() == 1) {
    log_.info("fasp_server_refuses_post",
              {{"inbox", inbox}, {"hashtag", tag.canonical()}, {"uri", uris.front()}, {"why", sent.because}});
  } else {
    sent.failed = std::move(part);
  }
  co_return sent;
}

// To the log.
void AnnouncementSender::note(const std::string& inbox, const TagEvent& event,
                              const Result<HttpResponse>& response) {
  if (!log_.writes(LogLevel::kDebug)) return;
  const bool taken = federation::was_accepted(response);
  belief::trace(log_, belief::Step::kAnnounced, event, inbox,
                taken ? std::string() : federation::why_not(response));
}

std::string AnnouncementSender::single(const std::string& actor, Via via, const TagEvent& event) const {
  const std::string id = announce_id(identity_, actor, event.tag, event.uri, event.announced);
  const auto audience = via == Via::kBoost ? fediverse::Audience::kPublic : fediverse::Audience::kFollowers;
  const WallTime now = clock_.wall_now();
  return json::serialize(
      event.op == Op::kAdd
          ? fediverse::make_announce(id, actor, event.uri, event.published, audience, now)
          : fediverse::make_undo_announce(federation::Identity::passing_id(actor, "undos", id), actor, id,
                                          event.uri, audience, event.published));
}

AnnouncementSender::Speaker AnnouncementSender::announcer(Via via, const Tag& tag) const {
  if (via == Via::kBareRelay) return {identity_.relay(), std::nullopt};
  std::string collection = via == Via::kRelay ? std::string() : tag.canonical();
  std::string actor = partials_.actor_of(collection);
  return {std::move(actor), std::move(collection)};
}

std::string AnnouncementSender::announce_id_of(const std::string& inbox, const TagEvent& event) const {
  const Followers::Target* target = followers_.target(event.tag, inbox);
  if (target == nullptr) return {};
  return announce_id(identity_, announcer(target->via(), event.tag).actor, event.tag, event.uri,
                     event.announced);
}

Task<AnnouncementSender::ToldPeople> AnnouncementSender::send_to_people(std::string inbox,
                                                                        Announcements::value_type item) {
  const TagEvent& event = item->entry.event;
  const Followers::Target* target = followers_.target(event.tag, inbox);
  if (target == nullptr) co_return ToldPeople{Told::kNobody, {}};
  std::vector<Via> vias = target->vias_ever();
  // An Announce comes by one actor. Which it was is not kept, and people and relays come and go: what may
  // have been announced by each is undone by each. What was not, nobody there knows.
  if (event.op == Op::kAdd) vias.resize(1);
  std::set<std::string> told;
  std::optional<ToldPeople> best;
  for (const Via via : vias) {
    const Speaker by = announcer(via, event.tag);
    if (!told.insert(by.actor).second) continue;
    ToldPeople done = co_await send_as(by, via, inbox, item);
    if (done.told == Told::kAgain || done.told == Told::kEarly) co_return done;
    // A server may refuse an Undo of what it does not know, and take the one that it needs.
    if (!best || done.told == Told::kTaken) best = std::move(done);
  }
  co_return best.value_or(ToldPeople{});
}

Task<AnnouncementSender::ToldPeople> AnnouncementSender::send_as(Speaker by, Via via, std::string inbox,
                                                                 Announcements::value_type item) {
  const TagEvent& event = item->entry.event;
  // Whoever has a post hears of its end.
  if (event.op == Op::kAdd && observer_.awaits_accept(by.actor, host_of(inbox)))
    co_return ToldPeople{Told::kEarly, {}};
  std::string body = single(by.actor, via, event);
  const Result<HttpResponse> response = by.collection
                                            ? co_await deliver(*by.collection, inbox, std::move(body))
                                            : co_await client_.deliver_as(by.actor, inbox, std::move(body));
  note(inbox, event, response);
  if (federation::was_accepted(response)) co_return ToldPeople{};
  if (federation::is_gone(response)) co_return ToldPeople{Told::kGone, federation::why_not(response)};
  const Told told = federation::was_refused(response) ? Told::kRefused : Told::kAgain;
  co_return ToldPeople{told, federation::why_not(response)};
}

}  // namespace tagring::delivery
