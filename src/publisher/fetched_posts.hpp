// Posts that somebody tells of by their URI alone: servers that share data with this node as a FASP, LitePub
// relays, groups, and servers that name what they created. Each is fetched from its own server, and published
// as it is now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "delivery/store.hpp"
#include "federation/blocks.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/note.hpp"
#include "publisher/consents.hpp"
#include "publisher/publisher.hpp"

namespace tagring::publisher {

class FetchedPosts {
 public:
  FetchedPosts(Publisher& publisher, Consents& consents, delivery::Store& store,
               const federation::Blocks& blocks, federation::SignedClient& client, const Clock& clock)
      : publisher_(publisher),
        consents_(consents),
        store_(store),
        blocks_(blocks),
        client_(client),
        clock_(clock) {}

  using Outcome = Publisher::Outcome;

  enum class Shared : std::uint8_t {
    kPublished,  // it stands under hashtags now
    kUnwanted,   // its author does not agree, as far as the profile says that was given out now
    kNothing,    // there is nothing to publish
    kBlocked,    // it is there, and its author is blocked here
    kGone,       // there is no such post, or author (404, 410): whether to believe it is for the caller
  };
  // A post that some server has told of by its URI, as the data sharing of a FASP does. It is fetched from
  // its own server, and published as it is now if it is public and its author says `indexable`, whatever
  // Consents::Options::archive_all; else it is taken out, if it came this way (`by_sharing`) or is not public
  // any more. kUnavailable, kTimedOut or kDenied if its server does not
  // show it; then nothing has changed. Whether posts of that server are taken is for the caller to ask.
  [[nodiscard]] Task<Result<Shared>> shared(std::string uri, bool by_sharing);
  // Its own server says that it was deleted.
  [[nodiscard]] Task<Result<void>> take_out(std::string uri);
  // It has not been shown for too long.
  [[nodiscard]] Task<Result<void>> withdraw(std::string uri);
  // An author whose posts are known here may have changed the profile.
  [[nodiscard]] Task<Outcome> look_again(std::string author);
  // Its server says that an account is gone. Believed if it is.
  [[nodiscard]] Task<Outcome> gone(std::string author);
  // Some server tells of a post by its URI. It is taken as its own server gives it.
  struct Told {
    WallTime not_before = WallTime::min();
    std::string by = {};      // its author, if that is known
    bool is_update = false;   // it may be less public than it was
    bool by_id_only = false;  // nothing but the URI was said
  };
  static constexpr std::string_view kTooOld = "the post is too old";  // why it was not taken
  // By a relay, a group, or the author's server itself.
  [[nodiscard]] Task<Outcome> announced(std::string uri, Told told);
  // Nothing that is known here speaks against posts of that author.
  [[nodiscard]] bool takes(const std::string& author) const {
    return publisher_.takes(author) && blocks_.of_actor(author) == nullptr && !blocks_.is_refused_by(author);
  }
  // That host has not asked to be left alone.
  [[nodiscard]] bool may_ask(const std::string& host) const { return client_.hosts().may_fetch(host); }
  // A group says that a post was deleted. Believed if it is.
  [[nodiscard]] Task<Outcome> deleted(std::string uri);
  // Its server did not answer. Asks it again (PutOff): who told of the post may have nothing to do with that
  // server, and, as Lemmy, send nothing more before this was taken. False if too many of that server wait.
  [[nodiscard]] Task<Result<bool>> ask_later(std::string uri);
  // Stands for the author in what is put off of a post of which nothing but the URI is known: so few of one
  // server wait, as of one author.
  [[nodiscard]] static std::string author_of_unknown(const std::string& uri) { return origin_of(uri); }

 private:
  // What was just fetched may be of a cache, from before that which was told: once more, when no cache has
  // it, if it is under hashtags.
  Task<Result<void>> look_later(const std::string& uri);
  struct Fetched {
    json::object document;
    WallTime as_of;  // fediverse::Note::as_of
    [[nodiscard]] Result<fediverse::Note> note(WallTime now) const;
  };
  // The document with that very id.
  Task<Result<Fetched>> fetch(std::string uri);
  Task<Result<Shared>> take_shared(fediverse::Note note, bool by_sharing);

  Publisher& publisher_;
  Consents& consents_;
  delivery::Store& store_;
  const federation::Blocks& blocks_;
  federation::SignedClient& client_;
  const Clock& clock_;
};

}  // namespace tagring::publisher
