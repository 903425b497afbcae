// The publisher role (paper §5.5): posts of instances that use this node, checked against what their authors
// wish (consents.hpp), and handed to the relay owners of their hashtags.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/runtime.hpp"
#include "base/task.hpp"
#include "delivery/owner_queue.hpp"
#include "delivery/store.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/note.hpp"
#include "instances/instances.hpp"
#include "instances/moderation.hpp"
#include "publisher/consents.hpp"
#include "publisher/signed_copies.hpp"

namespace tagring::publisher {

class Publisher {
 public:
  Publisher(instances::Instances& instances, instances::Moderation& moderation, Consents& consents,
            delivery::OwnerQueue& owners, SignedCopies& copies, const Runtime& runtime)
      : instances_(instances),
        moderation_(moderation),
        consents_(consents),
        owners_(owners),
        store_(owners.store()),
        copies_(copies),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}
  // Takes out what denied instances have published.
  void start() { take_out_denied(); }
  [[nodiscard]] Task<void> stop();
  // The administrator has denied an instance: what it published is taken out, in the background, and after a
  // restart too.
  void take_out_denied();
  // How many posts wait until the limits allow them (put_off.hpp), or some of their hashtags do.
  [[nodiscard]] std::uint64_t put_off() const { return put_off_; }
  void note_put_off(std::uint64_t count) { put_off_ = count; }
  static constexpr Duration kTryAgain = std::chrono::minutes(10);
  // Has PutOff fetch a post once more when no cache has it as it was.
  [[nodiscard]] Task<Result<void>> look_later(delivery::PublishedPost known);

  // What became of it: empty if it was taken, and is on disk; else why it is of no concern here.
  using Outcome = Result<std::string>;

  // A post from its author, whose signature was checked. Posts of authors who are not served, and what is not
  // public, are passed over: servers send what their people write to whoever follows, and after some refusals
  // send nothing any more. An update may take out of a known post what it had, whoever is served.
  // `signed_body`: the Update as it came, if others believe it whoever brings it; else empty.
  [[nodiscard]] Task<Outcome> post(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                   std::string signed_body = {});
  // The same, whether or not posts of its server are taken.
  [[nodiscard]] Task<Outcome> take(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                   std::string signed_body = {});
  // Posts of that author, or with that URI, are taken.
  [[nodiscard]] bool takes(const std::string& url) const { return instances_.may_publish(url); }
  // The author, or somebody on the author's server, deleted it. `signed_body`: the Delete as it came, if
  // others believe it whoever brings it; else empty.
  [[nodiscard]] Task<Outcome> deletion(std::string uri, std::string actor, std::string signed_body);
  // Takes a post out of every hashtag, if it is known here: for ever, since it is deleted.
  [[nodiscard]] Task<Result<void>> take_out(std::string uri);
  // The same, until it is shown again: as if an edit had done it, at that time, or at once after that which
  // is known.
  [[nodiscard]] Task<Result<void>> withdraw(std::string uri, WallTime edited = {});
  // The same of who may not be found any more, whose posts relays go on to see with their hashtags: the
  // owners of the archive are told, too.
  [[nodiscard]] Task<Result<void>> withdraw_from_archive(std::string uri);
  // The author's profile has changed: to that, if the author's server said so. `signed_body`: the Update as
  // it came, if the account is suspended by it and others believe it whoever brings it; else empty.
  [[nodiscard]] Task<Outcome> changed(std::string author, std::optional<fediverse::RemoteActor> profile,
                                      std::string signed_body = {});
  // Takes everything of an author back who has blocked this node, if so.
  [[nodiscard]] Task<Result<void>> refused_by(std::string author);
  // The author's account is gone. Who said so without a signature that could be checked is believed if it is.
  // `signed_body`: the Delete as it came, if others believe it whoever brings it; else empty.
  [[nodiscard]] Task<Outcome> gone(std::string author, bool is_signed, std::string signed_body = {});
  // See Consents::look_for.
  [[nodiscard]] Task<Result<bool>> look_for(std::string account) {
    return consents_.look_for(std::move(account));
  }

 private:
  static constexpr std::size_t kSweepPage = 500;
  static constexpr Duration kSweepPause = std::chrono::milliseconds(20);
  static constexpr Duration kSweepAgain = std::chrono::minutes(1);  // after what the disk did not take
  struct Admitted {
    std::optional<delivery::PublishedPost> known;  // as it was, if that was looked for
    std::vector<Tag> counted;                      // hashtags that count against the limits
    std::vector<Tag> later;                        // those that are over them
  };
  Task<Result<Admitted>> admit(delivery::PublishedPost* post, bool is_update);
  // What the author wishes, who may also have blocked this node.
  Task<Result<delivery::Consent>> consent_of(fediverse::RemoteActor author);
  Task<Outcome> hand_in(delivery::PublishedPost post, fediverse::RemoteActor author, std::vector<Tag> later);
  Task<Result<bool>> leave_what_is_known(fediverse::Note* note, bool is_update);
  Task<Outcome> take_welcome(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                             std::string signed_body);
  Task<Result<void>> drop_put_off(std::string uri);
  Task<Result<void>> drop_tags_put_off(std::string uri);
  Task<void> sweep();
  Task<Result<void>> sweep_once();

  instances::Instances& instances_;
  instances::Moderation& moderation_;
  Consents& consents_;
  delivery::OwnerQueue& owners_;
  delivery::Store& store_;
  SignedCopies& copies_;
  Clock& clock_;
  std::uint64_t put_off_ = 0;
  bool sweeping_ = false;
  bool sweeps_again_ = false;
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
