#include "ring_sim/attack.hpp"

#include <algorithm>
#include <unordered_set>

#include "ring/contact.hpp"
#include "ring/messages.hpp"
#include "ring/vserver.hpp"

namespace tagring::ring_sim {
namespace {

constexpr Duration kLookupTime = std::chrono::minutes(2);
constexpr std::size_t kNamed = 4;  // contacts in a reply, as an honest one has
constexpr std::uint8_t kInventedOfMember = 20;
constexpr double kGaps = 4;  // so many gaps behind its place a finger is believed

// The liars of one look-up, who stand in the ring's order.
class Liars {
 public:
  Liars(const RingAttack& attack, const std::vector<ring::Contact>& members)
      : attack_(attack), members_(members) {
    order_.resize(members.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    if (attack.strategy != Strategy::kInvent) return;
    // Of a host each, as the others, with a vserver number that nobody uses.
    for (const ring::Contact& member : members) {
      for (std::uint8_t vserver = 1; vserver <= kInventedOfMember; ++vserver) {
        ring::Contact& contact = invented_.emplace_back(member);
        contact.vserver = vserver;
        contact.id =
            ring::make_node_id(ring::IdScheme::kPaper, contact.address.prefix64(), contact.host, vserver);
      }
    }
    std::ranges::sort(invented_, {}, &ring::Contact::id);
  }

  // Draws others, against a look-up of `key`.
  void draw(Rng& rng, const RingId& key) {
    key_ = key;
    const auto count = static_cast<std::size_t>(attack_.malicious * static_cast<double>(order_.size()) + 0.5);
    for (std::size_t i = 0; i < count; ++i) std::swap(order_[i], order_[i + rng.below(order_.size() - i)]);
    std::vector<std::size_t> drawn(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(drawn);
    liars_.clear();
    ids_.clear();
    for (const std::size_t i : drawn) {
      liars_.push_back(&members_[i]);
      ids_.insert(members_[i].id);
    }
    named_.clear();
    behind_ = 0;
    if (liars_.empty()) return;
    const auto at = std::ranges::lower_bound(liars_, key, {}, [](const ring::Contact* c) { return c->id; });
    behind_ = at == liars_.end() ? 0 : static_cast<std::size_t>(at - liars_.begin());
  }

  [[nodiscard]] bool include(const RingId& id) const { return ids_.contains(id); }

  ring::FindReply answer(const ring::Contact& asked) {
    switch (attack_.strategy) {
      case Strategy::kPlain:
        return claim(asked);
      case Strategy::kStatic:
        return answer_always_the_same(asked);
      case Strategy::kAdaptive:
        return answer_with_others(asked);
      case Strategy::kInvent:
        return invent(asked);
    }
    return {};
  }

 private:
  struct Hash {
    std::size_t operator()(const RingId& id) const { return id.top(); }
  };

  // "The key is mine", from wherever it stands.
  [[nodiscard]] ring::FindReply claim(const ring::Contact& asked) const {
    ring::FindReply reply;
    reply.owned = Segment{key_ - RingId::power_of_two(0), asked.id};
    return reply;
  }
  // The liar that comes next behind the key, and so can claim it best; by steps back from there.
  [[nodiscard]] const ring::Contact& liar(std::size_t steps_back) const {
    return *liars_[(behind_ + liars_.size() - steps_back % liars_.size()) % liars_.size()];
  }

  ring::FindReply answer_always_the_same(const ring::Contact& asked) {
    if (asked.id == liar(0).id) return claim(asked);
    ring::FindReply reply;
    for (std::size_t i = 0; i < kNamed; ++i) reply.closer.push_back(liar(i));
    return reply;
  }

  // Names, of those who were not named yet, who may pass for the asked one's best finger; if there is none,
  // the ones just ahead of it, so that there are as many steps to the key as there are liars.
  ring::FindReply answer_with_others(const ring::Contact& asked) {
    if (asked.id == liar(0).id) return claim(asked);
    named_.insert(asked.id);
    ring::FindReply reply;
    const RingId distance = clockwise_distance(asked.id, key_);
    unsigned bit = RingId::kBits - 1;
    while (bit > 0 && RingId::power_of_two(bit) > distance) --bit;
    for (int fingers = 0; fingers < 2 && bit > 0 && reply.closer.empty(); ++fingers, --bit)
      name_behind(asked.id + RingId::power_of_two(bit), kGaps / static_cast<double>(members_.size()), &reply);
    if (reply.closer.empty()) name_behind(asked.id, 1, &reply);
    if (reply.closer.empty()) return claim(asked);
    return reply;
  }

  // Names members that do not exist, before the key and right behind it: IDs that fit some address and domain
  // can be searched for, as long as nobody must answer there.
  ring::FindReply invent(const ring::Contact& asked) {
    if (asked.id == liar(0).id) return claim(asked);
    ring::FindReply reply;
    const RingId distance = clockwise_distance(asked.id, key_);
    unsigned bit = RingId::kBits - 1;
    while (bit > 0 && RingId::power_of_two(bit) > distance) --bit;
    auto at = first_from(invented_, asked.id + RingId::power_of_two(bit));
    for (std::size_t i = 0; i < kNamed; ++i) {
      reply.closer.push_back(*at);
      if (++at == invented_.end()) at = invented_.begin();
    }
    reply.closer.push_back(*first_from(invented_, key_));
    return reply;
  }
  static std::vector<ring::Contact>::const_iterator first_from(const std::vector<ring::Contact>& sorted,
                                                               const RingId& id) {
    const auto at = std::ranges::lower_bound(sorted, id, {}, &ring::Contact::id);
    return at == sorted.end() ? sorted.begin() : at;
  }

  void name_behind(const RingId& place, double within, ring::FindReply* reply) {
    auto at = std::ranges::upper_bound(liars_, place, {}, [](const ring::Contact* c) { return c->id; });
    for (std::size_t steps = 0; steps < liars_.size() && reply->closer.size() < kNamed; ++steps, ++at) {
      if (at == liars_.end()) at = liars_.begin();
      const ring::Contact& next = **at;
      if (!in_open(place, next.id, key_) || clockwise_distance(place, next.id).fraction() > within) return;
      if (named_.insert(next.id).second) reply->closer.push_back(next);
    }
  }

  const RingAttack& attack_;
  const std::vector<ring::Contact>& members_;
  std::vector<std::size_t> order_;
  RingId key_;
  std::vector<const ring::Contact*> liars_;
  std::unordered_set<RingId, Hash> ids_;
  std::unordered_set<RingId, Hash> named_;
  std::size_t behind_ = 0;
  std::vector<ring::Contact> invented_;
};

Task<void> look_up(ring::Vserver* from, RingId key, bool secure, ring::LookupCost* cost,
                   std::optional<RingId>* found) {
  const Result<ring::Owner> owner =
      secure ? co_await from->secure_lookup(key, {}, cost) : co_await from->lookup(key, {}, cost);
  if (owner) *found = owner->contact.id;
}

}  // namespace

RingAttackResult run_ring_attack(std::uint64_t seed, const RingAttack& attack) {
  const bool secure = attack.strategy != Strategy::kPlain;
  ring::Tuning tuning;
  tuning.ids.scheme = ring::IdScheme::kPaper;
  tuning.secure_calls = attack.queries;
  RingOptions options;
  options.built_successors = attack.successors > 0 ? attack.successors : (secure ? tuning.successors : 1);
  std::vector<ring::Contact> members;
  std::optional<Liars> liars;
  options.misbehave = [&](std::size_t, const ring::Contact& asked,
                          const ring::Request& request) -> std::optional<Result<ring::Reply>> {
    if (!liars || !liars->include(asked.id) || !std::holds_alternative<ring::Find>(request.body))
      return std::nullopt;
    return Result<ring::Reply>(liars->answer(asked));
  };
  RingWorld world(seed, tuning, options);
  world.build(attack.hosts);
  std::vector<RingWorld::Member*> hosts;
  for (const auto& [host, member] : world.members_) hosts.push_back(member.get());
  std::ranges::sort(hosts, {}, [](const RingWorld::Member* m) { return m->vserver.self().id; });
  for (const RingWorld::Member* member : hosts) members.push_back(member->vserver.self());

  liars.emplace(attack, members);
  Rng rng(seed + 6);
  RingAttackResult result;
  for (unsigned i = 0; i < attack.lookups; ++i) {
    attack.on_progress(static_cast<double>(i) / attack.lookups);
    const RingId key = random_id(rng);
    liars->draw(rng, key);
    RingWorld::Member* from = hosts[rng.below(hosts.size())];
    while (liars->include(from->vserver.self().id)) from = hosts[rng.below(hosts.size())];
    ring::LookupCost cost;
    std::optional<RingId> found;
    world.loop.spawn(from->owner, look_up(&from->vserver, key, secure, &cost, &found));
    world.loop.run_for(kLookupTime);
    result.calls += cost.calls;
    const auto owner = std::ranges::lower_bound(members, key, {}, &ring::Contact::id);
    const RingId& truth = owner == members.end() ? members.front().id : owner->id;
    if (found != truth) continue;
    ++result.true_owner;
    if (!liars->include(truth)) ++result.success;
  }
  return result;
}

}  // namespace tagring::ring_sim
