#include "ring_sim/world.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/assert.hpp"

namespace tagring::ring_sim {
namespace {

constexpr std::size_t kBootstrapContacts = 3;

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
    Member* member = nullptr;
    ring::Vserver* vserver = world.find(to.id, &member);
    if (vserver == nullptr) {
      if (!world.faults.refused) return;
      return reply(world, world.host_of_.at(to.id), from, box,
                   fail(ErrorCode::kUnavailable, "connection refused"));
    }
    if (vserver->self().incarnation != to.incarnation) {
      return reply(world, world.host_of_.at(to.id), from, box,
                   fail(ErrorCode::kNotFound, "another incarnation"));
    }
    if (auto lie = world.options_.misbehave(from, to, request))
      return reply(world, world.host_of_.at(to.id), from, box, std::move(*lie));
    world.loop.spawn(member->owner,
                     serve(&world, world.host_of_.at(to.id), from, vserver, request, std::move(box)));
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

RingId random_id(Rng& rng) {
  std::array<std::uint8_t, 32> bytes;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
  return RingId::from_bytes(bytes);
}

RingWorld::RingWorld(std::uint64_t seed, ring::Tuning tuning, RingOptions options)
    : loop(seed, [this] { check_after_event(); }),
      rng_(~seed),
      tuning_(tuning),
      options_(std::move(options)),
      watch_(tuning_.successors, tuning_.call_timeout) {}

RingWorld::~RingWorld() {
  loop.drop_all();  // while what they refer to is there
}

// --- hosts -------------------------------------------------------------------------------------------------

// A host's vservers: the same places on the ring each time, a new incarnation each time.
std::vector<ring::Contact> RingWorld::make_contacts(std::size_t host) {
  ring::Contact contact;
  contact.host = fmt::format("n{}.example", host);
  contact.address.bytes = {0x20, 0x01, 0x0D, 0xB8};
  const std::size_t network = std::min(host, options_.first_of_hoster);
  for (int i = 0; i < 4; ++i)
    contact.address.bytes[4 + static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(network >> (24 - 8 * i));
  contact.incarnation = ++incarnations_[host];
  std::vector<ring::Contact> contacts;
  for (std::uint8_t i = 0; i < options_.vservers; ++i) {
    contact.vserver = i;
    contact.id = ring::make_node_id(tuning_.ids.scheme, contact.address.prefix64(), contact.host, i);
    host_of_[contact.id] = host;
    contacts.push_back(contact);
  }
  return contacts;
}

RingWorld::Member& RingWorld::add(std::size_t host) {
  TR_ASSERT(!members_.contains(host));
  const OwnerId owner = ++last_owner_;
  auto clock = std::make_unique<LoopClock>(loop, owner);
  auto peers = std::make_unique<SimPeers>(*this, host, owner);
  ring::Vserver::Environment environment{*clock, *peers, loop.executor(owner), tuning_};
  // A test of the ring alone has no data to fetch.
  environment.on_segment_change = [](ring::Vserver& vserver) {
    if (const auto gap = vserver.missing()) vserver.fetched(*gap, vserver.rivals_met());
  };
  auto member = std::make_unique<Member>(
      Member::Ports{owner, std::move(clock), std::move(peers)}, std::move(environment), options_,
      make_contacts(host), [this] { return find_bootstrap(); }, rng_.fork("member", owner));
  host_of_owner_[owner] = host;
  up_.insert(std::ranges::lower_bound(up_, host), host);
  return *members_.emplace(host, std::move(member)).first->second;
}

void RingWorld::start(std::size_t host) { add(host).membership.start(ring::Membership::Founding::kAtOnce); }

// Some that are members, at random; in a large ring nobody knows everybody.
Task<ring::Membership::Found> RingWorld::find_bootstrap() {
  if (auto named = options_.bootstrap()) co_return ring::Membership::Found{*std::move(named), {}};
  std::vector<ring::Contact> known;
  // The first of a shuffled list, which is not copied: there may be many hosts, and each asks often.
  std::map<std::size_t, std::size_t> moved;
  const auto at = [&](std::size_t i) { return moved.contains(i) ? moved.at(i) : up_[i]; };
  for (std::size_t i = 0; i < up_.size() && known.size() < kBootstrapContacts; ++i) {
    const std::size_t drawn = i + rng_.below(up_.size() - i);
    const std::size_t host = at(drawn);
    moved[drawn] = at(i);
    const auto& vservers = members_.at(host)->membership.vservers();
    const auto& vserver = vservers[rng_.below(vservers.size())];
    if (vserver->is_member()) known.push_back(vserver->self());
  }
  co_return ring::Membership::Found{std::move(known), {}};
}

void RingWorld::crash(std::size_t host) {
  const auto it = members_.find(host);
  TR_ASSERT(it != members_.end());
  loop.drop(it->second->owner);
  host_of_owner_.erase(it->second->owner);
  members_.erase(it);
  up_.erase(std::ranges::lower_bound(up_, host));
  watch_.note_crash();
}

void RingWorld::build(std::size_t hosts) {
  std::vector<ring::Vserver*> order;
  for (std::size_t host = 0; host < hosts; ++host) {
    for (const auto& vserver : add(host).membership.vservers()) order.push_back(vserver.get());
  }
  std::ranges::sort(order, {}, [](const ring::Vserver* v) { return v->self().id; });
  const auto first_at = [&](const RingId& key) {
    const auto it =
        std::ranges::lower_bound(order, key, {}, [](const ring::Vserver* v) { return v->self().id; });
    return it == order.end() ? order.front() : *it;
  };
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<ring::Contact> successors;
    const std::size_t listed =
        options_.built_successors > 0 ? options_.built_successors + 1 : 4 * tuning_.successors;
    for (std::size_t step = 1; step < std::min(n, listed); ++step)
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

void RingWorld::run() {
  for (const auto& [host, member] : members_) {
    for (const auto& vserver : member->membership.vservers()) vserver->start();
    member->membership.start(ring::Membership::Founding::kNever);
  }
}

ring::Vserver* RingWorld::find(const RingId& id, Member** member) {
  const auto host = host_of_.find(id);
  if (host == host_of_.end()) return nullptr;
  const auto it = members_.find(host->second);
  if (it == members_.end()) return nullptr;
  *member = it->second.get();
  return it->second->membership.find(id);
}

// --- network -----------------------------------------------------------------------------------------------

Duration RingWorld::delay() {
  const auto spread = static_cast<std::uint64_t>((faults.delay_max - faults.delay_min).count()) + 1;
  return faults.delay_min + Duration(static_cast<Duration::rep>(rng_.below(spread)));
}

bool RingWorld::passes(std::size_t from, std::size_t to) {
  if (from == to) return true;
  if (!parts_.empty() && parts_[from] != parts_[to]) return false;
  return faults.loss == 0 || !rng_.chance(faults.loss);
}

// --- what is true ------------------------------------------------------------------------------------------

RingView RingWorld::view() const {
  RingView result;
  for (const auto& [host, member] : members_) {
    for (const auto& vserver : member->membership.vservers()) {
      if (vserver->is_member()) result.emplace(vserver->self().id, vserver.get());
    }
  }
  return result;
}

const ring::Vserver& RingWorld::true_owner(const RingId& key) const {
  const RingView all = view();
  const auto it = all.lower_bound(key);
  return it == all.end() ? *all.begin()->second : *it->second;
}

bool RingWorld::is_ideal() const {
  for (const auto& [host, member] : members_) {
    if (!member->membership.is_member()) return false;
  }
  return ring_sim::is_ideal(view(), tuning_.successors);
}

void RingWorld::watch(std::uint64_t check_every) {
  watch_.set_check_every(check_every);
  is_watched_ = true;
}

void RingWorld::check_after_event() {
  if (!is_watched_) return;
  const auto owner = host_of_owner_.find(loop.last_event_owner());
  const ring::Membership* membership =
      owner == host_of_owner_.end() ? nullptr : &members_.at(owner->second)->membership;
  watch_.after_event(loop.last_event_owner(), membership, loop.now(), [this] { return view(); });
}

bool RingWorld::may_crash(std::size_t host) const {
  const auto it = members_.find(host);
  if (it == members_.end()) return false;
  std::vector<RingId> gone;
  for (const auto& vserver : it->second->membership.vservers()) gone.push_back(vserver->self().id);
  return watch_.may_crash(view(), gone, loop.now());
}

}  // namespace tagring::ring_sim
