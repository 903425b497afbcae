// The administrator's requests over HTTPS, below /admin/: from who has the token of the configuration, or is
// logged in (logins.hpp). Everybody else gets 401.
#pragma once

#include <string>

#include "admin/control.hpp"
#include "admin/logins.hpp"

namespace tagring::admin {

class Gate {
 public:
  static constexpr std::string_view kPrefix = "/admin/";

  // `token` empty: nobody has one. It may change, and outlives the gate.
  Gate(const std::string& token, const Logins& logins, Control& control)
      : token_(token), logins_(logins), control_(control) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  const std::string& token_;
  const Logins& logins_;
  Control& control_;
};

}  // namespace tagring::admin
