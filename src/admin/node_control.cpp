#include "admin/node_control.hpp"

#include <chrono>
#include <fmt/format.h>

#include "fediverse/documents.hpp"
#include "http/url.hpp"

namespace tagring::admin {

using administrators::Administrator;
using administrators::Logins;

void NodeControl::add_routes(Routes& routes) {
  routes.get("/status", [this](const Request&) { return replied(actions_.status()); });
  routes.post_long("/leave", [this](const Request&) { return leave(); });
  routes.post("/login", [this](const Request& request) { return replied(log_in(request)); });
  routes.post("/logout", [this](const Request& request) { return replied(log_out(request.body)); });
  routes.get("/move", [this](const Request&) { return replied(describe_move()); });
  routes.post("/move", [this](const Request& request) { return move(text_in(request.body, "to")); });
  routes.post("/move/cancel", [this](const Request&) { return cancel_move(); });
}

Task<Reply> NodeControl::leave() {
  co_await actions_.leave();
  const json::object status = actions_.status();
  co_return json::object{{"left", true},
                         {"relay", rings_.left(Ring::kRelay)},
                         {"storage", rings_.left(Ring::kStorage)},
                         {"owed", status.at("owed")}};
}

Reply NodeControl::log_in(const Request& request) {
  const json::object& body = request.body;
  const std::optional<std::string> name = json::get_string(body, "name");
  const auto role = administrators::role_from(json::get_string(body, "role").value_or("all"));
  if (name && !administrators::is_name(*name))
    return fail(ErrorCode::kInvalid,
                "'" + *name +
                    "' cannot be a name: 1 to 32 letters, digits, '.', '-' and '_' of ASCII, and neither "
                    "token nor SIGHUP");
  if (!role) return fail(ErrorCode::kInvalid, "'role' must be look, moderate or all");
  const Administrator who{administrators::name_on_page(request.who, name), *role};
  // Behind '#', where it stays in the browser and gets into no log.
  return json::object{{"url", identity_.origin() + "/admin#" + logins_.open(who)},
                      {"seconds", std::chrono::floor<std::chrono::seconds>(Logins::kLifetime).count()},
                      {"name", who.name},
                      {"role", administrators::name_of(who.role)}};
}

// Without a name, all sessions. An empty one may come of a variable that is not set, and means nobody.
Reply NodeControl::log_out(const json::object& body) {
  const std::string name = text_in(body, "name");
  if (body.contains("name") && !administrators::is_name(name))
    return fail(ErrorCode::kInvalid, "'" + name + "' is nobody's name");
  return json::object{{"closed", logins_.close(name)}};
}

json::object NodeControl::describe_move() const {
  const std::optional<json::object> moved = moving_.status();
  if (!moved) return {{"moved", nullptr}, {"instances", json::array()}, {"groups", json::array()}};
  return {
      {"moved", *moved}, {"instances", moving_.instances_to_tell()}, {"groups", moving_.groups_to_follow()}};
}

Task<Reply> NodeControl::move(std::string to) {
  const Result<Url> url = Url::parse(to);
  if (!url || url->scheme != "https" || url->path() != "/")
    co_return fail(ErrorCode::kInvalid, fmt::format("'{}' is not a name like https://tags.example.org", to));
  const std::string origin = url->origin();
  if (origin == identity_.origin()) co_return fail(ErrorCode::kInvalid, origin + " is this node itself");
  CO_TRY_VOID(co_await check_successor(origin));
  const Result<bool> is_rival = co_await rings_.is_rival(origin);
  if (!is_rival)
    co_return fail(is_rival.error().code, fmt::format("{}: {}", origin, is_rival.error().message));
  CO_TRY_VOID(co_await moving_.begin(origin, *is_rival));
  co_return describe_move();
}

Task<Reply> NodeControl::cancel_move() {
  const bool was_on_rings = moving_.is_on_rings();
  CO_TRY_VOID(co_await moving_.cancel());
  // It may be on its way out of them, for up to an hour a place, which nothing calls off.
  co_return json::object{{"rejoins", !was_on_rings || rings_.has_left(Ring::kRelay)}};
}

Task<Result<void>> NodeControl::check_successor(std::string origin) {
  const std::string id = fediverse::actor_at(origin, std::nullopt);
  const Result<std::string> body = co_await client_.fetch_body(id);
  if (!body)
    co_return fail(body.error().code,
                   fmt::format("{} cannot be read: {}. Set the new node up first", id, body.error().message));
  const Result<json::object> actor = json::parse_object(*body);
  if (!actor || json::id_of(*actor) != id || !actor->contains(fediverse::kNodeMark))
    co_return fail(ErrorCode::kInvalid, id + " is no actor of a tagring node");
  if (const std::string moved = json::id_of(*actor, "movedTo"); !moved.empty())
    co_return fail(ErrorCode::kConflict, fmt::format("{} has itself moved to {}", id, moved));
  bool names_this = false;
  json::for_each(json::find(*actor, "alsoKnownAs"), [&](const json::value& name) {
    names_this = names_this || json::id_of(name) == identity_.actor();
  });
  if (names_this) co_return Result<void>();
  co_return fail(ErrorCode::kDenied,
                 fmt::format("{} does not say that it is this node, and no server would believe it: put "
                             "moved_from = \"{}\" under [node] into the configuration of the new node, "
                             "restart that, and ask again",
                             id, identity_.origin()));
}

}  // namespace tagring::admin
