#include "fasp/fasp.hpp"

#include <algorithm>
#include <utility>

#include "delivery/results.hpp"
#include "federation/authenticator.hpp"
#include "http/http_error.hpp"
#include "signatures/fasp_signature.hpp"

namespace tagring::fasp {
namespace {

constexpr std::string_view kCapabilities = "/capabilities/";
constexpr std::string_view kActivation = "/activation";

constexpr std::string_view kAnnouncements = "/data_sharing/v0/announcements";

// Below the prefix of all that is FASP.
std::string path_below_prefix(const HttpRequest& request) {
  return FaspServers::below_prefix(std::string(tagring::path_of(request.target)));
}

// As other requests, but it is another signature that is wanted.
HttpResponse not_signed(const Error& error) {
  HttpResponse response = federation::not_authentic(error);
  if (response.status == 401) signatures::ask_for_fasp_signature(response);
  return response;
}

HttpResponse not_found() { return error_response({ErrorCode::kNotFound, "nothing is there"}); }

}  // namespace

Fasp::Fasp(fediverse::FaspProvider provider, FaspServers& servers, FaspSharing& sharing,
           FaspHashtags& hashtags, const federation::Blocks& blocks, Log& log)
    : provider_(std::move(provider)),
      servers_(servers),
      sharing_(sharing),
      hashtags_(hashtags),
      blocks_(blocks),
      log_(log) {}

Task<HttpResponse> Fasp::answer(HttpRequest request) {
  const Result<FaspServers::Asker> asker = co_await servers_.authenticate(request);
  // Whom it is from is not known, so there is no key to sign this with.
  if (!asker) {
    // Anybody can cause this, as often as they like.
    log_.debug("fasp_not_authentic", {{"path", path_below_prefix(request)}, {"why", asker.error().message}});
    co_return not_signed(asker.error());
  }
  const std::string& host = asker->host;
  const std::string path = path_below_prefix(request);
  // Mastodon tells of an edit twice. Its signatures are by the second, and what is told twice within one is
  // the same request; an error would keep it from telling the other subscribers.
  const bool is_news = path == kAnnouncements;
  if (asker->again && !is_news) {
    log_.info("fasp_refused", {{"server", host}, {"path", path}, {"why", "received before"}});
    co_return not_signed({ErrorCode::kDenied, "this signed request was received before"});
  }
  HttpResponse response;
  if (const federation::Block* block = blocks_.of_host(host); block != nullptr) {
    response = error_response({ErrorCode::kDenied, host + " is blocked here"});
  } else if (asker->again) {
    response = no_content();
  } else {
    response = co_await dispatch(host, std::move(request));
  }
  servers_.answered(*asker, response);
  if (response.status >= 400)
    log_.info("fasp_refused",
              {{"server", host}, {"path", path}, {"status", response.status}, {"why", response.body}});
  servers_.sign(host, response);
  co_return response;
}

Task<HttpResponse> Fasp::dispatch(std::string host, HttpRequest request) {
  const std::string path = path_below_prefix(request);
  if (request.method == "GET" && path == "/provider_info") {
    HttpResponse response;
    response.headers.add("Content-Type", "application/json");
    response.body = json::serialize(fediverse::make_fasp_provider_info(provider_));
    co_return response;
  }
  if (request.method == "POST" && path == kAnnouncements)
    co_return co_await sharing_.announced(std::move(host), std::move(request.body));
  if (path.starts_with(FaspHashtags::kPrefix)) {
    const std::string rest = FaspServers::below_prefix(request.target).substr(FaspHashtags::kPrefix.size());
    co_return co_await hashtags_.answer(std::move(host), std::move(request.method), rest);
  }
  const bool changes = request.method == "POST" || request.method == "DELETE";
  if (changes && path.starts_with(kCapabilities) && path.ends_with(kActivation) &&
      path.size() > kCapabilities.size() + kActivation.size()) {
    std::string what =
        path.substr(kCapabilities.size(), path.size() - kCapabilities.size() - kActivation.size());
    co_return co_await activate(std::move(host), std::move(what), request.method == "POST");
  }
  co_return not_found();
}

// `what` is "<identifier>/<version>".
Task<HttpResponse> Fasp::activate(std::string host, std::string what, bool on) {
  const auto known = std::ranges::find_if(provider_.capabilities, [&](const fediverse::FaspCapability& c) {
    // Mastodon gives only what stands before the dot.
    return what == c.id + "/" + c.version || what == c.id + "/" + c.version.substr(0, c.version.find('.'));
  });
  if (known == provider_.capabilities.end()) co_return not_found();
  const std::string id = known->id;
  std::function<void(FaspServer&)> change = [id, on](FaspServer& server) {
    if (id == "hashtag_subscription") server.hashtags = on;
    if (id != "data_sharing") return;
    server.shares = on;
    // Whatever it had before has ended with the capability.
    server.content_subscription.clear();
    server.account_subscription.clear();
  };
  if (id == "hashtag_subscription" && !on) {
    const Result<void> forgotten = co_await hashtags_.forget(host);
    if (!forgotten) co_return error_response(forgotten.error());
  }
  if (id == "data_sharing" && !on) sharing_.deactivated(host);
  const Result<void> done = co_await servers_.change(host, std::move(change));
  if (!done) co_return error_response(done.error());
  log_.info("fasp_activation", {{"server", host}, {"capability", id}, {"on", on ? "yes" : "no"}});
  sharing_.activated(host);
  co_return no_content();
}

}  // namespace tagring::fasp
