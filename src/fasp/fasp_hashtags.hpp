// hashtag_subscription (docs/fasp.md): a server that uses this node as a FASP names hashtags, and is told the
// URIs of posts that come under them, and of those that leave. It can also ask what was there before.
//
// A server stands among the followers of a hashtag, so that what is owed to it survives restarts and waits
// for it, as it does for everybody else (delivery/announcer.hpp). Nothing is announced but posts of authors
// who say `indexable`.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "delivery/store.hpp"
#include "fasp/fasp_history.hpp"
#include "fasp/fasp_servers.hpp"
#include "federation/blocks.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "instances/instances.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::fasp {

class FaspHashtags {
 public:
  static constexpr std::string_view kPrefix = "/hashtag_subscription/v0/";

  FaspHashtags(std::size_t tags_max, FaspServers& servers, subscriber::HashtagFollowers& followers,
               FaspHistory& history, const instances::Instances& instances, const federation::Blocks& blocks)
      : tags_max_(tags_max),
        servers_(servers),
        followers_(followers),
        history_(history),
        instances_(instances),
        blocks_(blocks) {}

  // A server that has more keeps them, and gets no more.
  void allow(std::size_t tags_max) { tags_max_ = tags_max; }

  // Shown every follower at start.
  void note(const delivery::Follower& follower);

  // Answers a request of that server; `path` is what stands behind kPrefix, with its query.
  [[nodiscard]] Task<HttpResponse> answer(std::string host, std::string method, std::string path);
  // The capability was switched off, or the server is removed: forgets its hashtags.
  [[nodiscard]] Task<Result<void>> forget(std::string host);
  // Sends an announcement (fediverse::make_fasp_hashtag_announcement). 410 if the server does not use the
  // capability any more. A 400, 404, 410 or 422 that the server has not signed is kDenied, such a 413
  // kTooLarge.
  [[nodiscard]] Task<Result<HttpResponse>> deliver(std::string inbox, std::string body);
  // Where it takes announcements.
  [[nodiscard]] static std::string inbox_of(const FaspServer& server);
  // What a server is subscribed to.
  [[nodiscard]] std::vector<std::string> hashtags(const std::string& host) const;

 private:
  Task<HttpResponse> subscribe(std::string host, Tag tag);
  Task<HttpResponse> unsubscribe(std::string host, Tag tag);

  std::size_t tags_max_;
  FaspServers& servers_;
  subscriber::HashtagFollowers& followers_;
  FaspHistory& history_;
  const instances::Instances& instances_;
  const federation::Blocks& blocks_;
  std::map<std::string, std::set<std::string>> tags_;  // by the server's base URL; some may be gone since
  std::size_t writing_ = 0;                            // subscriptions on their way to the followers
};

}  // namespace tagring::fasp
