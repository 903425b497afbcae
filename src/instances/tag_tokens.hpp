// Access tokens of people who let this node see which hashtags they follow (Mastodon, scope read:follows).
// They are secrets, so they are in a file of their own that nobody else can read: a line each,
//
//   social.example  TOKEN      # the host, blanks, the token; the rest after # is a comment
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tagring::instances {

struct TagToken {
  std::string host;
  std::string token;
  int line = 0;  // of the file; 0: of none

  friend bool operator==(const TagToken&, const TagToken&) = default;
};

// kInvalid with the number of the line; what is on it stays a secret.
Result<std::vector<TagToken>> parse_tag_tokens(std::string_view text);
// Reads them again, as the file is now.
using ReadTagTokens = std::function<Result<std::vector<TagToken>>()>;
// kDenied if others than its owner have any right to the file; otherwise as config::read_file fails.
Result<std::vector<TagToken>> load_tag_tokens(const std::filesystem::path& file);

}  // namespace tagring::instances
