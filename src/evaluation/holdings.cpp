#include "evaluation/holdings.hpp"

#include <algorithm>

namespace tagring::evaluation {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

}  // namespace

Holdings::Holdings(const Network& network, unsigned replicas)
    : gaps_(network.sites.size()),
      replicas_(replicas - 1),
      online_(network.capacity.size(), true),
      moving_(network.capacity.size()),
      kept_(network.capacity.size()) {
  for (std::uint32_t i = 0; i < gaps_.size(); ++i) {
    gaps_[i].size = network.sites[i].before -
                    (i == 0 ? network.sites.back().before - network.total : network.sites[i - 1].before);
    gaps_[i].fetched = gaps_[i].size;
  }
  for (unsigned copy = 1; copy < replicas; ++copy) {
    for (const Site& site : network.sites)
      replicas_[copy - 1].push_back(gap_of(network, position_of(site.position, copy, replicas)));
  }
}

void Holdings::start_with(std::uint32_t gap, std::uint32_t node) {
  gaps_[gap].owner = gaps_[gap].holder = node;
}

bool Holdings::is_complete(const Gap& gap) const { return gap.size - gap.fetched < kNothing; }

void Holdings::own(std::uint32_t index, std::uint32_t node, Cause cause) {
  Gap& gap = gaps_[index];
  if (gap.owner == node) return;
  if (gap.holder == gap.owner) gap.held = gap.fetched;
  if (gap.pending && gap.cause == Cause::kBalancing) --moving_[gap.owner];
  gap.owner = node;
  gap.cause = cause;
  gap.fetched = 0;
  if (gap.holder == node) {
    gap.fetched = gap.held;
  } else if (const auto kept = kept_[node].find(index); kept != kept_[node].end()) {
    gap.fetched = std::min(kept->second, gap.size);
  }
  if (gap.pending && cause == Cause::kBalancing) ++moving_[node];
  wait_for(index);
}

void Holdings::wait_for(std::uint32_t index) {
  Gap& gap = gaps_[index];
  if (is_complete(gap)) {
    finish(&gap);
  } else if (!gap.pending) {
    gap.pending = true;
    pending_.push_back(index);
    if (gap.cause == Cause::kBalancing) ++moving_[gap.owner];
  }
}

void Holdings::finish(Gap* gap) {
  if (gap->holder != gap->owner && !online_[gap->holder]) {
    kept_[gap->holder][static_cast<std::uint32_t>(gap - gaps_.data())] = gap->held;
  }
  gap->holder = gap->owner;
}

void Holdings::add(std::uint32_t index, double gib) {
  Gap& gap = gaps_[index];
  gap.size += gib;
  gap.fetched += gib;
}

void Holdings::leave(std::uint32_t node) { online_[node] = false; }

// Who can send it: who has had it before, or a replica.
std::uint32_t Holdings::source_of(std::uint32_t index) const {
  const Gap& gap = gaps_[index];
  if (gap.holder != gap.owner && online_[gap.holder]) return gap.holder;
  for (const auto& of_copy : replicas_) {
    const Gap& copy = gaps_[of_copy[index]];
    if (copy.owner != gap.owner && online_[copy.owner] && is_complete(copy)) return copy.owner;
    if (copy.holder != gap.owner && online_[copy.holder]) return copy.holder;
  }
  return kNobody;
}

void Holdings::carry(double gib) {
  std::vector<double> in(online_.size(), gib);
  std::vector<double> out(online_.size(), gib);
  // Nobody is served first for ever.
  if (!pending_.empty())
    std::ranges::rotate(pending_, pending_.begin() + static_cast<std::ptrdiff_t>(turn_++ % pending_.size()));
  for (const std::uint32_t index : pending_) {
    Gap& gap = gaps_[index];
    if (!online_[gap.owner] || in[gap.owner] <= 0) continue;
    const std::uint32_t source = source_of(index);
    if (source == kNobody) continue;
    const double amount = std::max(0.0, std::min({gap.size - gap.fetched, in[gap.owner], out[source]}));
    in[gap.owner] -= amount;
    out[source] -= amount;
    gap.fetched += amount;
    moved_[static_cast<std::size_t>(gap.cause)] += amount;
  }
  std::erase_if(pending_, [this](std::uint32_t index) {
    Gap& gap = gaps_[index];
    if (!is_complete(gap)) return false;
    gap.pending = false;
    if (gap.cause == Cause::kBalancing) --moving_[gap.owner];
    finish(&gap);
    return true;
  });
}

std::vector<double> Holdings::stored() const {
  std::vector<double> of_node(online_.size());
  for (const Gap& gap : gaps_) {
    if (online_[gap.owner]) of_node[gap.owner] += gap.fetched;
    if (gap.holder != gap.owner && online_[gap.holder]) of_node[gap.holder] += gap.held;
  }
  return of_node;
}

}  // namespace tagring::evaluation
