// Hashtags: one canonical form, its key on the ring, and the names of hashtag actors.
//
// The canonical form is Mastodon's (HashtagNormalizer): NFKC, lower case, ASCII folding of accented Latin
// letters, and removal of what is neither letter, digit, '_', middle dot nor zero-width non-joiner: spaces,
// emoji and punctuation disappear. It is chosen because it merges most spellings. It depends on Unicode only
// in characters newer than the ICU in use. Vectors: docs/vectors/tags.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/ring_id.hpp"

namespace tagring {

class Tag {
 public:
  static constexpr std::size_t kSizeMax = 256;  // bytes of UTF-8, canonical

  // From any spelling, with or without '#' ('＃' too). kInvalid, with the reason, if nothing of a hashtag is
  // left: empty, no letter, a middle dot in front, not UTF-8, too long.
  static Result<Tag> parse(std::string_view spelling);
  // The same of what has to be in canonical form, as between nodes.
  static Result<Tag> parse_canonical(std::string_view text);
  // From what canonical() gave before: of this node's own database, or of its memory. Nothing is normalised.
  static Tag from_canonical(std::string canonical);

  [[nodiscard]] const std::string& canonical() const { return canonical_; }  // UTF-8, without '#'
  // hk of the paper's §5.1: SHA3-256 of the canonical form. Computed anew each time: of most hashtags that
  // pass through a node nobody asks for it.
  [[nodiscard]] RingId key() const;
  // Name of the hashtag actor: the canonical form where it is [a-z0-9_], else its Punycode "xn--…". No two
  // tags share one.
  [[nodiscard]] std::string actor_name() const;
  // The tag of an actor name or, where it does not begin with "xn--", of any spelling. kInvalid for Punycode
  // that no actor_name() gives.
  static Result<Tag> from_actor_name(std::string_view name);

  friend bool operator==(const Tag& a, const Tag& b) { return a.canonical_ == b.canonical_; }
  friend auto operator<=>(const Tag& a, const Tag& b) { return a.canonical_ <=> b.canonical_; }

 private:
  explicit Tag(std::string canonical) : canonical_(std::move(canonical)) {}
  std::string canonical_;
};

}  // namespace tagring
