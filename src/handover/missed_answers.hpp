// Gives subscribers what this node took, as an owner, before it knew them (relay/catch_up.hpp asks).
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/time.hpp"
#include "federation/authenticator.hpp"
#include "http/message.hpp"
#include "relay/followers.hpp"
#include "relay/store.hpp"

namespace tagring::handover {

class MissedAnswers {
 public:
  MissedAnswers(relay::Store& store, relay::Followers& followers, federation::Authenticator& authenticator,
                Clock& clock)
      : store_(store), followers_(followers), authenticator_(authenticator), clock_(clock) {}

  // Answers POST relay::CatchUp::kPath, to followers of the tags.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<Result<json::object>> page_of(json::object request, std::string follower);

  relay::Store& store_;
  relay::Followers& followers_;
  federation::Authenticator& authenticator_;
  Clock& clock_;
};

}  // namespace tagring::handover
