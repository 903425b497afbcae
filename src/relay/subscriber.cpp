#include "relay/subscriber.hpp"

#include <map>
#include <set>

namespace tagring::relay {

// We follow the tag there, or want it and the sender is one of its relays: of more than we know of, perhaps.
Task<Result<void>> Subscriber::check_announcer(std::string tag, std::string sender,
                                               const redundancy::RelayClaims* claims) {
  if (subscriptions_.follows(tag, sender)) co_return Result<void>();
  const Result<Tag> parsed = Tag::parse(tag);
  const auto claim = claims->find(tag);
  if (!parsed || !subscriptions_.wants(tag) || claim == claims->end())
    co_return fail(ErrorCode::kDenied, "this node does not follow the tag at you");
  co_return co_await redundancy_.check_relay(*parsed, std::move(sender), claim->second);
}

// What this node follows may be more than there is: anybody may have told it of more relays.
Task<bool> Subscriber::is_relay(std::string tag, std::string sender, const redundancy::RelayClaims* claims) {
  const Result<Tag> parsed = Tag::parse(tag);
  if (!parsed) co_return false;
  const auto claim = claims->find(tag);
  const auto claimed = claim == claims->end() ? std::nullopt : std::optional(claim->second);
  co_return co_await redundancy_.is_witness(*parsed, std::move(sender), claimed);
}

Task<Result<void>> Subscriber::take(std::vector<TagEvent> events, unsigned storage_replicas,
                                    Announcer::To to) {
  if (events.empty()) co_return Result<void>();
  CO_TRY(const std::size_t fresh, co_await feed_.take(std::move(events), storage_replicas, to));
  received_ += fresh;
  co_return Result<void>();
}

// Then it is owed to the storage owners too.
bool Subscriber::relays_here(const TagEvent& event) const {
  const Result<Tag> tag = Tag::parse(event.tag);
  return tag && relay_.check_serving(*tag);
}

Task<Result<std::vector<Refusal>>> Subscriber::receive(std::vector<TagEvent> events, std::string sender,
                                                       redundancy::RelayClaims claims) {
  std::vector<Refusal> refusals;
  std::map<std::string, Result<void>> welcome;  // by tag
  std::set<std::string> relayed;                // hashtags of which the sender certainly is a relay
  std::vector<TagEvent> wanted;
  for (TagEvent& event : events) {
    auto known = welcome.find(event.tag);
    if (known == welcome.end()) {
      const Result<void> checked = co_await check_announcer(event.tag, sender, &claims);
      known = welcome.emplace(event.tag, checked).first;
      const bool is_witness = checked && co_await is_relay(event.tag, sender, &claims);
      if (is_witness) relayed.insert(event.tag);
    }
    // What is blocked is taken, as far as the owner is concerned: a refusal would end the subscription.
    if (!known->second) {
      refusals.push_back({event.uri, event.tag, known->second.error()});
    } else if (event.op == Op::kRemove || checker_.check_blocks(event)) {
      wanted.push_back(std::move(event));
    }
  }
  CO_TRY(wanted, co_await feed_.news_of(std::move(wanted)));
  wanted =
      co_await checker_.corroborated(std::move(wanted), std::move(sender), std::move(relayed), &refusals);
  std::vector<TagEvent> own;     // of tags this node relays itself
  std::vector<TagEvent> of_set;  // of tags that have more relays now than at rest
  std::vector<TagEvent> others;
  for (TagEvent& event : wanted) {
    if (redundancy_.is_raised(event.tag)) {
      of_set.push_back(std::move(event));
    } else {
      (relays_here(event) ? own : others).push_back(std::move(event));
    }
  }
  CO_TRY_VOID(co_await take(std::move(own), relay_.stored_copies(), Announcer::To::kEverybody));
  // Each relay of a set announces the posts that were sent to it, and those of the others to people only.
  CO_TRY_VOID(co_await take(std::move(of_set), 0, Announcer::To::kPeople));
  CO_TRY_VOID(co_await take(std::move(others), 0, Announcer::To::kEverybody));
  co_return refusals;
}

}  // namespace tagring::relay
