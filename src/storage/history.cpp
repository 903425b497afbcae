#include "storage/history.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>

#include "base/bytes.hpp"

namespace tagring::storage {
namespace {

constexpr std::size_t kCursorSizeMax = 8192;  // bytes; a URI of 2048 bytes, all of them escaped, fits

struct NewestFirst {
  bool operator()(const HistoryEntry& a, const HistoryEntry& b) const { return newer(a, b); }
};

// By place, the latest that is said of the post there, and of what is of the same time the first.
using Merged = std::map<HistoryEntry, const HistoryEntry*, NewestFirst>;

void merge(const HistoryEntry& entry, Merged* merged) {
  const auto [place, fresh] = merged->emplace(entry, &entry);
  if (place->second->version() < entry.version()) place->second = &entry;
}

// The oldest place that every replica with more to say has reached; nothing if that is all of history. A
// replica that claims to have more, but shows nothing, cannot hold the others up.
const HistoryEntry* horizon_of(const std::vector<HistoryPage>& replicas) {
  const HistoryEntry* horizon = nullptr;
  for (const HistoryPage& page : replicas) {
    if (!page.more || page.entries.empty()) continue;
    const HistoryEntry& last = *std::ranges::max_element(page.entries, newer);
    if (horizon == nullptr || newer(last, *horizon)) horizon = &last;
  }
  return horizon;
}

}  // namespace

std::string HistoryCursor::text() const {
  return fmt::format("{}~{}", to_ms(published), percent_encode(uri));
}

Result<HistoryCursor> HistoryCursor::parse(std::string_view text) {
  if (text.size() > kCursorSizeMax) return fail(ErrorCode::kInvalid, "the cursor is too long");
  const std::size_t mark = text.find('~');
  if (mark == std::string_view::npos) return fail(ErrorCode::kInvalid, "the cursor has no '~'");
  Duration::rep milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + mark, milliseconds);
  if (error != std::errc() || end != text.data() + mark) {
    return fail(ErrorCode::kInvalid, "the cursor does not begin with milliseconds");
  }
  auto uri = percent_decode(text.substr(mark + 1));
  if (!uri) return fail(ErrorCode::kInvalid, "the cursor's uri is not percent-encoded");
  return HistoryCursor{WallTime(Duration(milliseconds)), *std::move(uri)};
}

bool HistoryCursor::before(const HistoryEntry& entry) const {
  return entry.published < published || (entry.published == published && entry.uri < uri);
}

std::int64_t hour_of(WallTime time) {
  return std::chrono::floor<std::chrono::hours>(time).time_since_epoch().count();
}

bool newer(const HistoryEntry& a, const HistoryEntry& b) { return HistoryCursor::of(a).before(b); }

HistoryPage merge_pages(const std::vector<HistoryPage>& replicas, std::size_t limit, bool keep_removed) {
  const HistoryEntry* horizon = horizon_of(replicas);
  Merged merged;
  HistoryPage result;
  for (const HistoryPage& page : replicas) {
    result.more = result.more || (page.more && !page.entries.empty());
    result.disputed += page.disputed;
    for (const HistoryEntry& entry : page.entries) {
      if (horizon != nullptr && newer(*horizon, entry)) continue;
      merge(entry, &merged);
    }
  }
  const HistoryEntry* last = nullptr;
  for (const auto& [entry, latest] : merged) {
    if (result.entries.size() == limit) {
      result.more = true;
      break;
    }
    last = &entry;
    if (latest->removed && !keep_removed) continue;
    result.entries.push_back(*latest);
  }
  if (result.more && last != nullptr) result.next = HistoryCursor::of(*last);
  return result;
}

std::vector<HistoryDay> merge_days(const std::vector<std::vector<HistoryDay>>& replicas) {
  struct Counts {
    std::vector<std::uint64_t> posts;
    std::vector<std::uint64_t> authors;
  };
  std::map<std::chrono::sys_days, Counts> counts;
  for (const std::vector<HistoryDay>& days : replicas) {
    std::map<std::chrono::sys_days, HistoryDay> once;  // whoever names a day twice does not speak for two
    for (const HistoryDay& day : days) once.emplace(day.day, day);
    for (const auto& [day, of] : once) {
      counts[day].posts.push_back(of.posts);
      counts[day].authors.push_back(of.authors);
    }
  }
  const std::size_t place = replicas.size() >= 3 ? 1 : 0;
  const auto counted = [place](std::vector<std::uint64_t>& all) {
    std::ranges::sort(all, std::greater<>());
    return all.size() > place ? all[place] : 0;
  };
  std::vector<HistoryDay> result;
  for (auto& [day, of] : counts) {
    const HistoryDay most{day, counted(of.posts), counted(of.authors)};
    if (most.posts > 0) result.push_back(most);
  }
  return result;
}

std::vector<HistoryDay> add_days(const std::vector<std::vector<HistoryDay>>& parts) {
  std::map<std::chrono::sys_days, HistoryDay> sums;
  for (const std::vector<HistoryDay>& days : parts) {
    for (const HistoryDay& day : days) {
      HistoryDay& sum = sums.emplace(day.day, HistoryDay{day.day, 0, 0}).first->second;
      sum.posts += day.posts;
      sum.authors += day.authors;
    }
  }
  std::vector<HistoryDay> result;
  for (const auto& [day, sum] : sums) result.push_back(sum);
  return result;
}

HistoryPage merge_newer_pages(const std::vector<HistoryPage>& replicas, std::size_t limit) {
  const HistoryEntry* horizon = nullptr;  // the newest place that every replica with more to say has reached
  for (const HistoryPage& page : replicas) {
    if (!page.more || page.entries.empty()) continue;
    const HistoryEntry& last = *std::ranges::min_element(page.entries, newer);
    if (horizon == nullptr || newer(*horizon, last)) horizon = &last;
  }
  Merged merged;
  HistoryPage result;
  for (const HistoryPage& page : replicas) {
    result.more = result.more || (page.more && !page.entries.empty());
    result.disputed += page.disputed;
    for (const HistoryEntry& entry : page.entries) {
      if (horizon != nullptr && newer(entry, *horizon)) continue;
      merge(entry, &merged);
    }
  }
  const HistoryEntry* last = nullptr;
  for (auto it = merged.rbegin(); it != merged.rend(); ++it) {
    if (result.entries.size() == limit) {
      result.more = true;
      break;
    }
    last = &it->first;
    if (!it->second->removed) result.entries.push_back(*it->second);
  }
  if (result.more && last != nullptr) result.next = HistoryCursor::of(*last);
  std::ranges::reverse(result.entries);
  return result;
}

}  // namespace tagring::storage
