#include "administrators/administrator.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "crypto/hash.hpp"

namespace tagring::administrators {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"look", "moderate", "all"};
constexpr std::string_view kNameless = "token";  // whose line has a token alone
constexpr std::array<std::string_view, 2> kNobodys = {kNameless, "SIGHUP"};
constexpr std::size_t kNameMax = 32;
constexpr std::size_t kSecretMin = 16;
constexpr std::size_t kTokensMax = 100;

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t start = line.find_first_not_of(kBlank); start != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(kBlank, end);
  }
  return words;
}

Result<Token> parse_line(const std::vector<std::string_view>& words) {
  if (words.size() != 1 && words.size() != 3) {
    return fail(ErrorCode::kInvalid,
                "must be a token, or NAME ROLE TOKEN; the token may have neither spaces nor characters "
                "beyond ASCII");
  }
  Token token{{std::string(kNameless), Role::kAll}, std::string(words.back())};
  if (words.size() == 3) {
    const std::optional<Role> role = role_from(words[1]);
    if (!is_name(words[0])) return fail(ErrorCode::kInvalid, fmt::format("'{}' cannot be a name", words[0]));
    if (!role) return fail(ErrorCode::kInvalid, fmt::format("'{}' must be look, moderate or all", words[1]));
    token.who = {std::string(words[0]), *role};
  }
  // It travels in a header (RFC 6750).
  if (!std::ranges::all_of(token.secret, [](char c) { return c > ' ' && c <= '~'; }))
    return fail(ErrorCode::kInvalid, "the token may have neither spaces nor characters beyond ASCII");
  if (token.secret.size() < kSecretMin)
    return fail(ErrorCode::kInvalid, fmt::format("the token needs {} characters or more", kSecretMin));
  return token;
}

constexpr std::string_view kLocal = "local socket";

}  // namespace

std::optional<Role> role_from(std::string_view name) {
  const auto* const found = std::ranges::find(kRoles, name);
  if (found == kRoles.end()) return std::nullopt;
  return static_cast<Role>(found - kRoles.begin());
}

std::string_view name_of(Role role) { return kRoles.at(static_cast<std::size_t>(role)); }

bool is_name(std::string_view name) {
  if (std::ranges::find(kNobodys, name) != kNobodys.end()) return false;
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

Administrator local_socket(std::string_view user) {
  if (!is_name(user)) return {std::string(kLocal), Role::kAll};
  return {fmt::format("{} ({})", kLocal, user), Role::kAll};
}

std::string name_on_page(const Administrator& asker, const std::optional<std::string>& given) {
  constexpr std::string_view kBy = "by ";
  const std::string_view who = asker.name;
  const std::size_t open = who.find(" (");
  const std::string_view own = who.substr(0, open);
  std::string_view answers = own;  // for it: who is named between parentheses
  if (open != std::string_view::npos) answers = who.substr(open + 2, who.size() - open - 3);
  if (answers.starts_with(kBy)) answers.remove_prefix(kBy.size());
  if (own == kLocal) return given.value_or(is_name(answers) ? std::string(answers) : "login");
  if (is_name(own) && given.value_or(std::string(own)) == own) return asker.name;
  return fmt::format("{} (by {})", given.value_or("login"), answers);
}

Result<std::vector<Token>> parse_tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) continue;
    Result<Token> token = parse_line(words);
    if (!token) return fail(ErrorCode::kInvalid, fmt::format("line {}: {}", number, token.error().message));
    if (whose(tokens, token->secret))
      return fail(ErrorCode::kInvalid, fmt::format("line {}: that token stands there already", number));
    tokens.push_back(std::move(*token));
    if (tokens.size() > kTokensMax)
      return fail(ErrorCode::kInvalid, fmt::format("there may be {} tokens", kTokensMax));
  }
  if (tokens.empty()) return fail(ErrorCode::kInvalid, "there is no token in it");
  return tokens;
}

// Hashes are compared.
std::optional<Administrator> whose(const std::vector<Token>& tokens, std::string_view secret) {
  const crypto::Hash256 given = crypto::sha256(secret);
  for (const Token& token : tokens)
    if (crypto::sha256(token.secret) == given) return token.who;
  return std::nullopt;
}

}  // namespace tagring::administrators
