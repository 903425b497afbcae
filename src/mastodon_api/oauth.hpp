// Logging in with OAuth 2, as clients of Mastodon do it (docs/client-api.md). There is one account, the
// administrator's; what proves him is the secret of node.admin_token_file.
//
// Registered applications are kept by nobody: the id that an application gets says what it registered, with a
// code that only this node can make. Access tokens are kept in memory, hashed: they end with the node's run,
// and after Options::token_lifetime.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/http.hpp"
#include "base/json.hpp"
#include "federation/rate_limit.hpp"
#include "mastodon_api/account.hpp"

namespace tagring::mastodon_api {

class OAuth {
 public:
  struct Options {
    Duration token_lifetime = std::chrono::days(90);
    Duration code_lifetime = std::chrono::minutes(10);
    std::size_t tokens_max = 1000;  // at a time; the oldest goes
    std::size_t codes_max = 100;
    std::size_t redirects_max = 10;  // of one application
    // Tries to log in.
    federation::RateLimit::Options tries{.requests = 20};
  };

  // `seed` differs at each start, so that no token is made twice.
  OAuth(Options options, std::string admin_secret, Site site, std::uint64_t seed, Clock& clock)
      : options_(options),
        secret_(std::move(admin_secret)),
        site_(std::move(site)),
        seed_(seed),
        clock_(clock),
        tries_(options.tries, clock) {}

  // Below /oauth/, /api/v1/apps, and the document of RFC 8414.
  [[nodiscard]] static bool is_path(std::string_view path);
  [[nodiscard]] HttpResponse answer(const HttpRequest& request);

  struct Grant {
    std::set<std::string> scopes;
    bool is_admin = false;  // or only an application
    std::string app;        // its name
    WallTime since;

    // "read:follows" is also granted by "read", "follow".
    [[nodiscard]] bool allows(const std::string& scope) const;
  };
  // Of the token in Authorization; null if there is none that is valid.
  [[nodiscard]] const Grant* grant_of(const HttpRequest& request);

 private:
  struct App {
    std::string name;
    std::vector<std::string> redirects;
    std::string scopes;
  };
  struct Code {
    Grant grant;
    std::string client_id;
    std::string redirect;
    std::string challenge;  // PKCE, S256
    Instant until;
  };
  using Form = json::object;

  HttpResponse register_app(const Form& form);
  HttpResponse ask(const Form& query) const;
  HttpResponse log_in(const Form& form, const IpAddress& peer);
  HttpResponse token(const Form& form, const IpAddress& peer);
  HttpResponse revoke(const Form& form);
  Result<Grant> redeem(const Form& form);
  HttpResponse describe() const;
  HttpResponse page(const Form& query, const App& app, std::string_view problem) const;
  [[nodiscard]] Result<App> app_of(const Form& form) const;
  [[nodiscard]] std::string mac(std::string_view purpose, std::string_view text) const;
  [[nodiscard]] bool is_secret(std::string_view given) const;
  std::string new_secret(std::string_view purpose);
  HttpResponse give(Grant grant);

  Options options_;
  std::string secret_;
  Site site_;
  std::uint64_t seed_;
  Clock& clock_;
  federation::RateLimit tries_;
  std::uint64_t made_ = 0;
  std::map<std::string, Code> codes_;
  struct Kept {
    Grant grant;
    Instant until;
    std::uint64_t number = 0;
  };
  std::map<std::string, Kept> tokens_;  // by their hashes
};

}  // namespace tagring::mastodon_api
