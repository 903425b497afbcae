// What machines ask of a node to see how it is.
//
//   GET /livez     200 as long as the node answers at all
//   GET /readyz    200, or 503: {"ready", "because": [texts]}
//   GET /metrics   health/metrics.hpp; with an administrator's token, or on a listener of its own
#pragma once

#include <functional>
#include <string>

#include "admin/gate.hpp"
#include "health/doctor.hpp"
#include "http/message.hpp"

namespace tagring::health {

class Probes {
 public:
  using Status = std::function<json::object()>;
  // `gate`: who may see the metrics.
  Probes(admin::Gate& gate, const Doctor& doctor, Status status)
      : gate_(gate), doctor_(doctor), status_(std::move(status)) {}

  [[nodiscard]] static bool is_path(std::string_view path);
  // To the world.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // To the listener of metrics.port: no token is needed.
  [[nodiscard]] Task<HttpResponse> answer_inside(HttpRequest request);

 private:
  admin::Gate& gate_;
  const Doctor& doctor_;
  const Status status_;
};

}  // namespace tagring::health
