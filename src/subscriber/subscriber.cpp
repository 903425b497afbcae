#include "subscriber/subscriber.hpp"

#include <map>
#include <optional>

namespace tagring::subscriber {
namespace {

// Relays at rest make none.
std::optional<redundancy::RelayClaim> claim_of(const Tag& tag, const redundancy::RelayClaims& claims) {
  const auto claim = claims.find(tag);
  return claim == claims.end() ? std::nullopt : std::optional(claim->second);
}

}  // namespace

// We follow the tag there, or want it and the sender is one of its relays: of more than we know of, perhaps.
Task<Result<void>> Subscriber::check_announcer(Tag tag, std::string sender,
                                               const redundancy::RelayClaims* claims) {
  if (subscriptions_.follows(tag, sender)) co_return Result<void>();
  if (!subscriptions_.wants(tag))
    co_return fail(ErrorCode::kDenied, "this node does not follow the tag at you");
  const Result<void> is_relay = co_await redundancy_.check_relay(tag, sender, claim_of(tag, *claims));
  // Whoever has just become one of its relays has its followers from a former one.
  if (is_relay) subscriptions_.follow_soon(tag, sender);
  co_return is_relay;
}

// What this node follows may be more than there is: anybody may have told it of more relays.
Task<redundancy::RelayHalves> Subscriber::witness(Tag tag, std::string sender,
                                                  const redundancy::RelayClaims* claims) {
  co_return co_await redundancy_.witness(tag, std::move(sender), claim_of(tag, *claims));
}

Task<Result<void>> Subscriber::take(std::vector<delivery::TagEvent> events, unsigned storage_replicas,
                                    delivery::Announcer::To to) {
  if (events.empty()) co_return Result<void>();
  CO_TRY(const std::size_t fresh, co_await feed_.take(std::move(events), storage_replicas, to));
  received_ += fresh;
  co_return Result<void>();
}

// Then it is owed to the storage owners too.
bool Subscriber::relays_here(const delivery::TagEvent& event) const {
  return relay_.check_serving(event.tag).has_value();
}

Task<Result<Subscriber::Welcome>> Subscriber::welcome(std::vector<delivery::TagEvent> events,
                                                      std::string sender, redundancy::RelayClaims claims) {
  Welcome result;
  std::map<Tag, Result<void>> by_tag;
  for (delivery::TagEvent& event : events) {
    auto known = by_tag.find(event.tag);
    if (known == by_tag.end()) {
      const Result<void> checked = co_await check_announcer(event.tag, sender, &claims);
      known = by_tag.emplace(event.tag, checked).first;
      redundancy::RelayHalves halves = 0;
      if (checked) halves = co_await witness(event.tag, sender, &claims);
      if (halves != 0) result.relayed[event.tag] = halves;
    }
    // What is blocked is taken, as far as the owner is concerned: a refusal would end the subscription.
    if (!known->second) {
      result.refusals.push_back({event.uri, event.tag, known->second.error()});
    } else if (event.op == delivery::Op::kRemove || checker_.check_blocks(event)) {
      result.news.push_back(std::move(event));
    }
  }
  CO_TRY(result.news, co_await feed_.news_of(std::move(result.news)));
  co_return result;
}

Task<Result<std::vector<delivery::Refusal>>> Subscriber::receive(std::vector<delivery::TagEvent> events,
                                                                 std::string sender,
                                                                 redundancy::RelayClaims claims) {
  CO_TRY(Welcome got, co_await welcome(std::move(events), sender, std::move(claims)));
  std::vector<delivery::TagEvent> believed = co_await checker_.corroborated(
      std::move(got.news), std::move(sender), std::move(got.relayed), &got.refusals);
  CO_TRY_VOID(co_await take_believed(std::move(believed)));
  co_return std::move(got.refusals);
}

Task<Result<void>> Subscriber::receive_missed(std::vector<delivery::TagEvent> events, std::string owner) {
  CO_TRY(Welcome got, co_await welcome(std::move(events), owner, {}));
  std::vector<delivery::TagEvent> believed = doubts_.hear(std::move(got.news), owner, got.relayed, *this);
  co_return co_await take_believed(std::move(believed));
}

Task<Result<void>> Subscriber::take_believed(std::vector<delivery::TagEvent> events) {
  std::vector<delivery::TagEvent> own;     // that this node relays itself
  std::vector<delivery::TagEvent> of_set;  // that others relay, of tags with more relays now than at rest
  std::vector<delivery::TagEvent> others;
  for (delivery::TagEvent& event : events) {
    if (redundancy_.is_raised(event.tag) && !redundancy_.is_its_own(event.tag, event.uri)) {
      of_set.push_back(std::move(event));
    } else {
      (relays_here(event) ? own : others).push_back(std::move(event));
    }
  }
  CO_TRY_VOID(co_await take(std::move(own), relay_.stored_copies(), delivery::Announcer::To::kEverybody));
  // Each relay of a set announces the posts that were sent to it, and those of the others to people only.
  CO_TRY_VOID(co_await take(std::move(of_set), 0, delivery::Announcer::To::kPeople));
  co_return co_await take(std::move(others), 0, delivery::Announcer::To::kEverybody);
}

}  // namespace tagring::subscriber
