#include "delivery/followers.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/rng.hpp"
#include "delivery/partial.hpp"
#include "followers/authority.hpp"
#include "http/url.hpp"

namespace tagring::delivery {

Via Followers::Target::via() const {
  for (const Via via : {Via::kNode, Via::kBoost, Via::kTagRelay, Via::kFasp, Via::kBareRelay}) {
    if (followers[static_cast<std::size_t>(via)] > 0) return via;
  }
  return Via::kRelay;
}

std::vector<Via> Followers::Target::vias_ever() const {
  std::vector<Via> vias = {via()};
  for (const Via other : {Via::kBoost, Via::kTagRelay, Via::kBareRelay, Via::kRelay})
    if (ever[static_cast<std::size_t>(other)] && other != vias.front()) vias.push_back(other);
  return vias;
}

std::size_t Followers::Target::count() const {
  return std::accumulate(followers.begin(), followers.end(), std::size_t{0});
}

bool Followers::Target::is_one_of_many(const std::string& inbox) const {
  if (people.size() != 1 || count() != 1) return false;
  const std::string_view actor = *people.begin();
  return actor.contains("/users/") && inbox == std::string(actor) + "/inbox";
}

std::optional<budget::Resource> resource_of(Via via) {
  if (via == Via::kNode) return budget::Resource::kNodeFollows;
  if (via == Via::kBoost || via == Via::kTagRelay) return budget::Resource::kWanted;
  return std::nullopt;  // with the administrator's consent
}

void Followers::charge(const std::string& actor, Via via, bool enters) {
  const auto resource = resource_of(via);
  if (budget_ == nullptr || !resource) return;
  const budget::Spender domain = budget_->who(host_of(actor));
  enters ? budget_->count(*resource, domain) : budget_->give_back(*resource, domain);
}

void Followers::add(const Follower& follower) {
  // Who follows anew, in another way, was told in the former.
  const Target* known = target(follower.tag, follower.inbox);
  const std::array<bool, kVias> ever = known == nullptr ? std::array<bool, kVias>() : known->ever;
  remove(follower.tag, follower.actor);
  const auto place = tags_.try_emplace(follower.tag).first;
  OfTag& of_tag = place->second;
  tags_of_[follower.actor].insert(place->first.canonical());
  const auto actor =
      of_tag.actors.insert_or_assign(follower.actor, Entry{follower.inbox, follower.via}).first;
  count(follower.tag, follower.actor, follower.via, /*enters=*/true);
  charge(follower.actor, follower.via, /*enters=*/true);
  const auto [it, fresh] = of_tag.targets.try_emplace(follower.inbox);
  Target& target = it->second;
  if (fresh) {
    target.host = host_of(follower.inbox);
    ++tags_at_[follower.inbox];
  }
  target.asked = ++asked_;
  if (follower.via == Via::kBoost) target.people.insert(actor->first);
  target.since = fresh ? follower.since : std::min(target.since, follower.since);
  ++target.followers[static_cast<std::size_t>(follower.via)];
  for (std::size_t i = 0; i < ever.size(); ++i) target.ever[i] |= ever[i];
  target.ever[static_cast<std::size_t>(follower.via)] = true;
  ++size_;
}

void Followers::note_asked(const Tag& tag, const std::string& inbox) {
  const auto of_tag = tags_.find(tag);
  if (of_tag == tags_.end()) return;
  const auto target = of_tag->second.targets.find(inbox);
  if (target != of_tag->second.targets.end()) target->second.asked = ++asked_;
}

std::optional<Via> Followers::remove(const Tag& tag, const std::string& actor) {
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return std::nullopt;
  const auto gone = it->second.actors.extract(actor);
  if (gone.empty()) return std::nullopt;
  --size_;
  const auto of_actor = tags_of_.find(actor);
  of_actor->second.erase(it->first.canonical());
  if (of_actor->second.empty()) tags_of_.erase(of_actor);
  count(tag, actor, gone.mapped().via, /*enters=*/false);
  charge(actor, gone.mapped().via, /*enters=*/false);
  const auto target = it->second.targets.find(gone.mapped().inbox);
  --target->second.followers[static_cast<std::size_t>(gone.mapped().via)];
  target->second.people.erase(actor);
  if (target->second.count() == 0) {
    it->second.targets.erase(target);
    if (--tags_at_[gone.mapped().inbox] == 0) tags_at_.erase(gone.mapped().inbox);
  }
  if (it->second.actors.empty()) tags_.erase(it);
  return gone.mapped().via;
}

// Whether that is news.
bool Followers::count_own(const PartialKey& key, const std::string& id, bool enters) {
  OfNode& node = nodes_[key.authority];
  const bool changes = enters ? node.ids.insert(id).second : node.ids.erase(id) > 0;
  if (changes) enters ? node.partial.add(id) : node.partial.remove(id);
  if (node.ids.empty()) nodes_.erase(key.authority);
  return changes;
}

void Followers::count_own(const std::string& actor, bool is_person, bool enters) {
  const auto authority = followers::Authority::of(actor);
  if (authority && count_own({std::string(), authority->text()}, actor, enters) && is_person)
    enters ? ++own_people_ : --own_people_;
}

// Keeps the digests up to date with a follower who enters or leaves.
void Followers::count(const Tag& tag, const std::string& actor, Via via, bool enters) {
  const auto member = membership_of({tag, actor, {}, {}, via, 0});
  if (!member) return;
  const auto& [key, id] = *member;
  if (via == Via::kNode) {
    count_own(key, id, enters);
    return;
  }
  auto& partials = tags_.at(tag).partials;
  Partial& partial = partials[key.authority];
  enters ? partial.add(id) : partial.remove(id);
  if (partial.count == 0) partials.erase(key.authority);
  if (id.starts_with(key.authority + '/')) return;
  std::set<std::string>& odd = odd_[key];
  enters ? static_cast<void>(odd.insert(id)) : static_cast<void>(odd.erase(id));
  if (odd.empty()) odd_.erase(key);
}

Partial Followers::partial(const PartialKey& key) const {
  if (key.collection.empty()) {
    const auto node = nodes_.find(key.authority);
    return node == nodes_.end() ? Partial() : node->second.partial;
  }
  const auto tag = tags_.find(Tag::from_canonical(key.collection));
  if (tag == tags_.end()) return {};
  const auto partial = tag->second.partials.find(key.authority);
  return partial == tag->second.partials.end() ? Partial() : partial->second;
}

std::vector<std::string> Followers::members(const PartialKey& key) const {
  std::vector<std::string> ids;
  if (key.collection.empty()) {
    const auto node = nodes_.find(key.authority);
    if (node != nodes_.end()) ids.assign(node->second.ids.begin(), node->second.ids.end());
    return ids;
  }
  const auto tag = tags_.find(Tag::from_canonical(key.collection));
  if (tag == tags_.end()) return ids;
  const auto& actors = tag->second.actors;
  // '0' is the character after '/'.
  const auto end = actors.lower_bound(key.authority + '0');
  for (auto it = actors.lower_bound(key.authority + '/'); it != end; ++it) {
    if (it->second.via == Via::kBoost) ids.push_back(it->first);
  }
  if (const auto odd = odd_.find(key); odd != odd_.end())
    ids.insert(ids.end(), odd->second.begin(), odd->second.end());
  return ids;
}

const std::map<std::string, Followers::Target>* Followers::targets(const Tag& tag) const {
  const auto it = tags_.find(tag);
  return it == tags_.end() ? nullptr : &it->second.targets;
}

const Followers::Target* Followers::target(const Tag& tag, const std::string& inbox) const {
  const auto* all = targets(tag);
  if (all == nullptr) return nullptr;
  const auto it = all->find(inbox);
  return it == all->end() ? nullptr : &it->second;
}

std::vector<const Followers::Way*> Followers::ways(const Tag& tag, const std::string& uri,
                                                   const Judge& judge) const {
  std::vector<const Way*> ways;
  const auto* all = targets(tag);
  if (all == nullptr) return ways;
  const Rng lots = Rng(0).fork(uri);
  std::map<std::string_view, std::tuple<Use, std::uint64_t, const Way*>> best;  // by host
  for (const Way& way : *all) {
    const Use use = judge(way);
    if (use == Use::kNone) continue;
    const bool is_one_of_many = way.second.is_one_of_many(way.first);
    if (!is_one_of_many || use == Use::kNeeded) ways.push_back(&way);
    if (!is_one_of_many) continue;
    auto& chosen = best[way.second.host];
    chosen = std::max(chosen, std::tuple(use, lots.fork(way.first).next(), &way));
  }
  for (const auto& [host, chosen] : best) {
    if (std::get<Use>(chosen) != Use::kNeeded) ways.push_back(std::get<const Way*>(chosen));
  }
  return ways;
}

std::set<std::string_view> Followers::reached(const Tag& tag, const std::string& inbox) const {
  const Target* known = target(tag, inbox);
  if (known == nullptr) return {};
  std::set<std::string_view> people = known->people;
  if (!known->is_one_of_many(inbox)) return people;
  for (const auto& [other, target] : *targets(tag)) {
    if (target.host == known->host && target.is_one_of_many(other))
      people.insert(target.people.begin(), target.people.end());
  }
  return people;
}

std::uint64_t Followers::asked(const Tag& tag, const std::string& inbox) const {
  const Target* known = target(tag, inbox);
  return known == nullptr ? 0 : known->asked;
}

std::size_t Followers::tags_at(const std::string& inbox) const {
  const auto known = tags_at_.find(inbox);
  return known == tags_at_.end() ? 0 : known->second;
}

std::vector<Tag> Followers::all_tags_at(const std::string& inbox) const {
  std::vector<Tag> found;
  for (const auto& [tag, of_tag] : tags_) {
    if (of_tag.targets.contains(inbox)) found.push_back(tag);
  }
  return found;
}

bool Followers::follows(const Tag& tag, const std::string& actor) const {
  const auto it = tags_.find(tag);
  return it != tags_.end() && it->second.actors.contains(actor);
}

std::vector<Tag> Followers::tags_of(const std::string& actor) const {
  std::vector<Tag> tags;
  const auto known = tags_of_.find(actor);
  if (known == tags_of_.end()) return tags;
  for (const std::string_view tag : known->second) tags.push_back(Tag::from_canonical(std::string(tag)));
  return tags;
}

std::vector<std::string> Followers::actors(const Tag& tag, const std::string& inbox) const {
  std::vector<std::string> found;
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return found;
  for (const auto& [actor, entry] : it->second.actors) {
    if (entry.inbox == inbox) found.push_back(actor);
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> Followers::nodes(const Tag& tag) const {
  std::vector<std::pair<std::string, std::string>> nodes;
  const auto it = tags_.find(tag);
  if (it == tags_.end()) return nodes;
  for (const auto& [actor, entry] : it->second.actors) {
    if (entry.via == Via::kNode) nodes.emplace_back(actor, entry.inbox);
  }
  return nodes;
}

std::size_t Followers::people(const Tag& tag) const {
  std::size_t people = 0;
  if (const auto* all = targets(tag)) {
    for (const auto& [inbox, target] : *all) people += target.people.size();
  }
  return people;
}

std::size_t Followers::people() const {
  std::size_t people = 0;
  for (const auto& [tag, of_tag] : tags_) people += this->people(tag);
  return people;
}

bool Followers::has_people(const Tag& tag) const {
  const auto* all = targets(tag);
  return all != nullptr &&
         std::ranges::any_of(*all, [](const auto& target) { return target.second.via() != Via::kNode; });
}

}  // namespace tagring::delivery
