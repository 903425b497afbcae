// What the publisher asks of the rest of the node. The node itself implements it (node/wiring.hpp).
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/task.hpp"

namespace tagring::publisher {

class Observer {
 public:
  virtual ~Observer() = default;
  // A server shares that post, which need not be one that may publish (fasp::FaspSharing).
  [[nodiscard]] virtual bool is_shared(const std::string& uri) const = 0;
  // Publishes it as it is now, and sees to it from then on. False if there is nothing to publish.
  virtual Task<Result<bool>> look_at_shared(std::string uri) = 0;
};

}  // namespace tagring::publisher
