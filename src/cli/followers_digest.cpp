// tagring followers-digest: the digest of a set of followers (FEP-8fcf).
#include <fmt/core.h>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "followers/authority.hpp"
#include "followers/digest.hpp"

namespace tagring::cli {
namespace {

struct FollowersDigestOptions {
  bool json = false;
};

std::string without_blanks(const std::string& line) {
  static constexpr const char* kBlanks = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

Result<std::set<std::string>> read_ids(std::istream& input) {
  std::set<std::string> ids;
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    const std::string id = without_blanks(line);
    if (id.empty()) continue;
    if (!followers::Authority::of(id)) {
      return fail(ErrorCode::kInvalid, fmt::format("line {}: \"{}\" is no http(s) URL", number, id));
    }
    ids.insert(id);
  }
  return ids;
}

int show_digest(const FollowersDigestOptions& options) {
  const Result<std::set<std::string>> ids = read_ids(std::cin);
  if (!ids) return report(ids.error());
  followers::Digest digest;
  for (const std::string& id : *ids) digest.add(id);
  if (options.json) {
    fmt::print("{}\n", json::serialize(json::object{{"digest", digest.hex()}, {"followers", ids->size()}}));
  } else {
    fmt::print("{}\n", digest.hex());
  }
  return kExitOk;
}

}  // namespace

void add_followers_digest(CLI::App& app, int& status) {
  auto options = std::make_shared<FollowersDigestOptions>();
  CLI::App* command =
      app.add_subcommand("followers-digest", "Compute the FEP-8fcf digest of followers, from their ids");
  command->add_flag("--json", options->json, "Print a JSON object: digest, followers (how many)");
  command->footer(
      "Reads standard input, one id (the http(s) URL of an actor) a line. Prints the XOR of their SHA-256:\n"
      "what a server writes into \"digest\" of the header Collection-Synchronization, for those followers "
      "of\n"
      "the sender whose ids have the receiver's scheme, host and port. Ids count once, as they are written:\n"
      "a slash at the end makes another id. Without any id, it is all zeros.\n\n"
      "To find out who is right when two servers disagree, compare the digests of both lists with the "
      "header.\n\n"
      "Example:\n"
      "  printf '%s\\n' https://testing.example.org/users/1 https://testing.example.org/users/2 |\n"
      "    tagring followers-digest");
  command->callback([options, &status] { status = show_digest(*options); });
}

}  // namespace tagring::cli
