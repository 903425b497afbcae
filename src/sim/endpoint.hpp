// A subscriber without a node behind it: it has an actor that others take for a node's, follows where it is
// told to, takes whatever is announced and notes when each post came. So a thousand of them cost little. What
// they do not do is to look for relays themselves; that is left to the nodes of a simulation.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "base/time.hpp"
#include "crypto/key.hpp"
#include "fediverse/documents.hpp"
#include "http/message.hpp"

namespace tagring::sim {

class Endpoint {
 public:
  Endpoint(std::string origin, crypto::PrivateKey key) : urls_(std::move(origin)), key_(std::move(key)) {}

  [[nodiscard]] HttpResponse answer(const HttpRequest& request, Instant now);
  // The call, signed, by which it follows a hashtag at a node.
  [[nodiscard]] HttpCall follow(const std::string& owner_origin, const std::string& tag, Instant now,
                                WallTime wall_now);
  // When the post came first.
  [[nodiscard]] std::optional<Instant> received(const std::string& uri) const;
  [[nodiscard]] std::uint64_t deliveries() const { return deliveries_; }

 private:
  fediverse::NodeUrls urls_;
  crypto::PrivateKey key_;
  std::unordered_map<std::string, Instant> received_;  // by URI
  std::uint64_t deliveries_ = 0;                       // with repetitions
  std::uint64_t follows_ = 0;
};

}  // namespace tagring::sim
