#include "app/run.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <fmt/core.h>
#include <memory>
#include <thread>

#include "base/json.hpp"
#include "cli/exit.hpp"
#include "config/config.hpp"
#include "db/stores.hpp"
#include "instances/tag_tokens.hpp"
#include "net/http_client.hpp"
#include "net/http_server.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"
#include "node/node.hpp"
#include "sql/mastodon_tags.hpp"

namespace tagring::app {
namespace {

namespace asio = boost::asio;

constexpr Duration kGrace = std::chrono::seconds(5);

struct Options {
  std::string config;
  bool json = false;
};

LogLevel parse_level(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warn") return LogLevel::kWarn;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

// Everything that the node stands on. Members die in reverse order.
struct Daemon {
  explicit Daemon(config::Config daemon_config, bool as_json)
      : config(std::move(daemon_config)),
        json(as_json),
        pool(std::max(2U, std::thread::hardware_concurrency())),
        workers(pool.get_executor()),
        clock(loop.get_executor()),
        log(Log::to_stderr(parse_level(config.log_level))),
        resolver(net::ResolverOptions{config.hosts, config.allow_private_addresses}) {}

  Task<Result<void>> open();
  Task<Result<void>> serve();
  Task<Result<std::optional<crypto::PrivateKey>>> load_key();
  Task<Result<crypto::PrivateKey>> make_key();

  config::Config config;
  bool json;
  asio::io_context loop{1};
  asio::thread_pool pool;
  Workers workers;
  net::SystemClock clock;
  Log log;
  net::Resolver resolver;
  std::unique_ptr<db::Stores> stores;
  std::unique_ptr<net::BeastHttpClient> http;
  std::unique_ptr<node::Node> node;
};

// None at the very first start.
Task<Result<std::optional<crypto::PrivateKey>>> Daemon::load_key() {
  CO_TRY(const std::optional<std::string> pem, co_await stores->meta.get("key"));
  if (!pem) co_return std::nullopt;
  CO_TRY(crypto::PrivateKey key, crypto::PrivateKey::from_pem(*pem));
  co_return key;
}

Task<Result<crypto::PrivateKey>> Daemon::make_key() {
  crypto::PrivateKey key = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  CO_TRY_VOID(co_await stores->meta.set("key", key.pem()));
  co_return key;
}

Task<Result<void>> Daemon::open() {
  std::error_code error;
  std::filesystem::create_directories(config.data, error);
  if (error)
    co_return fail(ErrorCode::kUnavailable,
                   fmt::format("cannot create {}: {}", config.data.string(), error.message()));
  sql::DatabaseOptions database;
  database.path = config.data / "tagring.db";
  database.on_trouble = [this](const Error* error) {
    if (error != nullptr) {
      log.error("cannot_write", {{"because", error->message}, {"until_then", "nothing is acknowledged"}});
    } else {
      log.warn("can_write_again");
    }
  };
  CO_TRY(stores, db::open_stores(std::move(database), clock));
  CO_TRY(std::optional<crypto::PrivateKey> key, co_await load_key());
  if (!key) {
    CO_TRY(key, co_await make_key());
  }
  CO_TRY(const std::uint64_t incarnation, co_await stores->meta.next_incarnation(clock));
  net::HttpClientOptions client;
  client.ca_file = config.ca_file;
  client.allow_private_addresses = config.allow_private_addresses;
  client.user_agent = fmt::format("tagring/{} (+{})", TAGRING_VERSION, config.origin());
  CO_TRY(http, net::BeastHttpClient::make(std::move(client), pool.get_executor(), resolver));
  std::uint64_t seed = 0;
  const std::string bytes = crypto::random_bytes(sizeof seed);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&seed));
  node::Environment environment{.clock = clock,
                                .executor = loop.get_executor(),
                                .http = *http,
                                .workers = workers,
                                .stores = node::stores_of(*stores),
                                .log = log,
                                .seed = seed,
                                .read_followed_tags = sql::read_mastodon_tags,
                                .services = &resolver};
  CO_TRY(environment.places, co_await stores->meta.get("places"));
  environment.save_places = [this](std::string places) {
    return stores->meta.set("places", std::move(places));
  };
  CO_TRY(environment.owed, co_await stores->meta.get("owed"));
  environment.save_owed = [this](std::string owed) { return stores->meta.set("owed", std::move(owed)); };
  CO_TRY(environment.address_book, co_await stores->meta.get("address_book"));
  environment.save_address_book = [this](std::string book) {
    return stores->meta.set("address_book", std::move(book));
  };
  if (!config.followed_tags_tokens.empty()) {
    CO_TRY(environment.tag_tokens, instances::load_tag_tokens(config.followed_tags_tokens));
  }
  config::Config node_config = config;
  if (config.storage_capacity == 0) {
    const std::filesystem::space_info disk = std::filesystem::space(config.data, error);
    const std::uintmax_t used = std::filesystem::file_size(config.data / "tagring.db", error);
    node_config.storage_capacity = error ? 0 : used + disk.available / 2;
  }
  node = std::make_unique<node::Node>(std::move(node_config), *std::move(key), incarnation, environment);
  co_return Result<void>();
}

Task<Result<void>> Daemon::serve() {
  CO_TRY_VOID(co_await open());
  net::HttpServerOptions outside;
  outside.bind_address = *config.listen_address;  // Config has filled it in
  outside.port = config.listen_port;
  outside.certificate_file = config.certificate;
  outside.key_file = config.key;
  CO_TRY(const auto server,
         net::HttpServer::start(std::move(outside), pool.get_executor(), loop.get_executor(),
                                [this](HttpRequest request) { return node->answer(std::move(request)); }));
  net::HttpServerOptions inside;
  inside.socket_path = config.data / "control.sock";
  CO_TRY(const auto control,
         net::HttpServer::start(std::move(inside), pool.get_executor(), loop.get_executor(),
                                [this](HttpRequest request) { return node->control(std::move(request)); }));
  CO_TRY_VOID(co_await node->start());
  if (json) {
    fmt::print("{}\n", json::serialize(json::object{{"ready", true}, {"origin", config.origin()}}));
  } else {
    fmt::print("tagring {} serves {}; stop with Ctrl-C\n", TAGRING_VERSION, config.origin());
  }
  std::fflush(stdout);

  asio::signal_set signals(loop, SIGINT, SIGTERM);
  co_await signals.async_wait(asio::use_awaitable);
  log.info("stopping");
  co_await server->stop(kGrace);
  co_await control->stop(kGrace);
  co_await node->stop();
  co_return Result<void>();
}

Task<void> serve_into(Daemon* daemon, Result<void>* result) {
  *result = co_await daemon->serve();
  daemon->loop.stop();
}

int run_daemon(const Options& options) {
  Result<config::Config> config = config::Config::load(options.config);
  if (!config) return cli::report(config.error());
  Daemon daemon(std::move(*config), options.json);
  Result<void> result;
  asio::co_spawn(daemon.loop, serve_into(&daemon, &result), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  const auto keep_running = asio::make_work_guard(daemon.loop);
  daemon.loop.run();
  daemon.pool.stop();
  daemon.pool.join();
  return result ? cli::kExitOk : cli::report(result.error());
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a node until it is told to stop");
  command->add_option("--config", options->config, "Configuration file (TOML); docs/config.md explains it")
      ->required();
  command->add_flag("--json", options->json, "Print {\"ready\": true, …} when the node serves");
  command->footer("Example:\n  tagring run --config /etc/tagring/tagring.toml");
  command->callback([options, &status] { status = run_daemon(*options); });
}

}  // namespace tagring::app
