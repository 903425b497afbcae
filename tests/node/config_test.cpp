#include "config/config.hpp"

#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "budget/manager.hpp"
#include "config/budget_keys.hpp"
#include "tests/source_dir.hpp"

namespace tagring::node {
namespace {

const std::filesystem::path kDocs = source_dir() / "docs";

constexpr std::string_view kSmallest = R"(
[node]
host = "tags.example.org"
address = "2001:db8::1"
[listen]
certificate = "cert.pem"
key = "key.pem"
[ring]
bootstrap = ["https://tags.example.net"]
)";

// The smallest configuration with one line put in the place of the one that sets the same key, or added to
// its section. `value` empty: without that key.
std::string with(std::string_view section, std::string_view key, std::string_view value) {
  std::string out;
  std::string at;
  bool done = value.empty();
  const auto leave_section = [&] {
    if (at == section && !done) {
      out += std::string(key) + " = " + std::string(value) + "\n";
      done = true;
    }
  };
  std::istringstream lines{std::string(kSmallest)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) {
      leave_section();
      at = line.substr(1, line.size() - 2);
    }
    if (at == section && line.starts_with(std::string(key) + " ")) continue;
    out += line + "\n";
  }
  leave_section();
  if (!done) {
    out += "[" + std::string(section) + "]\n" + std::string(key) + " = " + std::string(value) + "\n";
  }
  return out;
}

// Why a configuration is refused; empty if it is not.
std::string refusal(const std::string& text) {
  const Result<config::Config> config = config::Config::parse(text, "/etc/tagring");
  if (config) return "";
  EXPECT_EQ(config.error().code, ErrorCode::kInvalid);
  // What is wrong by itself, and not beside something else, says where it is.
  return std::regex_replace(config.error().message, std::regex("^line [0-9]+: "), "");
}

IpAddress ip(std::string_view text) { return IpAddress::parse(text).value(); }

TEST(Config, ReadsTheSmallestFileAndFillsInDefaults) {
  const Result<config::Config> config = config::Config::parse(kSmallest, "/etc/tagring");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "tags.example.org");
  EXPECT_EQ(config->port, 443);
  EXPECT_EQ(config->origin(), "https://tags.example.org");
  EXPECT_EQ(config->address, ip("2001:db8::1"));
  EXPECT_EQ(config->data, "/etc/tagring/data");
  EXPECT_EQ(config->log_level, LogLevel::kInfo);
  EXPECT_FALSE(config->listen_address);  // where `address` is
  EXPECT_EQ(config->listen_port, 443);
  EXPECT_EQ(config->certificate, "/etc/tagring/cert.pem");
  EXPECT_EQ(config->key, "/etc/tagring/key.pem");
  EXPECT_EQ(config->network, "tagring");
  EXPECT_EQ(config->ids.scheme, ring::IdScheme::kSpread);
  EXPECT_EQ(config->ids.kappa, 48U);
  EXPECT_EQ(config->vservers, 4U);
  EXPECT_FALSE(config->create);
  EXPECT_EQ(config->relay_replicas, 2U);
  EXPECT_EQ(config->storage_replicas, 4U);
  EXPECT_EQ(config->stabilise, std::chrono::seconds(5));
  EXPECT_EQ(config->deliveries_per_second, 500 * std::thread::hardware_concurrency());
  EXPECT_EQ(config->instances, std::vector<std::string>{"example.org"});
  EXPECT_FALSE(config->open);
  EXPECT_FALSE(config->people);
  EXPECT_FALSE(config->archive_all);
  EXPECT_EQ(config->hashtags_of_a_post, 30U);
  EXPECT_EQ(config->posts_an_hour, 60U);
  EXPECT_EQ(config->tags_per_instance, 1000U);
  EXPECT_TRUE(config->followers_sync);
  EXPECT_TRUE(config->followers_require_coverage);
  EXPECT_EQ(config->followers_grace_minutes, 10U);
  EXPECT_EQ(config->followers_conflict, "");
  EXPECT_EQ(config->replay_max_age_days, 90U);
  EXPECT_EQ(config->replay_max_posts, 5000U);
  EXPECT_TRUE(config->followed_tags_tokens.empty());
  EXPECT_TRUE(config->mastodon_database_host.empty());
  EXPECT_EQ(config->tag_poll_minutes, 10U);
  EXPECT_FALSE(config->allow_private_addresses);
  EXPECT_TRUE(config->ca_file.empty());
  EXPECT_TRUE(config->hosts.empty());
}

TEST(Config, ReadsEveryKeyOfTheExample) {
  const Result<config::Config> config = config::Config::load(kDocs / "example.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "tags.oak.example");
  EXPECT_EQ(config->port, 8443);
  EXPECT_EQ(config->origin(), "https://tags.oak.example:8443");
  EXPECT_EQ(config->address, ip("127.0.1.1"));
  EXPECT_EQ(config->contact, "tags@oak.example");
  EXPECT_EQ(config->data, kDocs / "data");
  EXPECT_EQ(config->log_level, LogLevel::kWarn);
  EXPECT_EQ(config->listen_address, ip("127.0.0.1"));
  EXPECT_EQ(config->listen_port, 9443);
  EXPECT_EQ(config->certificate, kDocs / "certs/tags.oak.example.pem");
  EXPECT_EQ(config->key, kDocs / "certs/tags.oak.example.key");
  EXPECT_EQ(config->log_format, LogFormat::kJson);
  EXPECT_EQ(config->listen_socket, kDocs / "http.sock");
  EXPECT_EQ(config->trusted_proxies, (proxies::Networks{*proxies::Network::parse("127.0.0.1"),
                                                        *proxies::Network::parse("192.0.2.0/24"),
                                                        *proxies::Network::parse("2001:db8::/32")}));
  EXPECT_TRUE(config->proxy_protocol);
  EXPECT_EQ(config->metrics_address, ip("::1"));
  EXPECT_EQ(config->metrics_port, 9464);
  EXPECT_EQ(config->port_of_cores_metrics(), 9465);
  EXPECT_EQ(config->network, "demo");
  EXPECT_EQ(config->ids.scheme, ring::IdScheme::kPaper);
  EXPECT_EQ(config->ids.kappa, 16U);
  EXPECT_EQ(config->vservers, 2U);
  EXPECT_EQ(config->bootstrap,
            (std::vector<std::string>{"https://tags.elm.example:8443", "https://ash.example"}));
  EXPECT_EQ(config->bootstrap_srv, std::vector<std::string>{"birch.example"});
  EXPECT_TRUE(config->create);
  EXPECT_EQ(config->relay_replicas, 4U);
  EXPECT_EQ(config->storage_replicas, 8U);
  EXPECT_EQ(config->stabilise, std::chrono::seconds(1));
  EXPECT_EQ(config->deliveries_per_second, 40'000U);
  EXPECT_EQ(config->cooldown_seconds, 120U);
  EXPECT_EQ(config->instances, (std::vector<std::string>{"oak.example", "birch.example"}));
  EXPECT_TRUE(config->open);
  EXPECT_TRUE(config->people);
  EXPECT_TRUE(config->archive_all);
  EXPECT_TRUE(config->boost_own_posts);
  EXPECT_EQ(config->hashtags_of_a_post, 12U);
  EXPECT_EQ(config->posts_an_hour, 20U);
  EXPECT_EQ(config->tags_per_instance, 200U);
  EXPECT_FALSE(config->followers_sync);
  EXPECT_FALSE(config->followers_require_coverage);
  EXPECT_EQ(config->followers_grace_minutes, 2U);
  EXPECT_EQ(config->replay_max_age_days, 365U);
  EXPECT_EQ(config->replay_max_posts, 20'000U);
  EXPECT_EQ(config->followed_tags_tokens, kDocs / "tokens");
  EXPECT_EQ(config->mastodon_database_host, "oak.example");
  EXPECT_EQ(config->mastodon_database_dsn, "host=/run/postgresql dbname=mastodon user=tagring");
  EXPECT_EQ(config->tag_poll_minutes, 5U);
  EXPECT_EQ(config->postgres, "postgresql://tagring@localhost/tagring");
  EXPECT_TRUE(config->allow_private_addresses);
  EXPECT_EQ(config->source, ip("127.0.1.1"));
  EXPECT_EQ(config->ca_file, kDocs / "certs/ca.pem");
  const std::map<std::string, std::vector<IpAddress>> hosts = {{"tags.elm.example", {ip("127.0.1.2")}},
                                                               {"ash.example", {ip("fd00::3")}}};
  EXPECT_EQ(config->hosts, hosts);
}

TEST(Config, IsDocumentedKeyByKey) {
  std::ifstream page(kDocs / "config.md");
  ASSERT_TRUE(page);
  std::multiset<std::string> documented;
  std::string section;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## [")) section = line.substr(4, line.size() - 5);
    if (line.starts_with("| `")) documented.insert(section + "." + line.substr(3, line.find('`', 3) - 3));
  }
  const std::vector<std::string> known = config::config_keys();
  EXPECT_EQ(documented, std::multiset<std::string>(known.begin(), known.end()));
}

TEST(Config, EachLimitOfEachBudgetHasOneKey) {
  budget::Budgets budgets = budget::default_budgets();
  std::multiset<const std::uint64_t*> set;
  for (const auto& [key, limit] : config::budget_keys(budgets)) set.insert(limit);
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const budget::Limit& limit = budgets.at(i);
    const auto keys = [&](const std::uint64_t& amount) { return set.count(&amount); };
    const auto wanted = [](std::uint64_t amount) { return amount == 0 ? 0U : 1U; };
    const std::string_view name = budget::to_string(static_cast<budget::Resource>(i));
    EXPECT_EQ(keys(limit.total), wanted(limit.total)) << name << ", all";
    EXPECT_EQ(keys(limit.each), wanted(limit.each)) << name << ", each";
    EXPECT_EQ(keys(limit.group), wanted(limit.group)) << name << ", group";
  }
}

TEST(Config, RefusesUnknownKeys) {
  EXPECT_EQ(refusal(with("node", "hots", "\"x\"")), "node.hots: unknown key, did you mean \"node.host\"?");
  EXPECT_EQ(
      refusal(with("budget", "arrivals", "5000")),
      "budget.arrivals: there is no such key any more, take it out; budget.handshakes_in_20_ms has taken "
      "its place (docs/config.md)");
  EXPECT_EQ(refusal(with("web", "port", "80")),
            "web.port: unknown key; see docs/config.md for those that exist");
  EXPECT_EQ(refusal(with("publish", "instance", "[]")),
            "publish.instance: unknown key, did you mean \"publish.instances\"?");
  EXPECT_EQ(refusal("verbose = true\n" + std::string(kSmallest)), "verbose: unknown key outside a [section]");
}

// Where a proxy in front has the certificate.
TEST(Config, TakesNoCertificateOnlyWithAProxyThatHasOne) {
  constexpr std::string_view kPlain =
      "[node]\nhost = \"tags.example.org\"\naddress = \"2001:db8::1\"\n"
      "[ring]\nbootstrap = [\"https://tags.example.net\"]\n[listen]\n";
  const auto plain = [&](std::string_view line) { return refusal(std::string(kPlain) + std::string(line)); };
  EXPECT_EQ(plain("socket = \"/run/tagring/http.sock\""), "");
  EXPECT_EQ(plain("trusted_proxies = [\"127.0.0.1\"]"), "");
  EXPECT_TRUE(plain("").starts_with("listen.certificate: certificate and key are both needed"));
  EXPECT_TRUE(plain("socket = \"s\"\ncertificate = \"c.pem\"").starts_with("listen.certificate: "));
  EXPECT_EQ(plain("socket = \"s\"\nproxy_protocol = true"),
            "listen.proxy_protocol: is for those in listen.trusted_proxies, and there are none");
  EXPECT_EQ(plain("trusted_proxies = [\"127.0.0.1/33\"]"),
            "listen.trusted_proxies: '127.0.0.1/33' is no address, nor a block like 192.0.2.0/24");
}

TEST(Config, SaysHowADatabaseOfPostgresIsNamed) {
  EXPECT_EQ(refusal(with("database", "postgres", "\"host=db.example.org dbname=tagring\"")), "");
  EXPECT_TRUE(refusal(with("database", "postgres", "\"tagring.db\""))
                  .starts_with("database.postgres: must be a connection string of PostgreSQL"));
  EXPECT_EQ(refusal(with("database", "postgres", "\"postgresql:///tagring\"\nstandby = true")), "");
  EXPECT_TRUE(
      refusal(with("database", "standby", "true")).starts_with("database.standby: is for PostgreSQL"));
}

TEST(Config, RefusesWhatIsNotToml) {
  for (const char* text : {"[node]\nhost = tags", "\n[=]", "\n[[!]]", "\n[ #", "\n[.a]", "\n[\xC3\xA9]"})
    EXPECT_TRUE(config::Config::parse(text, "/").error().message.starts_with("line 2: ")) << text;
}

// It stands in profiles and pages.
TEST(Config, TheContactIsAnAddressThatCanBeShownAsItIs) {
  EXPECT_EQ(refusal(with("node", "contact", "\"tags+admin@example.org\"")), "");
  for (const char* text :
       {"\"\"", "7", "\"me\"", "\"@example.org\"", "\"a b@example.org\"", "'<b>@example.org'",
        "'\"@example.org'", "\"a@b@example.org\"", "\"me@exa mple\"", "'a&amp;b@example.org'",
        "\"a?subject=x@example.org\"", "\"caf\u00e9@example.org\""})
    EXPECT_EQ(refusal(with("node", "contact", text)),
              "node.contact: must be an e-mail address, such as \"tags@example.org\"")
        << text;
}

TEST(Config, SaysWhichFileIsWrong) {
  const Result<config::Config> absent = config::Config::load("/nonexistent/tagring.toml");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(absent.error().message.starts_with("cannot read /nonexistent/tagring.toml: No such file"));
}

struct BadValue {
  std::string section;
  std::string key;
  std::string value;  // empty: the key is missing
  std::string message;
};

class ConfigRefuses : public testing::TestWithParam<BadValue> {};

TEST_P(ConfigRefuses, AndSaysWhy) {
  const BadValue& bad = GetParam();
  EXPECT_EQ(refusal(with(bad.section, bad.key, bad.value)), bad.message);
}

const std::string kReplicas = "must be 1, 2, 4, 8 or 16";
const std::string kAddress = "must be an IPv6 or IPv4 address in quotes";
const std::string kDatabase = "must be { host = \"instance\", dsn = \"connection string\" }";
const std::string kList = "must be a list of texts";
const std::string kPair =
    "certificate and key are both needed: the PEM files of this node's host name; or neither, if "
    "listen.socket "
    "or listen.trusted_proxies says which proxy speaks TLS for the node";

INSTANTIATE_TEST_SUITE_P(
    Type, ConfigRefuses,
    testing::Values(BadValue{"node", "host", "1", "node.host: must be a text in quotes"},
                    BadValue{"node", "port", "\"443\"", "node.port: must be a number from 1 to 65535"},
                    BadValue{"node", "address", "\"tags.example.org\"", "node.address: " + kAddress},
                    BadValue{"node", "address", "6", "node.address: " + kAddress},
                    BadValue{"node", "data", "\"\"", "node.data: must be a path in quotes"},
                    BadValue{"node", "log_level", "3", "node.log_level: must be debug, info, warn or error"},
                    BadValue{"listen", "address", "\"[::1]\"", "listen.address: " + kAddress},
                    BadValue{"listen", "certificate", "true", "listen.certificate: must be a path in quotes"},
                    BadValue{"listen", "key", "\"\"", "listen.key: must be a path in quotes"},
                    BadValue{"ring", "network", "7", "ring.network: must be a text in quotes"},
                    BadValue{"ring", "bootstrap", "\"https://x.example\"", "ring.bootstrap: " + kList},
                    BadValue{"ring", "bootstrap", "[1]", "ring.bootstrap: " + kList},
                    BadValue{"ring", "create", "1", "ring.create: must be true or false"},
                    BadValue{"publish", "instances", "\"example.org\"", "publish.instances: " + kList},
                    BadValue{"followers", "sync", "\"yes\"", "followers.sync: must be true or false"},
                    BadValue{"network", "allow_private_addresses", "\"yes\"",
                             "network.allow_private_addresses: must be true or false"},
                    BadValue{"network", "ca_file", "[]", "network.ca_file: must be a path in quotes"},
                    BadValue{"network", "hosts", "[\"x\"]",
                             "network.hosts: must be a table: \"name\" = \"address\""},
                    BadValue{"network", "hosts", "{ \"a.example\" = \"b.example\" }",
                             "network.hosts.\"a.example\": " + kAddress}));

INSTANTIATE_TEST_SUITE_P(
    Range, ConfigRefuses,
    testing::Values(
        BadValue{"node", "port", "0", "node.port: must be a number from 1 to 65535"},
        BadValue{"node", "port", "65536", "node.port: must be a number from 1 to 65535"},
        BadValue{"listen", "port", "-1", "listen.port: must be a number from 1 to 65535"},
        BadValue{"ring", "id_scheme", "\"rainbow\"",
                 "ring.id_scheme: must be \"spread\" or \"paper\", as in the rest of the network"},
        BadValue{"ring", "kappa", "0", "ring.kappa: must be a number from 1 to 256"},
        BadValue{"ring", "kappa", "3", "ring.kappa: is less than ring.vservers, which are among these"},
        BadValue{"ring", "vservers", "0", "ring.vservers: must be a number from 1 to 64"},
        BadValue{"ring", "vservers", "65", "ring.vservers: must be a number from 1 to 64"},
        BadValue{"ring", "relay_replicas", "0", "ring.relay_replicas: " + kReplicas},
        BadValue{"ring", "relay_replicas", "3", "ring.relay_replicas: " + kReplicas},
        BadValue{"ring", "storage_replicas", "32", "ring.storage_replicas: " + kReplicas},
        BadValue{"ring", "storage_replicas", "-4", "ring.storage_replicas: " + kReplicas},
        BadValue{"ring", "stabilise_ms", "99", "ring.stabilise_ms: must be a number from 100 to 600000"},
        BadValue{"ring", "stabilise_ms", "600001", "ring.stabilise_ms: must be a number from 100 to 600000"},
        BadValue{"relay", "deliveries_per_second", "9",
                 "relay.deliveries_per_second: must be a number from 10 to 100000000"},
        BadValue{"relay", "cooldown_seconds", "3601",
                 "relay.cooldown_seconds: must be a number from 10 to 3600"},
        BadValue{"publish", "mastodon_database", "{ host = \"a.example\" }",
                 "publish.mastodon_database: " + kDatabase},
        BadValue{"publish", "mastodon_database", "{ host = \"a.example\", port = \"1\" }",
                 "publish.mastodon_database: " + kDatabase},
        BadValue{"publish", "mastodon_database", "{ host = \"a/b\", dsn = \"x\" }",
                 "publish.mastodon_database: " + kDatabase},
        BadValue{"publish", "tag_poll_minutes", "0",
                 "publish.tag_poll_minutes: must be a number from 1 to 1440"},
        BadValue{"publish", "replay_max_age_days", "0",
                 "publish.replay_max_age_days: must be a number from 1 to 36500"},
        BadValue{"publish", "replay_max_posts", "100001",
                 "publish.replay_max_posts: must be a number from 1 to 100000"},
        BadValue{"node", "log_level", "\"loud\"", "node.log_level: must be debug, info, warn or error"},
        BadValue{"ring", "bootstrap", "[\"tags.example.net\"]",
                 "ring.bootstrap: 'tags.example.net' is not an origin like https://tags.example.org"},
        BadValue{"ring", "bootstrap", "[\"http://tags.example.net\"]",
                 "ring.bootstrap: 'http://tags.example.net' is not an origin like https://tags.example.org"},
        BadValue{"ring", "bootstrap_srv", "[\"_tagring._tcp.example.net\"]",
                 "ring.bootstrap_srv: '_tagring._tcp.example.net' is not a domain like example.org"},
        BadValue{"ring", "bootstrap_srv", "[\"https://example.net\"]",
                 "ring.bootstrap_srv: 'https://example.net' is not a domain like example.org"},
        BadValue{"ring", "bootstrap", "[\"https://tags.example.net/inbox\"]",
                 "ring.bootstrap: 'https://tags.example.net/inbox' is not an origin like "
                 "https://tags.example.org"}));

INSTANTIATE_TEST_SUITE_P(
    MissingOrContradicting, ConfigRefuses,
    testing::Values(
        BadValue{"node", "host", "", "node.host: is missing: the public host name of this node"},
        BadValue{"node", "host", "\"co.uk\"",
                 "node.host: \"co.uk\" is a public suffix, not a registered domain"},
        BadValue{"node", "host", "\"192.0.2.1\"", "node.host: an address is not a host name"},
        BadValue{"node", "host", "\"192.0.2.1example.org\"", "node.host: cannot stand in a URL"},
        BadValue{"node", "address", "", "node.address: is missing: the public address of this node"},
        BadValue{"node", "address", "\"192.168.7.1\"",
                 "node.address: is private: name the public one, and in listen.address where the node "
                 "listens; or set network.allow_private_addresses for a network of your own"},
        BadValue{"listen", "certificate", "", "listen.certificate: " + kPair},
        BadValue{"listen", "key", "", "listen.certificate: " + kPair},
        BadValue{"ring", "bootstrap", "[\"https://tags.example.org\"]",
                 "ring.bootstrap: names only this node: name others to join through, or a domain in "
                 "bootstrap_srv, or set create = "
                 "true to start a network"},
        BadValue{"ring", "bootstrap", "",
                 "ring.bootstrap: is empty: name nodes to join through, or a domain in bootstrap_srv, or set "
                 "create = "
                 "true to start a network"},
        BadValue{
            "node", "port", "8443",
            "node.port: other nodes connect to port 443 only: listen elsewhere with listen.port, behind a "
            "proxy on 443; or set network.allow_private_addresses for a network of your own"},
        BadValue{"network", "hosts", "{ \"a.example\" = \"192.0.2.1\" }",
                 "network.hosts: only with allow_private_addresses = true: production names come from DNS"}));

TEST(Config, SaysInWhichLineSomethingIsWrong) {
  for (const char* wrong : {"port = \"x\"", "prot = 443", "host = 7"}) {
    const auto config = config::Config::parse(std::string("# first\n[node]\n") + wrong + "\n", "/");
    ASSERT_FALSE(config);
    EXPECT_TRUE(config.error().message.starts_with("line 3: node.")) << config.error().message;
  }
}

TEST(Config, AnInstanceIsTheNameOfAServerHoweverItIsWritten) {
  const auto read = [](const std::string& instances) {
    return config::Config::parse(with("publish", "instances", instances), "/");
  };
  const auto good = read(R"(["https://Example.org/", "b\u00fccher.example", "example.net."])");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->instances,
            (std::vector<std::string>{"example.org", "xn--bcher-kva.example", "example.net"}));
  for (const char* wrong : {"example.org:8443", "a.org,b.org", "*", "@me@example.org", "192.0.2.1", "co.uk",
                            "exa_mple.org", "exa mple.org", "", "https://example.org/users"})
    EXPECT_FALSE(read(std::string("[\"") + wrong + "\"]")) << wrong;
}

TEST(Config, AHostHasOneSpelling) {
  // Nobody would take a contact with another.
  for (const char* host : {"\"Tags.Example.ORG.\"", "\"tags.EXAMPLE.org\""})
    EXPECT_EQ(config::Config::parse(with("node", "host", host), "/")->host, "tags.example.org");
  EXPECT_EQ(config::Config::parse(with("node", "host", "\"b\u00fccher.example\""), "/")->host,
            "xn--bcher-kva.example");
}

// FEP-8fcf, Requirements: no two servers share a scheme and host.
TEST(Config, DoesNotSynchroniseFollowersWhereAnotherServerSharesTheHost) {
  const Result<config::Config> shared = config::Config::parse(
      with("publish", "instances", R"(["example.net", "tags.example.org"])"), "/etc/tagring");
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_FALSE(shared->followers_sync);
  EXPECT_TRUE(shared->followers_conflict.starts_with("publish.instances names node.host"));
  // What is only below the same domain is another host.
  const Result<config::Config> apart =
      config::Config::parse(with("publish", "instances", R"(["example.org"])"), "/etc/tagring");
  ASSERT_TRUE(apart);
  EXPECT_TRUE(apart->followers_sync);
}

TEST(Config, ListensEverywhereIfToldSo) {
  const Result<config::Config> config =
      config::Config::parse(with("listen", "address", "\"::\""), "/etc/tagring");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->listen_address, ip("::"));
}

class TokenFile : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(directory_ / "tagring.toml") << with("node", "admin_token_file", "\"token\"");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& token, std::filesystem::perms mode) {
    std::ofstream(directory_ / "token") << token << "\n";
    std::filesystem::permissions(directory_ / "token", mode);
  }
  Result<config::Config> load() { return config::Config::load(directory_ / "tagring.toml"); }

 private:
  std::string pattern_ = (std::filesystem::temp_directory_path() / "tagring-config-XXXXXX").string();
  std::filesystem::path directory_ = ::mkdtemp(pattern_.data());
};

TEST_F(TokenFile, IsReadIfItIsSecret) {
  constexpr auto kOwner = std::filesystem::perms::owner_read;
  write("correct-horse-battery", kOwner);
  ASSERT_TRUE(load()) << load().error().message;
  const std::vector<administrators::Token> tokens = {{{"token"}, "correct-horse-battery"}};
  EXPECT_EQ(load()->admin_tokens, tokens);
}

TEST_F(TokenFile, IsRefusedIfItIsMissingShortOrReadByOthers) {
  constexpr auto kOwner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  EXPECT_NE(load().error().message.find("cannot read"), std::string::npos);
  write("short", kOwner);
  EXPECT_NE(load().error().message.find("16 characters or more"), std::string::npos);
  write("correct horse battery staple", kOwner);
  EXPECT_NE(load().error().message.find("neither spaces"), std::string::npos);
  write("correct-horse-battery", kOwner | std::filesystem::perms::group_read);
  EXPECT_NE(load().error().message.find("others may read it: chmod 600"), std::string::npos);
}

TEST(Config, MayCreateANetworkWithoutBootstrap) {
  std::string text = with("ring", "bootstrap", "");
  text += "create = true\n";  // [ring] is the last section
  EXPECT_EQ(refusal(text), "");
}

TEST(Config, ADomainInTheDnsIsEnoughToJoin) {
  std::string text = with("ring", "bootstrap", "");
  text += "bootstrap_srv = [\"example.net\"]\n";  // [ring] is the last section
  EXPECT_EQ(refusal(text), "");
}

}  // namespace
}  // namespace tagring::node
