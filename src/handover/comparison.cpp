#include "handover/comparison.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "storage/entries_json.hpp"

namespace tagring::handover {
namespace {

using storage::Comparison;
using storage::Difference;
using storage::HourDigest;
using storage::HourPlace;
using storage::HourRange;
using storage::kHourMax;

std::string text(const HourPlace& place) { return fmt::format("{}~{}", place.key.hex(), place.hour); }

Result<HourPlace> place_from(const json::object& object, std::string_view name) {
  const std::string written = json::text_of(object, name);
  const std::size_t mark = written.find('~');
  const auto key = RingId::from_hex(std::string_view(written).substr(0, mark));
  std::int64_t hour = 0;
  const char* const end = written.data() + written.size();
  const char* const begin = mark == std::string::npos ? end : written.data() + mark + 1;
  const auto [rest, error] = std::from_chars(begin, end, hour);
  if (!key || error != std::errc() || rest != end || hour < -kHourMax || hour > kHourMax)
    return fail(ErrorCode::kInvalid,
                fmt::format("'{}' must be a key in hexadecimal digits, ~, and an hour", name));
  return HourPlace{*key, hour};
}

// "posts" and "digest" of an object.
Result<HourDigest> digest_from(const json::object& object, HourRange range) {
  const auto posts = json::get_int(object, "posts");
  const std::string digits = json::text_of(object, "digest");
  HourDigest digest{range, 0, 0};
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), digest.digest, 16);
  if (!posts || *posts < 0 || error != std::errc() || rest != digits.data() + digits.size())
    return fail(ErrorCode::kInvalid, "'posts' must be a number and 'digest' hexadecimal digits");
  digest.posts = static_cast<std::uint64_t>(*posts);
  return digest;
}

void add_digest(json::object* object, const HourDigest& digest) {
  (*object)["posts"] = digest.posts;
  (*object)["digest"] = fmt::format("{:016x}", digest.digest);
}

// The objects of a list.
Result<std::vector<const json::object*>> objects_of(const json::object& object, std::string_view name) {
  const json::value* list = json::find(object, name);
  if (list == nullptr || !list->is_array())
    return fail(ErrorCode::kInvalid, fmt::format("'{}' is no list", name));
  std::vector<const json::object*> objects;
  for (const json::value& item : list->get_array()) {
    if (!item.is_object())
      return fail(ErrorCode::kInvalid, fmt::format("'{}' holds something else than objects", name));
    objects.push_back(&item.get_object());
  }
  return objects;
}

Result<std::optional<storage::HistoryCursor>> cursor_from(const json::object& object, std::string_view name) {
  const auto written = json::get_string(object, name);
  if (!written) return std::nullopt;
  TRY(storage::HistoryCursor cursor, storage::HistoryCursor::parse(*written));
  return cursor;
}

// Parts name their ends only: each begins where the one before it ends.
Result<std::vector<HourDigest>> parts_from(const json::object& object, const HourRange& whole) {
  TRY(const auto items, objects_of(object, "parts"));
  std::vector<HourDigest> parts;
  HourPlace first = whole.first;
  for (const json::object* item : items) {
    TRY(const HourPlace last, place_from(*item, "last"));
    TRY(const HourDigest part, digest_from(*item, {first, last}));
    parts.push_back(part);
    first = {last.key, last.hour + 1};
  }
  return parts;
}

}  // namespace

std::vector<HourRange> hour_ranges(const Segment& keys) {
  const RingId one = RingId::power_of_two(0);
  const HourPlace first{keys.from + one, -kHourMax};
  const HourPlace last{keys.to, kHourMax};
  if (first.key <= last.key) return {{first, last}};
  return {{first, {RingId() - one, kHourMax}}, {{RingId(), -kHourMax}, last}};
}

// --- JSON --------------------------------------------------------------------------------------------------

json::object to_json(const std::vector<Comparison>& asked, std::int64_t since) {
  json::array ranges;
  for (const Comparison& comparison : asked) {
    json::object range = {{"first", text(comparison.own.range.first)},
                          {"last", text(comparison.own.range.last)}};
    add_digest(&range, comparison.own);
    if (comparison.after) range["after"] = comparison.after->text();
    ranges.push_back(std::move(range));
  }
  return {{"since", since}, {"ranges", std::move(ranges)}};
}

Result<std::vector<Comparison>> comparisons_from_json(const json::object& question) {
  TRY(const auto items, objects_of(question, "ranges"));
  if (items.size() > storage::CompareLimits{}.ranges)
    return fail(ErrorCode::kTooLarge, fmt::format("more than {} ranges", storage::CompareLimits{}.ranges));
  std::vector<Comparison> asked;
  for (const json::object* item : items) {
    TRY(const HourPlace first, place_from(*item, "first"));
    TRY(const HourPlace last, place_from(*item, "last"));
    if (last < first) return fail(ErrorCode::kInvalid, "a range ends before it begins");
    TRY(const HourDigest own, digest_from(*item, {first, last}));
    TRY(auto after, cursor_from(*item, "after"));
    asked.push_back({own, std::move(after)});
  }
  return asked;
}

json::object to_json(const std::vector<Difference>& differences) {
  json::array list;
  for (const Difference& difference : differences) {
    json::object item = {{"range", difference.index}};
    if (difference.later) {
      item["later"] = true;
    } else if (!difference.parts.empty()) {
      json::array parts;
      for (const HourDigest& digest : difference.parts) {
        json::object part = {{"last", text(digest.range.last)}};
        add_digest(&part, digest);
        parts.push_back(std::move(part));
      }
      item["parts"] = std::move(parts);
    } else {
      item["items"] = to_json(difference.entries, true);
      if (difference.next) item["next"] = difference.next->text();
    }
    list.push_back(std::move(item));
  }
  return {{"differences", std::move(list)}};
}

Result<std::vector<Difference>> differences_from_json(const json::object& answer,
                                                      const std::vector<Comparison>& asked) {
  TRY(const auto items, objects_of(answer, "differences"));
  std::vector<Difference> differences;
  for (const json::object* item : items) {
    const auto index = json::get_int(*item, "range");
    if (!index || *index < 0 || static_cast<std::size_t>(*index) >= asked.size())
      return fail(ErrorCode::kInvalid, "'range' names no range that was asked for");
    Difference difference;
    difference.index = static_cast<std::size_t>(*index);
    difference.later = json::get_flag(*item, "later");
    if (json::find(*item, "parts") != nullptr) {
      TRY(difference.parts, parts_from(*item, asked[difference.index].own.range));
    } else if (!difference.later) {
      TRY(difference.entries, storage::entries_from_json(json::find(*item, "items")));
      TRY(difference.next, cursor_from(*item, "next"));
    }
    differences.push_back(std::move(difference));
  }
  return differences;
}

Task<Result<json::object>> answer_comparison(storage::HistoryStore& history, Segment keys,
                                             json::object question, storage::CompareLimits limits) {
  const auto since = json::get_int(question, "since");
  if (!since) co_return fail(ErrorCode::kInvalid, "'since' must be an hour");
  CO_TRY(std::vector<Comparison> asked, comparisons_from_json(question));
  const std::vector<HourRange> allowed = hour_ranges(keys);
  for (const Comparison& comparison : asked) {
    const HourRange& range = comparison.own.range;
    const bool inside = std::ranges::any_of(allowed, [&](const HourRange& whole) {
      return whole.first <= range.first && range.last <= whole.last;
    });
    if (!inside) co_return fail(ErrorCode::kDenied, "a range is outside the segment");
  }
  CO_TRY(const std::vector<Difference> differences,
         co_await storage::compare(history, std::move(asked), *since, limits));
  co_return to_json(differences);
}

}  // namespace tagring::handover
