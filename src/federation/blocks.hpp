// What the administrator keeps away: domains, authors and hashtags, and pairs of instances that want nothing
// of each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::federation {

enum class BlockKind : std::uint8_t {
  kDomain = 0,  // with all names below it
  kAuthor = 1,  // actor id
  kTag = 2,     // canonical: not relayed, no actor (a person's or a brand's name, say)
};

inline constexpr std::string_view kByHand = "admin";

struct Block {
  BlockKind kind = BlockKind::kDomain;
  std::string what;
  std::string reason;
  std::string source;  // kByHand, or the name of a list
  WallTime since;

  friend bool operator==(const Block&, const Block&) = default;
};

// "Never send me anything of `other`" (receive), or "never send mine to `other`" (send).
struct Separation {
  std::string host;
  std::string other;
  bool receive = true;

  friend auto operator<=>(const Separation&, const Separation&) = default;
};

// An author who blocked one of this node's hashtag actors, or the node's own, by ActivityPub's Block.
struct Refusal {
  std::string author;
  std::string tag;  // canonical; empty: of the node's actor, so of everything here

  friend auto operator<=>(const Refusal&, const Refusal&) = default;
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // Both by (kind, what, source).
  virtual Task<Result<void>> save_blocks(std::vector<Block> blocks) = 0;
  virtual Task<Result<void>> drop_blocks(std::vector<Block> blocks) = 0;
  virtual Task<Result<std::vector<Block>>> blocks() = 0;
  virtual Task<Result<void>> save_separation(Separation separation) = 0;
  virtual Task<Result<void>> drop_separation(Separation separation) = 0;
  virtual Task<Result<std::vector<Separation>>> separations() = 0;
  // Its author is looked at again then, or when that was going to be in any case.
  virtual Task<Result<void>> save_refusal(Refusal refusal, WallTime look) = 0;
  virtual Task<Result<void>> drop_refusal(Refusal refusal) = 0;
  virtual Task<Result<std::vector<Refusal>>> refusals() = 0;
};

// In memory, for asking.
class Blocks {
 public:
  // This node's own host, which is under no block, not even of a domain above it.
  void spare(std::string host) { spared_ = std::move(host); }
  // Several sources may block the same, each for its own reason: it is blocked as long as one of them does.
  void add(Block block);
  void remove(const Block& block);
  void add(Separation separation) { separations_.insert(std::move(separation)); }
  void remove(const Separation& separation) { separations_.erase(separation); }
  // False if that changes nothing.
  bool add(Refusal refusal) { return refusals_.insert(std::move(refusal)).second; }
  bool remove(const Refusal& refusal) { return refusals_.erase(refusal) > 0; }
  [[nodiscard]] bool contains(const Refusal& refusal) const { return refusals_.contains(refusal); }
  [[nodiscard]] std::vector<Refusal> refusals_by(const std::string& author) const;

  // If there are several, that of the administrator, or else of the source that is first by its name.
  [[nodiscard]] const Block* find(BlockKind kind, const std::string& what) const;
  [[nodiscard]] std::vector<Block> of_all_sources(BlockKind kind, const std::string& what) const;
  // The block that a host is under, its own or that of a domain above it; null if none. Valid until a change.
  [[nodiscard]] const Block* of_host(std::string_view host) const;
  // The same of an actor or its host.
  [[nodiscard]] const Block* of_actor(const std::string& actor) const;
  [[nodiscard]] const Block* of_tag(const std::string& tag) const;
  // kDenied, with the reason, for what is blocked.
  [[nodiscard]] Result<void> check_actor(const std::string& actor) const;
  [[nodiscard]] Result<void> check_tag(const std::string& tag) const;
  // Posts go back as boosts to people on the server that they come from, if the administrator wants that.
  void boost_own_posts(bool on) { boost_own_posts_ = on; }
  [[nodiscard]] bool may_boost_own_posts() const { return boost_own_posts_; }
  // Posts of authors on `author_host` may go to an instance on `host`.
  [[nodiscard]] bool may_go(std::string_view author_host, std::string_view host) const;

  // The author wants no announcement of posts by this node; by the actor of that hashtag, if one is named.
  [[nodiscard]] bool is_refused_by(const std::string& author, const std::string& tag = {}) const;

  [[nodiscard]] std::vector<Block> all() const;
  [[nodiscard]] const std::set<Separation>& separations() const { return separations_; }

 private:
  std::map<std::pair<BlockKind, std::string>, std::vector<Block>> blocks_;  // none empty
  std::string spared_;
  bool boost_own_posts_ = false;
  std::set<Separation> separations_;
  std::set<Refusal> refusals_;
};

}  // namespace tagring::federation
