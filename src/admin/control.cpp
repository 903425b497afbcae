#include "admin/control.hpp"

#include <algorithm>

#include "base/http_error.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kLoggedMax = 200;  // bytes of a request

}  // namespace

Control::Control(std::initializer_list<Subject*> subjects, Log& log) : log_(log) {
  for (Subject* subject : subjects) subject->add_routes(routes_);
}

Task<HttpResponse> Control::answer(HttpRequest request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  const std::string path = request.target.substr(0, mark);
  Request wish{request.target.substr(std::min(mark + 1, request.target.size())), {}};
  if (request.method == "POST") {
    log_.info("admin", {{"does", path}, {"with", request.body.substr(0, kLoggedMax)}});
    Result<json::object> body = request.body.empty() ? json::object() : json::parse_object(request.body);
    if (!body) co_return error_response(body.error());
    wish.body = std::move(*body);
  }
  const Routes::Handler* handler = routes_.find(request.method, path);
  if (handler == nullptr) co_return error_response({ErrorCode::kNotFound, "no such control request"});
  const Reply reply = co_await (*handler)(std::move(wish));
  if (!reply) co_return error_response(reply.error());
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(*reply);
  co_return response;
}

}  // namespace tagring::admin
