// What is known, and what changes it. Lists, upkeep and answers are in relay_upkeep.cpp.
#include "relay/relay_redundancy.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "delivery/results.hpp"
#include "http/url.hpp"
#include "ring/vserver.hpp"

namespace tagring::relay {
namespace {

using redundancy::RelaySet;

constexpr Duration kSignedFor = std::chrono::seconds(5);  // the same token for everybody
constexpr Duration kRaiseWait = std::chrono::milliseconds(100);
constexpr int kRaiseWaits = 100;
constexpr std::size_t kRemembered = 10'000;
constexpr unsigned kAsked = 4;  // of the relays that there would be, about
constexpr std::size_t kSetsMax = 10'000;
constexpr double kRoom = 4;  // relays that a hashtag may have for each place that the ring seems to have

}  // namespace

RelayRedundancy::RelayRedundancy(Options options, RelayPlaces& places, RelayCalls& calls,
                                 FollowerLists& lists, delivery::Announcer& announcer, const Runtime& runtime)
    : options_(options),
      places_(places),
      calls_(calls),
      lists_(lists),
      announcer_(announcer),
      clock_(runtime.clock),
      log_(runtime.log),
      meter_(options_.capacity, runtime.clock),
      doubts_([this](Tag tag) { return consider(std::move(tag)); }, runtime),
      tasks_(runtime.executor) {}

Task<void> RelayRedundancy::stop() {
  co_await doubts_.stop();
  tasks_.cancel();
  co_await tasks_.join();
}

// --- what is known -----------------------------------------------------------------------------------------

const RelaySet* RelayRedundancy::set_of(const Tag& tag) const {
  const auto it = sets_.find(tag);
  return it == sets_.end() ? nullptr : &it->second.set;
}

unsigned RelayRedundancy::relays_of(const Tag& tag) const {
  const RelaySet* set = set_of(tag);
  return set == nullptr ? places_.at_rest() : set->relays();
}

bool RelayRedundancy::is_relay_beyond_rest(const Tag& tag) const {
  const unsigned relays = relays_of(tag);
  if (relays == places_.at_rest()) return false;
  const std::vector<unsigned> own = places_.own_places(tag, relays);
  return std::ranges::any_of(own, [&](unsigned place) { return !places_.is_place_at_rest(place, relays); });
}

bool RelayRedundancy::is_relay(const Tag& tag) const {
  return places_.is_relay_at_rest(tag) || is_relay_beyond_rest(tag);
}

bool RelayRedundancy::has_just_shrunk(const Tag& tag) const {
  const RelaySet* set = set_of(tag);
  return set != nullptr && set->has_just_shrunk(clock_.now());
}

RelayCalls::Count RelayRedundancy::count(const Tag& tag) const {
  const RelaySet* set = set_of(tag);
  return {relays_of(tag), set == nullptr ? places_.at_rest() : set->lately(clock_.now())};
}

RelayRedundancy::Tended& RelayRedundancy::tended(const Tag& tag) {
  const auto known = sets_.find(tag);
  if (known != sets_.end()) return known->second;
  Tended& fresh =
      sets_.emplace(tag, Tended{RelaySet({places_.at_rest(), options_.cooldown}), {}, false}).first->second;
  if (!std::exchange(keeping_up_, true)) tasks_.spawn("relay_sets", upkeep());
  return fresh;
}

bool RelayRedundancy::has_room_for(const Tag& tag, unsigned relays) const {
  return relays <= kRoom * places_.vservers() && (sets_.contains(tag) || sets_.size() < kSetsMax);
}

bool RelayRedundancy::bears_out_overload(const Tag& tag) const {
  const RelaySet* set = set_of(tag);
  const bool has_just_changed = set != nullptr && set->has_just_changed(clock_.now());
  return !has_just_changed && meter_.rate(tag) > 0;
}

bool RelayRedundancy::is_draining(const Tag& tag, const std::string& inbox) const {
  const RelaySet* set = set_of(tag);
  const bool known = set != nullptr && set->draining();
  if (known && !set->draining()->to) return true;
  if (!lists_.has_inbox(tag, inbox)) return false;
  return !announcer_.has_reached(inbox, known ? *set->draining()->to : announcer_.last_seq());
}

json::array RelayRedundancy::status() const {
  json::array list;
  for (const auto& [tag, tended] : sets_) {
    list.push_back(json::object{{"tag", tag.canonical()},
                                {"relays", tended.set.relays()},
                                {"spare", tended.set.is_spare(clock_.now())},
                                {"deliveries_per_second", meter_.rate(tag)}});
  }
  return list;
}

// --- taking posts ------------------------------------------------------------------------------------------

bool RelayRedundancy::is_its_own(const Tag& tag, const std::string& uri) const {
  const unsigned relays = relays_of(tag);
  const unsigned copies = places_.hints().copies();
  const std::vector<unsigned> own = places_.own_places(tag, relays);
  return std::ranges::any_of(own, [&](unsigned place) {
    for (unsigned copy = 0; copy < copies; ++copy) {
      if (redundancy::relay_of_post(uri, copy, copies, relays) == place) return true;
    }
    return false;
  });
}

bool RelayRedundancy::admit(const Tag& tag) {
  if (meter_.is_overloaded()) return false;
  meter_.add(tag, lists_.deliveries(tag));
  // Whoever has much to do with a tag tends its set: warns spares, and halves it again.
  if (meter_.is_strained() && meter_.is_major(tag)) tended(tag);
  return true;
}

std::optional<redundancy::OverloadToken> RelayRedundancy::sign(const Tag& tag) {
  const unsigned relays = relays_of(tag);
  const RelaySet* set = set_of(tag);
  const bool is_new = set != nullptr && set->is_settling(clock_.now());
  if (is_new || relays >= redundancy::kRelaysMax || relays >= places_.vservers() || !meter_.is_major(tag))
    return std::nullopt;
  const auto it = signed_.find(tag);
  const bool is_good = it != signed_.end() && it->second.first.relays == relays &&
                       clock_.now() - it->second.second < kSignedFor;
  if (is_good) return it->second.first;
  redundancy::OverloadToken token = calls_.sign(tag, relays);
  make_room(signed_, kRemembered);
  signed_.insert_or_assign(tag, std::pair(token, clock_.now()));
  return token;
}

std::optional<redundancy::RelayClaim> RelayRedundancy::claim(const Tag& tag) const {
  const RelaySet* set = set_of(tag);
  if (set == nullptr) return std::nullopt;
  // Who has just ceased to be a relay passes the rest on.
  const unsigned lately = set->lately(clock_.now());
  const unsigned relays = lately > set->relays() && !is_relay(tag) ? lately : set->relays();
  if (relays == places_.at_rest()) return std::nullopt;
  const std::vector<unsigned> own = places_.own_places(tag, relays);
  if (own.empty()) return std::nullopt;
  return redundancy::RelayClaim{relays, own.front()};
}

json::object RelayRedundancy::news(const std::set<Tag>& tags,
                                   const std::vector<delivery::Refusal>& refusals) {
  std::set<Tag> overloaded;
  for (const delivery::Refusal& refusal : refusals) {
    if (refusal.error.code == ErrorCode::kUnavailable) overloaded.insert(refusal.tag);
  }
  json::object news;
  redundancy::RelayClaims claims;
  for (const Tag& tag : tags) {
    if (relays_of(tag) > places_.at_rest() && is_relay(tag)) claims[tag] = {relays_of(tag), 0};
  }
  if (!claims.empty()) news["relays"] = to_json(claims);
  std::vector<redundancy::OverloadToken> tokens;
  for (const Tag& tag : overloaded) {
    if (std::optional<redundancy::OverloadToken> token = sign(tag)) tokens.push_back(std::move(*token));
  }
  if (!tokens.empty()) news["overloaded"] = to_json(tokens);
  return news;
}

// --- more relays -------------------------------------------------------------------------------------------

void RelayRedundancy::set_relays(const Tag& tag, unsigned relays, bool overloaded) {
  RelaySet& set = tended(tag).set;
  const unsigned before = set.relays();
  if (before == relays) return;
  if (relays > before) {
    // What it took beyond rest before is missing to who comes now, too.
    const std::uint64_t from = is_relay_beyond_rest(tag) ? set.feed_from() : announcer_.last_seq();
    set.grow(relays, overloaded, from, clock_.now());
  } else {
    set.shrink(relays, clock_.now());
  }
  log_.info("relays_changed",
            {{"tag", tag.canonical()}, {"from", std::to_string(before)}, {"to", std::to_string(relays)}});
  if (!is_relay(tag)) set.retire(clock_.now());
  places_.hints().learn(tag, relays);
}

Task<void> RelayRedundancy::present(std::vector<redundancy::OverloadToken> tokens) {
  for (redundancy::OverloadToken& token : tokens) {
    if (token.relays < places_.at_rest() || token.relays >= redundancy::kRelaysMax) continue;
    const Tag tag = token.tag;
    // Somebody else has shown one, and it is being checked.
    for (int i = 0; i < kRaiseWaits && raising_.contains(tag); ++i) {
      const Instant soon = clock_.now() + kRaiseWait;
      co_await clock_.sleep_until(soon);
    }
    if (relays_of(tag) >= token.relays * 2) continue;
    const Held raising(raising_, tag);  // no longer than who shows it stays
    if (raising.is_first()) co_await raise(std::move(token));
  }
}

Task<void> RelayRedundancy::raise(redundancy::OverloadToken token) {
  const Tag tag = token.tag;
  const unsigned relays = token.relays * 2;
  if (places_.own_places(tag, relays).empty() || !has_room_for(tag, relays)) co_return;
  const Result<void> good = co_await calls_.check_token(token);
  if (!good) {
    log_.debug("token_refused", {{"tag", tag.canonical()}, {"because", good.error().message}});
    co_return;
  }
  if (places_.is_relay_at_rest(tag)) {
    // Of another number it is no news to who else keeps that: they would show it each other for as long as it
    // is good.
    if (relays_of(tag) != token.relays) co_return;
    if (!bears_out_overload(tag)) {
      log_.debug("token_refused", {{"tag", tag.canonical()}, {"because", "there is no such load here"}});
      co_return;
    }
    set_relays(tag, relays, /*overloaded=*/true);
  } else {
    const Result<void> become = co_await become_relay(tag, relays, /*attested=*/true);
    if (!become) {
      log_.debug("no_relay", {{"tag", tag.canonical()}, {"because", become.error().message}});
      co_return;
    }
  }
  tasks_.spawn("tell_base", tell_relays_at_rest(tag, std::move(token)));
}

// With the list of followers first, so that nobody misses a post. Whether more relays are needed is for those
// at rest to say; `attested` if one of the smaller set is known to be overloaded.
Task<Result<void>> RelayRedundancy::become_relay(Tag tag, unsigned relays, bool attested) {
  if (places_.own_places(tag, relays).empty())
    co_return fail(ErrorCode::kNotOwner, "none of its places is here");
  if (!has_room_for(tag, relays)) co_return fail(ErrorCode::kTooLarge, "too many relays, or hashtags");
  const unsigned needed = attested ? relays / 2 : relays;
  // A spare has it already; who came in the last seconds gets from the next list what was taken meanwhile.
  if (!tended(tag).set.holds_list(needed, clock_.now())) {
    CO_TRY(const unsigned known, co_await pull_at_rest(tag, relays));
    if (known < needed) co_return fail(ErrorCode::kNotOwner, "the relays at rest know of fewer relays");
  }
  tended(tag).set.take_from(announcer_.last_seq());
  co_await apply_list(tag);
  if (relays_of(tag) < relays) set_relays(tag, relays, attested);
  co_return Result<void>();
}

// The relays at rest keep the number.
Task<void> RelayRedundancy::tell_relays_at_rest(Tag tag, redundancy::OverloadToken token) {
  const unsigned relays = token.relays * 2;
  std::vector<std::string> at_rest = co_await places_.origins(tag, places_.at_rest(), 0, 1);
  for (const std::string& origin : at_rest) {
    json::object request = {{"action", "raise"}, {"relays", relays}, {"token", to_json(token)}};
    co_await calls_.ask(origin, tag, relays, std::move(request));
  }
  co_await tell_next_set(tag, "raise", relays);
}

// Of each relay here of half as many: the one that takes the upper half of its interval.
Task<void> RelayRedundancy::tell_next_set(Tag tag, std::string action, unsigned relays) {
  for (const unsigned place : places_.own_places(tag, relays / 2)) {
    const Result<ring::Owner> owner =
        co_await places_.rings().of(Ring::kRelay).find_owner(replica_key(tag.key(), 2 * place + 1, relays));
    if (!owner || owner->contact.origin() == places_.own_origin()) continue;
    json::object request = {{"action", action}, {"relays", relays}};
    co_await calls_.ask(owner->contact.origin(), tag, relays / 2, std::move(request));
  }
}

// Another relay at rest says that there are more relays than this one counts. Its word alone is not enough.
void RelayRedundancy::hear_of_more(const Tag& tag, unsigned relays, std::string origin) {
  make_room(claimed_, kRemembered);
  claimed_.insert_or_assign(tag, Claimed{relays, origin});
  doubt(tag, host_of(origin));
}

// This node has forgotten: then the relays that there would be know it. Or it went back to half as many, and
// the other could not, for want of its vote.
Task<void> RelayRedundancy::consider_at_rest(Tag tag) {
  const auto known = claimed_.find(tag);
  if (known == claimed_.end()) co_return;
  const auto [relays, by] = known->second;
  claimed_.erase(known);
  const unsigned step = std::max(2U, relays / kAsked);
  const std::vector<Result<RelayCalls::Count>> answers = co_await calls_.ask_counts(tag, relays, 1, step);
  const auto answered = std::ranges::count_if(answers, [](const auto& answer) { return answer.has_value(); });
  const auto agreed =
      std::ranges::count_if(answers, [&](const auto& answer) { return answer && answer->relays >= relays; });
  const unsigned own = relays_of(tag);
  if (own >= relays || has_just_shrunk(tag) || !has_room_for(tag, relays)) co_return;
  if (2 * agreed > answered) {
    set_relays(tag, relays);
  } else if (2 * own == relays && meter_.is_calm(tag)) {
    json::object request = {{"action", "shrink"}, {"relays", own}};
    co_await calls_.ask(by, tag, own, std::move(request));
  }
}

Task<void> RelayRedundancy::consider(Tag tag) {
  if (places_.is_relay_at_rest(tag)) co_return co_await consider_at_rest(std::move(tag));
  const Result<RelayCalls::Count> heard = co_await ask_count(tag, Duration::zero());
  const bool wanted =
      heard && heard->relays > relays_of(tag) && !places_.is_relay_at_rest(tag) && !has_just_shrunk(tag);
  if (!wanted || places_.own_places(tag, heard->relays).empty() || !raising_.insert(tag).second) co_return;
  co_await become_relay(tag, heard->relays, /*attested=*/false);
  raising_.erase(tag);
}

// --- fewer relays ------------------------------------------------------------------------------------------

// As one of half as many: asks the others to go, if this node can do without them.
Task<void> RelayRedundancy::try_to_halve(Tag tag) {
  const unsigned relays = relays_of(tag);
  const unsigned half = relays / 2;
  if (half < places_.at_rest() || places_.own_places(tag, half).empty()) co_return;
  RelaySet& set = tended(tag).set;
  if (!set.may_halve(clock_.now())) co_return;
  if (!meter_.is_calm(tag)) {
    set.postpone_halving(clock_.now());
    co_return;
  }
  if (!set.ask_to_halve(clock_.now())) co_return;
  bool gone = true;
  const std::vector<std::string> others = co_await places_.origins(tag, relays, 1, 2);
  for (const std::string& origin : others) {
    json::object request = {{"action", "shrink"}, {"relays", half}};
    const Result<json::object> answer = co_await calls_.ask(origin, tag, half, std::move(request));
    // Who does not answer does not relay either.
    const std::int64_t left = answer ? json::get_int(*answer, "relays").value_or(0) : 0;
    gone = gone && left <= half;
  }
  if (relays_of(tag) != relays) co_return;
  const std::vector<unsigned> own = places_.own_places(tag, relays);
  const bool is_other = std::ranges::any_of(own, [](unsigned place) { return place % 2 != 0; });
  if (is_other) {
    co_await count_votes(tag, half);
  } else if (gone) {
    set_relays(tag, half);
  }
}

// As one of the other half: goes when all of the smaller set have asked it to.
Task<void> RelayRedundancy::count_votes(Tag tag, unsigned relays) {
  const std::optional<std::vector<std::string>> voters = co_await places_.all_origins(tag, relays);
  if (!voters || relays_of(tag) != relays * 2) co_return;
  const RelaySet& set = tended(tag).set;
  // Whoever stays as one of the smaller set has asked the others too; else they would wait for it in vain.
  const bool willing =
      places_.own_places(tag, relays).empty() || (set.has_asked(clock_.now()) && meter_.is_calm(tag));
  if (willing && set.has_votes(*voters, clock_.now())) set_relays(tag, relays);
}

// Its places are others' now, who know nothing of what it took, and those at rest give it no list any more:
// they take over what it took.
Task<void> RelayRedundancy::lose_places(Tag tag) {
  const Result<void> handed = co_await announcer_.hand_on(tag, tended(tag).set.feed_from());
  if (!handed || !is_raised(tag) || is_relay(tag)) co_return;
  set_relays(tag, places_.at_rest());
  tended(tag).set.note_last_list();
}

// Of a tag that this node does not relay any more.
Task<void> RelayRedundancy::pull_last_list(Tag tag) {
  const Result<unsigned> pulled = co_await pull_at_rest(tag, count(tag).lately);
  if (!pulled) co_return;
  const bool is_saved = co_await apply_list(tag);
  if (is_saved) tended(tag).set.note_last_list();
}

// The same: forgets followers who have got all that it took.
Task<void> RelayRedundancy::drain(Tag tag) {
  RelaySet& set = tended(tag).set;
  if (is_relay(tag)) set.return_to_set();
  const std::optional<std::uint64_t> last = set.drain_to(announcer_.last_seq(), clock_.now());
  if (!last) co_return;
  FollowerLists::Pairs done;
  bool all = true;
  for (const auto& [actor, inbox] : lists_.nodes(tag)) {
    const bool reached = announcer_.has_reached(inbox, *last);
    all = all && reached;
    if (reached) done.emplace_back(tag, actor);
  }
  if (all) set.finish_draining();
  if (!done.empty()) co_await lists_.remove(std::move(done));
}

// --- others as relays --------------------------------------------------------------------------------------

Task<Result<void>> RelayRedundancy::check_relay(Tag tag, std::string origin,
                                                std::optional<redundancy::RelayClaim> claim) {
  const std::vector<std::string> at_rest = co_await places_.origins(tag, places_.at_rest(), 0, 1);
  if (std::ranges::find(at_rest, origin) != at_rest.end()) co_return Result<void>();
  if (!claim || claim->index >= claim->relays) {
    const Result<void> is_there = co_await places_.check_asker_at_rest(tag, origin);
    if (is_there || is_there.error().code == ErrorCode::kBusy) co_return is_there;
    co_return fail(ErrorCode::kDenied, "no relay of the hashtag");
  }
  CO_TRY_VOID(co_await places_.check_place(tag, origin, claim->index, claim->relays));
  Result<RelayCalls::Count> heard = co_await ask_count(tag, std::chrono::seconds(30));
  if (heard && heard->lately < claim->relays) heard = co_await ask_count(tag, std::chrono::seconds(2));
  if (!heard || heard->lately < claim->relays)
    co_return fail(ErrorCode::kBusy, "the relays at rest do not know of so many relays");
  co_return Result<void>();
}

Task<redundancy::RelayHalves> RelayRedundancy::witness(Tag tag, std::string origin,
                                                       std::optional<redundancy::RelayClaim> claim) {
  const unsigned at_rest = places_.at_rest();
  redundancy::RelayHalves halves = 0;
  for (unsigned i = 0; i < at_rest; ++i) {
    const std::vector<std::string> there = co_await places_.origins(tag, at_rest, i, at_rest);
    if (!there.empty() && there.front() == origin) halves |= redundancy::half_of_relay(i, at_rest);
  }
  if (halves != 0 || !claim) co_return halves;
  const Result<void> is_relay = co_await check_relay(tag, std::move(origin), claim);
  if (!is_relay) co_return 0;
  const auto heard = heard_.find(tag);
  const bool agreed = heard != heard_.end() && heard->second.agreed >= claim->relays;
  co_return agreed ? redundancy::half_of_relay(claim->index, claim->relays) : 0;
}

// What the relays at rest say.
Task<Result<RelayCalls::Count>> RelayRedundancy::ask_count(Tag tag, Duration age_max) {
  const auto known = heard_.find(tag);
  if (known != heard_.end() && clock_.now() - known->second.at < age_max) co_return known->second.count;
  std::vector<RelayCalls::Count> counts;
  if (places_.is_relay_at_rest(tag)) counts.push_back(count(tag));
  const std::vector<Result<RelayCalls::Count>> answers =
      co_await calls_.ask_counts(tag, places_.at_rest(), 0, 1);
  for (const Result<RelayCalls::Count>& answer : answers) {
    if (answer) counts.push_back(*answer);
  }
  if (counts.empty()) co_return fail(ErrorCode::kUnavailable, "no relay of the hashtag answered");
  const auto lately = [](const RelayCalls::Count& count) { return count.lately; };
  const auto relays = [](const RelayCalls::Count& count) { return count.relays; };
  const RelayCalls::Count most{relays(std::ranges::max(counts, {}, relays)),
                               lately(std::ranges::max(counts, {}, lately))};
  if (most.relays == 0) co_return fail(ErrorCode::kUnavailable, "no relay of the hashtag answered");
  make_room(heard_, kRemembered);
  heard_[tag] = {most, lately(std::ranges::min(counts, {}, lately)), clock_.now()};
  co_return most;
}

}  // namespace tagring::relay
