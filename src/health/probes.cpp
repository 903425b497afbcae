#include "health/probes.hpp"

#include "health/metrics.hpp"
#include "http/http_error.hpp"

namespace tagring::health {
namespace {

HttpResponse text(std::string body, std::string type) {
  HttpResponse response;
  response.headers.add("Content-Type", std::move(type));
  response.headers.add("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

}  // namespace

bool Probes::is_path(std::string_view path) {
  return path == "/livez" || path == "/health" || path == "/readyz" || path == "/metrics";
}

Task<HttpResponse> Probes::answer(HttpRequest request) {
  if (path_of(request.target) == "/metrics") {
    const auto who = gate_.admit(request);
    if (!who) co_return who.error();
  }
  co_return co_await answer_inside(std::move(request));
}

Task<HttpResponse> Probes::answer_inside(HttpRequest request) {
  const std::string path(path_of(request.target));
  if (path == "/livez") co_return text("ok\n", "text/plain");
  // Where clients of Mastodon look, and what they expect.
  if (path == "/health") co_return text("OK", "text/plain");
  if (path == "/metrics") co_return text(to_metrics(status_()), "text/plain; version=0.0.4");
  if (path != "/readyz")
    co_return error_response({ErrorCode::kNotFound, "there is /metrics, /livez and /readyz"});
  const json::object readiness = doctor_.readiness();
  HttpResponse response = text(json::serialize(readiness), "application/json");
  if (!readiness.at("ready").get_bool()) response.status = 503;
  co_return response;
}

}  // namespace tagring::health
