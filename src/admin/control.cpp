#include "admin/control.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "http/http_error.hpp"

namespace tagring::admin {
namespace {

constexpr std::size_t kNotedMax = 200;  // bytes of what a request says, and of what came of it

// "kind=domain what=spam.example"
std::string summary_of(const json::object& body) {
  std::string summary;
  for (const auto& [name, value] : body) {
    const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
    summary += fmt::format("{}{}={}", summary.empty() ? "" : " ", std::string_view(name), text);
    if (summary.size() > kNotedMax) break;
  }
  return std::string(cut_utf8(summary, kNotedMax));
}

// Of a reload, whose request says nothing, what came of it is worth more than that it was done.
std::string outcome_of(const Reply& reply) {
  if (!reply) return std::string(cut_utf8(reply.error().message, kNotedMax));
  json::object told;
  for (const char* key : {"changed", "restart"})
    if (const json::value* list = json::find(*reply, key); list != nullptr) told[key] = *list;
  return told.empty() ? "done" : "done: " + summary_of(told);
}

}  // namespace

Control::Control(std::initializer_list<Subject*> subjects, administrators::Changes& changes)
    : changes_(changes) {
  for (Subject* subject : subjects) subject->add_routes(routes_);
}

Task<HttpResponse> Control::answer(HttpRequest request, administrators::Administrator who) {
  const std::string path(path_of(request.target));
  const Routes::Route* route = routes_.find(request.method, path);
  if (route == nullptr) co_return error_response({ErrorCode::kNotFound, "no such control request"});
  if (who.role < route->least) {
    const std::string because =
        fmt::format("the role of {} is '{}', and this needs '{}'", who.name,
                    administrators::name_of(who.role), administrators::name_of(route->least));
    co_return error_response({ErrorCode::kDenied, because});
  }
  Request wish{std::string(query_of(request.target)), {}, std::move(who)};
  const bool has_body = request.method == "POST";
  if (has_body && !request.body.empty()) {
    Result<json::object> body = json::parse_object(request.body);
    if (!body) co_return error_response(body.error());
    wish.body = std::move(*body);
  }
  Reply reply;
  const bool is_look = route->looks != nullptr && route->looks(wish.body);
  if (has_body && !is_look) {
    reply = co_await change(route, std::move(wish), path);
  } else {
    reply = co_await route->handler(std::move(wish));
  }
  if (!reply) co_return error_response(reply.error());
  co_return json_response(*reply);
}

Task<Reply> Control::change(const Routes::Route* route, Request request, std::string path) {
  administrators::Change change{.at = {},
                                .who = request.who.name,
                                .does = std::move(path),
                                .about = summary_of(request.body),
                                .outcome = {}};
  if (route->is_long) {
    change.outcome = "begun";
    co_await changes_.note(change);
  }
  Reply reply = co_await route->handler(std::move(request));
  change.outcome = outcome_of(reply);
  co_await changes_.note(std::move(change));
  co_return reply;
}

}  // namespace tagring::admin
