// Signs what this node says about posts that it took (storage/statements.hpp), with the key of its actor.
#pragma once

#include <string>

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "base/workers.hpp"
#include "federation/identity.hpp"

namespace tagring::audit {

class Notary {
 public:
  Notary(std::string network, const federation::Identity& identity, const Runtime& runtime)
      : network_(std::move(network)), identity_(identity), clock_(runtime.clock), workers_(runtime.workers) {}

  [[nodiscard]] const std::string& network() const { return network_; }
  [[nodiscard]] std::string actor() const { return identity_.actor(); }
  // PEM
  [[nodiscard]] std::string key() const { return identity_.key.public_key().pem(); }
  // Never the same twice and never earlier than before, although clocks are set back: who shows two
  // statements relies on their order. Taken after a write for what says that it is done, and before a read
  // for what says that something is not there.
  [[nodiscard]] WallTime now() { return last_ = std::max(clock_.wall_now(), last_ + Duration(1)); }
  [[nodiscard]] Task<std::string> sign(std::string text) {
    return workers_.run([key = identity_.key, text = std::move(text)] { return key.sign(text); });
  }

 private:
  std::string network_;
  const federation::Identity& identity_;
  const Clock& clock_;
  Workers& workers_;
  WallTime last_{};
};

}  // namespace tagring::audit
