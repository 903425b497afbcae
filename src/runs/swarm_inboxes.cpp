#include "runs/swarm_inboxes.hpp"

#include "base/json.hpp"
#include "http/url.hpp"

namespace tagring::runs {

void Inboxes::note(std::size_t node, const HttpRequest& request) {
  if (request.method != "POST" || request.target != "/inbox") return;
  const Result<json::object> activity = json::parse_object(request.body);
  if (!activity) return;
  const bool removed = json::text_of(*activity, "type") == "Undo";
  const json::object* const announce = removed ? json::get_object(*activity, "object") : &*activity;
  if (announce == nullptr || json::text_of(*announce, "type") != "Announce") return;
  const std::string by = origin_of(json::id_of(*activity, "actor"));
  json::for_each(json::find(*announce, "object"), [&](const json::value& item) {
    if (!item.is_object()) return;
    const json::object& post = item.get_object();
    json::for_each(json::find(post, "tag"), [&](const json::value& tag) {
      const std::string name = json::text_of(tag.as_object(), "name");
      ++told_[{node, by, name.substr(1), json::id_of(item), removed, json::id_of(post, "attributedTo"),
               json::text_of(post, "published")}];
    });
  });
}

}  // namespace tagring::runs
