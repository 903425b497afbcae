#include "signatures/signature_rules.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"

namespace tagring::signatures {
namespace {

constexpr std::int64_t kSecondsMax = 253'402'300'799;  // 9999-12-31T23:59:59Z

Result<WallTime> to_time(std::int64_t seconds, std::string_view name) {
  if (seconds < 0 || seconds > kSecondsMax) {
    return refuse(fmt::format("signature parameter {} is no time", name));
  }
  return WallTime(std::chrono::seconds(seconds));
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::kDenied, std::move(message)); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

Result<std::string> only_header(const HttpRequest& request, std::string_view name) {
  const std::size_t count = request.headers.count(name);
  if (count == 0) return refuse(fmt::format("signed header {} is missing", name));
  if (count > 1) return refuse(fmt::format("header {} occurs twice", name));
  return std::string(trim(*request.headers.find(name)));
}

Result<std::string> check_host(const HttpRequest& request, const SignaturePolicy& policy) {
  TRY(const std::string host, only_header(request, "host"));
  for (const std::string& authority : policy.authorities) {
    const std::size_t colon = authority.find_last_of(":]");
    const bool has_port = colon != std::string::npos && authority[colon] == ':';
    if (ascii_iequals(host, authority)) return authority;
    if (!has_port && ascii_iequals(host, authority + ":443")) return authority;
    if (has_port && ascii_iequals(host, std::string_view(authority).substr(0, colon))) return authority;
  }
  return refuse("Host is not a name of this node");
}

Result<void> SigningTime::check(WallTime time) const {
  if (time > now_ + policy_.ahead_max) return refuse("signature is dated in the future; check the clock");
  if (time < now_ - policy_.age_max) return refuse("signature is too old; check the clock and sign again");
  if (policy_.not_before && time < *policy_.not_before) {
    // No fault of who signed it: to be signed again.
    return fail(ErrorCode::kBusy, "signature is from before this node started; sign again");
  }
  return {};
}

Result<void> SigningTime::created(std::int64_t seconds) {
  TRY(const WallTime time, to_time(seconds, "created"));
  TRY_VOID(check(time));
  if (!signed_at_) signed_at_ = time;
  return {};
}

Result<void> SigningTime::expires(std::int64_t seconds) {
  TRY(const WallTime time, to_time(seconds, "expires"));
  if (time < now_ - policy_.ahead_max) return refuse("signature has expired");
  return {};
}

Result<void> SigningTime::date(const HttpRequest& request) {
  TRY(const std::string text, only_header(request, "date"));
  const std::optional<WallTime> time = from_http_date(text);
  if (!time) return refuse("Date is no IMF-fixdate, as in \"Sun, 06 Nov 1994 08:49:37 GMT\"");
  TRY_VOID(check(*time));
  signed_at_ = time;
  return {};
}

}  // namespace tagring::signatures
