// What the tests of the ring's parts share: real contacts, made-up places, and a node whose peers answer by
// script.
#pragma once

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "ring/membership.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::ring {

// The position n/256 of the way round the ring.
inline RingId place(std::uint8_t n) {
  std::array<std::uint8_t, 32> bytes{};
  bytes[0] = n;
  return RingId::from_bytes(bytes);
}

// A contact at that place, whose ID would not stand a check. Every `subnet` is another /64.
inline Contact contact_at(std::uint8_t n, std::uint8_t subnet) {
  Contact contact;
  contact.id = place(n);
  contact.host = fmt::format("n{}.example", n);
  contact.address.bytes = {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, subnet};
  return contact;
}
inline Contact contact_at(std::uint8_t n) { return contact_at(n, n); }

// A contact whose ID is right.
inline Contact real_contact(std::uint8_t n, std::uint8_t vserver = 0) {
  Contact contact = contact_at(n);
  contact.vserver = vserver;
  contact.incarnation = 1;
  contact.id = make_node_id(IdScheme::kSpread, contact.address.prefix64(), contact.host, vserver);
  return contact;
}

// `count` of them from `first` on, by ID.
inline std::vector<Contact> real_contacts(std::uint8_t first, std::uint8_t count) {
  std::vector<Contact> contacts;
  for (std::uint8_t i = 0; i < count; ++i)
    contacts.push_back(real_contact(static_cast<std::uint8_t>(first + i)));
  std::ranges::sort(contacts, {}, &Contact::id);
  return contacts;
}

// A node of another operator, as far as one call shows it.
struct ScriptedPeer {
  FindReply find;
  Neighbours neighbours;
  bool dead = false;
  bool busy = false;

  [[nodiscard]] Result<Reply> answer(const Request& request) const {
    if (std::holds_alternative<Find>(request.body)) return find;
    if (!std::holds_alternative<GetNeighbours>(request.body)) return Done{};
    if (busy) return fail(ErrorCode::kBusy, "pointers are changing");
    return neighbours;
  }
};

// One node among others that answer by the test's script.
class NodeAmongScripts : public Peers {
 public:
  explicit NodeAmongScripts(std::vector<Contact> contacts, Membership::Options options = {},
                            Tuning tuning = {}, std::uint64_t seed = 1)
      : membership(
            environment(tuning), std::move(options), Ring::kRelay, std::move(contacts),
            [this] { return bootstrap(); }, Rng(seed)) {}
  ~NodeAmongScripts() override { loop.drop(kOwner); }
  NodeAmongScripts(const NodeAmongScripts&) = delete;
  NodeAmongScripts& operator=(const NodeAmongScripts&) = delete;

  Task<Result<Reply>> call(Contact to, Request request, Instant /*deadline*/) override {
    asked.push_back(to.id);
    if (Vserver* own = membership.find(to.id)) {
      if (own->self() != to) co_return fail(ErrorCode::kNotFound, "another incarnation");
      co_return co_await own->answer(std::move(request));
    }
    const auto peer = peers.find(to.id);
    if (peer == peers.end() || peer->second.dead) co_return fail(ErrorCode::kUnavailable, "refused");
    Result<Reply> reply = peer->second.answer(request);
    on_answered(to, request);
    co_return reply;
  }

  // `members`, by ID, become a ring whose pointers are right.
  void add_ring(const std::vector<Contact>& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      ScriptedPeer peer;
      const Contact& before = members[(i + members.size() - 1) % members.size()];
      peer.find.owned = Segment{before.id, members[i].id};
      if (members.size() > 1) peer.neighbours.predecessor = before;
      for (std::size_t step = 1; step < members.size(); ++step)
        peer.neighbours.successors.push_back(members[(i + step) % members.size()]);
      peers[members[i].id] = std::move(peer);
    }
  }

  // What the coroutine returns, after as much time as it takes.
  template <class T>
  T await(Task<T> task) {
    std::optional<T> result = loop.await(kOwner, std::move(task), Duration(100'000), Duration(100));
    TR_ASSERT(result);
    return *std::move(result);
  }
  void stop() {
    boost::asio::co_spawn(loop.executor(kOwner), membership.stop(), [](std::exception_ptr) {});
    loop.run_for(Duration(1));
  }

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{1};
  ring_sim::LoopClock clock{loop, kOwner};
  std::map<RingId, ScriptedPeer> peers;
  std::vector<RingId> asked;   // who was called, in order
  std::vector<Contact> known;  // what bootstrap gives
  std::vector<std::string> seekers;
  bool has_newcomer = false;
  unsigned bootstraps = 0;  // how often it was asked
  std::function<void(const Contact&, const Request&)> on_answered = [](const Contact&, const Request&) {};
  std::function<void(Vserver&)> on_segment_change = [](Vserver&) {};
  Membership membership;

 private:
  Vserver::Environment environment(const Tuning& tuning) {
    Vserver::Environment made{clock, *this, loop.executor(kOwner), tuning};
    made.on_segment_change = [this](Vserver& vserver) { on_segment_change(vserver); };
    return made;
  }
  Task<Membership::Found> bootstrap() {
    ++bootstraps;
    co_return Membership::Found{known, seekers, has_newcomer};
  }
};

}  // namespace tagring::ring
