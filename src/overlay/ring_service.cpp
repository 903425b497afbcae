#include "overlay/ring_service.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/bytes.hpp"
#include "http/http_error.hpp"

namespace tagring::overlay {
namespace {
constexpr Duration kDnsTimeout = std::chrono::seconds(10);
constexpr std::size_t kSchemeMax = 20;  // bytes of what another says, in a message
constexpr Duration kSaveEvery = std::chrono::seconds(5);
// Nodes met before that are asked where they stand now: by who looks for the ring, and by a member that makes
// sure there is but one.
constexpr std::size_t kAskedBySeeker = 16;
constexpr std::size_t kAskedByMember = 2;
constexpr std::size_t kNamedMax = 4;  // of whom others have heard, asked in one search
constexpr std::size_t kPassedOn = 8;  // contacts of others, announced by who has no place on a ring
// Neighbours call at every stabilisation, of which there are many in that time.
constexpr Duration kReachedLately = std::chrono::minutes(10);
}  // namespace

// Carries calls to vservers over HTTPS; those of this node are called directly.
class RingService::HttpPeers final : public ring::Peers {
 public:
  explicit HttpPeers(RingService& service) : service_(service) {}

  Task<Result<ring::Reply>> call(ring::Contact to, ring::Request request, Instant deadline) override {
    CO_TRY_VOID(ring::check_node_id(service_.options_.tuning.ids, to));
    ring::Envelope envelope;
    envelope.network = service_.options_.network;
    envelope.to = to.id;
    envelope.incarnation = to.incarnation;
    const Ring ring = request.ring;
    envelope.request = std::move(request);
    if (service_.is_here(ring, to)) {
      if (auto* notify = std::get_if<ring::Notify>(&envelope.request.body)) notify->is_own_word = true;
      co_return co_await service_.dispatch(std::move(envelope));
    }

    Result<Url> url = Url::parse(to.origin() + std::string(kPath));
    if (!url) co_return std::unexpected(std::move(url).error());
    HttpCall call("POST", std::move(*url), deadline);
    call.headers.add("Content-Type", "application/json");
    call.body = encode(envelope);
    call.required_prefix = to.address.prefix64();
    Result<HttpResponse> response = co_await service_.http_.send(std::move(call));
    if (!response) {
      service_.unanswered_ =
          fmt::format("{} at {}: {}", to.origin(), to.address.text(), response.error().message);
      co_return std::unexpected(std::move(response).error());
    }
    if (service_.unanswered_.starts_with(to.origin() + " at ")) service_.unanswered_.clear();
    if (response->status != 200) co_return std::unexpected(decode_error(response->status, response->body));
    Result<ring::Reply> reply = ring::decode_reply(response->body);
    if (reply) service_.address_book_.note(ring, to, service_.clock_.wall_now());
    co_return reply;
  }

 private:
  RingService& service_;
};

RingService::RingService(Options options, HttpClient& http, Observer& observer, const Runtime& runtime)
    : options_(std::move(options)),
      http_(http),
      observer_(observer),
      clock_(runtime.clock),
      log_(runtime.log),
      peers_(std::make_unique<HttpPeers>(*this)),
      rng_(runtime.rng.fork("address book")),
      address_book_(options_.address_book, clock_.wall_now()),
      tasks_(runtime.executor) {
  const auto make = [&](Ring ring) {
    ring::Membership::Options membership = options_.membership;
    membership.places = ring == Ring::kRelay ? options_.relay_places : options_.storage_places;
    ring::Vserver::Environment environment{clock_, *peers_, runtime.executor, options_.tuning};
    environment.on_segment_change = [this, ring](ring::Vserver& vserver) {
      observer_.segment_changed(ring, vserver);
    };
    environment.is_avoided = [this](const ring::Contact& contact) { return is_blocked(contact.host); };
    return std::make_unique<ring::Membership>(
        environment, std::move(membership), ring, options_.contacts,
        [this, ring] { return find_bootstrap(ring); },
        runtime.rng.fork("rings").fork(ring == Ring::kRelay ? "relay ring" : "storage ring"));
  };
  relay_ = make(Ring::kRelay);
  storage_ = make(Ring::kStorage);
}

RingService::~RingService() = default;

void RingService::start() {
  using Founding = ring::Membership::Founding;
  const Founding first = options_.may_create ? Founding::kAtOnce : Founding::kNever;
  const Founding again = options_.may_create ? Founding::kInTheEnd : Founding::kTogether;
  const Founding founding = address_book_.empty() ? first : again;
  is_newcomer_ = founding == Founding::kNever;
  relay_->start(founding);
  storage_->start(founding);
  if (options_.save_address_book) tasks_.spawn("keep_address_book", keep_address_book());
}

// What is not written down before the power goes is met again.
Task<void> RingService::keep_address_book() {
  for (;;) {
    const Instant next = clock_.now() + kSaveEvery;
    co_await clock_.sleep_until(next);
    if (!address_book_.take_changed()) continue;
    const Result<void> saved = co_await options_.save_address_book(address_book_.text());
    if (!saved) address_book_.note_unsaved();
  }
}

Task<void> RingService::stop() {
  has_stopped_ = true;
  tasks_.cancel();
  co_await tasks_.join();
  co_await relay_->stop();
  co_await storage_->stop();
}

// Of a ring that it has left, another node may stand in this one's places: the one whose name it has now.
bool RingService::is_here(Ring ring, const ring::Contact& contact) const {
  if (has_left(ring) && contact.origin() != options_.contacts.front().origin()) return false;
  return of(ring).find(contact.id) != nullptr;
}

// --- answering ---------------------------------------------------------------------------------------------

Task<HttpResponse> RingService::answer(HttpRequest request) {
  Result<ring::Envelope> envelope = ring::decode_envelope(request.body);
  if (envelope && envelope->network != options_.network) {
    envelope = fail(ErrorCode::kInvalid, fmt::format("this node is of network '{}'", options_.network));
  }
  Result<ring::Reply> reply = fail(ErrorCode::kInvalid, "");
  if (envelope) {
    const auto is_own_word = [&](const ring::Contact& named) {
      return named.address.prefix64() == request.peer.prefix64();
    };
    if (auto* notify = std::get_if<ring::Notify>(&envelope->request.body))
      notify->is_own_word = is_own_word(notify->candidate);
    if (auto* nudge = std::get_if<ring::Nudge>(&envelope->request.body);
        nudge != nullptr && nudge->successor && !is_own_word(*nudge->successor))
      nudge->successor.reset();
    reply = co_await dispatch(std::move(*envelope));
  } else {
    reply = std::unexpected(std::move(envelope).error());
  }
  if (!reply) co_return error_response(reply.error());
  reached_ = clock_.now();
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = ring::encode(*reply);
  co_return response;
}

Task<Result<ring::Reply>> RingService::dispatch(ring::Envelope envelope) {
  ring::Vserver* vserver = of(envelope.request.ring).find(envelope.to);
  if (vserver == nullptr) co_return fail(ErrorCode::kNotFound, "no such vserver at this node");
  if (vserver->self().incarnation != envelope.incarnation) {
    co_return fail(ErrorCode::kNotFound, "another incarnation of this vserver");
  }
  if (auto* request = std::get_if<ring::TakeOver>(&envelope.request.body)) {
    CO_TRY_VOID(ring::check_node_id(options_.tuning.ids, request->leaver));
    if (is_blocked(request->leaver.host))
      co_return fail(ErrorCode::kDenied, request->leaver.host + " is blocked here: nothing is taken from it");
    const Result<void> taken =
        co_await observer_.take_over(envelope.request.ring, vserver->self(), std::move(*request));
    if (!taken) co_return std::unexpected(taken.error());
    co_return ring::Done{};
  }
  if (const auto* request = std::get_if<ring::GetLoad>(&envelope.request.body)) {
    const std::optional<Segment> owned = vserver->owned();
    const auto& [from, to] = request->segment;
    const bool owns = owned && owned->contains(to) &&
                      (from == owned->from || (from != to && Segment{owned->from, to}.contains(from)));
    if (!owns) co_return fail(ErrorCode::kNotOwner, "those keys are not this vserver's");
    CO_TRY(const ring::Load load, co_await observer_.load_of(envelope.request.ring, request->segment));
    co_return load;
  }
  co_return co_await vserver->answer(std::move(envelope.request));
}

bool RingService::is_reached() const {
  if (reached_ && clock_.now() - *reached_ < kReachedLately) return true;
  return !is_among_others();
}

bool RingService::is_among_others() const {
  const auto knows_others = [](const ring::Membership& membership) {
    return std::ranges::any_of(membership.vservers(), [](const auto& vserver) {
      return std::ranges::any_of(vserver->successors().contacts(), [&](const ring::Contact& contact) {
        return contact.host != vserver->self().host;
      });
    });
  };
  return knows_others(*relay_) || knows_others(*storage_);
}

// --- finding the ring --------------------------------------------------------------------------------------

// Of a ring on which this node has no place, some who have: nobody finds it through this node otherwise.
json::array RingService::announced_contacts(Ring ring) {
  json::array list;
  for (const auto& vserver : of(ring).vservers()) {
    if (vserver->is_member()) list.push_back(to_json(vserver->self()));
  }
  if (!of(ring).vservers().empty()) return list;
  for (const ring::Contact& other : address_book_.contacts(ring, kPassedOn, rng_))
    list.push_back(to_json(other));
  return list;
}

json::object RingService::announcement() {
  json::object seeks;
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    if (!of(ring).is_seeking()) continue;
    const auto first = first_.find(ring);
    seeks[ring::to_string(ring)] = first == first_.end() ? options_.contacts.front().origin() : first->second;
  }
  json::object announced = {{"network", options_.network},
                            {"ids", to_json(options_.tuning.ids)},
                            {"address", options_.contacts.front().address.text()},
                            {"relay", announced_contacts(Ring::kRelay)},
                            {"storage", announced_contacts(Ring::kStorage)}};
  if (seeks.empty()) return announced;
  announced["seeks"] = std::move(seeks);
  if (is_newcomer_) announced["newcomer"] = true;
  return announced;
}

Task<Result<json::object>> RingService::get_json(std::string url) {
  CO_TRY(Url parsed, Url::parse(url));
  HttpCall call("GET", std::move(parsed), clock_.now() + options_.tuning.call_timeout);
  call.headers.add("Accept", "application/json");
  CO_TRY(const HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status != 200)
    co_return fail(ErrorCode::kUnavailable, fmt::format("HTTP status {}", response.status));
  co_return json::parse_object(response.body);
}

Task<Result<RingService::Announced>> RingService::ask_origin(std::string origin, Ring ring) {
  CO_TRY(const json::object links, co_await get_json(origin + "/.well-known/nodeinfo"));
  std::string href;
  json::for_each(json::find(links, "links"), [&](const json::value& link) {
    if (!link.is_object()) return;
    if (json::text_of(link.get_object(), "rel").ends_with("/schema/2.1")) {
      href = json::text_of(link.get_object(), "href");
    }
  });
  if (host_of(href) != host_of(origin))
    co_return fail(ErrorCode::kInvalid, "NodeInfo stands on another host");
  CO_TRY(const json::object info, co_await get_json(href));
  const json::object* metadata = json::get_object(info, "metadata");
  const json::object* ours = metadata == nullptr ? nullptr : json::get_object(*metadata, "tagring");
  if (ours == nullptr || json::get_string(*ours, "network") != options_.network) {
    co_return fail(ErrorCode::kNotFound,
                   fmt::format("its NodeInfo names no node of the network '{}'", options_.network));
  }
  const json::object* ids = json::get_object(*ours, "ids");
  if (ids != nullptr && *ids != to_json(options_.tuning.ids)) {
    co_return fail(ErrorCode::kConflict,
                   fmt::format("its network has other IDs: there ring.id_scheme is '{}' and ring.kappa {}",
                               cut_utf8(json::text_of(*ids, "scheme"), kSchemeMax),
                               json::get_int(*ids, "kappa").value_or(0)));
  }
  Announced announced;
  announced.address = IpAddress::parse(json::text_of(*ours, "address"));
  json::for_each(json::find(*ours, ring::to_string(ring)), [&](const json::value& element) {
    Result<ring::Contact> contact = ring::contact_from_json(element);
    if (contact && announced.members.size() < ring::kContactsMax)
      announced.members.push_back(std::move(*contact));
  });
  if (const json::object* seeks = json::get_object(*ours, "seeks")) {
    if (const auto first = json::get_string(*seeks, ring::to_string(ring))) announced.first = *first;
  }
  announced.is_newcomer = json::get_flag(*ours, "newcomer");
  co_return announced;
}

Task<Result<bool>> RingService::is_rival(std::string origin) {
  CO_TRY(const Announced announced, co_await ask_origin(origin, Ring::kRelay));
  const Result<std::string> domain = ring::registrable_domain(host_of(origin));
  if (!domain || !announced.address) co_return false;
  const ring::Contact& own = options_.contacts.front();
  co_return ring::make_node_id(options_.tuning.ids.scheme, announced.address->prefix64(), *domain,
                               own.vserver) == own.id;
}

// Each reason is logged once, however often it is met.
void RingService::note_outcome(const std::string& origin, const Result<Announced>& found) {
  if (found) {
    dead_ends_.erase(origin);
    return;
  }
  const std::string& reason = found.error().message;
  if (json::get_string(dead_ends_, origin) == reason) return;
  dead_ends_[origin] = reason;
  log_.warn("bootstrap_failed", {{"origin", origin}, {"reason", reason}});
}

// The origins that a domain names in its SRV records; none where it cannot be asked now.
Task<std::vector<std::string>> RingService::ask_domain(std::string domain) {
  std::vector<std::string> origins;
  if (options_.services == nullptr) co_return origins;
  const Instant deadline = clock_.now() + kDnsTimeout;
  const Result<std::vector<ServiceHost>> hosts =
      co_await options_.services->find_service(std::string(kService) + domain, deadline);
  if (!hosts) co_return origins;
  for (const ServiceHost& found : *hosts) {
    ring::Contact contact;
    contact.host = found.host;
    contact.port = found.port;
    origins.push_back(contact.origin());
  }
  co_return origins;
}

// Asks all of these that were not asked yet, at once: many of a long list may be gone.
Task<void> RingService::ask_all(Search* search, std::vector<std::string> origins) {
  std::vector<std::string> to_ask;
  std::vector<Task<Result<Announced>>> questions;
  for (const std::string& origin : origins) {
    if (is_blocked_at(origin) || !search->asked.insert(origin).second) continue;
    to_ask.push_back(origin);
    questions.push_back(ask_origin(origin, search->ring));
  }
  const auto answers = co_await all_of(std::move(questions));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Result<Announced>& answer = answers[i];
    if (search->configured.contains(to_ask[i])) note_outcome(to_ask[i], answer);
    // Who looks for the ring knows no way in: one that says both is waited for by nobody, and leads nowhere.
    if (!answer || (answer->first && !answer->members.empty())) continue;
    std::ranges::copy(answer->members, std::back_inserter(search->found.members));
    if (!answer->first) continue;
    if (answer->is_newcomer) {
      search->found.has_newcomer = true;
    } else {
      search->found.seekers.push_back(to_ask[i]);
    }
    const Result<Url> named = Url::parse(*answer->first);
    if (named && named->origin() == *answer->first && answer->first->starts_with("https:"))
      search->named.insert(*answer->first);
  }
}

// Everybody who may lead into the ring: what the configured origins announce, those that configured domains
// name in the DNS, and some of those met before; then vservers met since the start. Who looks for the ring
// also asks those of whom it hears that they do and come before all others, so that soon all know who is
// first; and tells of nobody whom it has not asked.
Task<ring::Membership::Found> RingService::find_bootstrap(Ring ring) {
  Search search{ring, {}, {}, {}, {}};
  std::vector<std::string> origins = options_.bootstrap;
  for (const std::string& domain : options_.bootstrap_srv) {
    const std::vector<std::string> found = co_await ask_domain(domain);
    origins.insert(origins.end(), found.begin(), found.end());
  }
  search.configured.insert(origins.begin(), origins.end());
  if (const auto first = first_.find(ring); first != first_.end()) origins.push_back(first->second);
  const bool seeks = of(ring).is_seeking();
  std::ranges::copy(address_book_.origins(seeks ? kAskedBySeeker : kAskedByMember, rng_),
                    std::back_inserter(origins));
  const std::string own = options_.contacts.empty() ? std::string() : options_.contacts.front().origin();
  search.asked.insert(own);
  const bool is_all = search.configured.size() == 1 && search.configured.contains(own);
  note_outcome(
      own, is_all ? Result<Announced>(fail(ErrorCode::kInvalid, "is this node itself, and no other is named"))
                  : Announced());
  co_await ask_all(&search, std::move(origins));
  std::vector<ring::Contact>& contacts = search.found.members;
  if (seeks && contacts.empty()) {
    std::vector<std::string> named(search.named.begin(), search.named.end());
    std::erase_if(named, [&](const std::string& origin) { return search.asked.contains(origin); });
    named.resize(std::min(named.size(), kNamedMax));
    co_await ask_all(&search, std::move(named));
  }
  for (const json::object former = dead_ends_; const auto& [origin, reason] : former)
    if (!search.asked.contains(std::string(origin))) dead_ends_.erase(origin);
  first_.erase(ring);
  if (seeks) {
    std::vector<std::string> seekers = search.found.seekers;
    if (!is_newcomer_ || seekers.empty()) seekers.push_back(own);
    first_[ring] = std::ranges::min(seekers);
  }
  std::ranges::copy(address_book_.contacts(ring, ring::kContactsMax, rng_), std::back_inserter(contacts));
  std::erase_if(contacts, [this](const ring::Contact& contact) { return is_blocked(contact.host); });
  co_return std::move(search.found);
}

// --- questions to owners ----------------------------------------------------------------------------------

Task<Result<ring::Load>> RingService::ask_load(Ring ring, ring::Contact owner, Segment segment) {
  ring::Request request;
  request.ring = ring;
  request.body = ring::GetLoad{segment};
  const Instant deadline = clock_.now() + options_.tuning.call_timeout;
  CO_TRY(const ring::Reply reply, co_await peers_->call(std::move(owner), std::move(request), deadline));
  const auto* load = std::get_if<ring::Load>(&reply);
  if (load == nullptr) co_return fail(ErrorCode::kInvalid, "the answer is no load");
  co_return *load;
}

Task<Result<json::object>> RingService::ask_owner(ring::Contact owner, std::string target, Instant deadline) {
  CO_TRY(Url url, Url::parse(owner.origin() + target));
  HttpCall call("GET", std::move(url), deadline);
  call.required_prefix = owner.address.prefix64();
  CO_TRY(const HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status != 200) co_return std::unexpected(decode_error(response.status, response.body));
  co_return json::parse_object(response.body);
}

}  // namespace tagring::overlay
