// How a vserver finds its place (docs/protocol.md §4.2): a look-up leads to it, and whoever answers on the
// way is there, whatever others say of the ring. So a liar who stands next to the place keeps nobody from it:
// it would have to be closer than all that answer, and then it is the neighbour.

#include <algorithm>
#include <set>

#include "ring/pending.hpp"
#include "ring/vserver.hpp"

namespace tagring::ring {
namespace {

constexpr int kJoinStepsMax = 32;
// So many tries wait for who says that it is busy, or has not noticed that this vserver was restarted. Then
// it is passed over: a liar may say so for ever.
constexpr unsigned kPatientJoins = 15;

}  // namespace

// Back outside, unless it has become a member.
class Vserver::Joining {
 public:
  explicit Joining(Standing& standing) : standing_(standing) { standing_ = Standing::kJoining; }
  ~Joining() {
    if (standing_ == Standing::kJoining) standing_ = Standing::kOutside;
  }
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

 private:
  Standing& standing_;
};

Task<Result<Owner>> Vserver::find_around(std::vector<Contact> known) {
  if (environment_.tuning.secure_lookups) {
    Result<Owner> owner = co_await secure_lookup(self_.id, known);
    if (owner) co_return owner;
  }
  co_return co_await lookup(self_.id, std::move(known));  // however many are dead
}

// Whom it names for its successors and who is there; its predecessor, if there, is noted.
Task<Result<std::vector<Contact>>> Vserver::ask_around(Contact member, bool is_patient) {
  CO_TRY(Neighbours named, co_await call<Neighbours>(member, GetNeighbours{}));
  if (is_patient && !named.successors.empty() && named.successors.front().id == self_.id) {
    // Our former incarnation still stands there. Its predecessor finds out when it looks.
    co_await call<Done>(std::move(member), Nudge{});
    co_return fail(ErrorCode::kBusy, "the ring still knows our former incarnation");
  }
  // Who was alone is also the successor. To append it to a list that is short for another reason, as when an
  // entry has died, would skip everybody in between.
  if (named.successors.empty()) named.successors.push_back(std::move(member));
  const std::optional<RingId> before =
      named.predecessor ? std::optional(named.predecessor->id) : std::nullopt;
  const bool is_in_list = std::ranges::find(named.successors, before, [](const Contact& contact) {
                            return std::optional(contact.id);
                          }) != named.successors.end();
  if (before && !is_in_list) named.successors.push_back(std::move(*named.predecessor));
  std::vector<Contact> live = co_await verified(std::move(named.successors));
  for (const Contact& contact : live) note_member(contact);
  if (!is_in_list) std::erase_if(live, [&](const Contact& contact) { return contact.id == before; });
  co_return live;
}

// The closest member before us of those that answer, with its list: one that was met on the way, or that one
// of these names in turn. All of them are in met_.
Task<Result<Vserver::Place>> Vserver::find_place(std::vector<Contact> known, bool is_patient) {
  CO_TRY(const Owner owner, co_await find_around(std::move(known)));
  Contact next = owner.contact;  // it knows who stands before us, unless it lies
  std::set<RingId> silent;
  for (int step = 0; step < kJoinStepsMax; ++step) {
    Result<std::vector<Contact>> list = co_await ask_around(next, is_patient);
    if (!list && list.error().code == ErrorCode::kBusy && is_patient)
      co_return std::unexpected(std::move(list).error());
    if (!list) silent.insert(next.id);
    std::erase_if(met_, [&](const auto& met) { return silent.contains(met.second.id); });
    if (met_.empty()) co_return fail(ErrorCode::kUnavailable, "nobody who knows the place answered");
    const Contact& closest = met_.rbegin()->second;
    if (list && closest.id == next.id) co_return Place{std::move(next), *std::move(list)};
    next = closest;
  }
  co_return fail(ErrorCode::kBusy, "the place is changing hands");
}

Task<Result<void>> Vserver::join(std::vector<Contact> known) {
  TR_ASSERT(standing_ == Standing::kOutside && !pending_);
  Pending pending(pending_);
  Joining joining(standing_);
  met_.clear();
  const bool is_patient = busy_joins_ < kPatientJoins;
  Result<Place> found = co_await find_place(std::move(known), is_patient);
  if (!found && found.error().code == ErrorCode::kBusy) ++busy_joins_;
  if (!found) co_return std::unexpected(std::move(found).error());
  auto& [predecessor, list] = *found;
  // Between the two is who answers, and names nobody.
  std::erase_if(list, [&](const Contact& contact) { return in_open(predecessor.id, contact.id, self_.id); });
  verified_.clear();  // who answered on the way may be dead by now
  list = co_await verified(std::move(list));
  std::vector<Contact> met;
  for (auto& [distance, contact] : std::exchange(met_, {})) met.push_back(std::move(contact));
  successors_.assign(list, environment_.tuning.successors);
  if (successors_.empty() && !is_patient) successors_.assign(met, environment_.tuning.successors);
  if (successors_.empty()) co_return fail(ErrorCode::kUnavailable, "no successor answered");
  standing_ = Standing::kMember;
  busy_joins_ = 0;
  note_closer(met.front());
  // It has owned our keys, and is asked for them in any case.
  rival_until_[successors_.front().id] = environment_.clock.now() + kRivalMemory;
  set_predecessor(std::move(predecessor));
  check_invariants();
  co_return Result<void>();
}

}  // namespace tagring::ring
