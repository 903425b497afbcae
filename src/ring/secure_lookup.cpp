// Look-ups among liars (docs/attacks.md): several paths that share nobody, and no vote. An ID follows from
// address and domain, and whoever answered is who it claims to be; so a liar can only claim a key from
// farther away than its owner. Of all claims that were heard the closest is true, if a single path came
// through.

#include <algorithm>
#include <cmath>
#include <set>

#include "ring/lookup.hpp"

namespace tagring::ring {
namespace {

constexpr std::size_t kPathsAtOnce = 4;
constexpr std::size_t kPathsMin = 4;      // of the calls no path takes more than its share
constexpr std::size_t kOwnersOfPath = 2;  // calls of a path to those who were named for the owner

// Members stand 1/n of the ring apart on average; at 4 times that 2 % do not find the next one yet.
constexpr double kGapsMax = 4;
// So many members before the key a successor list may know better than the fingers.
constexpr double kListZone = 32;

// Could an honest member at `distance` from the key have named somebody at `left` from it as the best it
// knows? Its finger of half that distance or more ends at the first member behind a place that anyone can
// compute. A liar needs one of its own just there; otherwise it must name an honest one, or nobody who is
// that close.
bool is_plausible(double distance, double left, double members) {
  if (distance * members < kListZone) return true;
  const double tolerance = kGapsMax / members;
  double step = std::exp2(std::floor(std::log2(distance)));
  // The first behind the largest finger's place may stand behind the key: then it is the next finger.
  const int fingers = distance - step < tolerance ? 2 : 1;
  for (int i = 0; i < fingers; ++i, step /= 2) {
    if (left <= distance - step && left >= distance - step - tolerance) return true;
  }
  return false;
}

}  // namespace

// What the paths of one look-up share: whom they have asked, so that no two lean on the same contact, and the
// best claim so far.
struct Vserver::SecureLookup {
  RingId key;
  double members = 0;               // of the ring, estimated
  std::vector<Contact> first_hops;  // of a path each, the best last
  std::size_t calls_left = 0;
  Instant deadline;
  std::set<RingId> asked;
  std::set<RingId> answered;
  std::optional<Owner> best;
  LookupCost cost;

  // The owner is who stands first from the key on, so this cannot be it.
  [[nodiscard]] bool is_too_far(const RingId& id) const {
    return best && clockwise_distance(key, id) >= clockwise_distance(key, best->contact.id);
  }
  // The contact has claimed the key, and stands so close that nobody may be closer.
  [[nodiscard]] bool is_good_claim(const RingId& id) const {
    return best && best->contact.id == id && clockwise_distance(key, id).fraction() * members < kGapsMax;
  }
};

// One path: contacts between whom we asked and the key, the best last.
struct Vserver::Path {
  struct Candidate {
    bool is_plausible = true;
    RingId distance;  // to the key
    RingId named_by;
    Contact contact;
  };
  std::vector<Candidate> candidates;
  std::size_t calls_left = 0;
  std::size_t owners_left = kOwnersOfPath;

  // Takes whom `asked` named. Of those behind the key, the nearest: the owner, says `asked`.
  std::optional<Contact> add(const SecureLookup& search, const RingId& asked, std::vector<Contact> named);
  // Who named one that does not answer may have made up the others.
  void doubt(const RingId& named_by) {
    for (Candidate& candidate : candidates) {
      if (candidate.named_by == named_by) candidate.is_plausible = false;
    }
    sort();
  }
  void sort() {
    std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
      return a.is_plausible != b.is_plausible ? b.is_plausible : a.distance > b.distance;
    });
  }
};

std::optional<Contact> Vserver::Path::add(const SecureLookup& search, const RingId& asked,
                                          std::vector<Contact> named) {
  if (named.size() > kNamedMax) named.resize(kNamedMax);
  std::optional<Contact> owner;
  RingId left = clockwise_distance(asked, search.key);
  const double distance = left.fraction();
  const auto first_new = std::ssize(candidates);
  for (Contact& contact : named) {
    if (in_open(asked, contact.id, search.key)) {
      left = std::min(left, clockwise_distance(contact.id, search.key));
      candidates.push_back({true, clockwise_distance(contact.id, search.key), asked, std::move(contact)});
    } else if (!search.is_too_far(contact.id) && !search.asked.contains(contact.id) &&
               (!owner || in_open(search.key, contact.id, owner->id))) {
      owner = std::move(contact);
    }
  }
  const bool plausible = is_plausible(distance, left.fraction(), search.members);
  for (auto it = candidates.begin() + first_new; it != candidates.end(); ++it) it->is_plausible = plausible;
  sort();
  return owner;
}

// Asks one contact; whom it names, or nobody if it claims the key.
Task<Result<std::vector<Contact>>> Vserver::ask_on_path(SecureLookup* search, Contact contact) {
  if (search->calls_left == 0 || environment_.clock.now() >= search->deadline ||
      !check_node_id(environment_.tuning.ids, contact))
    co_return fail(ErrorCode::kUnavailable, "not asked");
  search->asked.insert(contact.id);
  --search->calls_left;
  ++search->cost.calls;
  Result<FindReply> reply = co_await call<FindReply>(contact, Find{search->key});
  if (!reply) {
    ++search->cost.failed;
    co_return std::unexpected(std::move(reply).error());
  }
  search->answered.insert(contact.id);
  if (!reply->owned) co_return std::move(reply->closer);
  const bool claims = reply->owned->to == contact.id && reply->owned->contains(search->key);
  if (claims && !search->is_too_far(contact.id)) search->best = Owner{std::move(contact), *reply->owned};
  co_return std::vector<Contact>();
}

// Greedy, but whom nobody plausible named comes last.
Task<void> Vserver::walk_path(SecureLookup* search, Contact first) {
  Path path;
  path.calls_left = std::max<std::size_t>(1, environment_.tuning.secure_calls / kPathsMin);
  path.candidates.push_back({true, RingId(), self_.id, std::move(first)});
  while (path.calls_left > 0 && !path.candidates.empty()) {
    const Path::Candidate next = std::move(path.candidates.back());
    path.candidates.pop_back();
    if (search->asked.contains(next.contact.id)) continue;
    --path.calls_left;
    Result<std::vector<Contact>> named = co_await ask_on_path(search, next.contact);
    if (!named) {
      path.doubt(next.named_by);
      continue;
    }
    if (search->is_good_claim(next.contact.id)) co_return;
    std::optional<Contact> owner = path.add(*search, next.contact.id, std::move(*named));
    if (!owner || path.owners_left == 0) continue;
    --path.owners_left;
    co_await ask_on_path(search, std::move(*owner));
  }
}

Task<bool> Vserver::walk_paths(SecureLookup* search) {
  while (!search->first_hops.empty() && search->calls_left > 0) {
    Contact first = std::move(search->first_hops.back());
    search->first_hops.pop_back();
    co_await walk_path(search, std::move(first));
  }
  co_return true;
}

Task<Result<Owner>> Vserver::secure_lookup(RingId key, std::vector<Contact> via, LookupCost* cost) {
  const std::optional<Segment> own = owned();
  if (via.empty() && own && own->contains(key)) co_return Owner{self_, *own};
  SecureLookup search;
  search.key = key;
  search.members = std::max(2.0, estimated_size());
  search.first_hops = via.empty() ? first_hops(key) : std::move(via);
  std::ranges::reverse(search.first_hops);
  search.calls_left = environment_.tuning.secure_calls;
  search.deadline = environment_.clock.now() + kTimeouts * environment_.tuning.call_timeout;
  if (standing_ != Standing::kOutside) search.asked = {self_.id};
  if (is_member()) search.answered = {self_.id};

  std::vector<Task<bool>> paths;
  for (std::size_t i = 0; i < kPathsAtOnce; ++i) paths.push_back(walk_paths(&search));
  co_await all_of(std::move(paths));
  if (cost != nullptr) {
    cost->calls += search.cost.calls;
    cost->failed += search.cost.failed;
  }
  if (!search.best) co_return fail(ErrorCode::kUnavailable, "no owner of " + key.short_hex() + " answered");
  search.best->segment = clip(search.best->segment, key, search.answered);
  co_return std::move(*search.best);
}

// The owner or its nearest predecessors, where the table has them, then everybody else in it, whom the key is
// near to first. One of a /64 only: whoever has many vservers there would have as many paths.
std::vector<Contact> Vserver::first_hops(const RingId& key) const {
  std::vector<Contact> hops = answer_find(key).closer;
  std::vector<Contact> others = closest_preceding(key, SIZE_MAX);
  std::ranges::move(others, std::back_inserter(hops));
  std::set<Prefix64> prefixes;
  std::erase_if(hops, [&](const Contact& hop) { return !prefixes.insert(hop.address.prefix64()).second; });
  return hops;
}

}  // namespace tagring::ring
