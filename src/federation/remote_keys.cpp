#include "federation/remote_keys.hpp"

#include <algorithm>

#include "http/url.hpp"

namespace tagring::federation {
namespace {

constexpr Duration kFlightTime = std::chrono::minutes(2);
constexpr Duration kUnused = std::chrono::hours(24 * 7);  // what signs something is fetched anew before

std::size_t weight(const fediverse::RemoteActor& actor) {
  return actor.id.size() + actor.inbox.size() + actor.shared_inbox.size() + actor.followers.size() +
         actor.preferred_username.size();
}

}  // namespace

void RemoteKeys::note_known(const std::string& actor, const IpAddress& peer) {
  budget_.note_known(host_of(actor));
  budget_.note_known(peer);
}

Task<Result<std::string>> RemoteKeys::document(std::string url, std::shared_ptr<Flight> flight) {
  budget::Spender host = budget_.who(host_of(url));
  host.for_known = true;
  if (flight->asker) host = host.on_behalf_of(budget_.who(*flight->asker));
  const auto may_ask = [this, host, flight] {
    flight->refused = budget_.take(budget::Resource::kKeyHosts, host) > Duration::zero();
    return !flight->refused;
  };
  Result<std::string> body = fail(ErrorCode::kUnavailable, "");
  if (may_ask()) body = co_await client_.fetch_body(url, may_ask);
  if (flight->refused)
    co_return fail(ErrorCode::kUnavailable,
                   "too many keys of " + host_of(url) + " at once; send again later");
  co_return body;
}

Task<Result<KeyOwner>> RemoteKeys::fetch(std::string key_id, std::shared_ptr<Flight> flight) {
  const std::string at = key_id.substr(0, key_id.find('#'));
  CO_TRY(std::string body, co_await document(at, flight));
  Result<fediverse::KeyDocument> parsed = fediverse::parse_key_document(body, key_id);
  if (!parsed && parsed.error().code == ErrorCode::kNotFound) {
    revoke(key_id);
    // kNotFound says that the document is gone.
    co_return fail(ErrorCode::kDenied, parsed.error().message);
  }
  CO_TRY(fediverse::KeyDocument key, std::move(parsed));
  if (key.owner != at) {
    body.clear();
    CO_TRY(body, co_await document(key.owner, flight));
  }
  CO_TRY(fediverse::RemoteActor actor, fediverse::parse_actor(body, key.owner));
  actor.fetched = clock_.now();
  if (!actor.lists(key)) {
    revoke(key_id);
    co_return fail(ErrorCode::kDenied, actor.id + " does not list the key " + key_id);
  }
  // They may be as long as the document, of which tens of thousands are remembered.
  actor.keys.clear();
  actor.key_ids.clear();
  // Checking a key takes longer than a verification with it, so that is done once.
  auto read = [key = std::move(key)] { return fediverse::read_key(key); };
  CO_TRY(crypto::PublicKey public_key, co_await workers_.run(std::move(read)));
  co_return KeyOwner{std::move(actor), std::move(public_key)};
}

const KeyOwner* RemoteKeys::known(const std::string& key_id) const {
  const auto it = cache_.find(key_id);
  const bool good = it != cache_.end() && it->second.owner && clock_.now() - it->second.fetched < kLifetime;
  return good ? &*it->second.owner : nullptr;
}

const KeyOwner* RemoteKeys::former(const std::string& key_id) const {
  const auto it = cache_.find(key_id);
  return it != cache_.end() && it->second.former ? &*it->second.former : nullptr;
}

std::string RemoteKeys::domain_of(const std::string& key_id) const {
  return budget_.who(host_of(key_id)).whole();
}

void RemoteKeys::remember(const std::string& key_id, const Result<KeyOwner>& owner,
                          const std::optional<IpAddress>& asker) {
  Entry entry{owner, clock_.now()};
  std::string whose = asker ? budget_.who(*asker).whole() : domain_of(key_id);
  if (const auto it = cache_.find(key_id); it != cache_.end()) {
    if (it->second.owner) entry.refreshed = clock_.now();
    // Any signature that does not fit has it fetched again, so that takes away nothing.
    const bool says_nothing = !owner && owner.error().code != ErrorCode::kNotFound;
    if (says_nothing && known(key_id) != nullptr) {
      it->second.refreshed = entry.refreshed;
      it->second.stale = true;
      return;
    }
    if (!owner) entry.former = it->second.owner ? std::optional(*it->second.owner) : it->second.former;
    if (it->second.whose == domain_of(key_id)) whose = it->second.whose;
    forget(it);
  }
  entry.bytes = key_id.size() + (owner ? weight(owner->actor) : owner.error().message.size()) +
                (entry.former ? weight(entry.former->actor) : 0);
  make_room(whose, entry.bytes);
  bytes_ += entry.bytes;
  rank(cache_.emplace(key_id, std::move(entry)).first, std::move(whose));
}

void RemoteKeys::make_room(const std::string& whose, std::size_t bytes) {
  if (cache_.size() >= most_) {
    // Or what servers with few actors have not used for months would leave no places to those with many.
    const auto oldest =
        std::ranges::min_element(cache_, {}, [](const auto& known) { return known.second.fetched; });
    if (clock_.now() - oldest->second.fetched >= kUnused) forget(oldest);
  }
  if (cache_.size() >= most_) {
    const auto is_worse = [](const Ranked& one, const Ranked& other) {
      return *one.begin() < *other.begin();
    };
    const Ranked& its = *ranked_.find(ranked_.gives_way_to(whose, is_worse));
    forget(cache_.find(std::get<std::string>(*its.begin())));
  }
  // And what is large, or whoever has long names would have all others forgotten.
  while (!cache_.empty() && bytes_ + bytes > kBytesMax)
    forget(std::ranges::max_element(cache_, {}, [](const auto& known) { return known.second.bytes; }));
}

void RemoteKeys::note_genuine(const std::string& key_id) {
  const auto it = cache_.find(key_id);
  if (it == cache_.end()) return;
  std::string domain = domain_of(key_id);
  if (it->second.whose == domain) return;
  unrank(it);
  rank(it, std::move(domain));
}

void RemoteKeys::revoke(const std::string& key_id) {
  if (const auto it = cache_.find(key_id); it != cache_.end()) forget(it);
}

void RemoteKeys::rank(Cache::iterator entry, std::string whose) {
  const auto& [key_id, its] = *entry;
  ranked_.change(whose, [&](Ranked& all) { all.emplace(its.is_worth_more(), its.fetched, key_id); });
  entry->second.whose = std::move(whose);
}

void RemoteKeys::unrank(Cache::iterator entry) {
  const auto& [key_id, its] = *entry;
  ranked_.change(its.whose, [&](Ranked& all) { all.erase({its.is_worth_more(), its.fetched, key_id}); });
}

void RemoteKeys::forget(Cache::iterator entry) {
  unrank(entry);
  bytes_ -= entry->second.bytes;
  cache_.erase(entry);
}

Task<Result<KeyOwner>> RemoteKeys::fetch_once(std::string key_id, std::optional<IpAddress> asker) {
  const Instant deadline = clock_.now() + kFlightTime;
  for (auto under_way = flights_.find(key_id); under_way != flights_.end();
       under_way = flights_.find(key_id)) {
    const std::shared_ptr<Flight> flight = under_way->second;
    while (!flight->over && clock_.now() < deadline) co_await flight->landed.wait_until(deadline);
    // What one asker may have no more of, another may.
    if (flight->over && flight->refused && flight->asker != asker) continue;
    if (flight->owner) co_return *flight->owner;
    co_return fail(ErrorCode::kUnavailable, "the key could not be fetched now");
  }
  const auto flight = std::make_shared<Flight>(clock_, executor_);
  if (asker && !asker->is_here()) {
    if (budget_.take(budget::Resource::kKeyFetches, budget_.who(*asker)) > Duration::zero())
      co_return fail(ErrorCode::kUnavailable,
                     "too many keys to be fetched for you at once; send again later");
    flight->asker = asker;
  }
  flights_[key_id] = flight;
  struct Landing {
    RemoteKeys& keys;
    const std::string& key_id;
    Flight& flight;
    ~Landing() {
      flight.over = true;
      keys.flights_.erase(key_id);
      flight.landed.ring();
    }
  };
  const Landing landing{*this, key_id, *flight};
  flight->owner = co_await fetch(key_id, flight);
  if (!flight->refused) remember(key_id, *flight->owner, flight->asker);
  co_return *flight->owner;
}

bool RemoteKeys::is_recent(const Entry& entry, bool refresh) const {
  const Instant now = clock_.now();
  if (!entry.owner) return now - entry.fetched < kFailureLifetime;
  if (!refresh) return now - entry.fetched < kLifetime;
  return entry.refreshed && now - *entry.refreshed < kFailureLifetime;
}

Task<Result<KeyOwner>> RemoteKeys::owner_of_key(std::string key_id, bool refresh,
                                                std::optional<IpAddress> asker) {
  const auto it = cache_.find(key_id);
  if (it == cache_.end() || !is_recent(it->second, refresh))
    co_return co_await fetch_once(std::move(key_id), asker);
  if (refresh && it->second.stale)
    co_return fail(ErrorCode::kUnavailable, "the key could not be fetched again; send again later");
  co_return it->second.owner;
}

}  // namespace tagring::federation
