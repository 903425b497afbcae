// Signs what this node says about posts that it took (storage/statements.hpp), with the key of its actor.
#pragma once

#include <string>

#include "base/time.hpp"
#include "base/workers.hpp"
#include "federation/identity.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

class Notary {
 public:
  Notary(std::string network, const federation::Identity& identity, storage::SignedTime& time,
         Workers& workers)
      : network_(std::move(network)), identity_(identity), time_(time), workers_(workers) {}

  [[nodiscard]] const std::string& network() const { return network_; }
  [[nodiscard]] std::string actor() const { return identity_.actor(); }
  // PEM
  [[nodiscard]] std::string key() const { return identity_.key.public_key().pem(); }
  [[nodiscard]] WallTime now() { return time_.now(); }
  [[nodiscard]] Task<std::string> sign(std::string text) {
    return workers_.run([key = identity_.key, text = std::move(text)] { return key.sign(text); });
  }

 private:
  std::string network_;
  const federation::Identity& identity_;
  storage::SignedTime& time_;
  Workers& workers_;
};

}  // namespace tagring::audit
