// The inbox: activities of instances and of other nodes, parsed, authenticated and handed to who is
// responsible (docs/protocol.md).
//
// 2xx is given only after what the activity asks for is on disk. Anything else has changed nothing.
#pragma once

#include <string>

#include "activitypub/follows.hpp"
#include "activitypub/post_activities.hpp"
#include "activitypub/tag_events.hpp"
#include "base/runtime.hpp"
#include "federation/authenticator.hpp"
#include "federation/inbox_tally.hpp"
#include "federation/taken_requests.hpp"
#include "fediverse/activity.hpp"
#include "http/message.hpp"
#include "instances/follower_sync.hpp"

namespace tagring::activitypub {

class Inbox {
 public:
  Inbox(federation::Authenticator& authenticator, PostActivities& posts, Follows& follows, TagEvents& events,
        instances::FollowerSync& sync, const Runtime& runtime)
      : authenticator_(authenticator),
        posts_(posts),
        follows_(follows),
        events_(events),
        sync_(sync),
        clock_(runtime.clock),
        tally_(runtime.clock, runtime.log) {}

  // Answers POST to this node's inbox, or that of one of its hashtag actors.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  [[nodiscard]] const federation::InboxTally& tally() const { return tally_; }

 private:
  using Envelope = Follows::Envelope;
  Task<HttpResponse> take(json::object object, fediverse::Activity form, HttpRequest request);
  Task<HttpResponse> dispatch(fediverse::Activity activity, fediverse::RemoteActor sender, Envelope envelope);
  Task<HttpResponse> dispatch_other(fediverse::Activity activity, fediverse::RemoteActor sender,
                                    Envelope envelope);
  Task<HttpResponse> between_nodes(fediverse::Activity activity, std::string body);

  federation::Authenticator& authenticator_;
  PostActivities& posts_;
  Follows& follows_;
  TagEvents& events_;
  instances::FollowerSync& sync_;
  const Clock& clock_;
  federation::TakenRequests taken_;
  federation::InboxTally tally_;
};

}  // namespace tagring::activitypub
