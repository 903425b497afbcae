// Who administers a node, and what each of them may do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tagring::administrators {

// Each may do what those before it may.
enum class Role : std::uint8_t {
  kLook,      // see everything, change nothing
  kModerate,  // blocks, instances that are kept apart, reports, posts taken down
  kAll,
};
std::optional<Role> role_from(std::string_view name);  // "look", "moderate", "all"
std::string_view name_of(Role role);

// What names are made of: 1 to 32 letters, digits, '.', '-' and '_'. Not those under which changes of others
// are noted: "token" and "SIGHUP".
bool is_name(std::string_view name);

struct Administrator {
  std::string name;
  Role role = Role::kAll;

  friend bool operator==(const Administrator&, const Administrator&) = default;
};

// Who may use the control socket: the node's own user, and root. `user`: as whom they logged in to the
// machine, if they say so.
Administrator local_socket(std::string_view user);
// The header field in which they do.
inline constexpr std::string_view kUserField = "Tagring-User";

// Under which name is noted what is changed in a session that `asker` opens. Who is at the machine says of
// whom it is, and nobody else may pass for another: "bob (by anna)", also of what such a session opens.
// Without `given` it is of those who ask; who has no name is "login".
std::string name_on_page(const Administrator& asker, const std::optional<std::string>& given);

// An administrator and the secret by which others know it is them.
struct Token {
  Administrator who;
  std::string secret;

  friend bool operator==(const Token&, const Token&) = default;
};

// What stands in a file of tokens: lines "NAME ROLE TOKEN", or a token alone, which is that of "token" and
// may do everything. Lines that begin with '#' are comments. kInvalid with the number of the line.
Result<std::vector<Token>> parse_tokens(std::string_view text);

// Whose secret that is. The time it takes says nothing about how much of a guess is right.
std::optional<Administrator> whose(const std::vector<Token>& tokens, std::string_view secret);

}  // namespace tagring::administrators
