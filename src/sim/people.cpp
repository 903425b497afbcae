#include "sim/people.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "fediverse/builders.hpp"
#include "signatures/signature.hpp"

namespace tagring::sim {
namespace {
constexpr Duration kHears = std::chrono::seconds(5);  // that it waits for an answer
}

std::string People::id_of(std::size_t person) const { return fmt::format("{}/users/p{}", origin_, person); }

std::string People::document_of(const std::string& id) const {
  json::object person = {
      {"@context", "https://www.w3.org/ns/activitystreams"},
      {"id", id},
      {"type", "Person"},
      {"preferredUsername", id.substr(id.rfind('/') + 1)},
      {"inbox", id + "/inbox"},
      {"publicKey",
       json::object{{"id", id + "#main-key"}, {"owner", id}, {"publicKeyPem", key_.public_key().pem()}}}};
  if (shares_inbox_) person["endpoints"] = json::object{{"sharedInbox", origin_ + "/inbox"}};
  return json::serialize(person);
}

HttpResponse People::answer(const HttpRequest& request) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/activity+json");
  const bool is_inbox = request.target.ends_with("/inbox");
  if (is_down_) {
    response.status = 503;
  } else if (request.method == "POST" && is_inbox) {
    take(request.body);
    response.status = 202;
  } else if (request.method == "GET" && request.target.starts_with("/users/") && !is_inbox) {
    response.body = document_of(origin_ + request.target);
  } else {
    response.status = 404;
  }
  return response;
}

void People::take(const std::string& body) {
  const Result<json::object> activity = json::parse_object(body);
  if (!activity) return;
  const std::string type = json::text_of(*activity, "type");
  const std::string object = json::id_of(*activity, "object");
  const std::string actor = json::id_of(*activity, "actor");
  if (type == "Announce") {
    Boost& boost = boosts_[json::id_of(*activity)];
    boost.actor = actor;
    boost.uri = object;
    ++boost.announced;
  } else if (type == "Undo") {
    Boost& boost = boosts_[object];
    boost.actor = actor;
    const json::object* const announce = json::get_object(*activity, "object");
    if (announce != nullptr) boost.uri = json::id_of(*announce, "object");
    ++boost.undone;
  } else if (type == "Accept" || type == "Reject") {
    for (auto& [subject, wish] : wishes_) {
      if (wish.id == object) wish.accepted = type == "Accept";
    }
  }
}

std::string People::say(const Subject& subject, const std::string& actor, bool follows) {
  const std::string person = id_of(subject.person);
  Wish& wish = wishes_[subject];
  wish.follows = follows;
  ++wish.said;
  const std::string id = fmt::format("{}#activities/{}", person, ++ids_);
  if (!follows) return json::serialize(fediverse::make_undo_follow(id, person, wish.id, {actor}));
  wish.id = id;
  wish.accepted = false;
  return json::serialize(fediverse::make_follow(id, person, {actor}));
}

HttpCall People::deliver(const Subject& subject, const std::string& actor, std::string body, Instant now,
                         WallTime wall_now) const {
  HttpCall call("POST", *Url::parse(actor + "/inbox"), now + kHears);
  call.headers.add("Content-Type", "application/activity+json");
  call.body = std::move(body);
  signatures::sign_call(call, key_, id_of(subject.person) + "#main-key", wall_now);
  return call;
}

void People::note_taken(const Subject& subject, unsigned turn, Instant now) {
  Wish& wish = wishes_.at(subject);
  if (wish.taken > turn) return;
  wish.taken = turn + 1;
  wish.since = now;
}

}  // namespace tagring::sim
