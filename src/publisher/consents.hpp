// What authors wish, as their profiles say: whether their posts are relayed, and whether they are kept.
//
// What an author's server signs counts at once. What is fetched may be some minutes old (Mastodon answers
// from a cache of three minutes, whatever changed), so every profile is looked at again after those; and then
// every few days for as long as there are posts, since not all servers tell, of who is suspended or deleted,
// say. Who has no posts, and has blocked actors here, is looked at every month: Blocks are kept for as long
// as the account is there, and its server answers once a year. These looks are on disk. Posts of authors who
// withdraw consent are taken out of the archive, or out of everything.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/owner_queue.hpp"
#include "delivery/store.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/actor.hpp"
#include "instances/moderation.hpp"
#include "publisher/signed_copies.hpp"
#include "queues/turns.hpp"

namespace tagring::publisher {

// That a post has left a hashtag, as of what this node knows of it: not for ever.
[[nodiscard]] delivery::TagEvent dated_removal(const delivery::PublishedPost& post, Tag tag);

class Consents {
 public:
  struct Options {
    bool archive_all = false;  // the archive gets all public posts, not only of authors who say `indexable`
  };
  // Longer than other servers answer from their caches.
  static constexpr Duration kLifetime = std::chrono::minutes(4);
  static constexpr Duration kLookEvery = std::chrono::days(3);
  // An account that is not there (404) is looked at once more after this, before it is taken to be gone.
  static constexpr Duration kMissingFor = std::chrono::hours(1);
  // So is one from which what follows could not be written.
  static constexpr Duration kFailedFor = std::chrono::hours(1);
  static constexpr std::size_t kLooksAMinute = 60;
  // Of who has withdrawn before, one end of the account an hour is told: it is told for each of their posts.
  static constexpr Duration kEndEvery = std::chrono::hours(1);
  // So often in vain, every month, at who has done nothing here but block: then they are forgotten.
  static constexpr unsigned kLooksInVainMax = 12;
  // Where one is looked at, the next waits: all others go on.
  static constexpr Duration kBusyFor = std::chrono::minutes(10);
  static constexpr std::size_t kSilentMax = 10'000;  // hosts, and authors
  static constexpr std::size_t kProfilesMax = 1'000;
  static constexpr std::size_t kProfileMax = 16'384;  // bytes of its document; larger ones are not remembered

  Consents(Options options, instances::Moderation& moderation, delivery::OwnerQueue& owners,
           SignedCopies& copies, federation::SignedClient& client, const Runtime& runtime)
      : options_(options),
        moderation_(moderation),
        owners_(owners),
        store_(owners.store()),
        copies_(copies),
        client_(client),
        clock_(runtime.clock),
        rng_(runtime.rng.fork("consents")),
        in_turn_(runtime.clock, runtime.executor),
        tasks_(runtime.executor) {}
  // Looks at profiles again when their time comes.
  void start() { tasks_.spawn("profile_looks", look_again()); }
  [[nodiscard]] Task<void> stop();

  // As far as it is known. `author` is from the key that signed the post and may be hours old; what was
  // learned since counts more. Who refused longer than kLifetime ago is asked first, and so is of whom
  // nothing is known, and `author` is older than that.
  [[nodiscard]] Task<Result<delivery::Consent>> of(fediverse::RemoteActor author);
  // What was learned of an author, if posts of that author are known here.
  [[nodiscard]] Task<Result<std::optional<delivery::Consent>>> known(std::string author);
  struct Profile {
    fediverse::RemoteActor actor;
    Instant as_of;  // it says what held at some time since then
  };
  // Takes it from a profile that was fetched just now. Where nothing was known of the author, it looks again
  // as ask() does. Durable when it completes: what the author has withdrawn is owed to the owners.
  [[nodiscard]] Task<Result<void>> learn(Profile profile);
  // What the author's server has signed just now: no copy that was fetched, or may be, from before that
  // counts more, also after a restart. Of two such statements the older may come last; so within kLifetime
  // one takes back only, and what the profile says then decides. `signed_body` as in Publisher::changed.
  [[nodiscard]] Task<Result<void>> state(fediverse::RemoteActor author, std::string signed_body = {});
  // Fetches the profile, learns from it, and looks again when it cannot be an old copy any more.
  [[nodiscard]] Task<Result<void>> ask(std::string author);
  [[nodiscard]] Task<Result<Profile>> fetch(std::string author);
  // As it was fetched within kLifetime, if it was: of who writes many posts it is not asked for each. Of an
  // author who is known here, what it says is learned first, so that no post is taken against it.
  [[nodiscard]] Task<Result<Profile>> profile(std::string author);
  // The author's server says that it is another now.
  void forget_profile(const std::string& author) { profiles_.erase(author); }
  // Whether its server says so. kUnavailable or kTimedOut if it does not answer.
  [[nodiscard]] Task<Result<bool>> is_gone(std::string author);
  // Takes out everything of an author who wants no part in this any more.
  [[nodiscard]] Task<Result<void>> forget(std::string author);
  // The same of one whose account is gone; their Blocks end too, and all that they follow and use here.
  // `signed_body` as in Publisher::gone.
  [[nodiscard]] Task<Result<void>> gone(std::string author, std::string signed_body = {});
  // Who cannot prove it says that an account is gone: if it is not there twice (kMissingFor), it is. False if
  // it has no posts here, and follows, uses and blocks nothing.
  [[nodiscard]] Task<Result<bool>> look_for(std::string account);

 private:
  struct Known {
    delivery::Consent consent;
    Instant asked;
  };
  [[nodiscard]] delivery::Consent read(const fediverse::RemoteActor& author) const;
  Task<void> ask_again(std::string author);
  Task<Result<std::optional<delivery::Consent>>> ask_first(std::string author);
  Task<Result<delivery::Consent>> ask_who_refused(std::string author);
  // A host that did not answer is left alone for an hour, and then for ever longer. So is an author whom it
  // does not show, as it may show others.
  struct Silent {
    Instant until;
    unsigned times = 0;
  };
  Task<void> look_again();
  Task<void> look_at(std::string host, std::vector<delivery::ProfileLook> due);
  Task<void> look(delivery::ProfileLook due);
  Task<void> look_at_who_refused(std::string author);
  Task<void> look_for_account(delivery::ProfileLook due);
  Task<void> look_was_in_vain(delivery::ProfileLook due, Duration wait, unsigned most);
  [[nodiscard]] Duration note_silent(const std::string& host_or_author);
  Task<Result<void>> look_later(std::string author, Duration wait, unsigned missing = 0);
  // Returns what counts now. `signed_body`: what ends all posts of the author, if others believe it.
  Task<Result<delivery::Consent>> learn(std::string author, delivery::Consent consent, Instant as_of,
                                        std::string signed_body = {});
  [[nodiscard]] bool is_outdated(Instant as_of, WallTime stated) const;
  // Keeps what ends all posts of an author, if there are any, and returns its name
  // (delivery::TagEvent::signed_copy).
  enum class End : std::uint8_t { kSuspended, kDeleted };
  Task<Result<std::string>> keep_end(std::string author, End end, bool is_relayed, std::string signed_body);
  // `signed_copy`: delivery::TagEvent::signed_copy of what was signed; empty if nothing was. `with_former`:
  // it is named for posts that are under no hashtag any more, too; without one, those are taken out again.
  Task<Result<void>> withdraw(std::string author, bool from_archive_only, std::string signed_copy = {},
                              bool with_former = false);
  Task<Result<void>> say_again(Ring ring, std::string uri);
  Task<Result<void>> withdraw_as(std::string author, delivery::Consent consent, std::string signed_copy);
  void remember(const std::string& author, delivery::Consent consent);

  Options options_;
  instances::Moderation& moderation_;
  delivery::OwnerQueue& owners_;
  delivery::Store& store_;
  SignedCopies& copies_;
  federation::SignedClient& client_;
  Clock& clock_;
  Rng rng_;
  struct Fetched {
    Profile profile;
    Instant when;
  };
  std::map<std::string, Known> authors_;
  std::map<std::string, Fetched> profiles_;              // by author
  std::map<std::string, Silent> silent_;                 // by host, or author
  std::map<std::string, Instant> farewells_;             // of accounts that are looked for, when
  std::map<std::pair<std::string, End>, Instant> ends_;  // of accounts, when that was told
  std::set<std::string> looked_at_;                      // hosts
  queues::Turns in_turn_;                                // authors who are asked
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
