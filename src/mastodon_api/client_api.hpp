// Mastodon's client API, as far as it is about reading hashtags (docs/client-api.md): what the page of this
// node and existing clients ask. Everybody may ask; answers may be read by any page (CORS). Its parts answer;
// here each reader is counted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget/manager.hpp"
#include "http/message.hpp"
#include "mastodon_api/api.hpp"
#include "posts/account.hpp"
#include "posts/ids.hpp"

namespace tagring::mastodon_api {

class ClientApi {
 public:
  struct Options {
    posts::Site site;
    std::vector<ApiPart*> parts;  // asked in order
  };
  ClientApi(Options options, budget::Manager& budget, Clock& clock)
      : site_(std::move(options.site)), parts_(std::move(options.parts)), budget_(budget), clock_(clock) {}

  // Requests that answer() is for.
  [[nodiscard]] static bool is_path(std::string_view path);
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  using Request = ApiRequest;
  Task<HttpResponse> route(Request request);

  posts::Site site_;
  std::vector<ApiPart*> parts_;
  budget::Manager& budget_;
  Clock& clock_;
};

}  // namespace tagring::mastodon_api
