#include "admin/instance_control.hpp"

#include <set>

#include "base/bytes.hpp"
#include "base/url.hpp"

namespace tagring::admin {

void InstanceControl::add_routes(Routes& routes) {
  routes.get("/instances", [this](const Request&) { return replied(json::object{{"instances", list()}}); });
  routes.get("/instances/hashtags", [this](const Request& request) {
    return replied(tag_sources_.describe(query_value(request.query, "host")));
  });
  routes.post("/instances/permit", [this](Request request) { return permit(std::move(request.body)); });
  routes.post("/instances/subscribe",
              [this](Request request) { return subscribe(std::move(request.body), true); });
  routes.post("/instances/unsubscribe",
              [this](Request request) { return subscribe(std::move(request.body), false); });
}

// With what is known elsewhere of each: blocks, and servers that answer 4xx to everything.
json::array InstanceControl::list() const {
  std::set<std::string> refusing;
  for (const auto& [inbox, times] : announcer_.refusing()) refusing.insert(host_of(inbox));
  json::array items = instances_.list();
  for (json::value& element : items) {
    json::object& item = element.get_object();
    const std::string host = json::get_string(item, "host").value_or("");
    item["blocked"] = blocks_.of_host(host) != nullptr;
    item["refuses"] = refusing.contains(host);
  }
  return items;
}

Task<Reply> InstanceControl::permit(json::object body) {
  const std::string host = ascii_lower(text_in(body, "host"));
  if (!is_host_name(host)) co_return fail(ErrorCode::kInvalid, "'" + host + "' is no host name");
  const instances::Permission permission{host, flag_in(body, "publishes"), flag_in(body, "receives")};
  CO_TRY_VOID(co_await instances_.permit(permission));
  co_return json::object{
      {"host", host}, {"publishes", permission.publishes}, {"receives", permission.receives}};
}

Task<Reply> InstanceControl::subscribe(json::object body, bool on) {
  const std::string host = ascii_lower(text_in(body, "host"));
  CO_TRY(std::vector<std::string> tags, tags_in(body));
  json::array canonical(tags.begin(), tags.end());
  Result<void> done;
  if (on) {
    done = co_await tag_sources_.subscribe(host, std::move(tags));
  } else {
    done = co_await tag_sources_.unsubscribe(host, std::move(tags));
  }
  if (!done) co_return std::unexpected(done.error());
  co_return json::object{{"host", host}, {on ? "subscribed" : "unsubscribed", std::move(canonical)}};
}

}  // namespace tagring::admin
