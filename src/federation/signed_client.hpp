// Signed requests of this node to others: documents fetched, activities delivered. What is refused with 400
// or 401 is sent again in other forms of signature (see SignatureFormCache), all within the time for one
// request, as a whole fetch is; if all are refused, the first answer counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "federation/couriers.hpp"
#include "federation/identity.hpp"
#include "federation/signature_form_cache.hpp"
#include "http/message.hpp"
#include "queues/host_pauses.hpp"
#include "signatures/signature.hpp"

namespace tagring::federation {

class SignedClient {
 public:
  // `couriers`, if there are any, are asked first for calls that may come from any address.
  SignedClient(const Identity& identity, HttpClient& http, const Runtime& runtime,
               Couriers* couriers = nullptr)
      : identity_(identity),
        http_(http),
        couriers_(couriers),
        clock_(runtime.clock),
        workers_(runtime.workers),
        log_(runtime.log),
        forms_(runtime.clock),
        hosts_(runtime) {}

  [[nodiscard]] const Identity& identity() const { return identity_; }
  // The pace that other servers ask for.
  [[nodiscard]] queues::HostPauses& hosts() { return hosts_; }

  // Fetches an ActivityPub document: 200, with a media type of ActivityPub. Follows up to 3 redirects within
  // the server, each signed anew; so it does where a page says that its document is (fediverse/links.hpp).
  // kNotFound for 404 and 410; kDenied for other 4xx, but for those about time and load (kUnavailable), and
  // for redirects to other servers. kUnavailable at once for a server that asked to be left alone for a
  // while. What it says of itself is for the caller to check.
  // A fetch may take several requests: before each but the first `may_ask_more` is asked, if there is one,
  // and where it says no, the fetch ends with kUnavailable.
  using MayAskMore = std::function<bool()>;
  [[nodiscard]] Task<Result<std::string>> fetch_body(std::string url, MayAskMore may_ask_more = {});
  struct Document {
    std::string body;
    // It says what holds at some time since then. Mastodon answers from a cache of three minutes, whatever
    // changed, and says so (`max-age`).
    Instant as_of;
    std::uint64_t requests = 1;
  };
  // No cache is taken to be older than this.
  static constexpr Duration kCachedMax = std::chrono::minutes(5);
  [[nodiscard]] Task<Result<Document>> fetch(std::string url, MayAskMore may_ask_more = {});
  // Delivers an activity. Any HTTP status is a value; see was_accepted. `synchronization` is the value of the
  // header Collection-Synchronization, if there is to be one.
  [[nodiscard]] Task<Result<HttpResponse>> deliver(std::string inbox, std::string body,
                                                   std::optional<std::string> synchronization = {});

  // Asks another node: POSTs the question, with a number that no question of this node has had since its
  // start, so that none is taken for an old one, and returns its answer, or the error that it answers.
  [[nodiscard]] Task<Result<json::object>> ask(std::string url, json::object question);

  // The same as deliver() on behalf of one of this node's hashtag actors; all share the node's key.
  [[nodiscard]] Task<Result<HttpResponse>> deliver_as(std::string actor, std::string inbox, std::string body,
                                                      std::optional<std::string> synchronization = {});

  // Signs a call and makes it, here and once. Any HTTP status is a value.
  [[nodiscard]] Task<Result<HttpResponse>> send(HttpCall call, SignAs as);

 private:
  struct Within {
    Instant deadline;
    MayAskMore may_ask = {};
  };
  Task<Result<HttpResponse>> signed_call(std::string method, std::string url, std::string body,
                                         std::string key_id, std::optional<std::string> synchronization,
                                         Within within);
  Task<Result<HttpResponse>> send_anywhere(HttpCall call, SignAs as);

  const Identity& identity_;
  HttpClient& http_;
  Couriers* couriers_;
  Clock& clock_;
  Workers& workers_;
  Log& log_;
  SignatureFormCache forms_;
  queues::HostPauses hosts_;
  std::uint64_t nonce_ = 0;
};

// 2xx.
inline bool was_accepted(const Result<HttpResponse>& response) {
  return response && response->status >= 200 && response->status < 300;
}
// The destination does not exist any more: 404 or 410.
inline bool is_gone(const Result<HttpResponse>& response) {
  return response && (response->status == 404 || response->status == 410);
}
// Trying again will not help: a 4xx that is not about authentication, time, load, or what the receiver has to
// fetch first (NodeBB answers 424 when it could not, others 409).
inline bool was_refused(const Result<HttpResponse>& response) {
  if (!response || response->status < 400 || response->status >= 500) return false;
  switch (response->status) {
    case 401:
    case 408:
    case 409:
    case 421:
    case 423:
    case 424:
    case 425:
    case 429:
      return false;
    default:
      return true;
  }
}

// Why something was not taken, in a line for the administrator: what strangers wrote is cut, and has no
// control characters.
std::string why_not(const Error& error);
std::string why_not(const Result<HttpResponse>& response);

}  // namespace tagring::federation
