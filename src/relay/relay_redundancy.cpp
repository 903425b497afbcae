// Taking posts, and the number of relays. Lists and upkeep are in relay_lists.cpp.
#include "relay/relay_redundancy.hpp"

#include <algorithm>

#include "relay/results.hpp"
#include "relay/wire.hpp"

namespace tagring::relay {
namespace {

// A relay that is overloaded says so with a token only when the set has been as it is for that long: the last
// doubling must have had time to work.
constexpr Duration kSettle = std::chrono::seconds(10);
constexpr Duration kSignedFor = std::chrono::seconds(5);  // the same token for everybody
constexpr Duration kLately = std::chrono::minutes(10);
constexpr Duration kCooldownMax = std::chrono::hours(1);
constexpr Duration kDoubtEvery = std::chrono::seconds(10);
constexpr Duration kRaiseWait = std::chrono::milliseconds(100);
constexpr int kRaiseWaits = 100;
constexpr std::size_t kRemembered = 10'000;
constexpr Duration kSpareFor = std::chrono::minutes(1);
constexpr Duration kListGood = std::chrono::seconds(15);  // of a spare

}  // namespace

RelayRedundancy::RelayRedundancy(Options options, redundancy::RelayHints& counts, Store& store,
                                 Followers& followers, overlay::RingService& rings, Announcer& announcer,
                                 federation::SignedClient& client, federation::Authenticator& authenticator,
                                 const Runtime& runtime)
    : options_(std::move(options)),
      counts_(counts),
      store_(store),
      followers_(followers),
      rings_(rings),
      announcer_(announcer),
      client_(client),
      authenticator_(authenticator),
      identity_(client.identity()),
      clock_(runtime.clock),
      log_(runtime.log),
      meter_(options_.capacity, runtime.clock),
      times_(runtime.clock),
      tasks_(runtime.executor) {}

Task<void> RelayRedundancy::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- the ring ----------------------------------------------------------------------------------------------

std::vector<unsigned> RelayRedundancy::own_places(const Tag& tag, unsigned relays) const {
  std::vector<unsigned> places;
  for (unsigned i = 0; i < relays; ++i) {
    if (rings_.of(Ring::kRelay).owning(replica_key(tag.key(), i, relays)) != nullptr) places.push_back(i);
  }
  return places;
}

bool RelayRedundancy::is_at_rest(unsigned place, unsigned of) const {
  return of >= counts_.at_rest() && place % (of / counts_.at_rest()) == 0;
}

bool RelayRedundancy::is_base(const Tag& tag) const { return !own_places(tag, counts_.at_rest()).empty(); }

bool RelayRedundancy::is_extra(const Tag& tag) const {
  const unsigned relays = relays_of(tag.canonical());
  if (relays == counts_.at_rest()) return false;
  const std::vector<unsigned> places = own_places(tag, relays);
  return std::ranges::any_of(places, [&](unsigned place) { return !is_at_rest(place, relays); });
}

// The nodes of relays first, first + step, … of so many, each once, without this one.
Task<std::vector<std::string>> RelayRedundancy::origins(Tag tag, unsigned relays, unsigned first,
                                                        unsigned step) {
  std::vector<std::string> found;
  for (unsigned i = first; i < relays; i += step) {
    const Result<ring::Owner> owner =
        co_await rings_.of(Ring::kRelay).find_owner(replica_key(tag.key(), i, relays));
    if (!owner) continue;
    const std::string origin = owner->contact.origin();
    const bool known = origin == identity_.origin() || std::ranges::find(found, origin) != found.end();
    if (!known && !rings_.is_blocked_at(origin)) found.push_back(origin);
  }
  co_return found;
}

Task<Result<void>> RelayRedundancy::check_place(Tag tag, std::string origin, unsigned index, unsigned of) {
  const RingId key = replica_key(tag.key(), index, of);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kRelay).find_owner(key);
    if (!owner) co_return fail(ErrorCode::kBusy, "the relay's place could not be looked up");
    if (owner->contact.origin() == origin) co_return Result<void>();
    rings_.of(Ring::kRelay).forget_route(key);
  }
  co_return fail(ErrorCode::kNotOwner, "another node owns that place");
}

// --- taking posts ------------------------------------------------------------------------------------------

unsigned RelayRedundancy::relays_of(const std::string& tag) const {
  const auto it = sets_.find(tag);
  return it == sets_.end() ? counts_.at_rest() : it->second.relays;
}

RelayRedundancy::Set& RelayRedundancy::set_of(const std::string& tag) {
  const auto [it, fresh] = sets_.try_emplace(tag);
  if (fresh) {
    it->second.relays = counts_.at_rest();
    it->second.cooldown = options_.cooldown;
    if (!std::exchange(keeping_up_, true)) tasks_.spawn("relay_sets", upkeep());
  }
  return it->second;
}

bool RelayRedundancy::admit(const std::string& tag) {
  if (meter_.is_overloaded()) return false;
  const auto* targets = followers_.targets(tag);
  meter_.add(tag, targets == nullptr ? 1 : static_cast<double>(targets->size()));
  // Whoever has much to do with a tag tends its set: warns spares, and halves it again.
  if (meter_.is_strained() && meter_.is_major(tag)) set_of(tag);
  return true;
}

std::optional<redundancy::OverloadToken> RelayRedundancy::sign(const std::string& tag) {
  const unsigned relays = relays_of(tag);
  const auto set = sets_.find(tag);
  const bool is_new =
      set != sets_.end() && clock_.now() - set->second.since < kSettle && set->second.since != Instant{};
  // More relays than there are vservers are of no use.
  const auto& own = rings_.of(Ring::kRelay).vservers();
  const double vservers = own.empty() ? 1 : own.front()->estimated_size();
  if (is_new || relays >= redundancy::kRelaysMax || relays >= vservers || !meter_.is_major(tag))
    return std::nullopt;
  const auto it = signed_.find(tag);
  const bool is_good = it != signed_.end() && it->second.first.relays == relays &&
                       clock_.now() - it->second.second < kSignedFor;
  if (is_good) return it->second.first;
  redundancy::OverloadToken token{tag, relays, identity_.actor(), clock_.wall_now(), {}};
  token.signature = identity_.key.sign(token.signed_text(options_.network));
  if (signed_.size() >= kRemembered) signed_.clear();
  signed_[tag] = {token, clock_.now()};
  return token;
}

std::optional<redundancy::RelayClaim> RelayRedundancy::claim(const std::string& tag) const {
  const auto set = sets_.find(tag);
  const Result<Tag> parsed = Tag::parse(tag);
  if (set == sets_.end() || !parsed) return std::nullopt;
  // Who has just ceased to be a relay passes the rest on.
  const bool lately = set->second.relays < set->second.lately && clock_.now() < set->second.lately_until;
  const unsigned relays = lately && !is_relay(*parsed) ? set->second.lately : set->second.relays;
  if (relays == counts_.at_rest()) return std::nullopt;
  const std::vector<unsigned> places = own_places(*parsed, relays);
  if (places.empty()) return std::nullopt;
  return redundancy::RelayClaim{relays, places.front()};
}

json::object RelayRedundancy::news(const std::set<std::string>& tags, const std::vector<Refusal>& refusals) {
  std::set<std::string> overloaded;
  for (const Refusal& refusal : refusals) {
    if (refusal.error.code == ErrorCode::kUnavailable) overloaded.insert(refusal.tag);
  }
  json::object news;
  redundancy::RelayClaims claims;
  for (const std::string& tag : tags) {
    const Result<Tag> parsed = Tag::parse(tag);
    if (relays_of(tag) > counts_.at_rest() && parsed && is_relay(*parsed)) claims[tag] = {relays_of(tag), 0};
  }
  if (!claims.empty()) news["relays"] = to_json(claims);
  std::vector<redundancy::OverloadToken> tokens;
  for (const std::string& tag : overloaded) {
    if (std::optional<redundancy::OverloadToken> token = sign(tag)) tokens.push_back(std::move(*token));
  }
  if (!tokens.empty()) news["overloaded"] = to_json(tokens);
  return news;
}

// --- more relays -------------------------------------------------------------------------------------------

void RelayRedundancy::set_relays(const std::string& tag, unsigned relays, bool overloaded) {
  Set& set = set_of(tag);
  if (set.relays == relays) return;
  const Instant now = clock_.now();
  if (relays > set.relays) {
    const bool soon = overloaded && set.shrunk != Instant{} && now - set.shrunk < 2 * set.cooldown;
    if (soon) set.cooldown = std::min(2 * set.cooldown, kCooldownMax);
    set.retired = {};
    set.feed_from = announcer_.last_seq();
  } else {
    set.shrunk = now;
    set.lately = now < set.lately_until ? std::max(set.lately, set.relays) : set.relays;
    set.lately_until = now + kLately;
    set.cooldown = std::max(options_.cooldown, set.cooldown / 2);
  }
  log_.info("relays_changed",
            {{"tag", tag}, {"from", std::to_string(set.relays)}, {"to", std::to_string(relays)}});
  set.relays = relays;
  set.since = now;
  set.attempt = now + set.cooldown;
  set.votes.clear();
  set.contradicted = {};
  if (const Result<Tag> parsed = Tag::parse(tag); parsed && !is_relay(*parsed)) {
    set.retired = now;
    set.retired_at = 0;
  }
  counts_.learn(tag, relays);
}

Task<void> RelayRedundancy::present(std::vector<redundancy::OverloadToken> tokens) {
  for (redundancy::OverloadToken& token : tokens) {
    if (token.relays < counts_.at_rest() || token.relays >= redundancy::kRelaysMax) continue;
    const std::string tag = token.tag;
    // Somebody else has shown one, and it is being checked.
    for (int i = 0; i < kRaiseWaits && raising_.contains(tag); ++i) {
      const Instant soon = clock_.now() + kRaiseWait;
      co_await clock_.sleep_until(soon);
    }
    if (relays_of(tag) >= token.relays * 2 || !raising_.insert(tag).second) continue;
    co_await raise(std::move(token));
    raising_.erase(tag);
  }
}

Task<void> RelayRedundancy::raise(redundancy::OverloadToken token) {
  const Result<Tag> tag = Tag::parse(token.tag);
  const unsigned relays = token.relays * 2;
  if (!tag || own_places(*tag, relays).empty()) co_return;
  const Result<void> good = co_await check_token(token);
  if (!good) {
    log_.debug("token_refused", {{"tag", token.tag}, {"because", good.error().message}});
    co_return;
  }
  if (is_base(*tag)) {
    if (relays_of(token.tag) == token.relays) set_relays(token.tag, relays, /*overloaded=*/true);
  } else {
    const Result<void> become = co_await become_relay(*tag, relays, /*attested=*/true);
    if (!become) {
      log_.debug("no_relay", {{"tag", token.tag}, {"because", become.error().message}});
      co_return;
    }
  }
  tasks_.spawn("tell_base", tell_base(*tag, std::move(token)));
}

// Signed lately by one of the relays of the smaller set.
Task<Result<void>> RelayRedundancy::check_token(redundancy::OverloadToken token) {
  if (!token.is_fresh(clock_.wall_now())) co_return fail(ErrorCode::kDenied, "the token is stale");
  const std::string signer = origin_of(token.actor);
  const Result<Tag> tag = Tag::parse(token.tag);
  const bool own = signer == identity_.origin();
  const bool is_mine = own && !own_places(*tag, token.relays).empty();
  const std::vector<std::string> relays = co_await origins(*tag, token.relays, 0, 1);
  if (!is_mine && std::ranges::find(relays, signer) == relays.end())
    co_return fail(ErrorCode::kNotOwner, signer + " is no relay of the hashtag");
  if (own) {
    const bool genuine =
        identity_.key.public_key().verify(token.signed_text(options_.network), token.signature);
    co_return genuine ? Result<void>() : fail(ErrorCode::kDenied, "the token is forged");
  }
  CO_TRY(const federation::KeyOwner owner,
         co_await authenticator_.keys().owner_of_key(fediverse::key_id_of(token.actor), false));
  if (owner.actor.id != token.actor ||
      !owner.key.verify(token.signed_text(options_.network), token.signature)) {
    co_return fail(ErrorCode::kDenied, "the token is forged");
  }
  co_return Result<void>();
}

// With the list of followers first, so that nobody misses a post. Whether more relays are needed is for those
// at rest to say; `attested` if one of the smaller set is known to be overloaded.
Task<Result<void>> RelayRedundancy::become_relay(Tag tag, unsigned relays, bool attested) {
  if (own_places(tag, relays).empty()) co_return fail(ErrorCode::kNotOwner, "none of its places is here");
  const std::string name = tag.canonical();
  const unsigned needed = attested ? relays / 2 : relays;
  // A spare has it already; who came in the last seconds gets from the next list what was taken meanwhile.
  const Set& spare = set_of(name);
  const bool is_ready =
      spare.pulled != Instant{} && spare.pulled_with >= needed && clock_.now() - spare.pulled < kListGood;
  if (!is_ready) {
    CO_TRY(const unsigned base, co_await pull_base(tag, relays));
    if (base < needed) co_return fail(ErrorCode::kNotOwner, "the relays at rest know of fewer relays");
  }
  set_of(name).feed_from = announcer_.last_seq();
  co_await apply_list(name);
  if (relays_of(name) < relays) set_relays(name, relays, attested);
  co_return Result<void>();
}

// The relays at rest keep the number.
Task<void> RelayRedundancy::tell_base(Tag tag, redundancy::OverloadToken token) {
  const unsigned relays = token.relays * 2;
  std::vector<std::string> base = co_await origins(tag, counts_.at_rest(), 0, 1);
  for (const std::string& origin : base) {
    json::object request = {{"action", "raise"}, {"relays", relays}, {"token", to_json(token)}};
    co_await call(origin, tag, relays, std::move(request));
  }
  co_await tell_children(tag, "raise", relays);
}

// Of each relay here of half as many: the one that takes the upper half of its interval.
Task<void> RelayRedundancy::tell_children(Tag tag, std::string action, unsigned relays) {
  for (const unsigned place : own_places(tag, relays / 2)) {
    const Result<ring::Owner> owner =
        co_await rings_.of(Ring::kRelay).find_owner(replica_key(tag.key(), 2 * place + 1, relays));
    if (!owner || owner->contact.origin() == identity_.origin()) continue;
    json::object request = {{"action", action}, {"relays", relays}};
    co_await call(owner->contact.origin(), tag, relays / 2, std::move(request));
  }
}

// Then others may know of more relays for a while: those that have not heard yet that all agree.
bool RelayRedundancy::has_just_shrunk(const std::string& tag) const {
  const auto set = sets_.find(tag);
  return set != sets_.end() && set->second.shrunk != Instant{} &&
         clock_.now() - set->second.shrunk < kSpareFor;
}

void RelayRedundancy::doubt(const Tag& tag) {
  const std::string name = tag.canonical();
  const auto it = doubted_.find(name);
  if (it != doubted_.end() && clock_.now() - it->second < kDoubtEvery) return;
  if (doubted_.size() >= kRemembered) doubted_.clear();
  doubted_[name] = clock_.now();
  tasks_.spawn("consider", consider(name));
}

Task<void> RelayRedundancy::consider(std::string name) {
  const Result<Tag> tag = Tag::parse(name);
  const Result<Heard> heard = co_await ask_count(*tag, Duration::zero());
  const bool wanted = heard && heard->relays > relays_of(name) && !is_base(*tag) && !has_just_shrunk(name);
  if (!wanted || own_places(*tag, heard->relays).empty() || !raising_.insert(name).second) co_return;
  co_await become_relay(*tag, heard->relays, /*attested=*/false);
  raising_.erase(name);
}

// --- fewer relays ------------------------------------------------------------------------------------------

// As one of half as many: asks the others to go, if this node can do without them.
Task<void> RelayRedundancy::try_to_shrink(Tag tag) {
  const std::string name = tag.canonical();
  const unsigned relays = relays_of(name);
  const unsigned half = relays / 2;
  if (half < counts_.at_rest() || own_places(tag, half).empty() || clock_.now() < set_of(name).attempt)
    co_return;
  Set& set = set_of(name);
  if (!meter_.is_calm(name)) {
    set.cooldown = std::min(2 * set.cooldown, kCooldownMax);
    set.attempt = clock_.now() + set.cooldown;
    co_return;
  }
  // Others of the smaller set may have to wait longer.
  const bool is_late = clock_.now() - set.attempt > kSpareFor;
  if (is_late && clock_.now() - set.asked < kSpareFor / 2) co_return;
  set.asked = clock_.now();
  bool gone = true;
  const std::vector<std::string> others = co_await origins(tag, relays, 1, 2);
  for (const std::string& origin : others) {
    json::object request = {{"action", "shrink"}, {"relays", half}};
    const Result<json::object> answer = co_await call(origin, tag, half, std::move(request));
    // Who does not answer does not relay either.
    const std::int64_t left = answer ? json::get_int(*answer, "relays").value_or(0) : 0;
    gone = gone && left <= half;
  }
  if (relays_of(name) != relays) co_return;
  const std::vector<unsigned> places = own_places(tag, relays);
  const bool is_other = std::ranges::any_of(places, [](unsigned place) { return place % 2 != 0; });
  if (is_other) {
    co_await count_votes(tag, half);
  } else if (gone) {
    set_relays(name, half);
  }
}

// As one of the other half: goes when all of the smaller set have asked it to.
Task<void> RelayRedundancy::count_votes(Tag tag, unsigned relays) {
  const std::string name = tag.canonical();
  const std::vector<std::string> voters = co_await origins(tag, relays, 0, 1);
  if (relays_of(name) != relays * 2) co_return;
  const Set& set = set_of(name);
  const bool all = std::ranges::all_of(voters, [&](const std::string& origin) {
    const auto vote = set.votes.find(origin);
    return vote != set.votes.end() && clock_.now() - vote->second < kSpareFor;
  });
  // Whoever stays as one of the smaller set has asked the others too; else they would wait for it in vain.
  const bool has_asked = set.asked >= set.since && clock_.now() - set.asked < kSpareFor;
  const bool willing = own_places(tag, relays).empty() || (has_asked && meter_.is_calm(name));
  if (all && willing) set_relays(name, relays);
}

// --- others as relays --------------------------------------------------------------------------------------

Task<Result<void>> RelayRedundancy::check_relay(Tag tag, std::string origin,
                                                std::optional<redundancy::RelayClaim> claim) {
  const std::vector<std::string> base = co_await origins(tag, counts_.at_rest(), 0, 1);
  if (std::ranges::find(base, origin) != base.end()) co_return Result<void>();
  if (!claim || claim->index >= claim->relays) co_return fail(ErrorCode::kDenied, "no relay of the hashtag");
  CO_TRY_VOID(co_await check_place(tag, origin, claim->index, claim->relays));
  Result<Heard> heard = co_await ask_count(tag, std::chrono::seconds(30));
  if (heard && heard->lately < claim->relays) heard = co_await ask_count(tag, std::chrono::seconds(2));
  if (!heard || heard->lately < claim->relays)
    co_return fail(ErrorCode::kBusy, "the relays at rest do not know of so many relays");
  co_return Result<void>();
}

// What the relays at rest say.
Task<Result<RelayRedundancy::Heard>> RelayRedundancy::ask_count(Tag tag, Duration age_max) {
  const std::string name = tag.canonical();
  const auto known = heard_.find(name);
  if (known != heard_.end() && clock_.now() - known->second.at < age_max) co_return known->second;
  Heard heard;
  if (is_base(tag)) {
    const auto set = sets_.find(name);
    const bool lately = set != sets_.end() && clock_.now() < set->second.lately_until;
    heard.relays = relays_of(name);
    heard.lately = std::max(heard.relays, lately ? set->second.lately : 0);
  }
  std::vector<Task<Result<Heard>>> questions;
  for (unsigned i = 0; i < counts_.at_rest(); ++i) {
    const RingId key = replica_key(tag.key(), i, counts_.at_rest());
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kRelay).find_owner(key);
    const bool asked = owner && owner->contact.origin() != identity_.origin() &&
                       !rings_.is_blocked_at(owner->contact.origin());
    if (asked) questions.push_back(ask_count_at(owner->contact, tag));
  }
  const std::vector<Result<Heard>> answers = co_await all_of(std::move(questions));
  for (const Result<Heard>& answer : answers) {
    if (!answer) continue;
    heard.relays = std::max(heard.relays, answer->relays);
    heard.lately = std::max(heard.lately, answer->lately);
  }
  if (heard.relays == 0) co_return fail(ErrorCode::kUnavailable, "no relay of the hashtag answered");
  heard.at = clock_.now();
  if (heard_.size() >= kRemembered) heard_.clear();
  heard_[name] = heard;
  co_return heard;
}

}  // namespace tagring::relay
