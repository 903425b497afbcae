#include "redundancy/load_meter.hpp"

#include <algorithm>

namespace tagring::redundancy {
namespace {

constexpr double kUse = 0.8;             // of the capacity that relaying may use for long
constexpr double kDepthSeconds = 5;      // what a full bucket holds, at full capacity
constexpr double kStrainedLevel = 0.25;  // of a full bucket
constexpr double kHalf = 0.5;

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

double of_tag(const std::map<Tag, double>& tags, const Tag& tag) {
  const auto found = tags.find(tag);
  return found == tags.end() ? 0 : found->second;
}

}  // namespace

double LoadMeter::level() const {
  return std::max(0.0, level_ - seconds(clock_.now() - changed_) * capacity_ * kUse);
}

void LoadMeter::turn() {
  const Duration age = clock_.now() - begun_;
  if (age < kWindow) return;
  before_ = age < 2 * kWindow ? std::move(now_) : Window();
  now_ = Window();
  begun_ = age < 2 * kWindow ? begun_ + kWindow : clock_.now();
}

void LoadMeter::add(const Tag& tag, double deliveries) {
  turn();
  level_ = level() + deliveries;
  changed_ = clock_.now();
  now_.total += deliveries;
  now_.tags[tag] += deliveries;
}

bool LoadMeter::is_overloaded() const { return level() >= capacity_ * kDepthSeconds; }

bool LoadMeter::is_strained() const {
  return level() >= capacity_ * kDepthSeconds * kStrainedLevel || rate() >= capacity_ * kHalf;
}

bool LoadMeter::is_calm(const Tag& tag) const {
  return level() < capacity_ * kDepthSeconds * kStrainedLevel && rate() + rate(tag) <= capacity_ * kHalf;
}

bool LoadMeter::is_major(const Tag& tag) const {
  const std::size_t tags = std::max<std::size_t>(1, std::max(before_.tags.size(), now_.tags.size()));
  return rate(tag) > 0 && rate(tag) * static_cast<double>(tags) >= rate() * kHalf;
}

// What of the last window is not ten seconds ago yet counts in proportion.
double LoadMeter::per_second(double before, double now) const {
  const Duration age = clock_.now() - begun_;
  if (age >= 2 * kWindow) return 0;
  if (age >= kWindow) return now * (2 - seconds(age) / seconds(kWindow)) / seconds(kWindow);
  return (before * (1 - seconds(age) / seconds(kWindow)) + now) / seconds(kWindow);
}

double LoadMeter::rate() const { return per_second(before_.total, now_.total); }

double LoadMeter::rate(const Tag& tag) const {
  return per_second(of_tag(before_.tags, tag), of_tag(now_.tags, tag));
}

}  // namespace tagring::redundancy
