// What the server of a post says of it: the one witness about somebody else's post that cannot be bought with
// a place on the ring (paper §3.4). Whoever is told of a post by who does not speak for its server asks here.
//
// It is somebody else's machine, so it is asked seldom: what it said a moment ago counts still, one that does
// not answer, or has nothing of what is named, is left alone for a while (AskedHosts), and how often a host
// is asked in vain is limited (budget::Resource::kChecks), as is how often one node makes this one ask so
// (kVainChecks): or it would leave nothing for what others say.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/runtime.hpp"
#include "belief/asked_hosts.hpp"
#include "belief/contested.hpp"
#include "belief/standing.hpp"
#include "budget/manager.hpp"
#include "crypto/hash.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/consent.hpp"
#include "hashtag/tag.hpp"
#include "queues/turns.hpp"

namespace tagring::belief {

// What somebody says of a post under a hashtag.
struct Claim {
  Tag tag;
  std::string uri;
  std::string author;  // actor id
  bool removed = false;
  WallTime published;
  WallTime changed = {};    // TagEvent::changed
  bool of_archive = true;   // of a removal: from there, where fewer authors wish to be than to be relayed
  std::string sender = {};  // origin of the node that says so; empty: none whom it is charged to
  // Who says so deserves a look, although the post's host had nothing of what others named.
  bool is_vouched = false;
};

// Why a claim is false, rather than not to be known now.
[[nodiscard]] inline bool is_refuted(ErrorCode code) {
  return code == ErrorCode::kInvalid || code == ErrorCode::kNotFound || code == ErrorCode::kDenied ||
         code == ErrorCode::kConflict;
}

struct Answer {
  WallTime published;    // as claimed, where the server names no date
  bool archive = false;  // of a post that is there: the author may be found in the archive
  bool gone = false;     // nothing is there: which bears a removal out, and shows that nothing ever was
  // As claimed, but not later than the server says that the post was edited, or, where it does not say, than
  // what it answered is of; and a removal from a post that is there is not for ever.
  WallTime changed = {};
};

class OriginChecker {
 public:
  OriginChecker(budget::Manager& budget, federation::SignedClient& client, const Runtime& runtime);

  // Bears the claim out, or says why not. Of an addition: the post is public, by that author, may be
  // announced by everybody, carries the hashtag, and its author wishes to be relayed. Of a removal: it is
  // gone, lacks any of that, or its author wishes, by now, not to be relayed, or not to be kept, or is gone;
  // or the server shows it to nobody (401, 403), as Mastodon does with the posts of who is suspended, and the
  // profile says so. kBusy: not to be known now, since what its server says may be from before the claim
  // (contested.hpp), say; kDenied: the author's wish, or the post was not shown all the time; kConflict: the
  // post is by somebody else, which bears nothing out.
  [[nodiscard]] Task<Result<Answer>> ask(Claim claim);
  // The same, whatever the author wishes.
  [[nodiscard]] Task<Result<Answer>> ask_of_post(Claim claim);
  // The same of what was disputed: that a post is not there counts for ten minutes.
  [[nodiscard]] Task<Result<Answer>> ask_about_dispute(Claim claim);
  // Its server said so a moment ago: nothing is fetched.
  [[nodiscard]] bool is_borne_out(const Claim& claim) const;
  // That URL may be fetched now because that node names it, as far as budgets go.
  [[nodiscard]] bool has_budget(const std::string& url, const std::string& sender) const;
  // Its author changed it, says what its server showed last: hashtags may have come and gone.
  [[nodiscard]] bool was_edited(const std::string& uri) const;
  [[nodiscard]] const AskedHosts& hosts() const { return hosts_; }
  // A claim, which is contested, was made by that node.
  void note_sender(const Claim& claim, const std::string& sender);
  // Of those who said what was looked at.
  [[nodiscard]] Standing& standing() { return standing_; }

  [[nodiscard]] std::uint64_t asked() const { return asked_; }  // posts fetched

 private:
  // For less time than other servers answer from their caches.
  static constexpr Duration kRemembered = std::chrono::minutes(3);
  static constexpr std::size_t kRememberedMax = 10'000;
  // A server that does not show what is said to be removed (401, 403) is asked again until then: it may show
  // nothing to this node for a while only. Less than Contested remembers.
  static constexpr Duration kHiddenFor = std::chrono::minutes(20);
  struct Wishes {
    fediverse::Wishes wishes;
    bool is_suspended = false;
    Instant as_of;
    Instant at;
  };
  using Document = federation::SignedClient::Document;
  // What was said of a claim, and as of when, if it came from a document.
  struct Verdict {
    Result<Answer> answer;
    Instant as_of = Instant::max();
  };
  static constexpr std::size_t kPostsMax = 6'000;  // some 2 kB each, if they have all hashtags that one may
  struct Post {                                    // that is there, public, and by that author
    crypto::Hash256 author;
    std::vector<crypto::Hash256> tags;
    std::optional<WallTime> published;
    std::optional<WallTime> edited;
    Instant at;

    [[nodiscard]] bool has(const Tag& tag) const;
  };
  struct Absent {
    Error why;
    Instant at;
    WallTime changed;  // of the claim
  };
  static constexpr Duration kAbsentRemembered = std::chrono::minutes(10);
  [[nodiscard]] const Post* known(const Claim& claim) const;
  [[nodiscard]] Result<void> may_fetch(const std::string& url, const std::string& sender,
                                       bool is_vouched = false);
  void give_back(const std::string& url, std::uint64_t requests = 1);
  void clear(const std::string& sender);
  [[nodiscard]] budget::Spender teller(const std::string& sender) const;
  Task<Result<Document>> fetch(std::string url);
  Task<Verdict> judge(Claim claim);
  Task<Verdict> judge_removal(Claim claim);
  Task<Verdict> judge_post(Claim claim);
  Task<Verdict> look(Claim claim);
  [[nodiscard]] WallTime changed_by(const Claim& claim, std::optional<WallTime> edited, Instant as_of) const;
  [[nodiscard]] Result<Answer> read_post(const Claim& claim, const json::object& document,
                                         const Document& fetched);
  [[nodiscard]] Result<Answer> weigh(const Claim& claim, Instant heard, Verdict verdict);
  Task<void> note_absence(std::string uri, std::string author, std::string sender);
  Task<Result<Wishes>> wishes_of(std::string author, Instant claimed, std::string sender);

  budget::Manager& budget_;
  federation::SignedClient& client_;
  Clock& clock_;
  std::map<std::string, Wishes> wishes_;   // by author
  std::map<crypto::Hash256, Post> posts_;  // by the URI's hash: URIs are as long as whoever makes them likes
  AskedHosts hosts_;
  std::map<std::pair<Tag, std::string>, Absent> absent_;  // by hashtag and URI
  Standing standing_;
  Contested contested_;
  queues::Turns posts_in_turn_;
  queues::Turns authors_in_turn_;
  std::uint64_t asked_ = 0;
};

}  // namespace tagring::belief
