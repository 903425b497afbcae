#include "redundancy/relay_hints.hpp"

#include "base/counted.hpp"
#include "hashtag/tag.hpp"

namespace tagring::redundancy {
namespace {
constexpr Duration kBelieved = std::chrono::minutes(10);
constexpr Duration kRemembered = std::chrono::hours(24);
constexpr std::size_t kTagsMax = 10'000;
}  // namespace

json::array to_json(const RelayClaims& claims) {
  json::array list;
  for (const auto& [tag, claim] : claims)
    list.push_back(json::object{{"tag", tag.canonical()}, {"relays", claim.relays}, {"index", claim.index}});
  return list;
}

RelayClaims claims_from_json(const json::value* list) {
  RelayClaims claims;
  json::for_each(list, [&](const json::value& element) {
    if (!element.is_object() || claims.size() >= kTagsMax) return;
    const json::object& object = element.get_object();
    const Result<Tag> tag = Tag::parse(json::text_of(object, "tag"));
    const auto relays = json::get_int(object, "relays");
    const auto index = json::get_int(object, "index").value_or(0);
    if (!tag || !relays || !is_relay_count(*relays) || index < 0 || index >= *relays) return;
    claims[*tag] = {static_cast<unsigned>(*relays), static_cast<unsigned>(index)};
  });
  return claims;
}

unsigned RelayHints::of(const Tag& tag) const {
  const auto it = tags_.find(tag);
  return it == tags_.end() || clock_.now() - it->second.told > kBelieved ? at_rest_ : it->second.relays;
}

bool RelayHints::was_raised(const Tag& tag) const {
  const auto it = tags_.find(tag);
  return it != tags_.end() && clock_.now() - it->second.raised < kRemembered;
}

void RelayHints::forget_old() {
  if (tags_.size() < kTagsMax) return;
  std::erase_if(tags_, [this](const auto& entry) { return clock_.now() - entry.second.told > kBelieved; });
  make_room(tags_, kTagsMax);
}

void RelayHints::learn(const Tag& tag, unsigned relays) {
  if (!is_count(relays)) return;
  const unsigned before = of(tag);
  auto it = tags_.find(tag);
  if (it == tags_.end()) {
    if (relays == at_rest_) return;
    forget_old();
    it = tags_.emplace(tag, Entry()).first;
  }
  it->second.relays = relays;
  it->second.told = clock_.now();
  if (relays > at_rest_) it->second.raised = clock_.now();
  if (relays > before) on_more_(tag);
}

void RelayHints::hear(const RelayClaims& claims, const std::set<Tag>& tags) {
  for (const Tag& tag : tags) {
    const auto claim = claims.find(tag);
    if (claim != claims.end() && claim->second.relays > of(tag)) learn(tag, claim->second.relays);
  }
}

void RelayHints::learn(OverloadToken token) {
  const Tag tag = token.tag;
  const unsigned relays = token.relays;
  // An older token says nothing about the relays that there are now.
  if (relays != of(tag) || relays >= kRelaysMax) return;
  learn(tag, relays * 2);
  const auto it = tags_.find(tag);
  if (it != tags_.end()) it->second.token = std::move(token);
}

void RelayHints::read_answer(const json::object& answer, const std::set<Tag>& tags) {
  const RelayClaims claims = claims_from_json(json::find(answer, "relays"));
  for (const Tag& tag : tags) {
    const auto claim = claims.find(tag);
    learn(tag, claim == claims.end() ? at_rest_ : claim->second.relays);
  }
  for (OverloadToken& token : tokens_from_json(json::find(answer, "overloaded"))) {
    if (tags.contains(token.tag)) learn(std::move(token));
  }
}

std::vector<OverloadToken> RelayHints::tokens(const std::set<Tag>& tags) const {
  std::vector<OverloadToken> good;
  for (const Tag& tag : tags) {
    const auto it = tags_.find(tag);
    if (it == tags_.end() || !it->second.token) continue;
    if (it->second.token->is_fresh(clock_.wall_now())) good.push_back(*it->second.token);
  }
  return good;
}

}  // namespace tagring::redundancy
