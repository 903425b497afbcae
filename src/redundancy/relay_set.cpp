#include "redundancy/relay_set.hpp"

#include <algorithm>

namespace tagring::redundancy {

RelaySet::State RelaySet::state(Instant now) const {
  if (draining_) return State::kDraining;
  if (is_raised()) return State::kRaised;
  return is_spare(now) ? State::kSpare : State::kAtRest;
}

unsigned RelaySet::lately(Instant now) const {
  return lately_ && now < lately_->until ? std::max(relays_, lately_->relays) : relays_;
}

bool RelaySet::is_forgettable(Instant now) const {
  return relays_ == options_.at_rest && !draining_ && !(lately_ && now <= lately_->until) &&
         !(spare_ && now <= spare_->until);
}

// --- the number --------------------------------------------------------------------------------------------

void RelaySet::change(unsigned relays, Instant now) {
  relays_ = relays;
  changed_ = now;
  attempt_ = now + cooldown_;
  votes_.clear();
  contradicted_.reset();
}

void RelaySet::grow(unsigned relays, bool overloaded, std::uint64_t feed_end, Instant now) {
  const bool soon = overloaded && shrunk_ && now - *shrunk_ < 2 * cooldown_;
  if (soon) cooldown_ = std::min(2 * cooldown_, kCooldownMax);
  draining_.reset();
  feed_from_ = feed_end;
  change(relays, now);
}

void RelaySet::shrink(unsigned relays, Instant now) {
  shrunk_ = now;
  lately_ = Larger{lately(now), now + kLately};
  cooldown_ = std::max(options_.cooldown, cooldown_ / 2);
  change(relays, now);
}

std::optional<unsigned> RelaySet::hear(unsigned relays, bool at_rest, Instant now) {
  const bool news = relays > relays_ && !has_just_shrunk(now);
  if (news) return relays;
  if (relays >= relays_ || at_rest) {
    contradicted_.reset();
  } else if (!contradicted_) {
    contradicted_ = now;
  } else if (now - *contradicted_ > kContradicted) {
    return relays;  // all others have agreed, or forgotten
  }
  return std::nullopt;
}

// --- halving -----------------------------------------------------------------------------------------------

void RelaySet::postpone_halving(Instant now) {
  cooldown_ = std::min(2 * cooldown_, kCooldownMax);
  attempt_ = now + cooldown_;
}

bool RelaySet::ask_to_halve(Instant now) {
  const bool is_late = now - attempt_ > kSpareFor;
  if (is_late && now - asked_ < kSpareFor / 2) return false;
  asked_ = now;
  return true;
}

bool RelaySet::has_asked(Instant now) const {
  return asked_ >= changed_.value_or(Instant{}) && now - asked_ < kSpareFor;
}

bool RelaySet::has_votes(const std::vector<std::string>& voters, Instant now) const {
  return std::ranges::all_of(voters, [&](const std::string& origin) {
    const auto vote = votes_.find(origin);
    return vote != votes_.end() && now - vote->second < kSpareFor;
  });
}

// --- hot spares, and draining ------------------------------------------------------------------------------

bool RelaySet::warn_spares(Instant now) {
  if (now - warned_ < kWarnEvery) return false;
  warned_ = now;
  return true;
}

bool RelaySet::wants_last_list(Instant now) const {
  if (!draining_ || draining_->has_list) return false;
  const Duration since = now - draining_->since;
  return since >= kDrainAfter && since < kLately;
}

std::optional<std::uint64_t> RelaySet::drain_to(std::uint64_t feed_end, Instant now) {
  if (!draining_ || now - draining_->since < kDrainAfter || wants_last_list(now)) return std::nullopt;
  if (!draining_->to) draining_->to = std::max<std::uint64_t>(1, feed_end);
  return draining_->to;
}

}  // namespace tagring::redundancy
