#include "overlay/loads.hpp"

#include <algorithm>
#include <cmath>

#include "hashtag/tag.hpp"

namespace tagring::overlay {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr double kDust = 1;  // bytes

}  // namespace

Loads::Loads(Options options, StoredLoad& history, Clock& clock)
    : options_(options), history_(history), clock_(clock) {}

double Loads::faded(const Rate& rate) const {
  const Duration age = clock_.now() - rate.at;
  return rate.bytes *
         std::exp(-static_cast<double>(age.count()) / static_cast<double>(options_.window.count()));
}

void Loads::relayed(const Tag& tag, std::size_t bytes) {
  Rate& rate = rates_[tag];
  rate = {faded(rate) + static_cast<double>(bytes), clock_.now()};
}

Task<Result<void>> Loads::refresh() {
  std::erase_if(rates_, [this](const auto& entry) { return faded(entry.second) < kDust; });
  const double seconds = std::chrono::duration<double>(options_.window).count();
  Sums relay;
  for (const auto& [tag, rate] : rates_) relay.emplace_back(tag.key(), faded(rate) / seconds);
  std::ranges::sort(relay);
  Sums storage;
  for (std::optional<RingId> after;;) {
    CO_TRY(const std::vector<StoredLoad::Weight> page, co_await history_.weights(after, kPage));
    for (const auto& weight : page)
      storage.emplace_back(weight.key, static_cast<double>(weight.entries * StoredLoad::kBytesOfEntry));
    if (page.size() < kPage) break;
    after = page.back().key;
  }
  for (Sums* sums : {&relay, &storage}) {
    double sum = 0;
    for (auto& [key, load] : *sums) load = sum += load;
  }
  relay_ = std::move(relay);
  storage_ = std::move(storage);
  co_return Result<void>();
}

double Loads::up_to(const Sums& sums, const RingId& key) {
  const auto after = std::ranges::upper_bound(sums, key, {}, &Sums::value_type::first);
  return after == sums.begin() ? 0 : std::prev(after)->second;
}

double Loads::sum_of(const Sums& sums, const Segment& keys) {
  if (sums.empty()) return 0;
  const double all = sums.back().second;
  if (keys.from == keys.to) return all;
  const double between = up_to(sums, keys.to) - up_to(sums, keys.from);
  return keys.from < keys.to ? between : between + all;
}

double Loads::of(Ring ring, const Segment& positions) const {
  const Sums& sums = ring == Ring::kRelay ? relay_ : storage_;
  const unsigned replicas = ring == Ring::kRelay ? options_.relay_replicas : options_.storage_replicas;
  if (positions.from == positions.to) return sum_of(sums, positions) * replicas;
  double load = 0;
  for (const Segment& keys : key_segments(positions, replicas)) load += sum_of(sums, keys);
  return load;
}

double Loads::on_disk(Ring ring) const {
  if (ring == Ring::kRelay) return 1;
  return static_cast<double>(history_.bytes_of_entry()) / StoredLoad::kBytesOfEntry;
}

}  // namespace tagring::overlay
