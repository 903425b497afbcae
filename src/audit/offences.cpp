#include "audit/offences.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/counted.hpp"
#include "delivery/results.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {
namespace {

constexpr Duration kAhead = std::chrono::minutes(5);  // that clocks may be

}  // namespace

Task<Result<void>> Offences::load() {
  CO_TRY(const std::vector<ReceiptStore::Offence> offences, co_await store_.offences());
  for (const ReceiptStore::Offence& offence : offences) {
    const auto object = json::parse_object(offence.evidence);
    Result<Evidence> evidence = object ? evidence_from_json(*object) : std::unexpected(object.error());
    if (!evidence || !is_current(evidence->head.at))
      continue;  // what cannot be read is no reason not to start
    standing_.prove(offence.origin, clock_.now() + (evidence->head.at + kKept - clock_.wall_now()));
    kept_.insert_or_assign(offence.origin, std::move(*evidence));
  }
  co_return Result<void>();
}

Task<void> Offences::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

bool Offences::is_current(WallTime at) const {
  const WallTime now = clock_.wall_now();
  return at > now - kKept && at < now + kAhead;
}

bool Offences::is_known(const std::string& origin, WallTime at) const {
  const auto known = kept_.find(origin);
  return known != kept_.end() && at < known->second.head.at + kAgain;
}

std::size_t Offences::offenders() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(kept_, [this](const auto& entry) { return is_current(entry.second.head.at); }));
}

json::object Offences::list() const {
  json::array offenders;
  for (const auto& [origin, evidence] : kept_) {
    if (!is_current(evidence.head.at)) continue;
    offenders.push_back(json::object{{"owner", origin},
                                     {"tag", evidence.head.partition.tag.canonical()},
                                     {"post", evidence.receipt.item.uri},
                                     {"accepted_at", to_rfc3339(evidence.receipt.batch.at)},
                                     {"absent_at", to_rfc3339(evidence.head.at)},
                                     {"until", to_rfc3339(evidence.head.at + kKept)},
                                     {"evidence", to_json(evidence)}});
  }
  return {{"offenders", std::move(offenders)}};
}

// --- taking ------------------------------------------------------------------------------------------------

Task<void> Offences::found(Evidence evidence) {
  const std::string origin = origin_of(evidence.head.actor);
  if (!check(evidence) || !is_current(evidence.head.at) || is_known(origin, evidence.head.at)) co_return;
  ++counters_.found;
  tasks_.spawn("evidence", concerned_.tell(evidence, std::string(kPath)));
  co_await keep(std::move(evidence));
}

Task<void> Offences::keep(Evidence evidence) {
  const std::string origin = origin_of(evidence.head.actor);
  const WallTime at = evidence.head.at;
  log_.warn("owner_dropped_a_post", {{"owner", origin},
                                     {"tag", evidence.head.partition.tag.canonical()},
                                     {"post", evidence.receipt.item.uri}});
  standing_.prove(origin, clock_.now() + (at + kKept - clock_.wall_now()));
  ReceiptStore::Offence offence{origin, at, json::serialize(to_json(evidence))};
  if (!kept_.contains(origin)) make_room(kept_, kKeptMax);
  kept_.insert_or_assign(origin, std::move(evidence));
  // If that fails, it is lost at a restart, and found again.
  co_await store_.keep_offence(std::move(offence), clock_.wall_now() - kKept);
}

Task<HttpResponse> Offences::answer(HttpRequest request) {
  if (request.method != "POST") {
    json::array all;
    for (const auto& [origin, evidence] : kept_) {
      if (is_current(evidence.head.at)) all.push_back(to_json(evidence));
    }
    co_return json_response({{"evidence", std::move(all)}});
  }
  const Result<void> taken = co_await take(std::move(request));
  if (!taken) co_return error_response(taken.error());
  co_return json_response({{"taken", true}});
}

Task<Result<void>> Offences::take(HttpRequest request) {
  if (request.body.size() > kBytesMax) co_return fail(ErrorCode::kTooLarge, "evidence is never so long");
  CO_TRY(const json::object object, json::parse_object(request.body));
  CO_TRY(Evidence evidence, evidence_from_json(object));
  if (is_known(origin_of(evidence.head.actor), evidence.head.at)) co_return Result<void>();
  const budget::Share place = concerned_.place_for(request.peer);
  if (!place.is_granted())
    co_return fail(ErrorCode::kBusy, "other evidence is being looked at: send it again");
  Result<void> taken = co_await consider(std::move(evidence), request.peer);
  if (!taken && taken.error().code != ErrorCode::kBusy) ++counters_.refused;
  co_return taken;
}

// What is cheap first: form, age, signatures; then whether the key is that of an owner of the hashtag.
Task<Result<void>> Offences::consider(Evidence evidence, IpAddress sender) {
  const storage::Head& head = evidence.head;
  if (head.network != notary_.network()) co_return fail(ErrorCode::kInvalid, "it is of another network");
  if (!is_current(head.at)) co_return fail(ErrorCode::kInvalid, "it is too old, or not signed yet");
  CO_TRY_VOID(check(evidence));
  const std::string origin = origin_of(head.actor);
  if (head.actor == notary_.actor()) {
    if (evidence.key != notary_.key()) co_return fail(ErrorCode::kDenied, "that is not the key of this node");
    ++counters_.accused;
    log_.error("this_node_dropped_a_post",
               {{"tag", head.partition.tag.canonical()}, {"post", evidence.receipt.item.uri}});
    co_return Result<void>();
  }
  std::optional<ring::Contact> accused = co_await concerned_.owner(head.partition, origin);
  if (!accused) co_return fail(ErrorCode::kNotOwner, "the accused is no owner of the hashtag");
  CO_TRY(const AuditedOwner owner, co_await questions_.meet(std::move(*accused), /*fresh=*/true, sender));
  if (owner.key != evidence.key) co_return fail(ErrorCode::kDenied, "that is not the key of the accused");
  if (is_known(origin, evidence.head.at)) co_return Result<void>();
  evidence.key_from = evidence.head.actor;
  evidence.key_at = owner.key_at;
  ++counters_.told;
  co_await keep(std::move(evidence));
  co_return Result<void>();
}

// --- handing on --------------------------------------------------------------------------------------------

Task<std::optional<ring::Contact>> Concerned::owner(redundancy::Partition partition, std::string origin) {
  const std::vector<ring::Contact> owners = co_await history_.owners_of_partition(std::move(partition));
  const auto found = std::ranges::find(owners, origin, &ring::Contact::origin);
  co_return found == owners.end() ? std::nullopt : std::optional(*found);
}

std::vector<ring::Contact> Concerned::neighbours() const {
  std::vector<ring::Contact> found;
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    for (const auto& vserver : rings_.of(ring).vservers()) {
      if (vserver->predecessor()) found.push_back(*vserver->predecessor());
      if (!vserver->successors().empty()) found.push_back(vserver->successors().front());
    }
  }
  return found;
}

// Who is told does not tell others: they see the same, or are told by who found it.
Task<void> Concerned::tell(Evidence evidence, std::string path) {
  const redundancy::Partition partition = evidence.head.partition;
  std::vector<ring::Contact> told = co_await history_.owners_of_partition(partition);
  const std::vector<ring::Contact> relays = co_await history_.owners(Ring::kRelay, partition.tag);
  told.insert(told.end(), relays.begin(), relays.end());
  std::ranges::copy(neighbours(), std::back_inserter(told));
  const std::string body = json::serialize(to_json(evidence));
  std::set<std::string> origins{origin_of(notary_.actor())};
  std::erase_if(told, [&](const ring::Contact& contact) {
    return origins.size() > kToldMax || rings_.is_blocked(contact.host) ||
           !origins.insert(contact.origin()).second;
  });
  for (unsigned tries = 0; !told.empty() && tries < kTellTries; ++tries) {
    const Instant next = clock_.now() + tries * kTellAgain;
    if (tries > 0) co_await clock_.sleep_until(next);
    std::vector<ring::Contact> again;
    for (const ring::Contact& contact : told) {
      const bool is_told = co_await tell_one(contact, path, body);
      if (!is_told) again.push_back(contact);
    }
    told = std::move(again);
  }
}

Task<bool> Concerned::tell_one(ring::Contact contact, std::string path, std::string body) {
  Result<Url> url = Url::parse(contact.origin() + path);
  if (!url) co_return true;
  HttpCall call("POST", std::move(*url), clock_.now() + kAuditTimeout);
  call.headers.add("Content-Type", "application/json");
  call.body = std::move(body);
  call.required_prefix = contact.address.prefix64();
  const Result<HttpResponse> response = co_await http_.send(std::move(call));
  co_return response && response->status < 500 && response->status != 429;
}

}  // namespace tagring::audit
