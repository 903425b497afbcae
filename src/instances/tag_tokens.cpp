#include "instances/tag_tokens.hpp"

#include <fmt/format.h>
#include <sstream>

#include "base/bytes.hpp"
#include "config/file.hpp"
#include "http/url.hpp"

namespace tagring::instances {
namespace {

constexpr std::size_t kTokenSizeMax = 1'000;
constexpr std::size_t kFileSizeMax = 4U << 20U;

// Goes into a header as it is.
bool is_token(const std::string& text) {
  if (text.empty() || text.size() > kTokenSizeMax) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

}  // namespace

Result<std::vector<TagToken>> parse_tag_tokens(std::string_view text) {
  std::vector<TagToken> tokens;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    TagToken token;
    std::string rest;
    words >> token.host >> token.token >> rest;
    if (token.host.empty()) continue;
    token.host = ascii_lower(token.host);
    if (!is_host_name(token.host) || !is_token(token.token) || !rest.empty()) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("line {}: must be a host name, blanks and a token", number));
    }
    token.line = number;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<std::vector<TagToken>> load_tag_tokens(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (error)
    return fail(ErrorCode::kNotFound, fmt::format("cannot read {}: {}", file.string(), error.message()));
  using std::filesystem::perms;
  if ((status.permissions() & (perms::group_all | perms::others_all)) != perms::none) {
    return fail(ErrorCode::kDenied,
                fmt::format("{} holds secrets, and others have access to it: chmod 600 {}", file.string(),
                            file.string()));
  }
  TRY(const std::string text, config::read_file(file, kFileSizeMax));
  Result<std::vector<TagToken>> tokens = parse_tag_tokens(text);
  if (!tokens) return fail(tokens.error().code, fmt::format("{}: {}", file.string(), tokens.error().message));
  return tokens;
}

}  // namespace tagring::instances
