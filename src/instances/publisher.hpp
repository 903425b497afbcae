// The publisher role (paper §5.5): posts of instances that use this node, checked against what their authors
// wish, and handed to the relay owners of their hashtags.
//
// An author's profile is looked at again two minutes after the last time, when he posts, and at once when his
// server says that it has changed. Who withdraws consent is taken out of the archive, or out of everything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "fediverse/consent.hpp"
#include "fediverse/note.hpp"
#include "instances/moderation.hpp"
#include "relay/owner_queue.hpp"

namespace tagring::instances {

class Publisher {
 public:
  struct Options {
    bool archive_all = false;  // the archive gets all public posts, not only of authors who say `indexable`
  };
  static constexpr Duration kWishesLifetime = std::chrono::minutes(2);

  Publisher(Options options, Instances& instances, Moderation& moderation, relay::OwnerQueue& outbox,
            relay::Store& store, federation::SignedClient& courier, const Runtime& runtime)
      : options_(options),
        instances_(instances),
        moderation_(moderation),
        outbox_(outbox),
        store_(store),
        courier_(courier),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}
  [[nodiscard]] Task<void> stop();

  // What became of it: empty if it was taken, and is on disk; else why it is of no concern here.
  using Outcome = Result<std::string>;

  // A post from its author, whose signature was checked. kDenied if posts of that author are not taken,
  // kInvalid if a new one is not public.
  [[nodiscard]] Task<Outcome> post(fediverse::Note note, fediverse::RemoteActor author, bool is_update);
  // The author, or somebody on his server, deleted it. `signed_body`: the Delete as it came, if others
  // believe it whoever brings it; else empty.
  [[nodiscard]] Task<Outcome> deletion(std::string uri, std::string actor, std::string signed_body);
  // A post that some server has told of by its URI, as the data sharing of a FASP does. It is fetched from
  // its own server, and published as it is now if it is public and its author says `indexable`, whatever
  // Options::archive_all; else it is taken out, if it came this way (`by_sharing`) or is not public any more.
  // True if it stands under hashtags now. kUnavailable, kTimedOut or kDenied if its server does not show it;
  // then nothing has changed. Whether posts of that server are taken is for the caller to ask.
  [[nodiscard]] Task<Result<bool>> shared(std::string uri, bool by_sharing);
  // Its own server says that it was deleted, or it has not been shown for too long.
  [[nodiscard]] Task<Result<void>> take_out(std::string uri);
  // An author whose posts are known here may have changed the profile.
  [[nodiscard]] Task<Outcome> look_again(std::string author);
  // A post by its URI alone (a LitePub relay announces the posts of its people): fetched from its server.
  [[nodiscard]] Task<Outcome> announced(std::string uri);
  // The author's profile has changed.
  [[nodiscard]] Task<Outcome> changed(std::string author);
  // The author's server says that the account is gone. Believed if it is.
  [[nodiscard]] Task<Outcome> gone(std::string author);

 private:
  struct Known {
    relay::Consent consent;
    Instant asked;
  };
  [[nodiscard]] relay::Consent consent_of(const fediverse::RemoteActor& author) const;
  Task<Result<relay::Consent>> consent(fediverse::RemoteActor author);
  Task<Result<fediverse::RemoteActor>> fetch_author(std::string author);
  Task<void> ask_again(std::string author);
  Task<Result<void>> learn(std::string author, relay::Consent consent);
  Task<Result<void>> forward(relay::PublishedPost post, std::string signed_body);
  Task<Result<void>> withdraw(std::string author, bool from_archive_only);
  Task<Outcome> take(fediverse::Note note, fediverse::RemoteActor author, bool is_update);
  Task<Outcome> hand_in(relay::PublishedPost post, fediverse::RemoteActor author);
  Task<Result<bool>> take_shared(fediverse::Note note, bool by_sharing);
  void remember(const std::string& author, relay::Consent consent);

  Options options_;
  Instances& instances_;
  Moderation& moderation_;
  relay::OwnerQueue& outbox_;
  relay::Store& store_;
  federation::SignedClient& courier_;
  Clock& clock_;
  std::map<std::string, Known> authors_;
  TaskGroup tasks_;
};

}  // namespace tagring::instances
