#include "sim/ring_world.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include "base/assert.hpp"

namespace tagring::sim {
namespace {
// Unwinds when the owner is dropped; nothing to report.
struct Detached {
  void operator()(std::exception_ptr error) const { TR_ASSERT(!error); }
};
}  // namespace

// Carries calls of one host to others.
class RingWorld::SimPeers final : public ring::Peers {
 public:
  SimPeers(RingWorld& world, std::size_t host, OwnerId owner) : world_(world), host_(host), owner_(owner) {}

  Task<Result<ring::Reply>> call(ring::Contact to, ring::Request request, Instant deadline) override {
    ++world_.messages;
    const auto target = world_.host_of_.find(to.id);
    if (target == world_.host_of_.end()) co_return fail(ErrorCode::kUnavailable, "no such host");
    auto box = std::make_shared<Box<Result<ring::Reply>>>();
    box->token = world_.loop.new_token();
    if (world_.passes(host_, target->second)) {
      world_.loop.at(world_.loop.now() + world_.delay(), 0,
                     [box, to = std::move(to), request = std::move(request), world = &world_, host = host_] {
                       arrive(*world, host, to, request, box);
                     });
    }
    co_await world_.loop.wait(owner_, box->token, deadline);
    if (!box->value) co_return fail(ErrorCode::kTimedOut, "no answer");
    co_return std::move(*box->value);
  }

 private:
  using Answer = std::shared_ptr<Box<Result<ring::Reply>>>;

  static void arrive(RingWorld& world, std::size_t from, const ring::Contact& to,
                     const ring::Request& request, Answer box) {
    Member* member = world.find(to.id);
    if (member == nullptr) {
      return reply(world, world.host_of_.at(to.id), from, box,
                   fail(ErrorCode::kUnavailable, "connection refused"));
    }
    if (member->vserver.self().incarnation != to.incarnation) {
      return reply(world, world.host_of_.at(to.id), from, box,
                   fail(ErrorCode::kNotFound, "another incarnation"));
    }
    boost::asio::co_spawn(
        world.loop.executor(member->owner),
        serve(&world, world.host_of_.at(to.id), from, &member->vserver, request, std::move(box)), Detached{});
  }
  static Task<void> serve(RingWorld* world, std::size_t host, std::size_t from, ring::Vserver* vserver,
                          ring::Request request, Answer box) {
    Result<ring::Reply> result = co_await vserver->answer(std::move(request));
    reply(*world, host, from, box, std::move(result));
  }
  static void reply(RingWorld& world, std::size_t from, std::size_t to, Answer box,
                    Result<ring::Reply> result) {
    if (!world.passes(from, to)) return;
    world.loop.at(world.loop.now() + world.delay(), 0, [&world, box, result = std::move(result)]() mutable {
      if (box->value) return;
      box->value.emplace(std::move(result));
      world.loop.complete(box->token);
    });
  }

  RingWorld& world_;
  std::size_t host_;
  OwnerId owner_;
};

RingWorld::RingWorld(std::uint64_t seed, ring::Tuning tuning) : loop(seed), rng_(~seed), tuning_(tuning) {}

RingWorld::~RingWorld() {
  while (!members_.empty()) crash(members_.begin()->first);
}

ring::Contact RingWorld::make_contact(std::size_t host) {
  ring::Contact contact;
  contact.host = fmt::format("n{}.example", host);
  contact.address.bytes = {0x20, 0x01, 0x0D, 0xB8};
  for (int i = 0; i < 4; ++i)
    contact.address.bytes[4 + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(host >> (24 - 8 * i));
  contact.id = ring::make_node_id(tuning_.scheme, contact.address.prefix64(), contact.host, contact.vserver);
  contact.incarnation = ++incarnations_[host];
  host_of_[contact.id] = host;
  return contact;
}

Duration RingWorld::delay() {
  const auto spread = static_cast<std::uint64_t>((faults.delay_max - faults.delay_min).count()) + 1;
  return faults.delay_min + Duration(static_cast<Duration::rep>(rng_.below(spread)));
}

bool RingWorld::passes(std::size_t from, std::size_t to) {
  if (!parts_.empty() && parts_[from] != parts_[to]) return false;
  return faults.loss == 0 || !rng_.chance(faults.loss);
}

void RingWorld::start(std::size_t host) {
  TR_ASSERT(!members_.contains(host));
  const OwnerId owner = ++last_owner_;
  auto clock = std::make_unique<LoopClock>(loop, owner);
  auto peers = std::make_unique<SimPeers>(*this, host, owner);
  ring::Vserver::Environment environment{*clock, *peers, loop.executor(owner), tuning_};
  auto member = std::make_unique<Member>(environment, make_contact(host), rng_.fork());
  member->owner = owner;
  member->clock = std::move(clock);
  member->peers = std::move(peers);
  // A test of the ring alone has no data to fetch.
  ring::Vserver& vserver = member->vserver;
  vserver.on_segment_change = [&vserver] {
    if (const auto gap = vserver.missing()) vserver.fetched(*gap);
  };
  members_.emplace(host, std::move(member));
  boost::asio::co_spawn(loop.executor(owner), run_member(host), Detached{});
}

Task<void> RingWorld::run_member(std::size_t host) {
  Member& member = *members_.at(host);
  member.joining = true;
  for (;;) {
    std::vector<ring::Contact> known;
    for (const auto& [other, candidate] : members_) {
      if (candidate->vserver.is_member()) known.push_back(candidate->vserver.self());
    }
    if (known.empty()) {
      member.vserver.create();
      break;
    }
    const std::size_t pick = rng_.below(known.size());
    std::swap(known[0], known[pick]);
    known.resize(1);
    const Result<void> joined = co_await member.vserver.join(std::move(known));
    if (joined) break;
    co_await member.clock->sleep_until(loop.now() + tuning_.stabilise_every);
  }
  member.joining = false;
  member.vserver.start();
}

void RingWorld::crash(std::size_t host) {
  const auto it = members_.find(host);
  TR_ASSERT(it != members_.end());
  loop.drop(it->second->owner);
  members_.erase(it);
}

void RingWorld::build(std::size_t hosts) {
  for (std::size_t host = 0; host < hosts; ++host) {
    const OwnerId owner = ++last_owner_;
    auto clock = std::make_unique<LoopClock>(loop, owner);
    auto peers = std::make_unique<SimPeers>(*this, host, owner);
    ring::Vserver::Environment environment{*clock, *peers, loop.executor(owner), tuning_};
    auto member = std::make_unique<Member>(environment, make_contact(host), rng_.fork());
    member->owner = owner;
    member->clock = std::move(clock);
    member->peers = std::move(peers);
    members_.emplace(host, std::move(member));
  }
  std::vector<ring::Vserver*> order;
  for (const auto& [host, member] : members_) order.push_back(&member->vserver);
  std::ranges::sort(order, {}, [](const ring::Vserver* v) { return v->self().id; });
  const auto first_at = [&](const RingId& key) {
    const auto it =
        std::ranges::lower_bound(order, key, {}, [](const ring::Vserver* v) { return v->self().id; });
    return it == order.end() ? order.front() : *it;
  };
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<ring::Contact> successors;
    for (std::size_t step = 1; step < std::min(n, 4 * tuning_.successors); ++step)
      successors.push_back(order[(i + step) % n]->self());
    std::map<unsigned, ring::Contact> fingers;
    if (n > tuning_.successors + 1) {
      for (unsigned bit = RingId::kBits; bit-- > 0;) {
        const RingId target = order[i]->self().id + RingId::power_of_two(bit);
        if (in_half_open(order[i]->self().id, target, successors.front().id)) break;
        fingers[bit] = first_at(target)->self();
      }
    }
    order[i]->restore(order[(i + n - 1) % n]->self(), std::move(successors), std::move(fingers));
  }
}

RingWorld::Member* RingWorld::find(const RingId& id) {
  const auto host = host_of_.find(id);
  if (host == host_of_.end()) return nullptr;
  const auto it = members_.find(host->second);
  return it == members_.end() ? nullptr : it->second.get();
}

std::map<RingId, const ring::Vserver*> RingWorld::live() const {
  std::map<RingId, const ring::Vserver*> result;
  for (const auto& [host, member] : members_) {
    if (member->vserver.is_member()) result.emplace(member->vserver.self().id, &member->vserver);
  }
  return result;
}

const ring::Vserver& RingWorld::true_owner(const RingId& key) const {
  const auto all = live();
  const auto it = all.lower_bound(key);
  return it == all.end() ? *all.begin()->second : *it->second;
}

namespace {

using Live = std::map<RingId, const ring::Vserver*>;

bool is_live(const Live& all, const ring::Contact& contact) {
  const auto it = all.find(contact.id);
  return it != all.end() && it->second->self().incarnation == contact.incarnation;
}

const ring::Vserver* best_successor(const Live& all, const ring::Vserver& vserver) {
  for (const ring::Contact& contact : vserver.successors().contacts()) {
    if (is_live(all, contact)) return all.at(contact.id);
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> RingWorld::broken_invariant() const {
  const Live all = live();
  if (all.size() < 2) return std::nullopt;
  std::map<RingId, RingId> next;
  for (const auto& [id, vserver] : all) {
    const ring::Vserver* best = best_successor(all, *vserver);
    if (best == nullptr) {
      // A creator that nobody has notified yet stands alone.
      if (vserver->successors().empty()) continue;
      return fmt::format("{} has no live successor", id.short_hex());
    }
    next[id] = best->self().id;
  }
  // Follow best successors from everywhere: exactly one cycle, and it goes round the identifiers exactly
  // once.
  std::map<RingId, int> colour;
  int walk = 0;
  std::optional<RingId> on_ring;
  for (const auto& [start, unused] : next) {
    ++walk;
    RingId at = start;
    while (next.contains(at) && !colour.contains(at)) {
      colour[at] = walk;
      at = next[at];
    }
    if (!next.contains(at) || colour[at] != walk) continue;
    if (on_ring) return fmt::format("two rings: through {} and {}", on_ring->short_hex(), at.short_hex());
    on_ring = at;
    int wraps = 0;
    RingId member = at;
    do {
      if (next[member] <= member) ++wraps;
      member = next[member];
    } while (member != at);
    if (wraps != 1) return fmt::format("the ring through {} goes round {} times", at.short_hex(), wraps);
  }
  return std::nullopt;
}

bool RingWorld::is_ideal() const {
  const Live all = live();
  for (const auto& [host, member] : members_) {
    if (!member->vserver.is_member()) return false;
  }
  if (all.size() < 2) return true;
  std::vector<const ring::Vserver*> order;
  for (const auto& [id, vserver] : all) order.push_back(vserver);
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const auto& predecessor = order[i]->predecessor();
    if (!predecessor || *predecessor != order[(i + n - 1) % n]->self()) return false;
    const auto contacts = order[i]->successors().contacts();
    if (contacts.size() < std::min(n - 1, tuning_.successors)) return false;
    for (std::size_t step = 0; step < contacts.size(); ++step) {
      if (contacts[step] != order[(i + 1 + step) % n]->self()) return false;
    }
  }
  return true;
}

bool RingWorld::may_crash(std::size_t host) const {
  const auto it = members_.find(host);
  if (it == members_.end()) return false;
  Live all = live();
  // The theory needs more principals than a list has entries.
  if (all.size() <= tuning_.successors + 1) return false;
  all.erase(it->second->vserver.self().id);
  return std::ranges::all_of(
      all, [&](const auto& entry) { return best_successor(all, *entry.second) != nullptr; });
}

}  // namespace tagring::sim
