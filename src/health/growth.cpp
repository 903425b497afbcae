#include "health/growth.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tagring::health {
namespace {

constexpr Duration kLeast = std::chrono::days(7);
constexpr double kMostDays = 3650;
constexpr Duration kLookEvery = std::chrono::hours(1);
constexpr double kMonth = 30;  // days
constexpr double kGigabyte = 1e9;

double days_between(WallTime from, WallTime to) {
  return std::chrono::duration<double, std::chrono::days::period>(to - from).count();
}

// Of the line of least squares, a day.
template <class Of>
double slope(const std::vector<Sizes>& samples, Of of) {
  double mean_x = 0;
  double mean_y = 0;
  const auto count = static_cast<double>(samples.size());
  for (const Sizes& s : samples) {
    mean_x += days_between(samples.front().at, s.at) / count;
    mean_y += of(s) / count;
  }
  double xy = 0;
  double xx = 0;
  for (const Sizes& s : samples) {
    const double x = days_between(samples.front().at, s.at) - mean_x;
    xy += x * (of(s) - mean_y);
    xx += x * x;
  }
  return xy / xx;
}

double days_until(double left, double a_day) {
  if (left <= 0) return 0;
  return a_day <= 0 ? HUGE_VAL : left / a_day;
}

std::optional<std::int64_t> in_days(double days) {
  if (days > kMostDays) return std::nullopt;
  return static_cast<std::int64_t>(days);
}

std::string in_words(std::int64_t days) {
  if (days >= 60) return fmt::format("in about {} months", days / 30);
  return days == 1 ? "in a day" : fmt::format("in {} days", days);
}

std::string to_text(const std::vector<Sizes>& samples) {
  json::array rows;
  for (const Sizes& s : samples) rows.push_back(json::array{to_ms(s.at), s.disk, s.room, s.history});
  return json::serialize(json::object{{"samples", std::move(rows)}});
}

// What this class wrote itself. Of anything else, nothing: then it begins anew.
std::vector<Sizes> parse_samples(std::string_view text) {
  std::vector<Sizes> samples;
  const Result<json::object> parsed = json::parse_object(text);
  if (!parsed) return samples;
  json::for_each(json::find(*parsed, "samples"), [&](const json::value& element) {
    const json::array* row = element.if_array();
    // A text of JSON has no unsigned numbers but those that need it.
    const bool is_row = row != nullptr && row->size() == 4 &&
                        std::ranges::all_of(*row, [](const json::value& n) { return n.is_int64(); }) &&
                        (*row)[1].get_int64() >= 0 && (*row)[3].get_int64() >= 0;
    if (!is_row) return;
    samples.push_back({WallTime(Duration((*row)[0].get_int64())),
                       static_cast<std::uint64_t>((*row)[1].get_int64()), (*row)[2].get_int64(),
                       static_cast<std::uint64_t>((*row)[3].get_int64())});
  });
  return samples;
}

// What a file system of a pool, as of ZFS, may have changes with each write of any of them.
bool is_of_same_disk(const Sizes& one, const Sizes& other) {
  const auto [less, more] = std::minmax(one.disk, other.disk);
  return more - less <= more / 10;
}

}  // namespace

std::optional<Forecast> forecast(const std::vector<Sizes>& samples, std::uint64_t history_max) {
  if (samples.empty()) return std::nullopt;
  const Sizes& last = samples.back();
  std::vector<Sizes> same;
  for (const Sizes& s : samples)
    if (is_of_same_disk(s, last)) same.push_back(s);
  if (last.at - same.front().at < kLeast) return std::nullopt;
  Forecast found{.days_seen = static_cast<std::int64_t>(days_between(same.front().at, last.at)),
                 .bytes_a_day = -slope(same, [](const Sizes& s) { return static_cast<double>(s.room); })};
  const double of_history = slope(same, [](const Sizes& s) { return static_cast<double>(s.history); });
  const double history_left = static_cast<double>(history_max) - static_cast<double>(last.history);
  const double history_full = days_until(history_left, of_history);
  const auto room = static_cast<double>(last.room);
  found.has_disk = last.disk != 0;
  double disk_full = found.has_disk ? days_until(room, found.bytes_a_day) : HUGE_VAL;
  if (found.has_disk && history_full < disk_full) {
    const double then = room - found.bytes_a_day * history_full;
    disk_full = history_full + days_until(then, found.bytes_a_day - std::max(0.0, of_history));
  }
  found.disk_full_in_days = in_days(disk_full);
  found.history_full_in_days = in_days(history_full);
  return found;
}

std::string Forecast::text() const {
  const std::string pace = fmt::format("At the pace of the last {} days ", days_seen);
  std::string text =
      !has_disk ? fmt::format(
                      "{}the database grows by {:.1f} GB a month; what its disk has left is to be "
                      "seen where it runs.",
                      pace, std::max(0.0, bytes_a_day) * kMonth / kGigabyte)
      : disk_full_in_days
          ? fmt::format(
                "{}the disk is full {}, but for the part that the node keeps off. From then on old "
                "posts make room for new ones, down to 1 GB of history; if that is not enough, that "
                "part fills up too, and then new ones are refused until there is room.",
                pace, in_words(*disk_full_in_days))
          : pace + "the disk does not fill up within ten years.";
  if (history_full_in_days) {
    text += fmt::format(" The history reaches storage.max_octets {}; from then on its oldest posts go.",
                        in_words(*history_full_in_days));
  }
  return text;
}

Growth::Growth(Sources sources, Memory memory, const Runtime& runtime)
    : sources_(std::move(sources)),
      memory_(std::move(memory)),
      samples_(parse_samples(memory_.saved.value_or(""))),
      clock_(runtime.clock),
      log_(runtime.log),
      tasks_(runtime.executor) {
  // It may have been on a disk before it was in PostgreSQL.
  const bool has_disk = sources_.machine != nullptr;
  std::erase_if(samples_, [has_disk](const Sizes& s) { return (s.disk != 0) != has_disk; });
}

Task<void> Growth::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Growth::look_for_ever() {
  for (;;) {
    // After a first while, so that the history has been counted.
    const Instant next = clock_.now() + kLookEvery;
    co_await clock_.sleep_until(next);
    const WallTime now = clock_.wall_now();
    // A clock that was set back would hold them off.
    std::erase_if(samples_, [now](const Sizes& s) { return s.at > now; });
    if (!samples_.empty() && now - samples_.back().at < kEvery) continue;
    take_sample();
    if (!memory_.save) continue;
    const Result<void> saved = co_await memory_.save(to_text(samples_));
    if (!saved) log_.warn("sizes_not_saved", {{"because", saved.error().message}});
  }
}

std::optional<Sizes> Growth::look() const {
  if (sources_.machine == nullptr) {
    const auto taken = static_cast<std::int64_t>(sources_.database ? sources_.database() : 0);
    if (taken == 0) return std::nullopt;
    return Sizes{clock_.wall_now(), 0, -taken, sources_.history()};
  }
  const std::optional<Disk> disk = sources_.machine->disk();
  const std::optional<std::int64_t> room = sources_.machine->room();
  if (!disk || !room) return std::nullopt;
  return Sizes{clock_.wall_now(), disk->size, *room, sources_.history()};
}

void Growth::take_sample() {
  const std::optional<Sizes> seen = look();
  if (!seen) return;
  samples_.push_back(*seen);
  if (samples_.size() > kSamplesMax) samples_.erase(samples_.begin());
}

std::optional<json::object> Growth::status() const {
  const std::optional<Forecast> found = look_ahead();
  if (!found) return std::nullopt;
  json::object status = {{"days_seen", found->days_seen},
                         {"octets_a_day", static_cast<std::int64_t>(found->bytes_a_day)},
                         {"text", found->text()}};
  if (found->disk_full_in_days) status["disk_full_in_days"] = *found->disk_full_in_days;
  if (found->history_full_in_days) status["history_full_in_days"] = *found->history_full_in_days;
  return status;
}

Check Growth::check() const {
  const std::optional<Forecast> found = look_ahead();
  if (!found && sources_.machine == nullptr)
    return well("growth", "the data is in PostgreSQL: how fast it grows can be said after a week");
  if (!found) return well("growth", "how fast the disk fills up can be said after a week");
  if (!found->disk_full_in_days || *found->disk_full_in_days >= kSoon) return well("growth", found->text());
  return bad("growth", found->text(),
             "make room on the disk, move node.data to a larger one, or lower storage.max_octets");
}

}  // namespace tagring::health
