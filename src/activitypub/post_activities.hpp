// Activities of authors and their servers about posts, and the answer to each: new posts, edits, deletions,
// changed profiles, deleted accounts, reports, and what LitePub relays and groups announce
// (publisher/publisher.hpp).
#pragma once

#include <optional>
#include <string>

#include "activitypub/announced.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/actor.hpp"
#include "http/message.hpp"
#include "instances/instances.hpp"
#include "publisher/fetched_posts.hpp"
#include "publisher/publisher.hpp"
#include "reports/reports.hpp"

namespace tagring::activitypub {

class PostActivities {
 public:
  PostActivities(publisher::Publisher& publisher, publisher::FetchedPosts& fetched,
                 instances::Instances& instances, reports::Reports& reports, const Announced& announced)
      : publisher_(publisher),
        fetched_(fetched),
        instances_(instances),
        reports_(reports),
        announced_(announced) {}

  // `signed_body`: the Update as it came, if others believe it whoever brings it.
  [[nodiscard]] Task<HttpResponse> post(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                        std::string signed_body = {});
  // Of a post, or of the account itself. `body`: the Delete as it came.
  [[nodiscard]] Task<HttpResponse> deletion(fediverse::Delete deletion, std::string actor, std::string body);
  // `body`: the Update as it came.
  [[nodiscard]] Task<HttpResponse> changed(std::string author, fediverse::UpdateActor update,
                                           std::string body);
  // Of an account whose signature cannot be checked any more: it is looked for, if it is known here.
  [[nodiscard]] Task<HttpResponse> gone(std::string author);
  // The author may have blocked this node: then what is published of it is taken back.
  [[nodiscard]] Task<Result<void>> blocked(std::string author);
  // That actor is a LitePub relay, whose Announces name posts of its people, or one that speaks for others,
  // as a group does, of a server whose posts are taken. What a person boosts is no wish of its author.
  [[nodiscard]] bool is_announcer(const fediverse::RemoteActor& actor) const {
    const bool speaks_for_others = actor.type == "Group" || actor.type == "Application" ||
                                   actor.type == "Service" || actor.type == "Organization";
    return instances_.is_litepub_relay(actor.id) ||
           (!actor.is_node && speaks_for_others && instances_.is_served(host_of(actor.id)));
  }
  // That actor is of a server that this node works for.
  [[nodiscard]] bool is_trusted(const std::string& actor) const {
    return instances_.is_trusted(host_of(actor));
  }
  [[nodiscard]] Task<HttpResponse> announced(fediverse::Announce announce);
  [[nodiscard]] Task<HttpResponse> reported(fediverse::Flag flag, std::string activity, std::string reporter);
  // A post of that actor, by its URI.
  [[nodiscard]] Task<HttpResponse> told(fediverse::Told told, std::string actor);

 private:
  publisher::Publisher& publisher_;
  publisher::FetchedPosts& fetched_;
  instances::Instances& instances_;
  reports::Reports& reports_;
  const Announced& announced_;
};

}  // namespace tagring::activitypub
