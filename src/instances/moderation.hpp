// What the administrator decides about blocks, on disk and in memory, and the limits against floods of
// hashtags. The roles ask federation::Blocks before they take or send anything.
//
// Every decision has a reason and a source, and each change leaves a line in the log (admin/control.hpp).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "budget/manager.hpp"
#include "federation/blocks.hpp"
#include "fediverse/blocklist.hpp"
#include "instances/instances.hpp"
#include "subscriber/hashtag_followers.hpp"

namespace tagring::instances {

class Moderation {
 public:
  struct Options {
    std::size_t hashtags_of_a_post = 30;  // a post with more is taken for advertising
    std::size_t posts_an_hour = 60;       // of one author under one hashtag
    std::string own_host = {};            // never blocked
    bool boost_own_posts = false;         // to people on the server that a post comes from
    budget::Manager* budget = nullptr;    // never null
  };

  Moderation(Options options, federation::BlockStore& store, federation::Blocks& blocks,
             subscriber::HashtagFollowers& followers, Instances& instances, Clock& clock)
      : options_(std::move(options)),
        store_(store),
        blocks_(blocks),
        followers_(followers),
        instances_(instances),
        clock_(clock) {}

  [[nodiscard]] Task<Result<void>> load();
  void use(Options options) { options_ = std::move(options); }
  [[nodiscard]] const federation::Blocks& blocks() const { return blocks_; }

  // The hashtags of a post that are within the limits, and counts them: a post once, however often and by
  // whatever way it comes. Empty for too many.
  [[nodiscard]] std::vector<Tag> admit(const std::string& author, const std::string& uri,
                                       std::vector<Tag> tags);
  // A post with so many hashtags is no advertising.
  [[nodiscard]] bool allows(std::size_t hashtags) const { return hashtags <= options_.hashtags_of_a_post; }
  // What was admitted was not taken after all, and does not count.
  void take_back(const std::string& author, const std::string& uri, const std::vector<Tag>& tags);

  // What a change does, or would do.
  struct Effect {
    std::size_t fresh = 0;  // blocks that are new
    std::size_t known = 0;
    std::vector<std::string> followers;  // actors that are removed
    std::vector<std::string> instances;  // hosts whose use of this node as a relay ends
    std::vector<std::string> lifted;     // domains that a list had before, and has not any more
    std::vector<std::string> skipped;    // entries of a list that were passed over, with the reason
  };
  [[nodiscard]] Effect preview(const std::vector<federation::Block>& blocks) const;
  // Durable when it completes. Followers and instances that fall under a block go, and are told. kInvalid,
  // and nothing is changed, for this node itself.
  [[nodiscard]] Task<Result<Effect>> block(std::vector<federation::Block> blocks);
  // Does for all blocks what block() does for new ones: whoever was killed at that goes on at the next start.
  [[nodiscard]] Task<Result<void>> enforce();
  // Whoever blocks it.
  [[nodiscard]] Task<Result<void>> unblock(federation::BlockKind kind, std::string what);
  // kNotFound, with what there is between the two, if it is lifted and is not there.
  [[nodiscard]] Task<Result<void>> separate(federation::Separation separation, bool on);
  // An author has blocked the actor of a hashtag here, or the node's own, or lifts that. kUnavailable if as
  // many of their domain are kept as may be.
  [[nodiscard]] Task<Result<void>> refuse(federation::Refusal refusal, bool on);
  // An account is gone: lifts all of them, and ends all that it follows and uses here.
  [[nodiscard]] Task<Result<void>> gone(std::string account);
  // It blocks, follows or uses something here.
  [[nodiscard]] bool knows(const std::string& account) const;
  // When the account of one who has done nothing here but block is looked at again. Not all of a server's on
  // one day.
  [[nodiscard]] static Duration look_at_refuser_in(const std::string& author);
  // A list of domains, under the name `source`. Blocks of that source that are not in it any more are lifted,
  // unless others block the same. This node itself is passed over.
  [[nodiscard]] Task<Result<Effect>> import(fediverse::Blocklist list, std::string source);
  [[nodiscard]] Effect preview_import(fediverse::Blocklist list, const std::string& source) const;

  // What of this node's own a block of that domain would hit, in words; empty if nothing.
  [[nodiscard]] std::string own_within(const std::string& domain) const;

 private:
  [[nodiscard]] bool is_own(const federation::Block& block) const;
  struct Plan {
    std::vector<federation::Block> blocks;
    std::vector<federation::Block> dropped;
    std::vector<std::string> lifted;   // of these, what nobody blocks any more
    std::vector<std::string> skipped;  // with the reason
  };
  [[nodiscard]] Plan plan(fediverse::Blocklist list, const std::string& source) const;
  Task<Result<void>> drop(std::vector<federation::Block> blocks);

  Options options_;
  federation::BlockStore& store_;
  federation::Blocks& blocks_;
  subscriber::HashtagFollowers& followers_;
  Instances& instances_;
  Clock& clock_;
  struct Counted {
    std::uint64_t post;  // hash of its URI
    Instant at;
  };
  std::map<std::pair<std::string, Tag>, std::deque<Counted>> recent_;  // by author and hashtag
};

}  // namespace tagring::instances
