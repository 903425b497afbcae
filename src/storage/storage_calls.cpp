#include "storage/storage_calls.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "http/url.hpp"

namespace tagring::storage {

Task<Result<redundancy::StorageReport>> StorageCalls::ask_report(ring::Contact owner, Tag tag) {
  std::string target = fmt::format("{}?tag={}", kPath, percent_encode(tag.canonical()));
  CO_TRY(const json::object body, co_await rings_.ask_owner(std::move(owner), std::move(target),
                                                            clock_.now() + overlay::kOwnerTimeout));
  CO_TRY(redundancy::StorageSet set, set_of(tag, body));
  redundancy::StorageReport report{std::move(set)};
  report.bearable =
      static_cast<double>(std::max<std::int64_t>(0, json::get_int(body, "bearable").value_or(0)));
  report.merged =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, json::get_int(body, "merged").value_or(0)));
  json::for_each(json::find(body, "shelves"), [&](const json::value& element) {
    if (!element.is_object() || report.bytes.size() >= redundancy::kPartitionsMax) return;
    const auto number = json::get_int(element.get_object(), "slot");
    const auto bytes = json::get_int(element.get_object(), "octets");
    if (number && bytes && *number >= 0 && *number < redundancy::kPartitionsMax && *bytes >= 0)
      report.bytes[static_cast<unsigned>(*number)] = static_cast<double>(*bytes);
  });
  co_return report;
}

Task<Result<redundancy::StorageSet>> StorageCalls::tell(std::string origin, Tag tag, json::object body) {
  body["tag"] = tag.canonical();
  CO_TRY(const json::object answer, co_await client_.ask(origin + std::string(kPath), std::move(body)));
  co_return set_of(tag, answer);
}

Result<redundancy::StorageSet> StorageCalls::set_of(const Tag& tag, const json::object& answer) const {
  TRY(redundancy::StorageSet set, hints_.set_from(answer));
  if (set.tag != tag) return fail(ErrorCode::kInvalid, "the set of another hashtag");
  return set;
}

Task<Result<void>> StorageCalls::check_owner(RingId position, std::string origin) {
  const budget::Share share(&budget_, budget::Resource::kClaims, budget_.who(host_of(origin)));
  if (!share.is_granted()) co_return fail(ErrorCode::kBusy, "too many look-ups at a time; ask again soon");
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kStorage).find_owner(position);
    if (!owner) co_return fail(ErrorCode::kBusy, "the owner could not be looked up");
    if (owner->contact.origin() == origin) co_return Result<void>();
    rings_.of(Ring::kStorage).doubt_route(position);
  }
  co_return fail(ErrorCode::kNotOwner, "another node owns that place");
}

json::object to_json(const redundancy::StorageReport& report) {
  json::object object = redundancy::to_json(report.set);
  json::array partitions;
  for (const auto& [number, bytes] : report.bytes)
    partitions.push_back(json::object{{"slot", number}, {"octets", static_cast<std::int64_t>(bytes)}});
  object["shelves"] = std::move(partitions);
  object["bearable"] = static_cast<std::int64_t>(report.bearable);
  object["merged"] = report.merged;
  return object;
}

}  // namespace tagring::storage
