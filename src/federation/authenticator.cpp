#include "federation/authenticator.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "federation/checked_signature.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::federation {
namespace {
constexpr std::size_t kAheadMax = 500;
constexpr std::string_view kSynchronization = "collection-synchronization";  // followers::kHeaderName

}  // namespace

// What a front has checked, with the key that is the owner's here, too, is not checked again.
Task<bool> Authenticator::is_genuine(signatures::SignatureClaim claim, crypto::PublicKey key,
                                     std::string checked) {
  if (!checked.empty() && checked == checked_text(claim, key)) co_return true;
  auto job = [claim = std::move(claim), key = std::move(key)] { return signatures::verify(claim, key); };
  co_return co_await workers_.run(std::move(job));
}

// By the keys that are here.
Task<std::optional<Authenticator::Signer>> Authenticator::signer_known(Claims claims, std::string checked) {
  for (const signatures::SignatureClaim& claim : claims) {
    const KeyOwner* known = actors_.known(claim.key_id);
    if (known == nullptr) continue;
    KeyOwner owner = *known;
    const bool genuine = co_await is_genuine(claim, owner.key, checked);
    if (!genuine) continue;
    actors_.note_genuine(claim.key_id);
    co_return Signer{
        {std::move(owner.actor), claim.signed_at, claim.covers(kSynchronization)}, claim, owner.key};
  }
  co_return std::nullopt;
}

// By a key that must be fetched: it is not known, or may have been rotated.
Task<Result<Authenticator::Signer>> Authenticator::signer_fetched(signatures::SignatureClaim claim,
                                                                  Asked asked) {
  const bool refresh = actors_.known(claim.key_id) != nullptr;
  Result<KeyOwner> owner = co_await actors_.owner_of_key(claim.key_id, refresh, asked.peer);
  const KeyOwner* former = owner ? nullptr : actors_.former(claim.key_id);
  const bool is_gone = former != nullptr && owner.error().code == ErrorCode::kNotFound;
  if (is_gone && asked.gone == Gone::kTaken) owner = *former;
  if (!owner)
    co_return fail(owner.error().code, "cannot fetch the key " + claim.key_id + ": " + owner.error().message);
  const bool genuine = co_await is_genuine(claim, owner->key, std::move(asked.checked));
  if (!genuine) co_return fail(ErrorCode::kDenied, "the signature does not fit the key " + claim.key_id);
  Authentic authentic{std::move(owner->actor), claim.signed_at, claim.covers(kSynchronization), is_gone};
  co_return Signer{std::move(authentic), std::move(claim), std::move(owner->key)};
}

Task<Result<Authenticator::Signer>> Authenticator::signer(Claims claims, Asked asked) {
  std::optional<Signer> known = co_await signer_known(claims, asked.checked);
  if (known) co_return *std::move(known);
  const std::string checked = asked.checked;
  Result<Signer> fetched = co_await signer_fetched(claims.front(), std::move(asked));
  if (fetched) actors_.note_genuine(fetched->claim.key_id);
  if (fetched) co_return fetched;
  // The same key may be that of the other signatures.
  known = co_await signer_known(std::move(claims), checked);
  if (known) co_return *std::move(known);
  co_return fetched;
}

Task<Result<Authenticator::Checked>> Authenticator::check(HttpRequest request) {
  CO_TRY(Claims claims, signatures::read_signatures(request, clock_.wall_now(), policy_));
  CO_TRY(const Signer found, co_await signer(std::move(claims), {request.peer}));
  co_return Checked{checked_text(found.claim, found.key), found.authentic.actor.id};
}

Task<Result<Authentic>> Authenticator::authenticate(HttpRequest request, Gone gone) {
  policy_.not_before = start_by_wall_clock(clock_, started_);
  CO_TRY(Claims claims, signatures::read_signatures(request, clock_.wall_now(), policy_));
  Asked asked{request.peer, gone, request.headers.find(kCheckedField).value_or("")};
  CO_TRY(Signer found, co_await signer(claims, std::move(asked)));
  Authentic& known = found.authentic;
  if (request.method == "GET") co_return std::move(known);
  known.seen = co_await seen(std::move(claims), found);
  for (const signatures::SeenSignature& signature : known.seen) {
    CO_TRY_VOID(co_await check_ahead(signature.domain, signature.signed_at));
  }
  if (!replays_.insert(known.seen, clock_.wall_now()))
    co_return fail(ErrorCode::kConflict, "this signed request was received before");
  actors_.heard(known.actor.id);
  co_return std::move(known);
}

Task<std::vector<signatures::SeenSignature>> Authenticator::seen(Claims claims, Signer found) {
  const std::string domain = ring::domain_of(host_of(found.authentic.actor.id));
  std::vector<signatures::SeenSignature> seen;
  for (const signatures::SignatureClaim& claim : claims) {
    if (claim.signature == found.claim.signature || ring::domain_of(host_of(claim.key_id)) == domain) {
      seen.emplace_back(domain, claim);
      continue;
    }
    const KeyOwner* known = actors_.known(claim.key_id);
    if (known == nullptr) continue;
    const KeyOwner owner = *known;
    const bool genuine = co_await is_genuine(claim, owner.key, {});
    if (genuine) seen.emplace_back(ring::domain_of(host_of(owner.actor.id)), claim);
  }
  co_return seen;
}

Authenticator::Latest Authenticator::read_ahead(const std::string& text) {
  Latest latest;
  for (const auto& [host, time] : json::parse_object(text).value_or(json::object()))
    if (time.is_int64()) {
      WallTime& of_domain = latest[ring::domain_of(host)];  // an older version wrote hosts
      of_domain = std::max(of_domain, WallTime(Duration(time.get_int64())));
    }
  return latest;
}

bool Authenticator::is_from_before(const std::string& domain, WallTime signed_at) const {
  const auto covers = [&](const std::string& name) {
    const auto before = taken_before_.find(name);
    return before != taken_before_.end() && signed_at <= before->second;
  };
  return covers(domain) || covers("");
}

// Written down before the request is acted on. Clocks that are right never come here.
Task<Result<void>> Authenticator::check_ahead(std::string domain, WallTime signed_at) {
  if (is_from_before(domain, signed_at))
    co_return fail(ErrorCode::kBusy, "signature may be from before this node started; sign again");
  const WallTime now = clock_.wall_now();
  if (signed_at <= now || !save_ahead_) co_return Result<void>();
  for (Latest* known : {&ahead_, &ahead_saved_})
    std::erase_if(*known, [now](const auto& entry) { return entry.second < now; });
  if (ahead_.size() >= kAheadMax && !ahead_.contains(domain)) domain.clear();
  const auto saved = ahead_saved_.find(domain);
  if (saved != ahead_saved_.end() && signed_at <= saved->second) co_return Result<void>();
  WallTime& latest = ahead_[domain];
  latest = std::max(latest, signed_at);
  const Latest all = ahead_;
  json::object text;
  for (const auto& [name, time] : all) text[name] = to_ms(time);
  CO_TRY_VOID(co_await save_ahead_(json::serialize(text)));
  for (const auto& [name, time] : all) ahead_saved_[name] = std::max(ahead_saved_[name], time);
  co_return Result<void>();
}

HttpResponse not_authentic(const Error& error) {
  const bool again = error.code == ErrorCode::kConflict;
  HttpResponse response = error_response(again ? Error(ErrorCode::kDenied, error.message) : error);
  if (again || error.code == ErrorCode::kDenied || error.code == ErrorCode::kNotFound ||
      error.code == ErrorCode::kInvalid) {
    response.status = 401;
    response.headers.set("WWW-Authenticate", R"(Signature headers="(request-target) host date digest")");
  }
  // What is busy has to sign again, and no more.
  if (response.status == 503)
    response.headers.set("Retry-After", error.code == ErrorCode::kBusy ? "1" : "60");
  return response;
}

}  // namespace tagring::federation
