// What a subscriber missed at an owner: posts that the owner took before it knew the subscriber, because
// owners changed or the ring had split. Asked for after each Follow, before the subscription counts as made
// (docs/protocol.md, "Catching up").
#pragma once

#include <string>
#include <vector>

#include "federation/authenticator.hpp"
#include "federation/signed_client.hpp"
#include "relay/followers.hpp"
#include "relay/observer.hpp"

namespace tagring::relay {

class CatchUp {
 public:
  CatchUp(Store& store, Followers& followers, federation::SignedClient& client,
          federation::Authenticator& authenticator, Observer& observer, Clock& clock)
      : store_(store),
        followers_(followers),
        client_(client),
        authenticator_(authenticator),
        observer_(observer),
        clock_(clock) {}
  static constexpr std::string_view kPath = "/tagring/v1/missed";
  static constexpr std::size_t kPage = 400;
  // An owner keeps its feed for a day at least.
  static constexpr Duration kWindow = std::chrono::hours(24);

  // Receives everything that the owner (origin) took under the tags since then, as if it had been announced.
  [[nodiscard]] Task<Result<void>> fetch(std::string owner, std::vector<std::string> tags, WallTime since);
  // Answers POST kPath, to followers of the tags.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<Result<void>> take(std::vector<TagEvent> events, std::string owner);
  Task<Result<json::object>> page_of(json::object request, std::string follower);

  Store& store_;
  Followers& followers_;
  federation::SignedClient& client_;
  federation::Authenticator& authenticator_;
  Observer& observer_;
  Clock& clock_;
};

}  // namespace tagring::relay
