// tagring id: the ID that a vserver must have (paper §5.2).
#include <cstdint>
#include <fmt/core.h>
#include <memory>

#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "cli/number.hpp"
#include "cli/one_of.hpp"
#include "http/ip.hpp"
#include "ring/contact.hpp"

namespace tagring::cli {
namespace {

constexpr unsigned kVserverMax = 255;

struct IdOptions {
  std::string address;
  std::string host;
  unsigned vserver = 0;
  std::string scheme = "spread";
  bool json = false;
};

int show_id(const IdOptions& options) {
  const auto address = IpAddress::parse(options.address);
  if (!address)
    return report(
        Error(ErrorCode::kInvalid, "--address: \"" + options.address + "\" is no IPv4 or IPv6 address"));
  const Result<std::string> domain = ring::registrable_domain(options.host);
  if (!domain) return report(Error(domain.error().code, "--domain: " + domain.error().message));
  const RingId id = ring::make_node_id(*ring::id_scheme_from(options.scheme), address->prefix64(), *domain,
                                       static_cast<std::uint8_t>(options.vserver));
  if (options.json) {
    fmt::print("{}\n", json::serialize(json::object{{"id", id.hex()}, {"domain", *domain}}));
  } else {
    fmt::print("id      {}\ndomain  {}\n", id.hex(), *domain);
  }
  return kExitOk;
}

}  // namespace

void add_id(CLI::App& app, int& status) {
  auto options = std::make_shared<IdOptions>();
  CLI::App* command = app.add_subcommand("id", "Compute the ID of a virtual server");
  command
      ->add_option("--address", options->address,
                   "IPv6 or IPv4 address of the node; its /48 counts, by scheme paper its /64")
      ->required();
  command->add_option("--domain", options->host, "Host name of the node; its registered domain counts")
      ->required();
  command->add_option("--vserver", options->vserver, "Number of the virtual server on the node")
      ->required()
      ->check(whole_number(0, kVserverMax));
  command->add_option("--scheme", options->scheme, "How IDs are made in the network (ring.id_scheme)")
      ->check(one_of({"spread", "paper"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print a JSON object: id, domain");
  command->footer(
      "Anyone can recompute the ID from what a node shows, so no node can choose its place on the ring.\n\n"
      "Example:\n  tagring id --address 2001:db8::1 --domain tags.example.co.uk --vserver 0");
  command->callback([options, &status] { status = show_id(*options); });
}

}  // namespace tagring::cli
