// What a subscriber missed at an owner: posts that the owner took before it knew the subscriber, because
// owners changed or the ring had split. Asked for after each Follow (docs/protocol.md, "Catching up").
#pragma once

#include <string>
#include <vector>

#include "delivery/observer.hpp"
#include "federation/signed_client.hpp"
#include "hashtag/tag.hpp"

namespace tagring::subscriber {

class CatchUp {
 public:
  CatchUp(federation::SignedClient& client, delivery::Observer& observer)
      : client_(client), observer_(observer) {}
  static constexpr std::string_view kPath = "/tagring/v1/missed";  // of handover::MissedAnswers
  static constexpr std::size_t kPage = 400;
  // An owner keeps its feed for a day at least.
  static constexpr Duration kWindow = std::chrono::hours(24);

  // Receives everything that the owner (origin) took under the tags since then.
  [[nodiscard]] Task<Result<void>> fetch(std::string owner, std::vector<Tag> tags, WallTime since);
  // Something of what the owner said was missed under the tag can be neither believed nor refuted yet.
  [[nodiscard]] bool is_in_doubt(const std::string& owner, const Tag& tag) const {
    return observer_.is_in_doubt(owner, tag);
  }
  // It was forgotten: the owner is to be asked again.
  [[nodiscard]] bool has_forgotten(const std::string& owner, const Tag& tag) {
    return observer_.has_forgotten(owner, tag);
  }

 private:
  federation::SignedClient& client_;
  delivery::Observer& observer_;
};

}  // namespace tagring::subscriber
