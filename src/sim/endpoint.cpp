#include "sim/endpoint.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "delivery/wire.hpp"
#include "signatures/signature.hpp"

namespace tagring::sim {
namespace {
constexpr Duration kTimeout = std::chrono::seconds(20);
}

HttpResponse Endpoint::answer(const HttpRequest& request, Instant now) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/activity+json");
  if (request.method == "GET" && request.target == "/actor") {
    response.body = json::serialize(fediverse::make_node_actor(urls_, key_.public_key().pem()));
    return response;
  }
  const Result<json::object> activity = json::parse_object(request.body);
  if (request.method != "POST" || request.target != "/inbox" || !activity) {
    response.status = 404;
    return response;
  }
  std::uint64_t accepted = 0;
  if (json::get_string(*activity, "type") == "Announce") {
    json::for_each(json::find(*activity, "object"), [&](const json::value& item) {
      ++accepted;
      received_.try_emplace(json::id_of(item), now);
    });
  }
  deliveries_ += accepted;
  response.body = fmt::format(R"({{"accepted":{},"refused":[]}})", accepted);
  return response;
}

HttpCall Endpoint::follow(const std::string& owner_origin, const std::string& tag, Instant now,
                          WallTime wall_now) {
  HttpCall call("POST", *Url::parse(owner_origin + "/inbox"), now + kTimeout);
  call.headers.add("Content-Type", "application/activity+json");
  const std::string id = fmt::format("{}/follows/{}", urls_.origin(), ++follows_);
  call.body = delivery::follow_activity(id, urls_.actor(), owner_origin, {Tag::from_canonical(tag)});
  signatures::sign_call(call, key_, fediverse::key_id_of(urls_.actor()), wall_now);
  return call;
}

std::optional<Instant> Endpoint::received(const std::string& uri) const {
  const auto it = received_.find(uri);
  return it == received_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace tagring::sim
