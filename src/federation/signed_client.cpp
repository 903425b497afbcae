#include "federation/signed_client.hpp"

#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "fediverse/links.hpp"
#include "fediverse/vocabulary.hpp"
#include "followers/header.hpp"
#include "http/http_error.hpp"
#include "ring/codec.hpp"
#include "signatures/signature.hpp"

namespace tagring::federation {
namespace {
constexpr Duration kTimeout = std::chrono::seconds(20);
constexpr int kRedirectsMax = 3;
constexpr std::string_view kMaxAge = "max-age=";
constexpr std::size_t kReasonMax = 300;  // bytes
constexpr const char* kAccept =
    "application/activity+json, application/ld+json; profile=\"https://www.w3.org/ns/activitystreams\"";

// For how long the answer may have been in a cache.
Duration cached_for(const HttpResponse& response) {
  const std::string value = response.headers.joined("Cache-Control").value_or("");
  const std::size_t at = value.find(kMaxAge);
  if (at == std::string::npos) return {};
  std::int64_t seconds = 0;
  const char* const begin = value.data() + at + kMaxAge.size();
  const auto [end, error] = std::from_chars(begin, value.data() + value.size(), seconds);
  if (error == std::errc::result_out_of_range) return SignedClient::kCachedMax;
  if (error != std::errc()) return {};
  constexpr auto kMost = std::chrono::duration_cast<std::chrono::seconds>(SignedClient::kCachedMax);
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMost.count()));
}

// Where `url` leads: whoever finds an open redirector could else speak for the server that has it.
Result<std::string> within_server(const std::string& url, const std::string& location) {
  std::string next = location.starts_with('/') ? origin_of(url) + location : location;
  if (!fediverse::is_same_origin(next, url))
    return fail(ErrorCode::kDenied, url + " redirects to another server");
  return next;
}

}  // namespace

Task<Result<HttpResponse>> SignedClient::send(HttpCall call, SignAs as) {
  auto sign = [call = std::move(call), key = identity_.key, as = std::move(as),
               now = clock_.wall_now()]() mutable {
    signatures::sign_call(call, key, as.key_id, now, as.form);
    return std::move(call);
  };
  HttpCall signed_one = co_await workers_.run(std::move(sign));
  co_return co_await http_.send(std::move(signed_one));
}

// Nodes on the rings are known by the address that they come from.
Task<Result<HttpResponse>> SignedClient::send_anywhere(HttpCall call, SignAs as) {
  if (couriers_ != nullptr && !call.required_prefix) {
    std::optional<Result<HttpResponse>> answer = co_await couriers_->send(call, as);
    if (answer) co_return *std::move(answer);
  }
  co_return co_await send(std::move(call), std::move(as));
}

Task<Result<HttpResponse>> SignedClient::signed_call(std::string method, std::string url, std::string body,
                                                     std::string key_id,
                                                     std::optional<std::string> synchronization,
                                                     Within within) {
  CO_TRY(Url parsed, Url::parse(url));
  HttpCall call(std::move(method), std::move(parsed), within.deadline);
  call.headers.add("Accept", kAccept);
  if (!body.empty()) call.headers.add("Content-Type", "application/activity+json");
  if (synchronization) call.headers.add(std::string(followers::kHeaderName), std::move(*synchronization));
  call.body = std::move(body);
  const std::string origin = call.url.origin();
  std::optional<HttpResponse> first;
  for (const signatures::SignatureForm form : forms_.forms(origin, call.url.target.contains('?'))) {
    if (within.may_ask && !within.may_ask())
      co_return fail(ErrorCode::kUnavailable, call.url.host + " is not asked more than that now");
    CO_TRY(HttpResponse response, co_await send_anywhere(call, {key_id, form}));
    hosts_.note(call.url.host, call.method, response);
    if (!may_dislike_signature(response.status)) {
      if (response.status < 400) forms_.accepted(origin, form);
      co_return response;
    }
    // Not the last: who does not know that form at all may say 400, which would end all further tries.
    if (!first) first = std::move(response);
  }
  co_return *std::move(first);
}

Task<Result<HttpResponse>> SignedClient::deliver(std::string inbox, std::string body,
                                                 std::optional<std::string> synchronization) {
  co_return co_await signed_call("POST", std::move(inbox), std::move(body), identity_.key_id(),
                                 std::move(synchronization), {.deadline = clock_.now() + kTimeout});
}

Task<Result<json::object>> SignedClient::ask(std::string url, json::object question) {
  question["nonce"] = ++nonce_;
  CO_TRY(const HttpResponse answer, co_await deliver(std::move(url), json::serialize(question)));
  if (answer.status != 200) co_return std::unexpected(decode_error(answer.status, answer.body));
  co_return json::parse_object(answer.body);
}

Task<Result<HttpResponse>> SignedClient::deliver_as(std::string actor, std::string inbox, std::string body,
                                                    std::optional<std::string> synchronization) {
  co_return co_await signed_call("POST", std::move(inbox), std::move(body), actor + "#main-key",
                                 std::move(synchronization), {.deadline = clock_.now() + kTimeout});
}

Task<Result<std::string>> SignedClient::fetch_body(std::string url, MayAskMore may_ask_more) {
  CO_TRY(Document document, co_await fetch(std::move(url), std::move(may_ask_more)));
  co_return std::move(document.body);
}

Task<Result<SignedClient::Document>> SignedClient::fetch(std::string url, MayAskMore may_ask_more) {
  const Instant asked = clock_.now();
  std::uint64_t requests = 0;
  const auto may_ask = [&] {
    if (requests > 0 && may_ask_more && !may_ask_more()) return false;
    ++requests;
    return true;
  };
  for (int redirects = 0; redirects <= kRedirectsMax; ++redirects) {
    if (!hosts_.may_fetch(host_of(url)))
      co_return fail(ErrorCode::kUnavailable, host_of(url) + " asked not to be asked for a while");
    Result<HttpResponse> answer =
        co_await signed_call("GET", url, "", identity_.key_id(), std::nullopt, {asked + kTimeout, may_ask});
    if (!answer) {
      // Strangers name whom this node asks, and are told what comes of it: not what its own network knows.
      log_.debug("not_fetched", {{"url", url}, {"because", answer.error().message}});
      const bool timed_out = answer.error().code == ErrorCode::kTimedOut;
      co_return fail(timed_out ? ErrorCode::kTimedOut : ErrorCode::kUnavailable,
                     host_of(url) + " does not answer");
    }
    HttpResponse response = *std::move(answer);
    if (response.status >= 300 && response.status < 400) {
      CO_TRY(url, within_server(url, response.headers.find("Location").value_or("")));
      continue;
    }
    if (response.status == 404 || response.status == 410)
      co_return fail(ErrorCode::kNotFound, url + " is gone");
    if (response.status == 401 || was_refused(Result<HttpResponse>(response))) {
      co_return fail(ErrorCode::kDenied, fmt::format("{} answered {}", url, response.status));
    }
    if (response.status != 200)
      co_return fail(ErrorCode::kUnavailable, fmt::format("{} answered {}", url, response.status));
    if (!fediverse::is_activity_json(response.headers.find("Content-Type").value_or(""))) {
      const auto link = fediverse::activity_link(response.headers.joined("Link").value_or(""), response.body);
      if (!link) co_return fail(ErrorCode::kInvalid, url + " is not an ActivityPub document");
      CO_TRY(url, within_server(url, *link));
      continue;
    }
    co_return Document{std::move(response.body), asked - cached_for(response), requests};
  }
  co_return fail(ErrorCode::kInvalid, url + ": too many redirects");
}

std::string why_not(const Error& error) {
  return printable(cut_utf8(error.message.empty() ? to_string(error.code) : error.message, kReasonMax));
}

std::string why_not(const Result<HttpResponse>& response) {
  return why_not(response ? decode_error(response->status, response->body) : response.error());
}

}  // namespace tagring::federation
