// What this node keeps and knows of sets, and its answers. What changes them is in storage_changes.cpp.
#include "node/storage_sets.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "node/ask_owner.hpp"
#include "node/results.hpp"

namespace tagring::node {
namespace {

using storage::StorageSet;

constexpr Duration kBelieved = std::chrono::hours(1);
constexpr Duration kJustNow = std::chrono::seconds(1);
constexpr std::size_t kHintsMax = 10'000;
constexpr std::size_t kSetsMax = 100'000;
constexpr std::int64_t kVersionMax = std::int64_t{1} << 53U;
constexpr Duration kTimeout = std::chrono::seconds(5);

}  // namespace

StorageSets::StorageSets(Options options, storage::HistoryStore& history, RingService& rings,
                         Courier& courier, Authenticator& authenticator, const Identity& identity,
                         HttpClient& http, Clock& clock, Executor executor, Log& log)
    : options_(options),
      history_(history),
      rings_(rings),
      courier_(courier),
      authenticator_(authenticator),
      identity_(identity),
      http_(http),
      clock_(clock),
      log_(log),
      tasks_(std::move(executor)) {}

Task<Result<void>> StorageSets::load() {
  CO_TRY(std::vector<StorageSet> sets, co_await history_.sets());
  for (StorageSet& set : sets) {
    std::string tag = set.tag;
    kept_[std::move(tag)] = {std::move(set), clock_.now()};
  }
  co_return Result<void>();
}

Task<void> StorageSets::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- as storage owner --------------------------------------------------------------------------------------

StorageSet StorageSets::of(const std::string& tag) const {
  const auto it = kept_.find(tag);
  return it == kept_.end() ? StorageSet{tag, 0, options_.at_rest, options_.at_rest, {}} : it->second.set;
}

RingId StorageSets::position(const Tag& tag, unsigned slot, unsigned copy) const {
  return replica_key(storage::shelf_key(tag.key(), slot), copy, copies());
}

Result<void> StorageSets::check_slot(const Tag& tag, unsigned slot) const {
  ring::Membership& ring = rings_.of(Ring::kStorage);
  bool owned = false;
  for (unsigned copy = 0; copy < copies(); ++copy) {
    const RingId place = position(tag, slot, copy);
    if (ring.serving(place) != nullptr) return {};
    owned = owned || ring.owning(place) != nullptr;
  }
  if (owned) return fail(ErrorCode::kBusy, "this node is still fetching the tag's history");
  return fail(ErrorCode::kNotOwner, "this node does not keep that part of the tag's history");
}

Result<void> StorageSets::check_serving(const Tag& tag) const {
  Result<void> none = fail(ErrorCode::kNotOwner, "this node does not own the tag");
  for (const unsigned slot : slots_of_set(copies(), of(tag.canonical()).reach)) {
    const Result<void> serving = check_slot(tag, slot);
    if (serving) return {};
    if (serving.error().code == ErrorCode::kBusy) none = std::unexpected(serving.error());
  }
  return none;
}

Result<std::vector<unsigned>> StorageSets::slots_for(const Tag& tag, const std::string& uri,
                                                     bool removal) const {
  const StorageSet set = of(tag.canonical());
  std::vector<unsigned> slots = {slot_of_post(uri, copies(), set.replicas)};
  if (removal) slots = slots_of_post(uri, copies(), options_.at_rest, set.reach);
  std::vector<unsigned> here;
  for (const unsigned slot : slots) {
    const Result<void> serving = check_slot(tag, slot);
    if (serving) here.push_back(slot);
    if (!serving && serving.error().code == ErrorCode::kBusy) return std::unexpected(serving.error());
  }
  if (here.empty())
    return fail(ErrorCode::kNotOwner, "this node does not keep that part of the tag's history");
  return here;
}

Result<storage::Shelf> StorageSets::shelf_of(std::string_view query) const {
  TRY(const Tag tag, Tag::parse(query_value(query, "tag")));
  const std::string slot = query_value(query, "slot");
  const bool is_whole = slot.empty() || slot == "0";
  TRY(storage::Shelf shelf,
      storage::Shelf::parse(is_whole ? tag.canonical() : fmt::format("{}/{}", tag.canonical(), slot)));
  TRY_VOID(check_slot(tag, shelf.slot));
  return shelf;
}

json::object StorageSets::news(const std::set<std::string>& tags) const {
  std::vector<StorageSet> sets;
  for (const std::string& tag : tags) {
    const auto it = kept_.find(tag);
    if (it != kept_.end()) sets.push_back(it->second.set);
  }
  json::object news;
  if (!sets.empty()) news["stores"] = to_json(sets);
  return news;
}

// --- as sender or reader -----------------------------------------------------------------------------------

StorageSet StorageSets::known(const std::string& tag) const {
  StorageSet set = of(tag);
  const auto hint = hints_.find(tag);
  const bool is_good = hint != hints_.end() && clock_.now() - hint->second.told < kBelieved;
  if (is_good && supersedes(hint->second.set, set)) set = hint->second.set;
  return set;
}

void StorageSets::learn(StorageSet set) {
  const auto it = hints_.find(set.tag);
  if (it != hints_.end()) {
    const bool is_old = supersedes(it->second.set, set) && clock_.now() - it->second.told < kBelieved;
    if (!is_old) it->second = {std::move(set), clock_.now()};
    return;
  }
  if (hints_.size() >= kHintsMax)
    std::erase_if(hints_, [this](const auto& entry) { return clock_.now() - entry.second.told > kBelieved; });
  if (hints_.size() >= kHintsMax) hints_.erase(hints_.begin());
  std::string tag = set.tag;
  hints_.emplace(std::move(tag), Hint{std::move(set), clock_.now()});
}

void StorageSets::read_answer(const json::object& answer, const std::set<std::string>& tags) {
  Result<std::vector<StorageSet>> sets = sets_from(json::find(answer, "stores"));
  if (!sets) return;
  for (StorageSet& set : *sets) {
    if (tags.contains(set.tag)) learn(std::move(set));
  }
}

void StorageSets::doubt(const std::string& tag) {
  const auto hint = hints_.find(tag);
  if (hint != hints_.end() && clock_.now() - hint->second.told > kJustNow) hints_.erase(hint);
}

// --- between owners ----------------------------------------------------------------------------------------

Task<Result<void>> StorageSets::adopt(StorageSet set) {
  const auto it = kept_.find(set.tag);
  if (it == kept_.end() && kept_.size() >= kSetsMax)
    co_return fail(ErrorCode::kTooLarge, "too many hashtags with other sets than at rest");
  if (it != kept_.end() && !supersedes(set, it->second.set)) co_return Result<void>();
  const std::string tag = set.tag;
  log_.info("storage_set", {{"tag", tag},
                            {"version", std::to_string(set.version)},
                            {"replicas", std::to_string(set.replicas)},
                            {"reach", std::to_string(set.reach)}});
  const bool has_merged = set.replicas == set.reach;
  // Shelves that were handed over take posts again.
  const bool grows = it != kept_.end() && set.replicas > it->second.set.replicas;
  if (grows)
    std::erase_if(handed_,
                  [&](const std::string& shelf) { return storage::Shelf::parse(shelf)->tag == tag; });
  // From here on posts are taken by it; whoever asks is told only when it is on disk.
  kept_[tag] = {set, clock_.now()};
  CO_TRY_VOID(co_await history_.save_set(std::move(set)));
  if (has_merged) tasks_.spawn("drop_handed", drop_handed(tag));
  co_return Result<void>();
}

std::vector<StorageSet> StorageSets::sets_at(const Segment& positions, const std::string& after,
                                             std::size_t limit) const {
  std::vector<StorageSet> sets;
  for (auto it = kept_.upper_bound(after); it != kept_.end() && sets.size() < limit; ++it) {
    const StorageSet& set = it->second.set;
    const Result<Tag> tag = Tag::parse(set.tag);
    if (!tag) continue;
    for (unsigned i = 0; i < set.reach; ++i) {
      if (!positions.contains(replica_key(tag->key(), i, set.reach))) continue;
      sets.push_back(set);
      break;
    }
  }
  return sets;
}

bool StorageSets::is_in_reach(const storage::Shelf& shelf) const {
  return shelf.slot < storage::kSlots / copies() && shelf.slot % (storage::kSlots / of(shelf.tag).reach) == 0;
}

void StorageSets::leave_out_moved(std::vector<storage::HistoryEntry>* entries) const {
  std::erase_if(*entries, [this](const storage::HistoryEntry& entry) {
    const Result<storage::Shelf> shelf = storage::Shelf::parse(entry.tag);
    return !shelf || !is_in_reach(*shelf);
  });
}

// --- JSON --------------------------------------------------------------------------------------------------

json::object StorageSets::to_json(const StorageSet& set) {
  return {{"tag", set.tag},
          {"version", set.version},
          {"replicas", set.replicas},
          {"reach", set.reach},
          {"at", set.at.time_since_epoch().count()}};
}

json::array StorageSets::to_json(const std::vector<StorageSet>& sets) {
  json::array list;
  for (const StorageSet& set : sets) list.push_back(to_json(set));
  return list;
}

json::object StorageSets::to_json(const Report& report) {
  json::object object = to_json(report.set);
  json::array shelves;
  for (const auto& [slot, octets] : report.octets)
    shelves.push_back(json::object{{"slot", slot}, {"octets", static_cast<std::int64_t>(octets)}});
  object["shelves"] = std::move(shelves);
  object["bearable"] = static_cast<std::int64_t>(report.bearable);
  object["merged"] = report.merged;
  return object;
}

Result<StorageSet> StorageSets::set_from(const json::object& object) const {
  TRY(const Tag tag, Tag::parse(json::get_string(object, "tag").value_or("")));
  const auto version = json::get_int(object, "version");
  const auto replicas = json::get_int(object, "replicas");
  const auto reach = json::get_int(object, "reach");
  const auto at = json::get_int(object, "at");
  const bool shaped = version && replicas && reach && at && *version >= 0 && *version <= kVersionMax &&
                      is_relay_count(*replicas) && is_relay_count(*reach) && *replicas <= *reach &&
                      *replicas >= options_.at_rest;
  if (!shaped) return fail(ErrorCode::kInvalid, "no set of storage owners");
  return StorageSet{tag.canonical(), static_cast<std::uint64_t>(*version), static_cast<unsigned>(*replicas),
                    static_cast<unsigned>(*reach), WallTime(Duration(*at))};
}

Result<std::vector<StorageSet>> StorageSets::sets_from(const json::value* list) const {
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

json::array StorageSets::status() const {
  json::array list;
  for (const auto& [tag, kept] : kept_) {
    const auto merged = merged_.find(tag);
    json::object set = to_json(kept.set);
    set["merged"] = merged == merged_.end() ? 0 : merged->second.first;
    list.push_back(std::move(set));
  }
  return list;
}

// --- asking and answering ----------------------------------------------------------------------------------

Task<Result<StorageSets::Report>> StorageSets::ask(ring::Contact owner, Tag tag) {
  if (owner.origin() == identity_.origin()) co_return co_await report(tag);
  std::string target = fmt::format("{}?tag={}", kPath, percent_encode(tag.canonical()));
  CO_TRY(const json::object body,
         co_await ask_owner(http_, std::move(owner), std::move(target), clock_.now() + kTimeout));
  Report report;
  CO_TRY(report.set, set_from(body));
  if (report.set.tag != tag.canonical()) co_return fail(ErrorCode::kInvalid, "the set of another hashtag");
  report.bearable =
      static_cast<double>(std::max<std::int64_t>(0, json::get_int(body, "bearable").value_or(0)));
  report.merged =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, json::get_int(body, "merged").value_or(0)));
  json::for_each(json::find(body, "shelves"), [&](const json::value& element) {
    if (!element.is_object() || report.octets.size() >= storage::kSlots) return;
    const auto slot = json::get_int(element.get_object(), "slot");
    const auto octets = json::get_int(element.get_object(), "octets");
    if (slot && octets && *slot >= 0 && *slot < storage::kSlots && *octets >= 0)
      report.octets[static_cast<unsigned>(*slot)] = static_cast<double>(*octets);
  });
  co_return report;
}

// Signed. What the other keeps afterwards.
Task<Result<StorageSet>> StorageSets::call(std::string origin, Tag tag, json::object body) {
  body["tag"] = tag.canonical();
  CO_TRY(const json::object answer, co_await courier_.ask(origin + std::string(kPath), std::move(body)));
  co_return set_from(answer);
}

Task<Result<void>> StorageSets::check_owner(RingId position, std::string origin) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kStorage).find_owner(position);
    if (!owner) co_return fail(ErrorCode::kBusy, "the owner could not be looked up");
    if (owner->contact.origin() == origin) co_return Result<void>();
    rings_.of(Ring::kStorage).forget_route(position);
  }
  co_return fail(ErrorCode::kNotOwner, "another node owns that place");
}

Task<HttpResponse> StorageSets::answer(HttpRequest request) {
  Result<json::object> answer = fail(ErrorCode::kInvalid, "");
  if (request.method == "POST") {
    const Result<Authentic> sender = co_await authenticator_.authenticate(request);
    if (!sender) co_return not_authentic(sender.error());
    Result<json::object> body = json::parse_object(request.body);
    if (!body) co_return error_response(body.error());
    answer = co_await act(std::move(*body), origin_of(sender->actor.id));
  } else {
    const std::size_t mark = std::min(request.target.find('?'), request.target.size());
    const std::string query = request.target.substr(std::min(mark + 1, request.target.size()));
    const Result<Tag> tag = Tag::parse(query_value(query, "tag"));
    if (!tag) co_return error_response(tag.error());
    const Result<Report> own = co_await report(*tag);
    answer = own ? Result<json::object>(to_json(*own)) : std::unexpected(own.error());
  }
  if (!answer) co_return error_response(answer.error());
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(*answer);
  co_return response;
}

Task<Result<json::object>> StorageSets::act(json::object request, std::string origin) {
  CO_TRY(const Tag tag, Tag::parse(json::get_string(request, "tag").value_or("")));
  const std::string name = tag.canonical();
  const std::string action = json::get_string(request, "action").value_or("");
  if (action == "set") {
    CO_TRY(StorageSet set, set_from(request));
    CO_TRY_VOID(co_await check_owner(tag.key(), origin));
    CO_TRY_VOID(co_await adopt(std::move(set)));
  } else if (action == "double") {
    const auto slot = json::get_int(request, "slot");
    const auto copy = json::get_int(request, "copy");
    const auto octets = json::get_int(request, "octets");
    if (!slot || !copy || !octets || *slot < 0 || *slot >= storage::kSlots || *copy < 0 || *copy >= copies())
      co_return fail(ErrorCode::kInvalid, "'slot', 'copy' or 'octets' is not as it should be");
    if (!is_keeper(tag)) co_return fail(ErrorCode::kNotOwner, "this node does not own the hashtag's key");
    const auto part = static_cast<unsigned>(*slot);
    CO_TRY_VOID(co_await check_owner(position(tag, part, static_cast<unsigned>(*copy)), origin));
    const bool is_free = busy_.insert(name).second;
    if (is_free) tasks_.spawn("double", consider_doubling(tag, part, static_cast<double>(*octets), origin));
  } else {
    co_return fail(ErrorCode::kInvalid, "no such action");
  }
  co_return to_json(of(name));
}

}  // namespace tagring::node
