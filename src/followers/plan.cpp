#include "followers/plan.hpp"

#include <algorithm>
#include <set>

namespace tagring::followers {
namespace {

using Ids = std::set<std::string_view>;

std::optional<Doubt> find_doubt(std::span<const std::string> listed, const Ids& unique, const Ids& ours,
                                const Digest& digest) {
  if (unique.size() != listed.size()) return Doubt::kRepeated;
  if (ours.size() != unique.size()) return Doubt::kForeign;
  if (Digest::of(listed) != digest) return Doubt::kOtherDigest;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Doubt doubt) {
  switch (doubt) {
    case Doubt::kIncomplete:
      return "incomplete";
    case Doubt::kRepeated:
      return "repeated";
    case Doubt::kForeign:
      return "foreign";
    case Doubt::kOtherDigest:
      return "other_digest";
  }
  return "unknown";
}

Digest Knowledge::digest() const {
  Ids ids;
  for (const Follow& follow : accepted) ids.insert(follow.follower);
  Digest digest;
  for (const std::string_view id : ids) digest.add(id);
  return digest;
}

Plan make_plan(const Knowledge& known, std::optional<std::span<const std::string>> listed,
               const Digest& digest, const Authority& own, TimePoint now, const PlanRules& rules) {
  Plan plan;
  if (!listed) {
    plan.doubt = Doubt::kIncomplete;
    return plan;
  }
  const Ids unique(listed->begin(), listed->end());
  Ids ours;
  for (const std::string_view id : unique) {
    if (own.covers(id) && (!rules.is_own_actor || rules.is_own_actor(id))) ours.insert(id);
  }
  plan.doubt = find_doubt(*listed, unique, ours, digest);

  Ids accepted;
  for (const Knowledge::Follow& follow : known.accepted) accepted.insert(follow.follower);
  const Ids pending(known.pending.begin(), known.pending.end());
  for (const std::string_view id : ours) {
    if (accepted.contains(id)) continue;
    if (pending.contains(id)) {
      plan.accept.emplace_back(id);
    } else if (plan.undo.size() < rules.undo_max) {
      plan.undo.emplace_back(id);
    } else {
      ++plan.undo_later;
    }
  }
  if (plan.doubt) return plan;
  for (const Knowledge::Follow& follow : known.accepted) {
    if (ours.contains(follow.follower)) continue;
    if (now - follow.since > rules.grace) {
      plan.remove.push_back(follow.follower);
    } else {
      ++plan.too_young;
    }
  }
  std::ranges::sort(plan.remove);
  return plan;
}

}  // namespace tagring::followers
