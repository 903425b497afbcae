// A relay's signed word that it had too much to do with a hashtag, and when (paper §7.1). Publishers show it
// to relays of the next larger set, so that nobody can have a set enlarged without reason.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::redundancy {

struct OverloadToken {
  Tag tag;
  unsigned relays = 0;  // of the set that was too small
  std::string actor;    // of the node that says so: {origin}/actor
  WallTime at;
  std::string signature;  // by that actor's key, of signed_text()

  // How far `at` may be from now.
  static constexpr Duration kLifetime = std::chrono::minutes(1);

  [[nodiscard]] std::string signed_text(const std::string& network) const;
  [[nodiscard]] bool is_fresh(WallTime now) const { return std::chrono::abs(now - at) <= kLifetime; }
};

json::object to_json(const OverloadToken& token);
// kInvalid unless it has all members, in form.
Result<OverloadToken> token_from_json(const json::value& value);

// Those of a list that are in form, the first 8.
std::vector<OverloadToken> tokens_from_json(const json::value* list);
json::array to_json(const std::vector<OverloadToken>& tokens);

}  // namespace tagring::redundancy
