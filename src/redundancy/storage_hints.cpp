#include "redundancy/storage_hints.hpp"

#include <algorithm>
#include <tuple>

#include "base/counted.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/relay_place.hpp"

namespace tagring::redundancy {
namespace {

constexpr Duration kHintLife = std::chrono::hours(1);
constexpr Duration kJustNow = std::chrono::seconds(1);
constexpr std::size_t kHintsMax = 10'000;
constexpr std::size_t kOwnersMax = 16;  // of a hashtag
constexpr std::size_t kEnoughToDoubtOne = 3;
constexpr std::int64_t kVersionMax = std::int64_t{1} << 53U;

}  // namespace

bool supersedes(const StorageSet& a, const StorageSet& b) {
  return std::tie(a.version, a.read_factor, a.replicas) > std::tie(b.version, b.read_factor, b.replicas);
}

StorageSet StorageHints::kept(const Tag& tag) const {
  const auto it = kept_.find(tag);
  return it == kept_.end() ? StorageSet{tag, 0, at_rest_, at_rest_, {}} : it->second;
}

void StorageHints::keep(StorageSet set) {
  Tag tag = set.tag;
  kept_.insert_or_assign(std::move(tag), std::move(set));
}

bool StorageHints::is_fresh(const Hint& hint) const { return clock_.now() - hint.told < kHintLife; }

StorageSet StorageHints::known(const Tag& tag) const {
  const StorageSet own = kept(tag);
  const auto said = hints_.find(tag);
  if (said == hints_.end()) return own;
  std::vector<StorageSet> sets;
  for (const auto& [owner, hint] : said->second) {
    if (is_fresh(hint)) sets.push_back(hint.set);
  }
  if (sets.empty()) return own;
  std::ranges::sort(sets, supersedes);
  const StorageSet& heard = sets.size() < kEnoughToDoubtOne ? sets[0] : sets[1];
  return supersedes(heard, own) ? heard : own;
}

void StorageHints::learn(const std::string& owner, StorageSet set) {
  auto said = hints_.find(set.tag);
  if (said == hints_.end()) {
    if (set.version == 0) return;
    if (hints_.size() >= kHintsMax)
      std::erase_if(hints_, [this](const auto& entry) {
        return std::ranges::none_of(entry.second, [this](const auto& one) { return is_fresh(one.second); });
      });
    make_room(hints_, kHintsMax);
    said = hints_.emplace(set.tag, Said()).first;
  }
  Said& of_tag = said->second;
  if (!of_tag.contains(owner)) make_room(of_tag, kOwnersMax);
  of_tag.insert_or_assign(owner, Hint{std::move(set), clock_.now()});
}

void StorageHints::read_answer(const json::object& answer, const std::set<Tag>& tags,
                               const std::string& owner) {
  Result<std::vector<StorageSet>> sets = sets_from(json::find(answer, "stores"));
  if (!sets) return;
  std::set<Tag> at_rest = tags;
  for (StorageSet& set : *sets) {
    if (at_rest.erase(set.tag) > 0) learn(owner, std::move(set));
  }
  for (const Tag& tag : at_rest) learn(owner, {tag, 0, at_rest_, at_rest_, {}});
}

void StorageHints::doubt(const Tag& tag) {
  const auto said = hints_.find(tag);
  if (said == hints_.end()) return;
  std::erase_if(said->second, [this](const auto& one) { return clock_.now() - one.second.told > kJustNow; });
  if (said->second.empty()) hints_.erase(said);
}

// --- JSON --------------------------------------------------------------------------------------------------

json::object to_json(const StorageSet& set) {
  return {{"tag", set.tag.canonical()},
          {"version", set.version},
          {"replicas", set.replicas},
          {"reach", set.read_factor},
          {"at", to_ms(set.at)}};
}

json::array to_json(const std::vector<StorageSet>& sets) {
  json::array list;
  for (const StorageSet& set : sets) list.push_back(to_json(set));
  return list;
}

bool StorageHints::is_sound(std::int64_t replicas, std::int64_t read_factor) const {
  return is_relay_count(replicas) && is_relay_count(read_factor) && replicas >= at_rest_ &&
         replicas <= read_factor;
}

Result<StorageSet> StorageHints::set_from(const json::object& object) const {
  TRY(Tag tag, Tag::parse(json::text_of(object, "tag")));
  const auto version = json::get_int(object, "version");
  const auto replicas = json::get_int(object, "replicas");
  const auto reach = json::get_int(object, "reach");
  const auto at = json::get_int(object, "at");
  const bool shaped = version && replicas && reach && at && *version >= 0 && *version <= kVersionMax &&
                      is_sound(*replicas, *reach);
  if (!shaped) return fail(ErrorCode::kInvalid, "no set of storage owners");
  return StorageSet{std::move(tag), static_cast<std::uint64_t>(*version), static_cast<unsigned>(*replicas),
                    static_cast<unsigned>(*reach), WallTime(Duration(*at))};
}

Result<std::vector<StorageSet>> StorageHints::sets_from(const json::value* list) const {
  std::vector<StorageSet> sets;
  if (list == nullptr) return sets;
  if (!list->is_array()) return fail(ErrorCode::kInvalid, "sets of storage owners are no list");
  for (const json::value& element : list->get_array()) {
    if (!element.is_object()) return fail(ErrorCode::kInvalid, "a set of storage owners is no object");
    TRY(StorageSet set, set_from(element.get_object()));
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace tagring::redundancy
