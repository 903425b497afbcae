// Gives subscribers what this node took, as an owner, before it knew them (subscriber/catch_up.hpp asks).
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/time.hpp"
#include "delivery/followers.hpp"
#include "delivery/store.hpp"
#include "federation/authenticator.hpp"
#include "http/message.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::handover {

class MissedAnswers {
 public:
  MissedAnswers(delivery::Store& store, delivery::Followers& followers,
                federation::Authenticator& authenticator, Clock& clock,
                std::size_t page_size = subscriber::CatchUp::kPage)
      : store_(store),
        followers_(followers),
        authenticator_(authenticator),
        clock_(clock),
        page_size_(page_size) {}

  // Answers POST subscriber::CatchUp::kPath, to followers of the tags.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<Result<json::object>> page_of(json::object request, std::string follower);

  delivery::Store& store_;
  delivery::Followers& followers_;
  federation::Authenticator& authenticator_;
  Clock& clock_;
  std::size_t page_size_;
};

}  // namespace tagring::handover
