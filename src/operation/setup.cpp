// tagring setup: from nothing to a configuration with comments, and what to type into the instance.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <grp.h>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/json.hpp"
#include "cli/exit.hpp"
#include "config/config.hpp"
#include "config/file.hpp"
#include "http/url.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "operation/commands.hpp"
#include "proxies/networks.hpp"
#include "ring/contact.hpp"
#include "ring/public_suffix.hpp"
#include "sql/backup.hpp"

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

std::string file_of(const SetupOptions& options) {
  return fmt::format(
      R"(# Configuration of a tagring node, written by "tagring setup". docs/config.md has every key.
# "tagring doctor" says whether all is well; "tagring reload" has a change taken where that needs no restart.

[node]
# The public name, and the address that the DNS has for it. With another of either the node is another
# member of the network. Members call each other, so the machine needs a way to IPv6 and to IPv4 addresses.
host = {}
address = {}
# Everything that the node keeps, its key too: "tagring backup FILE" copies it.
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
      quoted(options.host), quoted(options.address), quoted(options.data), listening(options),
      quoted(options.network), quoted(options.join), options.create, quoted(options.instances));
}

// What the package puts there.
bool is_placeholder(const std::filesystem::path& file) {
  constexpr std::string_view kBegin = "# tagring is not set up yet";
  std::ifstream stream(file);
  std::string begin(kBegin.size(), '\0');  // no more: it may be any file
  return stream.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kBegin;
}

std::unexpected<Error> is_there(const SetupOptions& options) {
  return fail(ErrorCode::kInvalid, fmt::format("{} is there already; --force overwrites it", options.config));
}

// Before anybody is asked seven questions.
Result<void> check_file(const SetupOptions& options) {
  const std::filesystem::path file = options.config;
  std::error_code error;
  std::filesystem::path folder = config::folder_of(file);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  // What is there may be the package's, which not everybody may read.
  const bool exists = std::filesystem::exists(file, error);
  if (::access(folder.c_str(), W_OK | X_OK) != 0 || (exists && ::access(file.c_str(), R_OK | W_OK) != 0))
    return fail(ErrorCode::kDenied, fmt::format("cannot write {}: {}", options.config, std::strerror(errno)));
  if (exists && !options.force && !is_placeholder(file)) return is_there(options);
  if (exists && !std::filesystem::is_regular_file(file, error))
    return fail(ErrorCode::kInvalid, fmt::format("{} is no file that could be replaced", options.config));
  return {};
}

bool write_all(int out, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(out, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(out) == 0;
}

// With the rights of what is there; for the node, where it has a user of its own.
void give_rights(int out, const std::filesystem::path& present) {
  struct stat is{};
  const bool is_there = ::stat(present.c_str(), &is) == 0;
  const group* own = ::geteuid() == 0 ? ::getgrnam("tagring") : nullptr;
  // Who may not give it away has it.
  if (own != nullptr) {
    static_cast<void>(::fchown(out, 0, own->gr_gid));
  } else if (is_there) {
    static_cast<void>(::fchown(out, is.st_uid, is.st_gid));
  }
  if (is_there) static_cast<void>(::fchmod(out, is.st_mode & 07777U));
}

// For file systems and kernels that cannot be told to replace nothing. As those below it sets errno.
bool take_and_move(const std::string& fresh, const std::string& file) {
  const int taken = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, S_IRUSR);
  if (taken < 0) return false;
  ::close(taken);
  if (::rename(fresh.c_str(), file.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(file.c_str());
  errno = error;
  return false;
}

// EEXIST if the place is taken.
bool move_to_free(const std::string& fresh, const std::string& file) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0) return true;
  return errno != EEXIST && take_and_move(fresh, file);
}

// A file that is a mount of its own, as in containers, cannot be replaced, only written.
bool move_over(const std::string& fresh, const std::string& file, std::string_view text) {
  if (::rename(fresh.c_str(), file.c_str()) == 0) return true;
  if (errno != EBUSY) return false;
  const int out = ::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (out < 0) return false;
  const bool is_written = write_all(out, text);
  const int error = errno;
  ::close(out);
  errno = error;
  return is_written;
}

// The file is the former or the new one, whole, also if the disk is full or the power goes, but where that
// cannot be had.
Result<void> write(const SetupOptions& options, const std::string& text) {
  std::error_code error;
  // Not the link that may lead there.
  const std::filesystem::path file =
      std::filesystem::weakly_canonical(std::filesystem::absolute(options.config), error);
  if (error)
    return fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", options.config, error.message()));
  const auto cannot_write = [&options] {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot write {}: {}", options.config, std::strerror(errno)));
  };
  std::filesystem::create_directories(file.parent_path(), error);
  const std::string fresh = file.string() + ".new";
  ::unlink(fresh.c_str());  // of one that was killed
  const int out = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, S_IRUSR | S_IWUSR | S_IRGRP);
  if (out < 0) return cannot_write();
  give_rights(out, file);
  Result<void> done;
  if (!write_all(out, text)) done = cannot_write();
  ::close(out);
  const bool may_replace = options.force || is_placeholder(file);
  if (done && !(may_replace ? move_over(fresh, file, text) : move_to_free(fresh, file)))
    done = errno == EEXIST ? is_there(options) : cannot_write();
  ::unlink(fresh.c_str());
  if (done) done = sql::sync(file.parent_path());
  return done;
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
}

int setup(SetupOptions options) {
  if (const Result<void> done = check_file(options); !done) return cli::report(done.error());
  if (const Result<void> done = complete(options); !done) return cli::report(done.error());
  const std::string text = file_of(options);
  const auto parsed = config::Config::parse(text, std::filesystem::path(options.config).parent_path());
  if (!parsed) return cli::report(parsed.error());
  if (const Result<void> done = write(options, text); !done) return cli::report(done.error());
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
  command->add_flag("--force", options->force, "Overwrite a file that is there");
  command->add_flag("--json", options->json, "Print {\"file\", \"origin\"}");
  command->footer(
      "Example:\n  tagring setup --host tags.example.org --instance example.org --join "
      "https://tags.example.net");
  command->callback([options, &status] { status = setup(*options); });
}

}  // namespace tagring::operation
