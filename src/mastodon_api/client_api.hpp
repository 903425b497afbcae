// Mastodon's client API, as far as it is about reading hashtags (docs/client-api.md): what the page of this
// node and existing clients ask. Everybody may ask; answers may be read by any page (CORS). Its parts answer;
// here each reader is counted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/http.hpp"
#include "federation/rate_limit.hpp"
#include "hashtag/tag.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/ids.hpp"
#include "mastodon_api/oauth.hpp"
#include "mastodon_api/tag_api.hpp"
#include "relay/subscriptions.hpp"

namespace tagring::mastodon_api {

class ClientApi {
 public:
  struct Options {
    Site site;
    std::vector<ApiPart*> parts;  // asked in order
    federation::RateLimit::Options rate = {};
  };
  ClientApi(Options options, TagApi& tags, OAuth& oauth, relay::Subscriptions& subscriber,
            const federation::Blocks& blocks, Clock& clock)
      : site_(std::move(options.site)),
        parts_(std::move(options.parts)),
        tags_(tags),
        oauth_(oauth),
        subscriber_(subscriber),
        blocks_(blocks),
        rate_(options.rate, clock) {}

  // Requests that answer() is for.
  [[nodiscard]] static bool is_path(std::string_view path);
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  using Request = ApiRequest;
  Task<HttpResponse> route(Request request);
  Task<HttpResponse> read_public(Request request);
  // What needs a token (mastodon_api/account_api.cpp). Nothing if the path is none of these.
  Task<std::optional<HttpResponse>> as_admin(Request request);
  Task<HttpResponse> followed_tags(Request request);
  Task<HttpResponse> follow(std::string name, bool on);
  HttpResponse account(const OAuth::Grant& grant) const;
  [[nodiscard]] Task<json::object> describe(Tag tag) { return tags_.describe(std::move(tag)); }
  [[nodiscard]] Result<Tag> offered(std::string_view name) const { return offered_tag(blocks_, name); }

  Site site_;
  std::vector<ApiPart*> parts_;
  TagApi& tags_;
  OAuth& oauth_;
  relay::Subscriptions& subscriber_;
  const federation::Blocks& blocks_;
  federation::RateLimit rate_;
};

}  // namespace tagring::mastodon_api
