// The publisher role (paper §5.5): posts of instances that use this node, checked against what their authors
// wish (consents.hpp), and handed to the relay owners of their hashtags.
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/task.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/note.hpp"
#include "instances/consents.hpp"
#include "instances/instances.hpp"
#include "instances/moderation.hpp"
#include "relay/owner_queue.hpp"
#include "relay/store.hpp"

namespace tagring::instances {

class Publisher {
 public:
  Publisher(Instances& instances, Moderation& moderation, Consents& consents, relay::OwnerQueue& owners,
            relay::Store& store)
      : instances_(instances), moderation_(moderation), consents_(consents), owners_(owners), store_(store) {}

  // What became of it: empty if it was taken, and is on disk; else why it is of no concern here.
  using Outcome = Result<std::string>;

  // A post from its author, whose signature was checked. kDenied if posts of that author are not taken,
  // kInvalid if a new one is not public.
  [[nodiscard]] Task<Outcome> post(fediverse::Note note, fediverse::RemoteActor author, bool is_update);
  // The same, whether or not posts of its server are taken.
  [[nodiscard]] Task<Outcome> take(fediverse::Note note, fediverse::RemoteActor author, bool is_update);
  // kDenied unless posts of that author, or with that URI, are taken.
  [[nodiscard]] Result<void> check_taken(const std::string& url) const;
  // The author, or somebody on the author's server, deleted it. `signed_body`: the Delete as it came, if
  // others believe it whoever brings it; else empty.
  [[nodiscard]] Task<Outcome> deletion(std::string uri, std::string actor, std::string signed_body);
  // Takes a post out of every hashtag, if it is known here.
  [[nodiscard]] Task<Result<void>> take_out(std::string uri);
  // The author's profile has changed.
  [[nodiscard]] Task<Outcome> changed(std::string author);
  // The author's server says that the account is gone. Believed if it is.
  [[nodiscard]] Task<Outcome> gone(std::string author);

 private:
  Task<Outcome> hand_in(relay::PublishedPost post, fediverse::RemoteActor author);
  Task<Result<void>> forward(relay::PublishedPost post, std::string signed_body);

  Instances& instances_;
  Moderation& moderation_;
  Consents& consents_;
  relay::OwnerQueue& owners_;
  relay::Store& store_;
};

}  // namespace tagring::instances
