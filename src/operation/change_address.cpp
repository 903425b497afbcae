#include "operation/change_address.hpp"

#include <fmt/core.h>
#include <optional>
#include <string_view>

#include "base/json.hpp"
#include "cli/exit.hpp"
#include "config/config.hpp"
#include "config/file.hpp"
#include "operation/configuration_file.hpp"

namespace tagring::operation {
namespace {

constexpr std::size_t kTextMax = 1U << 20U;  // bytes

// The same text with another node.address. Comments and other sections have the word, too: which it is, the
// parser says.
Result<std::string> with_address(const std::string& text, const std::filesystem::path& folder,
                                 const IpAddress& address) {
  constexpr std::string_view kKey = "address";
  constexpr std::string_view kBlanks = " \t";
  Error problem(ErrorCode::kInvalid, "node.address was not found in the file: change it by hand");
  for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
    const std::size_t sign = text.find_first_not_of(kBlanks, at + kKey.size());
    if (sign == std::string::npos || text[sign] != '=') continue;
    const std::size_t begin = text.find_first_not_of(kBlanks, sign + 1);
    if (begin == std::string::npos || (text[begin] != '"' && text[begin] != '\'')) continue;
    const std::size_t end = text.find(text[begin], begin + 1);
    if (end == std::string::npos) continue;
    std::string changed = text;
    changed.replace(begin + 1, end - begin - 1, address.text());
    const Result<config::Config> config = config::Config::parse(changed, folder);
    if (config && config->address == address) return changed;
    if (!config) problem = config.error();
  }
  return std::unexpected(problem);
}

void print_next(const config::Config& before, const IpAddress& address, const std::string& file) {
  fmt::print(R"({0}: node.address is {1}, and was {2}. Now:

  1. in the DNS            {3} has {4} {1}, and {2} no more
  2. restart the node      systemctl restart tagring     (a reload does not take it)
  3. see that all is well  tagring doctor --config {0}

It comes back as a new member, at other places of the rings. Followers, instances and history stay.
)",
             file, address.text(), before.address.text(), before.host, address.is_v4() ? "A" : "AAAA");
  if (before.listen_address)
    fmt::print("listen.address is {} as before: change it by hand if the machine has it no more.\n",
               before.listen_address->text());
}

Result<IpAddress> change(const config::Config& before, const std::string& file, const std::string& text) {
  const std::optional<IpAddress> address = IpAddress::parse(text);
  if (!address)
    return fail(ErrorCode::kInvalid, fmt::format("--change-address: '{}' is no IPv6 or IPv4 address", text));
  if (*address == before.address)
    return fail(ErrorCode::kInvalid, fmt::format("node.address is {} already", address->text()));
  TRY(const std::string present, config::read_file(file, kTextMax));
  TRY(const std::string changed, with_address(present, config::folder_of(file), *address));
  TRY_VOID(write_configuration(file, changed, true));
  return *address;
}

}  // namespace

int change_address(const std::string& file, const std::string& address, bool as_json) {
  const Result<config::Config> before = config::Config::load(file);
  if (!before) return cli::report(before.error());
  const Result<IpAddress> now = change(*before, file, address);
  if (!now) return cli::report(now.error());
  if (as_json) {
    fmt::print("{}\n", json::serialize(json::object{
                           {"file", file}, {"address", now->text()}, {"before", before->address.text()}}));
  } else {
    print_next(*before, *now, file);
  }
  return cli::kExitOk;
}

}  // namespace tagring::operation
