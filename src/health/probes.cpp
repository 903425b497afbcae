#include "health/probes.hpp"

#include "administrators/administrator.hpp"
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
  if (request.target.starts_with("/metrics")) {
    constexpr std::string_view kBearer = "Bearer ";
    const std::string given = request.headers.find("Authorization").value_or("");
    if (!given.starts_with(kBearer) ||
        !administrators::whose(config_.admin_tokens, given.substr(kBearer.size()))) {
      HttpResponse response = error_response(
          {ErrorCode::kDenied, "a token of node.admin_token_file is needed; or set metrics.port"});
      response.status = 401;
      response.headers.add("WWW-Authenticate", "Bearer");
      co_return response;
    }
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
