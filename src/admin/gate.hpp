// The administrators' requests over HTTPS, below /admin/: from who has a token of the configuration, or is
// logged in (administrators/logins.hpp). Everybody else gets 401.
#pragma once

#include <string>

#include "admin/control.hpp"
#include "administrators/logins.hpp"

namespace tagring::admin {

class Gate {
 public:
  static constexpr std::string_view kPrefix = "/admin/";

  // `tokens` may change, and outlive the gate.
  Gate(const std::vector<administrators::Token>& tokens, const administrators::Logins& logins,
       Control& control)
      : tokens_(tokens), logins_(logins), control_(control) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  const std::vector<administrators::Token>& tokens_;
  const administrators::Logins& logins_;
  Control& control_;
};

}  // namespace tagring::admin
