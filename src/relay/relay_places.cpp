#include "relay/relay_places.hpp"

#include <algorithm>

#include "http/url.hpp"

namespace tagring::relay {

std::vector<unsigned> RelayPlaces::own_places(const Tag& tag, unsigned relays) const {
  std::vector<unsigned> places;
  const RingId key = tag.key();
  for (unsigned i = 0; i < relays; ++i) {
    if (rings_.of(Ring::kRelay).keeps(replica_key(key, i, relays))) places.push_back(i);
  }
  return places;
}

bool RelayPlaces::is_place_at_rest(unsigned place, unsigned of) const {
  return of >= at_rest() && place % (of / at_rest()) == 0;
}

double RelayPlaces::vservers() const {
  const auto& own = rings_.of(Ring::kRelay).vservers();
  return own.empty() ? 1 : own.front()->estimated_size();
}

Task<std::vector<std::string>> RelayPlaces::origins(Tag tag, unsigned relays, unsigned first, unsigned step) {
  const Origins found = co_await find_origins(std::move(tag), relays, first, step);
  co_return found.origins;
}

Task<std::optional<std::vector<std::string>>> RelayPlaces::all_origins(Tag tag, unsigned relays) {
  const Origins found = co_await find_origins(std::move(tag), relays, 0, 1);
  co_return found.are_all ? std::optional(found.origins) : std::nullopt;
}

Task<RelayPlaces::Origins> RelayPlaces::find_origins(Tag tag, unsigned relays, unsigned first,
                                                     unsigned step) {
  Origins all;
  std::vector<std::string>& found = all.origins;
  const RingId key = tag.key();
  for (unsigned i = first; i < relays; i += step) {
    const Result<ring::Owner> owner =
        co_await rings_.of(Ring::kRelay).find_owner(replica_key(key, i, relays));
    all.are_all = all.are_all && owner;
    if (!owner) continue;
    const std::string origin = owner->contact.origin();
    const bool known = origin == own_ || std::ranges::find(found, origin) != found.end();
    if (!known && !rings_.is_blocked_at(origin)) found.push_back(origin);
  }
  co_return all;
}

Task<Result<void>> RelayPlaces::check_place(Tag tag, std::string origin, unsigned index, unsigned of) {
  const RingId key = replica_key(tag.key(), index, of);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kRelay).find_owner(key);
    if (!owner) co_return fail(ErrorCode::kBusy, "the relay's place could not be looked up");
    if (owner->contact.origin() == origin) co_return Result<void>();
    rings_.of(Ring::kRelay).doubt_route(key);
  }
  co_return fail(ErrorCode::kNotOwner, "another node owns that place");
}

Task<Result<void>> RelayPlaces::check_asker(Tag tag, std::string origin, unsigned index, unsigned of) {
  const budget::Share share(&budget_, budget::Resource::kClaims, budget_.who(host_of(origin)));
  if (!share.is_granted()) co_return fail(ErrorCode::kBusy, "too many look-ups at a time; ask again soon");
  co_return co_await check_place(std::move(tag), std::move(origin), index, of);
}

Task<Result<void>> RelayPlaces::check_asker_at_rest(Tag tag, std::string origin) {
  Result<void> found = fail(ErrorCode::kNotOwner, "other nodes own the places at rest");
  if (rings_.is_blocked_at(origin)) co_return found;
  for (unsigned i = 0; i < at_rest(); ++i) {
    const Result<void> is_there = co_await check_asker(tag, origin, i, at_rest());
    if (is_there) co_return is_there;
    if (is_there.error().code == ErrorCode::kBusy) found = is_there;
  }
  co_return found;
}

Task<Result<void>> RelayPlaces::check_signer(Tag tag, std::string origin, unsigned relays) {
  const Error none{ErrorCode::kNotOwner, origin + " is no relay of the hashtag"};
  if (rings_.is_blocked_at(origin)) co_return std::unexpected(none);
  const budget::Share share(&budget_, budget::Resource::kClaims, budget_.who(host_of(origin)));
  if (!share.is_granted()) co_return fail(ErrorCode::kBusy, "too many look-ups at a time; ask again soon");
  const RingId key = tag.key();
  for (unsigned i = 0; i < relays; ++i) {
    const Result<ring::Owner> owner =
        co_await rings_.of(Ring::kRelay).find_owner(replica_key(key, i, relays));
    if (owner && owner->contact.origin() == origin) co_return Result<void>();
  }
  co_return std::unexpected(none);
}

Task<RelayPlaces::Found> RelayPlaces::find(Tag tag) {
  Found found;
  const unsigned relays = hints_.of(tag);
  const RingId key = tag.key();
  for (unsigned i = 0; i < relays; ++i) {
    const Result<ring::Owner> owner =
        co_await rings_.of(Ring::kRelay).find_owner(replica_key(key, i, relays));
    if (!owner) {
      found.complete = false;
      continue;
    }
    const std::string at = owner->contact.origin();
    if (at != own_ && !rings_.is_blocked_at(at)) found.relays.push_back(owner->contact);
  }
  co_return found;
}

Task<bool> RelayPlaces::may_be_at(Tag tag, std::string origin) {
  if (rings_.is_blocked_at(origin)) co_return false;
  const unsigned relays = hints_.of(tag);
  for (unsigned i = 0; i < relays; ++i) {
    const Result<void> is_there = co_await check_place(tag, origin, i, relays);
    if (is_there || is_there.error().code == ErrorCode::kBusy) co_return true;
  }
  co_return false;
}

void RelayPlaces::forget(const Tag& tag) {
  const unsigned relays = hints_.of(tag);
  const RingId key = tag.key();
  for (unsigned i = 0; i < relays; ++i) rings_.of(Ring::kRelay).forget_route(replica_key(key, i, relays));
}

}  // namespace tagring::relay
