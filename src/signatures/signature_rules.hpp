// What both signature schemes ask of a request. For cavage.cpp and message_signature.cpp only.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "http/message.hpp"
#include "signatures/claim.hpp"

namespace tagring::signatures {

std::unexpected<Error> refuse(std::string message);  // kDenied

// Without blanks and tabs at its ends.
std::string_view trim(std::string_view text);

// The header `name`, which must be there once.
Result<std::string> only_header(const HttpRequest& request, std::string_view name);

// The authority of the policy that Host names.
Result<std::string> check_host(const HttpRequest& request, const SignaturePolicy& policy);

// When a request was signed: gathers the times that its signature covers, all of which must be right.
class SigningTime {
 public:
  SigningTime(WallTime now, const SignaturePolicy& policy) : now_(now), policy_(policy) {}

  Result<void> created(std::int64_t seconds);
  Result<void> expires(std::int64_t seconds);
  Result<void> date(const HttpRequest& request);  // its Date header

  // From Date, else from `created`. Nothing if the signature covers neither.
  [[nodiscard]] std::optional<WallTime> signed_at() const { return signed_at_; }

 private:
  Result<void> check(WallTime time) const;

  WallTime now_;
  const SignaturePolicy& policy_;
  std::optional<WallTime> signed_at_;
};

}  // namespace tagring::signatures
