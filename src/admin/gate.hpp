// The administrators' requests over HTTPS, below /admin/: from who has a token of the configuration, or is
// logged in (administrators/logins.hpp), whose address is known from then on. Everybody else gets 401; who
// has guessed too often 429, whatever comes then.
#pragma once

#include <expected>
#include <string>

#include "admin/control.hpp"
#include "administrators/logins.hpp"
#include "budget/manager.hpp"

namespace tagring::admin {

class Gate {
 public:
  static constexpr std::string_view kPrefix = "/admin/";
  // `tokens` may change, and outlive the gate.
  Gate(const std::vector<administrators::Token>& tokens, const administrators::Logins& logins,
       Control& control, budget::Manager& budget)
      : tokens_(tokens), logins_(logins), control_(control), budget_(budget) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Whose the request's token is; or what they are answered whose it is not.
  [[nodiscard]] std::expected<administrators::Administrator, HttpResponse> admit(const HttpRequest& request);

 private:
  const std::vector<administrators::Token>& tokens_;
  const administrators::Logins& logins_;
  Control& control_;
  budget::Manager& budget_;
};

}  // namespace tagring::admin
