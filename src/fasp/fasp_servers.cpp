#include "fasp/fasp_servers.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "federation/authenticator.hpp"
#include "fediverse/domain.hpp"
#include "ring/contact.hpp"
#include "signatures/fasp_signature.hpp"

namespace tagring::fasp {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(20);
constexpr std::size_t kAnswerMax = 64 * 1024;
constexpr std::size_t kIdBytes = 16;
constexpr std::string_view kMastodonPath = "/api/fasp";

// Keys that were checked when they were stored.
crypto::PrivateKey own_key(const FaspServer& server) {
  Result<crypto::PrivateKey> key = crypto::PrivateKey::from_pem(server.own_key);
  TR_ASSERT(key);
  return *std::move(key);
}

crypto::PublicKey key_of(const FaspServer& server) {
  Result<crypto::PublicKey> key = crypto::PublicKey::from_ed25519(server.server_key);
  TR_ASSERT(key);
  return *std::move(key);
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

bool is_host(const std::string& text) {
  return !text.empty() && text.find_first_of("/:?#@") == std::string::npos &&
         host_of("https://" + text + "/") == text;
}

}  // namespace

FaspServers::FaspServers(signatures::SignaturePolicy policy, FaspStore& store,
                         const federation::Blocks& blocks, federation::SignedClient& client, HttpClient& http,
                         const Runtime& runtime)
    : policy_(std::move(policy)),
      store_(store),
      blocks_(blocks),
      identity_(client.identity()),
      hosts_(client.hosts()),
      http_(http),
      clock_(runtime.clock),
      started_(runtime.clock.now()),
      workers_(runtime.workers),
      replays_(kAgeMax) {
  policy_.age_max = kAgeMax;
}

Task<Result<void>> FaspServers::load() {
  CO_TRY(std::vector<FaspServer> servers, co_await store_.servers());
  for (FaspServer& server : servers) {
    if (!crypto::PrivateKey::from_pem(server.own_key) || !crypto::PublicKey::from_ed25519(server.server_key))
      co_return fail(ErrorCode::kCorrupt, "the keys exchanged with " + server.host + " are damaged");
    std::string host = server.host;
    servers_.emplace(std::move(host), std::move(server));
  }
  co_return Result<void>();
}

const FaspServer* FaspServers::find(const std::string& host) const {
  const auto found = servers_.find(host);
  return found == servers_.end() ? nullptr : &found->second;
}

std::string FaspServers::fingerprint(const FaspServer& server) {
  const crypto::Hash256 hash = crypto::sha256(own_key(server).public_key().ed25519());
  return to_base64(std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

std::string FaspServers::below_prefix(const std::string& target) {
  std::string below = target.substr(kPrefix.size());
  constexpr std::size_t kId = 1 + 2 * kIdBytes;
  const bool has_id = below.size() > kId && below[kId] == '/' && from_hex(below.substr(1, kId - 1));
  return has_id ? below.substr(kId) : below;
}

// --- registration ------------------------------------------------------------------------------------------

Task<Result<json::object>> FaspServers::get_json(std::string url) {
  CO_TRY(Url parsed, Url::parse(url));
  HttpCall call("GET", std::move(parsed), clock_.now() + kTimeout);
  call.headers.add("Accept", "application/json");
  call.response_size_max = kAnswerMax;
  CO_TRY(const HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status != 200)
    co_return fail(ErrorCode::kNotFound, fmt::format("{} answered {}", url, response.status));
  co_return json::parse_object(response.body);
}

// The base URL that the server names in its NodeInfo. Mastodon names none.
Task<Result<std::string>> FaspServers::discover(std::string host) {
  const std::string origin = "https://" + host;
  std::string named;
  const Result<json::object> links = co_await get_json(origin + "/.well-known/nodeinfo");
  std::string document_url;
  if (links) {
    json::for_each(json::find(*links, "links"), [&](const json::value& element) {
      if (!element.is_object()) return;
      const std::string href = json::text_of(element.get_object(), "href");
      const std::string rel = json::text_of(element.get_object(), "rel");
      if (rel.contains("nodeinfo.diaspora.software/ns/schema/") && host_of(href) == host) document_url = href;
    });
  }
  if (!document_url.empty()) {
    const Result<json::object> document = co_await get_json(document_url);
    const json::object* metadata = document ? json::get_object(*document, "metadata") : nullptr;
    if (metadata != nullptr) named = json::text_of(*metadata, "faspBaseUrl");
  }
  if (named.empty()) co_return origin + std::string(kMastodonPath);
  if (host_of(named) != host)
    co_return fail(ErrorCode::kDenied,
                   host + " names another server for FASPs: " + named + "; give that address if it is right");
  co_return named;
}

// The one request that is not signed, for there are no keys yet. TLS says who answers.
Task<Result<fediverse::FaspRegistration>> FaspServers::introduce(FaspServer draft, std::string own_base) {
  CO_TRY(Url url, Url::parse(draft.base_url + "/registration"));
  HttpCall call("POST", std::move(url), clock_.now() + kTimeout);
  call.headers.add("Accept", "application/json");
  call.headers.add("Content-Type", "application/json");
  call.response_size_max = kAnswerMax;
  const json::object body = {{"name", "tagring on " + identity_.authority()},
                             {"baseUrl", std::move(own_base)},
                             {"serverId", draft.id},
                             {"publicKey", to_base64(own_key(draft).public_key().ed25519())}};
  call.body = json::serialize(body);
  CO_TRY(const HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status == 404 || response.status == 405 || response.status == 410)
    co_return fail(ErrorCode::kNotFound,
                   draft.base_url + " takes no FASPs; Mastodon does with EXPERIMENTAL_FEATURES=fasp");
  if (response.status != 200 && response.status != 201) {
    const bool may_be_known = response.status == 409 || response.status == 422 || response.status == 500;
    co_return fail(may_be_known ? ErrorCode::kConflict : ErrorCode::kUnavailable,
                   fmt::format("{} answered {} to the registration", draft.base_url, response.status));
  }
  co_return fediverse::parse_fasp_registration(response.body);
}

Task<Result<FaspServers::Enrolled>> FaspServers::enroll(std::string server) {
  std::string base = without_slash(std::string(trim(server)));
  // "elk.example", "https://elk.example/"
  const std::string_view bare = std::string_view(base).substr(base.starts_with("https://") ? 8 : 0);
  const std::string host = fediverse::domain_in(bare);
  if (bare.find_first_of("/:?#@") == std::string_view::npos && is_host(host)) {
    CO_TRY(base, co_await discover(host));
  }
  base = without_slash(std::move(base));
  const Result<Url> url = Url::parse(base);
  if (!url || !url->query().empty())
    co_return fail(ErrorCode::kInvalid, "'" + server + "' is neither a host name nor a base URL");
  FaspServer draft;
  draft.host = url->host;
  draft.base_url = base;
  CO_TRY_VOID(blocks_.check_actor(base + "/"));
  if (servers_.size() >= kServersMax) co_return fail(ErrorCode::kTooLarge, "too many servers");
  if (find(draft.host) != nullptr)
    co_return fail(ErrorCode::kConflict,
                   "this node is registered with " + draft.host + " already: tagring fasp remove");
  draft.id = to_hex(crypto::random_bytes(kIdBytes));
  draft.own_key = crypto::PrivateKey::generate(crypto::KeyType::kEd25519).pem();
  draft.since = clock_.wall_now();
  const std::string own_base = identity_.origin() + std::string(kPrefix);
  Result<fediverse::FaspRegistration> answer = co_await introduce(draft, own_base);
  // Mastodon keeps who was removed here, or whose data is lost, and takes nobody else at that address.
  const bool had_it_before = !answer && answer.error().code == ErrorCode::kConflict;
  if (had_it_before) answer = co_await introduce(draft, own_base + "/" + draft.id);
  if (!answer) co_return std::unexpected(answer.error());
  draft.fasp_id = std::move(answer->fasp_id);
  draft.server_key = std::move(answer->public_key);
  draft.completion_url = std::move(answer->completion_url);
  if (!crypto::PublicKey::from_ed25519(draft.server_key))
    co_return fail(ErrorCode::kInvalid, "the key of " + draft.host + " is none");
  if (find(draft.host) != nullptr) co_return fail(ErrorCode::kConflict, "registered twice at a time");
  servers_[draft.host] = draft;
  const Result<void> saved = co_await store_.save_server(draft);
  if (!saved) {
    servers_.erase(draft.host);
    co_return std::unexpected(saved.error());
  }
  co_return Enrolled{draft, had_it_before};
}

Task<Result<void>> FaspServers::remove(std::string host) {
  auto server = servers_.extract(host);
  if (server.empty()) co_return fail(ErrorCode::kNotFound, "this node is not registered with '" + host + "'");
  const Result<void> dropped = co_await store_.drop_server(host);
  if (!dropped) servers_.insert(std::move(server));
  if (dropped) stranger_to_.erase(host);
  co_return dropped;
}

Task<Result<void>> FaspServers::change(std::string host, std::function<void(FaspServer&)> change) {
  const auto found = servers_.find(host);
  if (found == servers_.end())
    co_return fail(ErrorCode::kNotFound, "this node is not registered with '" + host + "'");
  const FaspServer before = found->second;
  change(found->second);
  FaspServer changed = found->second;
  const Result<void> saved = co_await store_.save_server(std::move(changed));
  const auto still = servers_.find(host);
  if (!saved && still != servers_.end()) still->second = before;
  co_return saved;
}

// --- signed requests ---------------------------------------------------------------------------------------

Task<Result<FaspServers::Asker>> FaspServers::authenticate(HttpRequest request) {
  policy_.not_before = federation::start_by_wall_clock(clock_, started_);
  CO_TRY(signatures::SignatureClaim claim,
         signatures::read_fasp_signature(request, clock_.wall_now(), policy_));
  const auto named =
      std::ranges::find_if(servers_, [&](const auto& item) { return item.second.id == claim.key_id; });
  if (named == servers_.end())
    co_return fail(ErrorCode::kDenied, "no server has that keyid; it may have been removed here");
  const std::string host = named->first;
  auto job = [claim, key = key_of(named->second)] { return signatures::verify(claim, key); };
  const bool genuine = co_await workers_.run(std::move(job));
  if (!genuine) co_return fail(ErrorCode::kDenied, "the signature does not fit the key of " + host);
  const FaspServer* still = find(host);
  if (still == nullptr || still->id != claim.key_id)
    co_return fail(ErrorCode::kDenied, "this server was removed here");
  hosts_.heard(host);
  std::vector<signatures::SeenSignature> seen = {{ring::domain_of(host), claim}};
  const bool again = request.method != "GET" && !replays_.insert(seen, clock_.wall_now());
  co_return Asker{host, again, std::move(seen)};
}

void FaspServers::sign(const std::string& host, HttpResponse& response) const {
  const FaspServer* server = find(host);
  if (server == nullptr) return;  // removed by this very request's contemporaries: nobody to sign for
  signatures::sign_fasp_response(response, own_key(*server), server->fasp_id, clock_.wall_now());
}

Task<Result<HttpResponse>> FaspServers::call(std::string host, std::string method, std::string path,
                                             std::string body) {
  const FaspServer* server = find(host);
  if (server == nullptr)
    co_return fail(ErrorCode::kNotFound, "this node is not registered with '" + host + "'");
  CO_TRY(Url url, Url::parse(server->base_url + path));
  HttpCall call(std::move(method), std::move(url), clock_.now() + kTimeout);
  call.headers.add("Accept", "application/json");
  if (!body.empty()) call.headers.add("Content-Type", "application/json");
  call.body = std::move(body);
  call.response_size_max = kAnswerMax;
  signatures::sign_fasp_call(call, own_key(*server), server->fasp_id, clock_.wall_now());
  const crypto::PublicKey key = key_of(*server);
  const std::string place = call.url.host;
  const std::string how = call.method;
  CO_TRY(HttpResponse response, co_await http_.send(std::move(call)));
  hosts_.note(place, how, response);
  if (response.status == 401 && servers_.contains(host)) stranger_to_.insert(host);
  if (response.status >= 200 && response.status < 300) {
    stranger_to_.erase(host);
    CO_TRY_VOID(signatures::check_fasp_response(response, key, clock_.wall_now(), kAgeMax));
  }
  co_return response;
}

Result<void> FaspServers::check(const std::string& host, const HttpResponse& response) const {
  const FaspServer* server = find(host);
  if (server == nullptr) return fail(ErrorCode::kDenied, "this node is not registered with '" + host + "'");
  return signatures::check_fasp_response(response, key_of(*server), clock_.wall_now(), kAgeMax);
}

}  // namespace tagring::fasp
