#include "cluster/channel.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "federation/checked_signature.hpp"
#include "http/http_error.hpp"
#include "signatures/signature.hpp"

namespace tagring::cluster {
namespace {

constexpr std::string_view kOwnFields = "tagring-";  // all of this channel begin so
constexpr std::string_view kProofField = "Tagring-Proof";
constexpr std::string_view kHostField = "Tagring-Host";
constexpr std::string_view kMethodField = "Tagring-Method";
constexpr std::string_view kUrlField = "Tagring-Url";
constexpr std::string_view kWaitField = "Tagring-Wait";
constexpr std::string_view kSizeField = "Tagring-Size";
constexpr std::string_view kKeyField = "Tagring-Key";
constexpr std::string_view kFormField = "Tagring-Form";
constexpr std::string_view kStatusField = "Tagring-Status";
// A front has this to say that the other side did not answer in time: or it would seem to be lost itself.
constexpr Duration kForTheWay{2'000};
constexpr std::size_t kPageMax = 16U << 20U;  // bytes of what a node answers to anybody

template <class Number>
std::optional<Number> number_of(const Headers& headers, std::string_view name) {
  const std::string text = headers.find(name).value_or("");
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Between whoever speaks to whom, and of no use to whom it is passed on to.
bool is_of_one_connection(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {
      "Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive",       "Upgrade", "TE", "Trailer",
      "Expect",     "Host",           "Accept-Encoding",   "Proxy-Connection", "Date"};
  return std::ranges::any_of(kNames, [&](std::string_view one) { return ascii_iequals(one, name); });
}

bool is_own(std::string_view name) {
  return name.size() >= kOwnFields.size() && ascii_iequals(name.substr(0, kOwnFields.size()), kOwnFields);
}

Headers without(const Headers& headers, bool (*leaves_out)(std::string_view)) {
  Headers kept;
  for (const auto& [name, value] : headers)
    if (!leaves_out(name) && !is_own(name)) kept.add(name, value);
  return kept;
}

void add(Headers& headers, std::string_view name, std::string value) {
  headers.add(std::string(name), std::move(value));
}

// By a listener (server/session.cpp), of a request that the node never saw, or failed at: whoever sent that
// is to hear it.
bool is_said_at_the_door(int status) {
  constexpr std::array<int, 10> kRefusals = {400, 413, 415, 426, 429, 431, 500, 501, 503, 505};
  return std::ranges::find(kRefusals, status) != kRefusals.end();
}

}  // namespace

Secret::Secret(const crypto::PrivateKey& key) : secret_("tagring cluster\n" + key.pem()) {}

std::string Secret::proof(std::string_view place, std::string_view time) const {
  return to_hex(crypto::hmac_sha256(secret_, fmt::format("{}\n{}", place, time)));
}

void Secret::prove(HttpCall& call, WallTime now) const {
  const std::string time = std::to_string(now.time_since_epoch().count());
  add(call.headers, kProofField,
      fmt::format("{} {}", time, proof(fmt::format("{}:{}", call.url.host, call.url.port), time)));
}

bool Secret::has_key(const Headers& headers, const std::string& own) const {
  const std::string shown = headers.find(kProofField).value_or("");
  const std::string time = shown.substr(0, shown.find(' '));
  return crypto::sha256(shown) == crypto::sha256(fmt::format("{} {}", time, proof(own, time)));
}

bool Secret::is_proven(const Headers& headers, const std::string& own, WallTime now) const {
  const std::string shown = headers.find(kProofField).value_or("");
  const std::string time = shown.substr(0, shown.find(' '));
  Duration::rep at = 0;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), at);
  const bool is_recent = error == std::errc() && now - WallTime(Duration(at)) < kProvesFor &&
                         WallTime(Duration(at)) - now < kProvesFor;
  return has_key(headers, own) && is_recent;
}

Result<HttpCall> call_to(std::string method, const std::string& place, std::string_view target,
                         Instant deadline) {
  TRY(Url url, Url::parse(fmt::format("http://{}/", place)));
  url.target = target;  // as it came, however long: it is the core's to judge
  return HttpCall(std::move(method), std::move(url), deadline);
}

Headers end_to_end(const Headers& headers) { return without(headers, is_of_one_connection); }

// The date is part of what is signed.
Result<HttpCall> to_core(HttpRequest request, const std::string& core, Instant deadline) {
  const bool to_head = request.method == "HEAD";  // whoever brings the answer leaves the body out
  TRY(HttpCall call, call_to(to_head ? "GET" : request.method, core, request.target, deadline));
  call.headers = without(request.headers, [](std::string_view name) {
    return (is_of_one_connection(name) && !ascii_iequals(name, "Date")) ||
           ascii_iequals(name, "X-Forwarded-For");
  });
  add(call.headers, "X-Forwarded-For", request.peer.text());
  add(call.headers, kHostField, request.headers.find("Host").value_or(""));
  add(call.headers, kMethodField, request.method);
  call.body = std::move(request.body);
  call.response_size_max = kPageMax;
  return call;
}

bool is_from_outside(const HttpRequest& request) { return request.headers.find(kHostField).has_value(); }

HttpRequest from_front(HttpRequest request) {
  const std::string host = request.headers.find(kHostField).value_or("");
  const std::optional<std::string> checked = request.headers.find(federation::kCheckedField);
  request.method = request.headers.find(kMethodField).value_or(request.method);
  request.headers = without(request.headers, [](std::string_view name) {
    return ascii_iequals(name, "Host") || ascii_iequals(name, "X-Forwarded-For") ||
           ascii_iequals(name, "Connection");
  });
  add(request.headers, "Host", host);
  if (checked) add(request.headers, federation::kCheckedField, *checked);
  return request;
}

HttpResponse to_front(HttpResponse answer) {
  add(answer.headers, kStatusField, std::to_string(answer.status));
  return answer;
}

Result<HttpResponse> from_core(HttpResponse answer) {
  // The head of a WebSocket is none of the node's.
  if (answer.status == 101 || answer.headers.find(kStatusField)) return answer;
  if (!is_said_at_the_door(answer.status))
    return fail(ErrorCode::kUnavailable, "who answers there is no core of this node");
  HttpResponse refusal{.status = answer.status, .headers = {}, .body = {}};
  for (const char* field : {"Retry-After", "Upgrade", "Sec-WebSocket-Version"}) {
    if (const auto value = answer.headers.find(field)) refusal.headers.add(field, *value);
  }
  return refusal;
}

Result<HttpCall> to_front(const Errand& errand, const std::string& front, Instant now) {
  const HttpCall& call = errand.call;
  TRY(HttpCall sent, call_to("POST", front, kSendPath, call.deadline + kForTheWay));
  sent.headers = call.headers;
  add(sent.headers, kMethodField, call.method);
  add(sent.headers, kUrlField, call.url.text());
  add(sent.headers, kWaitField, std::to_string((call.deadline - now).count()));
  add(sent.headers, kSizeField, std::to_string(call.response_size_max));
  add(sent.headers, kKeyField, errand.as.key_id);
  add(sent.headers, kFormField, std::to_string(static_cast<int>(errand.as.form)));
  sent.body = call.body;
  sent.response_size_max = call.response_size_max;
  return sent;
}

Result<Errand> from_core(HttpRequest request, Instant now) {
  const auto wait = number_of<Duration::rep>(request.headers, kWaitField);
  const auto size = number_of<std::size_t>(request.headers, kSizeField);
  const auto form = number_of<int>(request.headers, kFormField);
  const std::string method = request.headers.find(kMethodField).value_or("");
  constexpr int kLastForm = static_cast<int>(signatures::SignatureForm::kMessage);
  if (!wait || !size || !form || *form < 0 || *form > kLastForm || method.empty())
    return fail(ErrorCode::kInvalid, "no call of a core");
  TRY(Url url, Url::parse(request.headers.find(kUrlField).value_or("")));
  HttpCall call(method, std::move(url), now + Duration(*wait));
  call.headers = without(request.headers, [](std::string_view name) {
    return ascii_iequals(name, "Host") || ascii_iequals(name, "Content-Length") ||
           ascii_iequals(name, "Connection");
  });
  call.body = std::move(request.body);
  call.response_size_max = *size;
  return Errand{
      std::move(call),
      {request.headers.find(kKeyField).value_or(""), static_cast<signatures::SignatureForm>(*form)}};
}

HttpResponse to_answer(Result<HttpResponse> result) {
  if (!result) return error_response(result.error());
  HttpResponse answer = *std::move(result);
  const int status = answer.status;
  answer.headers = end_to_end(answer.headers);
  answer.headers.add(std::string(kStatusField), std::to_string(status));
  answer.status = 200;
  return answer;
}

Result<HttpResponse> from_answer(HttpResponse answer) {
  const auto status = number_of<int>(answer.headers, kStatusField);
  if (!status) return std::unexpected(decode_error(answer.status, answer.body));
  answer.status = *status;
  answer.headers = end_to_end(answer.headers);
  return answer;
}

std::string Place::text() const {
  const std::string number = address.text();
  return number.contains(':') ? fmt::format("[{}]:{}", number, port) : fmt::format("{}:{}", number, port);
}

Result<Place> Place::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::parse(std::string(host));
  std::uint16_t port = 0;
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_one = address && *address != IpAddress{} && *address != IpAddress::from_v4({});
  if (!is_one || port == 0 || error != std::errc() || end != digits.data() + digits.size())
    return fail(ErrorCode::kInvalid,
                fmt::format("'{}' is no address of one machine with a port, such as 10.0.0.5:7946", text));
  return Place{*address, port};
}

}  // namespace tagring::cluster
