#include "cluster/channel.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "federation/checked_signature.hpp"
#include "http/http_error.hpp"

namespace tagring::cluster {
namespace {

constexpr std::string_view kOwnFields = "tagring-";  // all of this channel begin so
constexpr std::string_view kHostField = "Tagring-Host";
constexpr std::string_view kMethodField = "Tagring-Method";
constexpr std::string_view kUrlField = "Tagring-Url";
constexpr std::string_view kWaitField = "Tagring-Wait";
constexpr std::string_view kSizeField = "Tagring-Size";
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

}  // namespace

std::string secret_of(const crypto::PrivateKey& key) {
  return to_hex(crypto::sha256("tagring cluster\n" + key.pem()));
}

bool shows(const Headers& headers, const std::string& secret) {
  const std::string shown = headers.find(kSecretField).value_or("");
  return crypto::sha256(shown) == crypto::sha256(secret);
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
  call.headers.add("X-Forwarded-For", request.peer.text());
  call.headers.add(std::string(kHostField), request.headers.find("Host").value_or(""));
  call.body = std::move(request.body);
  call.response_size_max = kPageMax;
  return call;
}

HttpRequest from_front(HttpRequest request) {
  const std::string host = request.headers.find(kHostField).value_or("");
  const std::optional<std::string> checked = request.headers.find(federation::kCheckedField);
  request.headers = without(request.headers, [](std::string_view name) {
    return ascii_iequals(name, "Host") || ascii_iequals(name, "X-Forwarded-For") ||
           ascii_iequals(name, "Connection");
  });
  request.headers.add("Host", host);
  if (checked) request.headers.add(std::string(federation::kCheckedField), *checked);
  return request;
}

Result<HttpCall> to_front(HttpCall call, const std::string& front, Instant now) {
  TRY(HttpCall sent, call_to("POST", front, kSendPath, call.deadline + kForTheWay));
  sent.headers = call.headers;
  sent.headers.add(std::string(kMethodField), call.method);
  sent.headers.add(std::string(kUrlField), call.url.text());
  sent.headers.add(std::string(kWaitField), std::to_string((call.deadline - now).count()));
  sent.headers.add(std::string(kSizeField), std::to_string(call.response_size_max));
  sent.body = std::move(call.body);
  sent.response_size_max = call.response_size_max;
  return sent;
}

Result<HttpCall> from_core(HttpRequest request, Instant now) {
  const auto wait = number_of<Duration::rep>(request.headers, kWaitField);
  const auto size = number_of<std::size_t>(request.headers, kSizeField);
  const std::string method = request.headers.find(kMethodField).value_or("");
  if (!wait || !size || method.empty()) return fail(ErrorCode::kInvalid, "no call of a core");
  TRY(Url url, Url::parse(request.headers.find(kUrlField).value_or("")));
  HttpCall call(method, std::move(url), now + Duration(*wait));
  call.headers = without(request.headers, [](std::string_view name) {
    return ascii_iequals(name, "Host") || ascii_iequals(name, "Content-Length") ||
           ascii_iequals(name, "Connection");
  });
  call.body = std::move(request.body);
  call.response_size_max = *size;
  return call;
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
  if (!address || port == 0 || error != std::errc() || end != digits.data() + digits.size())
    return fail(ErrorCode::kInvalid,
                fmt::format("'{}' is no address with a port, such as 10.0.0.5:7946", text));
  return Place{*address, port};
}

}  // namespace tagring::cluster
