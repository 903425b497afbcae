// The inbox: activities of instances and of other nodes, authenticated and handed to the roles
// (docs/protocol.md).
//
// 2xx is given only after what the activity asks for is on disk. Anything else has changed nothing.
#pragma once

#include <string>
#include <vector>

#include "fediverse/activity.hpp"
#include "node/authenticator.hpp"
#include "node/mailbox.hpp"
#include "node/roles.hpp"

namespace tagring::node {

class Inbox {
 public:
  // `instances`: hosts, with all below them, whose posts are taken.
  Inbox(std::vector<std::string> instances, Authenticator& authenticator, Roles& roles, relay::Store& store,
        relay::Followers& followers, Subscriber& subscriber, Mailbox& mailbox, const Identity& identity,
        Clock& clock);

  // Answers POST to this node's inbox or to that of one of its hashtag actors.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  struct Counters {
    std::uint64_t accepted = 0;
    std::uint64_t ignored = 0;
    std::uint64_t refused = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  using Batch = Result<std::vector<Refusal>>;
  Task<HttpResponse> dispatch(fediverse::Activity activity, fediverse::RemoteActor sender, std::string body);
  Task<HttpResponse> take_post(fediverse::Note note, bool is_update);
  Task<HttpResponse> take_deletion(std::string uri, std::string actor);
  Task<HttpResponse> take_follow(fediverse::Activity activity, fediverse::RemoteActor sender,
                                 std::string body);
  Task<Batch> follow_as_node(std::vector<relay::Follower> followers);
  Task<HttpResponse> take_unfollow(fediverse::Activity activity, fediverse::FollowRef follow);
  Task<HttpResponse> take_events(std::string target, relay::Op op, std::vector<fediverse::PostRef> posts,
                                 std::string sender);

  std::vector<std::string> instances_;
  Authenticator& authenticator_;
  Roles& roles_;
  relay::Store& store_;
  relay::Followers& followers_;
  Subscriber& subscriber_;
  Mailbox& mailbox_;
  const Identity& identity_;
  Clock& clock_;
  Counters counters_;
};

}  // namespace tagring::node
