// What this node keeps and knows of sets, and its answers. What changes them is in storage_changes.cpp.
#include "storage/storage_redundancy.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/http_error.hpp"
#include "relay/results.hpp"

namespace tagring::storage {
namespace {

constexpr std::size_t kSetsMax = 100'000;
constexpr Duration kTimeout = std::chrono::seconds(5);

}  // namespace

StorageRedundancy::StorageRedundancy(Options options, HistoryStore& history, redundancy::StorageHints& hints,
                                     overlay::RingService& rings, federation::SignedClient& client,
                                     federation::Authenticator& authenticator, Observer& observer,
                                     const Runtime& runtime)
    : options_(options),
      history_(history),
      hints_(hints),
      observer_(observer),
      rings_(rings),
      client_(client),
      authenticator_(authenticator),
      identity_(client.identity()),
      clock_(runtime.clock),
      log_(runtime.log),
      tasks_(runtime.executor) {}

Task<Result<void>> StorageRedundancy::load() {
  CO_TRY(std::vector<redundancy::StorageSet> sets, co_await history_.sets());
  for (redundancy::StorageSet& set : sets) {
    hints_.keep(set);
    std::string tag = set.tag;
    kept_[std::move(tag)] = {std::move(set), clock_.now()};
  }
  co_return Result<void>();
}

Task<void> StorageRedundancy::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- as storage owner --------------------------------------------------------------------------------------

redundancy::StorageSet StorageRedundancy::of(const std::string& tag) const {
  const auto it = kept_.find(tag);
  return it == kept_.end() ? redundancy::StorageSet{tag, 0, options_.at_rest, options_.at_rest, {}}
                           : it->second.set;
}

RingId StorageRedundancy::position(const Tag& tag, unsigned slot, unsigned copy) const {
  return replica_key(redundancy::partition_key(tag.key(), slot), copy, copies());
}

Result<void> StorageRedundancy::check_slot(const Tag& tag, unsigned slot) const {
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

Result<void> StorageRedundancy::check_serving(const Tag& tag) const {
  Result<void> none = fail(ErrorCode::kNotOwner, "this node does not own the tag");
  for (const unsigned slot : redundancy::slots_of_set(copies(), of(tag.canonical()).reach)) {
    const Result<void> serving = check_slot(tag, slot);
    if (serving) return {};
    if (serving.error().code == ErrorCode::kBusy) none = std::unexpected(serving.error());
  }
  return none;
}

Result<std::vector<unsigned>> StorageRedundancy::slots_for(const Tag& tag, const std::string& uri,
                                                           bool removal) const {
  const redundancy::StorageSet set = of(tag.canonical());
  std::vector<unsigned> slots = {redundancy::slot_of_post(uri, copies(), set.replicas)};
  if (removal) slots = redundancy::slots_of_post(uri, copies(), options_.at_rest, set.reach);
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

Result<redundancy::Partition> StorageRedundancy::shelf_of(std::string_view query) const {
  TRY(const Tag tag, Tag::parse(query_value(query, "tag")));
  const std::string slot = query_value(query, "slot");
  const bool is_whole = slot.empty() || slot == "0";
  TRY(redundancy::Partition shelf,
      redundancy::Partition::parse(is_whole ? tag.canonical() : fmt::format("{}/{}", tag.canonical(), slot)));
  TRY_VOID(check_slot(tag, shelf.slot));
  return shelf;
}

json::object StorageRedundancy::news(const std::set<std::string>& tags) const {
  std::vector<redundancy::StorageSet> sets;
  for (const std::string& tag : tags) {
    const auto it = kept_.find(tag);
    if (it != kept_.end()) sets.push_back(it->second.set);
  }
  json::object news;
  if (!sets.empty()) news["stores"] = redundancy::to_json(sets);
  return news;
}

// --- between owners ----------------------------------------------------------------------------------------

Task<Result<void>> StorageRedundancy::adopt(redundancy::StorageSet set) {
  const auto it = kept_.find(set.tag);
  if (it == kept_.end() && kept_.size() >= kSetsMax)
    co_return fail(ErrorCode::kTooLarge, "too many hashtags with other sets than at rest");
  if (it != kept_.end() && !redundancy::supersedes(set, it->second.set)) co_return Result<void>();
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
                  [&](const std::string& shelf) { return redundancy::Partition::parse(shelf)->tag == tag; });
  // From here on posts are taken by it; whoever asks is told only when it is on disk.
  hints_.keep(set);
  kept_[tag] = {set, clock_.now()};
  CO_TRY_VOID(co_await history_.save_set(std::move(set)));
  if (has_merged) tasks_.spawn("drop_handed", drop_handed(tag));
  co_return Result<void>();
}

std::vector<redundancy::StorageSet> StorageRedundancy::sets_at(const Segment& positions,
                                                               const std::string& after,
                                                               std::size_t limit) const {
  std::vector<redundancy::StorageSet> sets;
  for (auto it = kept_.upper_bound(after); it != kept_.end() && sets.size() < limit; ++it) {
    const redundancy::StorageSet& set = it->second.set;
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

bool StorageRedundancy::is_in_reach(const redundancy::Partition& shelf) const {
  return shelf.slot < redundancy::kSlots / copies() &&
         shelf.slot % (redundancy::kSlots / of(shelf.tag).reach) == 0;
}

void StorageRedundancy::leave_out_moved(std::vector<HistoryEntry>* entries) const {
  std::erase_if(*entries, [this](const HistoryEntry& entry) {
    const Result<redundancy::Partition> shelf = redundancy::Partition::parse(entry.tag);
    return !shelf || !is_in_reach(*shelf);
  });
}

// --- JSON --------------------------------------------------------------------------------------------------

json::object StorageRedundancy::to_json(const Report& report) {
  json::object object = redundancy::to_json(report.set);
  json::array shelves;
  for (const auto& [slot, octets] : report.octets)
    shelves.push_back(json::object{{"slot", slot}, {"octets", static_cast<std::int64_t>(octets)}});
  object["shelves"] = std::move(shelves);
  object["bearable"] = static_cast<std::int64_t>(report.bearable);
  object["merged"] = report.merged;
  return object;
}

json::array StorageRedundancy::status() const {
  json::array list;
  for (const auto& [tag, kept] : kept_) {
    const auto merged = merged_.find(tag);
    json::object set = redundancy::to_json(kept.set);
    set["merged"] = merged == merged_.end() ? 0 : merged->second.first;
    list.push_back(std::move(set));
  }
  return list;
}

// --- asking and answering ----------------------------------------------------------------------------------

Task<Result<StorageRedundancy::Report>> StorageRedundancy::ask(ring::Contact owner, Tag tag) {
  if (owner.origin() == identity_.origin()) co_return co_await report(tag);
  std::string target = fmt::format("{}?tag={}", kPath, percent_encode(tag.canonical()));
  CO_TRY(const json::object body,
         co_await rings_.ask_owner(std::move(owner), std::move(target), clock_.now() + kTimeout));
  Report report;
  CO_TRY(report.set, hints_.set_from(body));
  if (report.set.tag != tag.canonical()) co_return fail(ErrorCode::kInvalid, "the set of another hashtag");
  report.bearable =
      static_cast<double>(std::max<std::int64_t>(0, json::get_int(body, "bearable").value_or(0)));
  report.merged =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, json::get_int(body, "merged").value_or(0)));
  json::for_each(json::find(body, "shelves"), [&](const json::value& element) {
    if (!element.is_object() || report.octets.size() >= redundancy::kSlots) return;
    const auto slot = json::get_int(element.get_object(), "slot");
    const auto octets = json::get_int(element.get_object(), "octets");
    if (slot && octets && *slot >= 0 && *slot < redundancy::kSlots && *octets >= 0)
      report.octets[static_cast<unsigned>(*slot)] = static_cast<double>(*octets);
  });
  co_return report;
}

// Signed. What the other keeps afterwards.
Task<Result<redundancy::StorageSet>> StorageRedundancy::call(std::string origin, Tag tag, json::object body) {
  body["tag"] = tag.canonical();
  CO_TRY(const json::object answer, co_await client_.ask(origin + std::string(kPath), std::move(body)));
  co_return hints_.set_from(answer);
}

Task<Result<void>> StorageRedundancy::check_owner(RingId position, std::string origin) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kStorage).find_owner(position);
    if (!owner) co_return fail(ErrorCode::kBusy, "the owner could not be looked up");
    if (owner->contact.origin() == origin) co_return Result<void>();
    rings_.of(Ring::kStorage).forget_route(position);
  }
  co_return fail(ErrorCode::kNotOwner, "another node owns that place");
}

Task<HttpResponse> StorageRedundancy::answer(HttpRequest request) {
  Result<json::object> answer = fail(ErrorCode::kInvalid, "");
  if (request.method == "POST") {
    const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
    if (!sender) co_return federation::not_authentic(sender.error());
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

Task<Result<json::object>> StorageRedundancy::act(json::object request, std::string origin) {
  CO_TRY(const Tag tag, Tag::parse(json::get_string(request, "tag").value_or("")));
  const std::string name = tag.canonical();
  const std::string action = json::get_string(request, "action").value_or("");
  if (action == "set") {
    CO_TRY(redundancy::StorageSet set, hints_.set_from(request));
    CO_TRY_VOID(co_await check_owner(tag.key(), origin));
    CO_TRY_VOID(co_await adopt(std::move(set)));
  } else if (action == "double") {
    const auto slot = json::get_int(request, "slot");
    const auto copy = json::get_int(request, "copy");
    const auto octets = json::get_int(request, "octets");
    if (!slot || !copy || !octets || *slot < 0 || *slot >= redundancy::kSlots || *copy < 0 ||
        *copy >= copies())
      co_return fail(ErrorCode::kInvalid, "'slot', 'copy' or 'octets' is not as it should be");
    if (!is_keeper(tag)) co_return fail(ErrorCode::kNotOwner, "this node does not own the hashtag's key");
    const auto part = static_cast<unsigned>(*slot);
    CO_TRY_VOID(co_await check_owner(position(tag, part, static_cast<unsigned>(*copy)), origin));
    const bool is_free = busy_.insert(name).second;
    if (is_free) tasks_.spawn("double", consider_doubling(tag, part, static_cast<double>(*octets), origin));
  } else {
    co_return fail(ErrorCode::kInvalid, "no such action");
  }
  co_return redundancy::to_json(of(name));
}

}  // namespace tagring::storage
