// tagring setup: from nothing to a configuration with comments, and what to type into the instance.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <unistd.h>
#include <vector>

#include "base/json.hpp"
#include "cli/exit.hpp"
#include "config/config.hpp"
#include "config/file.hpp"
#include "http/url.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "operation/change_address.hpp"
#include "operation/commands.hpp"
#include "operation/configuration_file.hpp"
#include "proxies/networks.hpp"
#include "ring/contact.hpp"
#include "ring/public_suffix.hpp"

namespace tagring::operation {
namespace {

namespace asio = boost::asio;

constexpr const char* kNetwork = "tagring";
constexpr const char* kNone = "none";  // nodes to join
// Where certbot's hook puts them. The node's user may not read what is in /etc/letsencrypt.
constexpr std::string_view kTls = "/etc/tagring/tls/";

// The only one that the package's unit lets the node write to.
constexpr const char* kUnitsFolder = "/var/lib/tagring";

struct SetupOptions {
  std::string config = "/etc/tagring/tagring.toml";
  std::string host;
  std::string address;
  std::vector<std::string> instances;
  std::string network;
  std::vector<std::string> join;
  std::string certificate;
  std::string key;
  std::string data = kUnitsFolder;
  std::string socket;
  std::string moved_from;
  std::string change_address;
  bool create = false;
  bool force = false;
  bool json = false;
};

bool can_ask() { return ::isatty(STDIN_FILENO) == 1; }

// What the administrator types, or `proposal` for an empty line. kInvalid for the end of it all.
Result<std::string> ask(const std::string& question, const std::string& proposal = {}) {
  fmt::print(stderr, "{}{}: ", question, proposal.empty() ? "" : fmt::format(" [{}]", proposal));
  std::string line;
  if (!std::getline(std::cin, line)) {
    fmt::print(stderr, "\n");
    return fail(ErrorCode::kInvalid, "nothing was written");
  }
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return proposal;
  return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
}

// A text from an option or an answer, as it is to be written; or why it will not do.
using Check = std::function<Result<std::string>(const std::string& text)>;

// By an option, by asking until it will do, or what is proposed.
Result<void> need(std::string& value, const std::string& option, const std::string& question,
                  const Check& check, const std::string& proposal = {}) {
  const bool asks = value.empty() && can_ask();
  for (;;) {
    if (asks) {
      TRY(value, ask(question, proposal));
    } else if (value.empty()) {
      value = proposal;
    }
    if (value.empty() && asks) continue;
    if (value.empty()) return fail(ErrorCode::kInvalid, fmt::format("{} is needed: {}", option, question));
    const Result<std::string> good = check(value);
    if (good) {
      value = *good;
      return {};
    }
    if (!asks) return fail(ErrorCode::kInvalid, fmt::format("{}: {}", option, good.error().message));
    fmt::print(stderr, "  {}\n", good.error().message);
  }
}

// --- what will do ------------------------------------------------------------------------------------------

Result<std::string> check_host(const std::string& text) {
  TRY(const std::string host, ring::ascii_host(text));
  TRY_VOID(ring::registrable_domain(host));
  return host;
}

Result<std::string> check_address(const std::string& text) {
  const std::optional<IpAddress> address = IpAddress::parse(text);
  if (!address) return fail(ErrorCode::kInvalid, fmt::format("'{}' is no IPv6 or IPv4 address", text));
  if (proxies::is_private(*address))
    return fail(ErrorCode::kInvalid, fmt::format("{} cannot be reached from the Internet", text));
  return address->text();
}

Result<std::string> check_name(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' && c != 0x7F; });
  if (!is_plain) return fail(ErrorCode::kInvalid, "a name has no control characters");
  return text;
}

// From where who types it stands. The node starts from the file's folder, and systemd takes whole paths only.
Result<std::string> check_path(const std::string& text) {
  TRY_VOID(check_name(text));
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(text, error).lexically_normal();
  if (error) return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", text, error.message()));
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

// "https://tags.example.net", also of its name alone.
Result<std::string> check_node(const std::string& text) {
  std::string origin = text.find("://") == std::string::npos ? "https://" + text : text;
  if (origin.ends_with('/')) origin.pop_back();
  const Result<Url> url = Url::parse(origin);
  if (!url || url->scheme != "https" || url->origin() != origin || !ring::registrable_domain(url->host))
    return fail(ErrorCode::kInvalid,
                fmt::format("'{}' is no address of a node, like https://tags.example.net", text));
  return origin;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    std::istringstream parts(word);
    while (parts >> word) words.push_back(word);
  }
  return words;
}

// Each word by itself.
Check each(Check check) {
  return [check](const std::string& text) -> Result<std::string> {
    std::vector<std::string> good;
    for (const std::string& word : words_of(text)) {
      TRY(std::string one, check(word));
      good.push_back(std::move(one));
    }
    if (good.empty()) return fail(ErrorCode::kInvalid, fmt::format("'{}' has no name in it", text));
    return fmt::format("{}", fmt::join(good, " "));
  };
}

// What the DNS has for the name, the newer kind first. Debian has a machine's own name in /etc/hosts, for
// 127.0.1.1: that is no address to propose.
std::string address_of(const std::string& host) {
  asio::io_context loop(1);
  net::Resolver resolver(net::ResolverOptions{});
  std::string found;
  asio::co_spawn(loop, resolver.resolve(host, net::steady_now() + std::chrono::seconds(5)),
                 [&found](std::exception_ptr error, const Result<std::vector<IpAddress>>& addresses) {
                   if (error || !addresses) return;
                   for (const IpAddress& address : *addresses) {
                     if (proxies::is_private(address)) continue;
                     if (found.empty() || !address.is_v4()) found = address.text();
                   }
                 });
  loop.run();
  return found;
}

// In TOML's quotes.
std::string quoted(const std::string& text) { return json::serialize(json::value(text)); }

std::string quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

Result<void> need_instances(SetupOptions& options) {
  std::string instances = fmt::format("{}", fmt::join(options.instances, " "));
  const std::size_t dot = options.host.find('.');
  const std::string above = options.host.substr(dot + 1);
  const Check check = [&options](const std::string& text) -> Result<std::string> {
    TRY(std::string name, config::instance_name(text));
    if (name == options.host && options.socket.empty())
      return fail(ErrorCode::kInvalid, "the node needs a name of its own, such as tags." + name);
    return name;
  };
  TRY_VOID(need(instances, "--instance", "Instance whose posts it publishes, such as example.org",
                each(check), config::instance_name(above) ? above : ""));
  options.instances = words_of(instances);
  return {};
}

Result<void> need_ring(SetupOptions& options) {
  TRY_VOID(need(options.network, "--network", "Name of the network; all its nodes have the same", check_name,
                kNetwork));
  if (options.create && options.join.empty()) return {};
  std::string nodes = fmt::format("{}", fmt::join(options.join, " "));
  if (nodes.empty() && !can_ask())
    return fail(ErrorCode::kInvalid, "--join https://NODE is needed, or --create for a new network");
  const Check check = [&options](const std::string& text) -> Result<std::string> {
    if (text == kNone) return text;
    return each([&options](const std::string& word) -> Result<std::string> {
      TRY(std::string node, check_node(word));
      if (Url::parse(node)->host == options.host)
        return fail(ErrorCode::kInvalid, "the node cannot join through itself; others are needed, or none");
      return node;
    })(text);
  };
  TRY_VOID(need(nodes, "--join",
                "Nodes to join through, such as https://tags.example.net; none: begin a new network", check,
                options.join.empty() ? kNone : ""));
  options.create = options.create || nodes == kNone;
  options.join = nodes == kNone ? std::vector<std::string>() : words_of(nodes);
  return {};
}

Result<void> complete(SetupOptions& options) {
  // Nothing asks for it: what will not do is said before anybody is asked for the rest.
  if (!options.moved_from.empty()) {
    TRY_VOID(need(options.moved_from, "--moved-from", "Former name of this node", check_node));
  }
  TRY_VOID(need(options.host, "--host",
                "Name of the node, such as tags.example.org; others must find it in the DNS", check_host));
  TRY_VOID(need_instances(options));
  if (options.address.empty()) options.address = address_of(options.host);
  TRY_VOID(need(options.address, "--address",
                "Public address of this machine (none is known here for that name)", check_address));
  TRY_VOID(need_ring(options));
  TRY(options.data, check_path(options.data));
  if (!options.socket.empty()) {
    TRY(options.socket, check_path(options.socket));
    return {};
  }
  TRY_VOID(need(options.certificate, "--certificate",
                "Certificate with its chain (PEM), for the node's user to read", check_path,
                std::string(kTls) + "fullchain.pem"));
  TRY_VOID(
      need(options.key, "--key", "Its private key (PEM)", check_path, std::string(kTls) + "privkey.pem"));
  return {};
}

std::string listening(const SetupOptions& options) {
  if (!options.socket.empty()) {
    return fmt::format(R"([listen]
# A proxy on this machine has port 443 and the certificate, and passes requests on to this socket.
socket = {}
)",
                       quoted(options.socket));
  }
  return fmt::format(R"([listen]
# PEM, the certificate with its whole chain. A renewed one is taken within a minute, without a restart.
certificate = {}
key = {}
# If nginx, HAProxy or Caddy has port 443, docs/proxy.md says what belongs here.
# trusted_proxies = ["127.0.0.1"]
)",
                     quoted(options.certificate), quoted(options.key));
}

std::string former_name(const SetupOptions& options) {
  if (options.moved_from.empty()) return {};
  return fmt::format(R"(# What the node was called before. To be taken out when the old one is switched off.
moved_from = {}
)",
                     quoted(options.moved_from));
}

std::string file_of(const SetupOptions& options) {
  return fmt::format(
      R"(# Configuration of a tagring node, written by "tagring setup". docs/config.md has every key.
# "tagring doctor" says whether all is well; "tagring reload" has a change taken where that needs no restart.

[node]
# The public name, and the address that the DNS has for it. With another of either the node is another
# member of the network. Members call each other, so the machine needs a way to IPv6 and to IPv4 addresses.
host = {}
address = {}
{}# Everything that the node keeps, its key too: "tagring backup FILE" copies it.
data = {}

{}
[ring]
# All nodes of a network have the same name here.
network = {}
# Nodes to join through.
bootstrap = {}
# Begin a new network if nobody is there yet.
create = {}

[publish]
# Instances whose posts the node publishes, with all names below them; others wait to be allowed.
instances = {}

# [metrics]
# For Prometheus: http://127.0.0.1:9464/metrics
# port = 9464
)",
      quoted(options.host), quoted(options.address), former_name(options), quoted(options.data),
      listening(options), quoted(options.network), quoted(options.join), options.create,
      quoted(options.instances));
}

void print_steps(const SetupOptions& options) {
  const std::string origin = "https://" + options.host;
  const bool has_socket = options.socket.empty();  // of systemd, for port 443
  std::error_code error;
  fmt::print("{} is written, for {} at {}. Now:\n\n", options.config, options.host, options.address);
  if (has_socket && !std::filesystem::exists(options.certificate, error)) {
    const bool by_hook = options.certificate.starts_with(kTls);
    fmt::print("  0. get a certificate     {}\n",
               by_hook ? fmt::format("certbot certonly -d {} --deploy-hook /usr/share/tagring/certbot-hook",
                                     options.host)
                       : fmt::format("there is none at {} yet", options.certificate));
  }
  if (options.data != kUnitsFolder) {
    fmt::print(
        "  0. let the unit write    install -d -m 700 -o tagring -g tagring {0}\n"
        "     and then systemctl edit tagring, and there\n"
        "       [Service]\n       ReadWritePaths={0}\n",
        options.data);
  }
  if (!options.moved_from.empty()) {
    fmt::print(
        "  0. take what the old    tagring restore FILE --config {}, of its \"tagring backup FILE\"\n"
        "     one decided          (docs/runbook.md, \"Another name\")\n",
        options.config);
  }
  fmt::print(R"(  1. start the node        systemctl enable --now {3}     (or: tagring run --config {0})
  2. see that all is well  tagring doctor --config {0}
  3. have {1} send its public posts to the node:

     Mastodon   Preferences → Administration → Relays → Add new relay:   {2}/inbox
     Misskey    Control Panel → Relays → Add relay:                      {2}/inbox
     Pleroma    mix pleroma.relay follow {2}/actor
                (or Admin → Relays → Follow)
     Akkoma     the same: mix pleroma.relay follow {2}/actor

  4. choose what it gets   tagring instance subscribe {1} caturday
)",
             options.config, options.instances.front(), origin,
             has_socket ? "tagring.socket tagring" : "tagring");
  if (!options.moved_from.empty()) fmt::print("  5. on the old node       tagring move {}\n", origin);
}

int setup(SetupOptions options) {
  if (!options.change_address.empty())
    return change_address(options.config, options.change_address, options.json);
  if (const Result<void> done = check_place(options.config, options.force); !done)
    return cli::report(done.error());
  if (const Result<void> done = complete(options); !done) return cli::report(done.error());
  const std::string text = file_of(options);
  const auto parsed = config::Config::parse(text, std::filesystem::path(options.config).parent_path());
  if (!parsed) return cli::report(parsed.error());
  if (const Result<void> done = write_configuration(options.config, text, options.force); !done)
    return cli::report(done.error());
  if (options.json) {
    fmt::print("{}\n", json::serialize(json::object{{"file", options.config}, {"origin", parsed->origin()}}));
  } else {
    print_steps(options);
  }
  return cli::kExitOk;
}

}  // namespace

void add_setup(CLI::App& app, int& status) {
  auto options = std::make_shared<SetupOptions>();
  CLI::App* command =
      app.add_subcommand("setup", "Write the configuration of a new node; asks for what is not given");
  command->add_option("--config", options->config, "The file to write")->capture_default_str();
  command->add_option("--host", options->host, "Public name of the node");
  command->add_option("--address", options->address, "Its public address; by default, what the DNS has");
  command->add_option("--instance", options->instances, "Instances whose posts it publishes");
  command->add_option("--network", options->network,
                      fmt::format("Name of the network; by default {}", kNetwork));
  command->add_option("--join", options->join, "Nodes to join through");
  command->add_flag("--create", options->create, "Begin a new network");
  auto* certificate = command->add_option("--certificate", options->certificate, "PEM, with the whole chain");
  auto* key = command->add_option("--key", options->key, "PEM");
  command
      ->add_option("--socket", options->socket,
                   "Instead of a certificate: the Unix socket for a proxy that has it")
      ->excludes(certificate)
      ->excludes(key);
  command->add_option("--data", options->data, "Folder for what the node keeps")->capture_default_str();
  command->add_option("--moved-from", options->moved_from,
                      "The former name of the node, which moves here: https://OLD");
  command->add_flag("--force", options->force, "Overwrite a file that is there");
  CLI::Option* change = command->add_option("--change-address", options->change_address,
                                            "Instead of all that: the new address of the node of a file");
  for (CLI::Option* other : command->get_options(
           [&](const CLI::Option* one) { return one != change && one->get_name() != "--config"; }))
    if (other != command->get_help_ptr()) change->excludes(other);
  command->add_flag("--json", options->json, "Print {\"file\", \"origin\"}");
  command->footer(
      "Examples:\n  tagring setup --host tags.example.org --instance example.org --join "
      "https://tags.example.net\n"
      "  tagring setup --moved-from https://old.example.net\n"
      "  tagring setup --change-address 2001:db8::2");
  command->callback([options, &status] { status = setup(*options); });
}

}  // namespace tagring::operation
