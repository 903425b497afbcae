#include "relay/relay_calls.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "fediverse/documents.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::relay {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(5);

}  // namespace

Task<Result<json::object>> RelayCalls::ask(std::string origin, Tag tag, unsigned of, json::object body) {
  const std::vector<unsigned> places = places_.own_places(tag, of);
  if (places.empty()) co_return fail(ErrorCode::kNotOwner, "no place of the set is here");
  const auto at_rest =
      std::ranges::find_if(places, [&](unsigned place) { return places_.is_place_at_rest(place, of); });
  body["tag"] = tag.canonical();
  body["index"] = at_rest != places.end() ? *at_rest : places.front();
  body["of"] = of;
  co_return co_await client_.ask(origin + std::string(kPath), std::move(body));
}

Task<Result<RelayCalls::Count>> RelayCalls::ask_count(ring::Contact owner, Tag tag) {
  std::string target = fmt::format("{}?tag={}", kPath, percent_encode(tag.canonical()));
  CO_TRY(const json::object body,
         co_await places_.rings().ask_owner(std::move(owner), std::move(target), clock_.now() + kTimeout));
  const auto relays = json::get_int(body, "relays");
  const auto lately = json::get_int(body, "lately");
  if (!relays || !lately || !places_.hints().is_count(*relays) || !places_.hints().is_count(*lately))
    co_return fail(ErrorCode::kInvalid, "an answer without 'relays' and 'lately'");
  co_return Count{static_cast<unsigned>(*relays), static_cast<unsigned>(*lately)};
}

Task<std::vector<Result<RelayCalls::Count>>> RelayCalls::ask_counts(Tag tag, unsigned relays, unsigned first,
                                                                    unsigned step) {
  std::vector<Task<Result<Count>>> questions;
  for (unsigned i = first; i < relays; i += step) {
    const RingId key = replica_key(tag.key(), i, relays);
    const Result<ring::Owner> owner = co_await places_.rings().of(Ring::kRelay).find_owner(key);
    const bool asked = owner && owner->contact.origin() != identity_.origin() &&
                       !places_.rings().is_blocked_at(owner->contact.origin());
    if (asked) questions.push_back(ask_count(owner->contact, tag));
  }
  co_return co_await all_of(std::move(questions));
}

redundancy::OverloadToken RelayCalls::sign(const Tag& tag, unsigned relays) const {
  redundancy::OverloadToken token{tag, relays, identity_.actor(), clock_.wall_now(), {}};
  token.signature = identity_.key.sign(token.signed_text(network_));
  return token;
}

// Whoever signs nothing has nothing looked up; and no key is fetched but of who relays the hashtag.
Task<Result<void>> RelayCalls::check_token(redundancy::OverloadToken token) {
  if (!token.is_fresh(clock_.wall_now())) co_return fail(ErrorCode::kDenied, "the token is stale");
  std::string signer = origin_of(token.actor);
  const std::string text = token.signed_text(network_);
  const Error forged{ErrorCode::kDenied, "the token is forged"};
  if (signer == identity_.origin()) {
    if (!identity_.key.public_key().verify(text, token.signature)) co_return std::unexpected(forged);
    if (places_.own_places(token.tag, token.relays).empty())
      co_return fail(ErrorCode::kNotOwner, signer + " is no relay of the hashtag");
    co_return Result<void>();
  }
  const std::string key_id = fediverse::key_id_of(token.actor);
  const bool is_known = authenticator_.keys().known(key_id) != nullptr;
  if (!is_known) {
    CO_TRY_VOID(co_await places_.check_signer(token.tag, signer, token.relays));
  }
  CO_TRY(const federation::KeyOwner owner, co_await authenticator_.keys().owner_of_key(key_id, false));
  if (owner.actor.id != token.actor || !owner.key.verify(text, token.signature))
    co_return std::unexpected(forged);
  if (!is_known) co_return Result<void>();
  co_return co_await places_.check_signer(token.tag, std::move(signer), token.relays);
}

Task<std::expected<RelayCalls::Question, HttpResponse>> RelayCalls::read(HttpRequest request) {
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
  if (!sender) co_return std::unexpected(federation::not_authentic(sender.error()));
  Result<json::object> body = json::parse_object(request.body);
  if (!body) co_return std::unexpected(error_response(body.error()));
  co_return Question{origin_of(sender->actor.id), std::move(*body)};
}

}  // namespace tagring::relay
