// The administrators' requests over HTTPS, below /admin/: from who has a token of the configuration, or is
// logged in (administrators/logins.hpp), whose address is known from then on. Everybody else gets 401.
#pragma once

#include <string>

#include "admin/control.hpp"
#include "administrators/logins.hpp"
#include "budget/manager.hpp"
#include "federation/rate_limit.hpp"

namespace tagring::admin {

class Gate {
 public:
  static constexpr std::string_view kPrefix = "/admin/";
  // Tokens from one address, in five minutes, that are none; beyond that none of its tokens is looked at.
  static constexpr std::uint32_t kGuessesMax = 50;

  // `tokens` may change, and outlive the gate.
  Gate(const std::vector<administrators::Token>& tokens, const administrators::Logins& logins,
       Control& control, budget::Manager& budget, Clock& clock)
      : tokens_(tokens),
        logins_(logins),
        control_(control),
        budget_(budget),
        guesses_({.requests = kGuessesMax}, clock) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  const std::vector<administrators::Token>& tokens_;
  const administrators::Logins& logins_;
  Control& control_;
  budget::Manager& budget_;
  federation::RateLimit guesses_;
};

}  // namespace tagring::admin
