// Logging in as the administrator, and subscribing the node as a client of Mastodon follows a hashtag.
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "mastodon_api/entity_fields.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class LoggingIn : public NodeTest {
 protected:
  LoggingIn() {
    config::Config with_secret = config();
    with_secret.admin_token = kSecret;
    start(with_secret);
  }
  HttpResponse request(const std::string& method, const std::string& target, const std::string& body = {},
                       const std::string& token = {}) {
    HttpRequest made;
    made.method = method;
    made.target = target;
    made.body = body;
    made.headers.add("Content-Type", "application/x-www-form-urlencoded");
    if (!token.empty()) made.headers.add("Authorization", "Bearer " + token);
    return ask(std::move(made));
  }
  json::object object(const HttpResponse& response, int status = 200) {
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse_object(response.body).value_or(json::object());
  }
  static std::string text(const json::object& o, const std::string& key) {
    return json::get_string(o, key).value_or("");
  }
  json::object app() {
    return object(
        request("POST", "/api/v1/apps",
                "client_name=Test&redirect_uris=https://app.example/back&scopes=read+write:follows"));
  }
  std::string client(const json::object& a) {
    return fmt::format("client_id={}&client_secret={}&redirect_uri=https://app.example/back",
                       text(a, "client_id"), text(a, "client_secret"));
  }
  // The code that the page gives to who knows the secret.
  std::string code(const json::object& a, const std::string& more = {}) {
    const HttpResponse response =
        request("POST", "/oauth/authorize",
                fmt::format("{}&response_type=code&scope=read+write:follows&password={}{}", client(a),
                            kSecret, more));
    EXPECT_EQ(response.status, 302) << response.body;
    const std::string location = response.headers.find("Location").value_or("");
    EXPECT_THAT(location, StartsWith("https://app.example/back?code="));
    return query_value(location.substr(location.find('?') + 1), "code");
  }
  std::string token(const std::string& scope = "read+write:follows") {
    const json::object a = app();
    const json::object given =
        object(request("POST", "/oauth/token",
                       fmt::format("{}&grant_type=password&username=admin&password={}&scope={}", client(a),
                                   kSecret, scope)));
    return text(given, "access_token");
  }
  static constexpr const char* kSecret = "a secret of the administrator";
};

TEST_F(LoggingIn, AnApplicationGetsATokenWithTheAdministratorsConsent) {
  const json::object a = app();
  EXPECT_EQ(mastodon_api::wrong_fields("Application", a), "");
  const HttpResponse page = get(
      fmt::format("/oauth/authorize?{}&response_type=code&scope=read&state=%22%3E%3Cscript%3E", client(a)));
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<strong>Test</strong>"));
  EXPECT_THAT(page.body, Not(HasSubstr("<script>")));
  EXPECT_THAT(page.headers.find("Content-Security-Policy").value_or(""), HasSubstr("default-src 'none'"));
  const std::string good = code(a);
  const std::string form = client(a) + "&grant_type=authorization_code&code=" + good;
  const json::object given = object(request("POST", "/oauth/token", form));
  EXPECT_EQ(mastodon_api::wrong_fields("Token", given), "");
  EXPECT_EQ(text(given, "scope"), "read write:follows");
  EXPECT_EQ(request("POST", "/oauth/token", form).status, 400) << "a code is good once";
  const json::object account =
      object(request("GET", "/api/v1/accounts/verify_credentials", "", text(given, "access_token")));
  EXPECT_EQ(mastodon_api::wrong_fields("Account", account), "");
  EXPECT_EQ(text(account, "acct"), "admin");
}

TEST_F(LoggingIn, FollowingAHashtagSubscribesTheNode) {
  const std::string t = token();
  EXPECT_EQ(object(request("GET", "/api/v1/tags/cats", "", t)).at("following"), false);
  const json::object followed = object(request("POST", "/api/v1/tags/Cats/follow", "", t));
  EXPECT_EQ(mastodon_api::wrong_fields("Tag", followed), "");
  EXPECT_EQ(followed.at("following"), true);
  EXPECT_THAT(rows("SELECT tag||' '||reason FROM wants"), ElementsAre("cats admin"));
  const auto list = json::parse(request("GET", "/api/v1/followed_tags", "", t).body).value();
  ASSERT_EQ(list.as_array().size(), 1U);
  EXPECT_EQ(list.as_array().at(0).at("name"), "cats");
  EXPECT_EQ(object(request("POST", "/api/v1/tags/cats/unfollow", "", t)).at("following"), false);
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
  EXPECT_FALSE(object(get("/api/v1/tags/cats")).contains("following")) << "that is nobody else's business";
}

TEST_F(LoggingIn, NobodyElseGetsIn) {
  const json::object a = app();
  const auto log_in = [&](const std::string& password) {
    return request("POST", "/oauth/authorize",
                   fmt::format("{}&response_type=code&password={}", client(a), password));
  };
  EXPECT_EQ(log_in("wrong").status, 401);
  EXPECT_EQ(log_in("").status, 401);
  json::object forged = a;
  forged["client_id"] = text(a, "client_id") + "0";
  EXPECT_EQ(get("/oauth/authorize?response_type=code&" + client(forged)).status, 401);
  EXPECT_EQ(
      get(fmt::format("/oauth/authorize?response_type=code&client_id={}&redirect_uri=https://evil.example",
                      text(a, "client_id")))
          .status,
      400);
  json::object thief = a;
  thief["client_secret"] = "guessed";
  EXPECT_EQ(request("POST", "/oauth/token", client(thief) + "&grant_type=client_credentials").status, 401);
  EXPECT_EQ(request("POST", "/api/v1/apps", "client_name=x&redirect_uris=javascript:alert(1)").status, 422);
  EXPECT_EQ(request("POST", "/api/v1/tags/cats/follow").status, 401);
  EXPECT_EQ(request("POST", "/api/v1/tags/cats/follow", "", "guessed").status, 401);
  EXPECT_EQ(request("POST", "/api/v1/tags/cats/follow", "", token("read")).status, 403);
  const json::object weak =
      object(request("POST", "/oauth/token", client(a) + "&grant_type=client_credentials&scope=write"));
  EXPECT_EQ(request("POST", "/api/v1/tags/cats/follow", "", text(weak, "access_token")).status, 422);
  EXPECT_THAT(rows("SELECT tag FROM wants"), IsEmpty());
  for (int i = 0; i < 30; ++i) log_in("wrong");
  EXPECT_THAT(log_in(kSecret).body, HasSubstr("Too many tries"));
}

TEST_F(LoggingIn, ACodeIsOfUseOnlyToWhoAskedForIt) {
  const json::object a = app();
  // RFC 7636, appendix B.
  const std::string good =
      code(a, "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256");
  const std::string form = client(a) + "&grant_type=authorization_code&code=" + good;
  EXPECT_EQ(request("POST", "/oauth/token", form + "&code_verifier=guessed").status, 400);
  const std::string again =
      code(a, "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256");
  EXPECT_EQ(request("POST", "/oauth/token",
                    client(a) + "&grant_type=authorization_code&code=" + again +
                        "&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
                .status,
            200);
}

TEST_F(LoggingIn, ARevokedTokenIsWorthNothing) {
  const std::string t = token();
  EXPECT_EQ(request("GET", "/api/v1/apps/verify_credentials", "", t).status, 200);
  EXPECT_EQ(request("POST", "/oauth/revoke", "token=" + t).status, 200);
  EXPECT_EQ(request("GET", "/api/v1/apps/verify_credentials", "", t).status, 401);
}

TEST_F(LoggingIn, WithoutASecretNobodyCan) {
  start(config());
  EXPECT_EQ(request("POST", "/api/v1/apps", "client_name=x&redirect_uris=https://app.example/").status, 403);
  EXPECT_EQ(get("/oauth/authorize").status, 403);
}

}  // namespace
}  // namespace tagring::node
