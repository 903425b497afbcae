#include "app/front_daemon.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <fmt/core.h>
#include <thread>

#include "admin/settings.hpp"
#include "base/json.hpp"
#include "base/runtime.hpp"
#include "crypto/key.hpp"
#include "machine/listening.hpp"
#include "machine/systemd.hpp"
#include "sql/meta.hpp"

namespace tagring::app {
namespace asio = boost::asio;
namespace {

constexpr Duration kNoticed = std::chrono::seconds(3);  // by a balancer that asks each second, twice

}  // namespace

FrontDaemon::FrontDaemon(config::Config config, std::filesystem::path config_file, bool json,
                         cluster::Place inside)
    : config_(std::move(config)),
      config_file_(std::move(config_file)),
      json_(json),
      inside_(inside),
      pool_(std::max(2U, std::thread::hardware_concurrency())),
      workers_(pool_.get_executor()),
      look_workers_(look_pool_.get_executor()),
      clock_(loop_.get_executor()),
      log_(Log::to_stderr(config_.log_level, config_.log_format, &clock_, machine::stderr_is_journal())),
      budget_(config_.budgets, clock_),
      doors_(config_, config_file_, budget_, {pool_.get_executor(), loop_.get_executor()}, clock_),
      resolver_(resolver_options(config_, budget_)) {}

Result<void> FrontDaemon::run() { return run_process(loop_, pool_, tasks_, serve()); }

Task<Result<void>> FrontDaemon::serve() {
  CO_TRY_VOID(doors_.check());
  CO_TRY_VOID(co_await open());
  CO_TRY_VOID(listen());
  co_await front_->get_in_touch();
  doors_.accept();
  tasks_.spawn("watchdog", please_watchdog(clock_));
  tasks_.spawn("core", front_->keep_in_touch());
  tasks_.spawn("certificate", doors_.watch_certificate(log_, []() -> Task<void> { co_return; }));
  say_ready();
  co_await wait_for_the_end();
  static_cast<void>(std::signal(SIGHUP, SIG_IGN));  // or a reload that comes too late would kill
  machine::notify_systemd("STOPPING=1");
  log_.info("stopping");
  const Instant last_call = clock_.now() + kNoticed;
  co_await front_->leave();
  co_await clock_.sleep_until(last_call);
  co_await doors_.stop();
  co_return Result<void>();
}

Task<Result<std::string>> FrontDaemon::remembered(std::string name) {
  auto look = [dsn = config_.postgres, name] { return sql::remembered(dsn, name); };
  CO_TRY(std::optional<std::string> value, co_await look_workers_.run(std::move(look)));
  if (value) co_return *std::move(value);
  co_return fail(
      ErrorCode::kInvalid,
      "the database of database.postgres has no core yet: start \"tagring run --role core\" first");
}

Task<Result<void>> FrontDaemon::open() {
  CO_TRY(const std::string pem, co_await remembered(kKeyName));
  CO_TRY(crypto::PrivateKey key, crypto::PrivateKey::from_pem(pem));
  CO_TRY_VOID(co_await remembered(kCoreName));
  CO_TRY(const std::string origin, co_await remembered("origin"));
  if (origin != config_.origin())
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("the database of database.postgres is that of {}, and this is {}", origin,
                               config_.origin()));
  CO_TRY(http_, net::BeastHttpClient::make(client_options(config_), pool_.get_executor(), resolver_));
  CO_TRY(inside_http_, InsideClient::make(pool_.get_executor()));
  cluster::Front::Options options{.core = {.place = inside_.text(),
                                           .secret = cluster::Secret(key),
                                           .find_core = [this] { return remembered(kCoreName); }},
                                  .certificate = [this] { return doors_.certificate(); }};
  identity_.emplace(config_.origin(), std::move(key), config_.contact, config_.moved_from);
  const Runtime runtime{clock_, loop_.get_executor(), workers_, log_, Rng(random_seed())};
  const cluster::Front::Clients clients{*http_, inside_http_->client(), inside_http_->streams(),
                                        inside_http_->news()};
  front_ = std::make_unique<cluster::Front>(std::move(options), *identity_, budget_, clients, runtime);
  co_return Result<void>();
}

Result<void> FrontDaemon::listen() {
  TRY_VOID(doors_.open_outside([this](HttpRequest request) { return front_->answer(std::move(request)); }));
  TRY_VOID(doors_.open_inside(
      inside_, [this](HttpRequest request) { return front_->answer_core(std::move(request)); }));
  TRY_VOID(doors_.open_metrics(config_.metrics_port,
                               [this](HttpRequest request) { return front_->probe(std::move(request)); }));
  return {};
}

void FrontDaemon::say_ready() {
  if (json_) {
    fmt::print("{}\n", json::serialize(
                           json::object{{"ready", true}, {"origin", config_.origin()}, {"role", "front"}}));
  } else {
    fmt::print("tagring {} is a front of {}; stop with Ctrl-C\n", TAGRING_VERSION, config_.origin());
  }
  std::fflush(stdout);
  log_.info("started",
            {{"version", TAGRING_VERSION},
             {"origin", config_.origin()},
             {"role", "front"},
             {"listens", machine::listening_at(config_, machine::inherited_sockets(), doors_.bound())}});
  machine::notify_systemd("READY=1\nSTATUS=");
}

Task<void> FrontDaemon::wait_for_the_end() {
  asio::signal_set signals(loop_, SIGINT, SIGTERM, SIGHUP);
  for (;;) {
    const int signal = co_await signals.async_wait(asio::use_awaitable);
    if (signal != SIGHUP) co_return;
    const Result<void> done = reload();
    if (!done) log_.error("reload_failed", {{"because", done.error().message}});
  }
}

namespace {

// Of the settings that count at once; the others of these are the core's.
bool is_of_fronts(std::string_view key) {
  return key.starts_with("budget.") || key.starts_with("listen.") || key == "node.log_level";
}

}  // namespace

// What may change while it runs: the certificate, whom it trusts, what others may use, and what is logged.
Result<void> FrontDaemon::reload() {
  TRY(config::Config fresh, config::Config::load(config_file_));
  // A front's, where none is written (run.cpp).
  if (!fresh.listen_address && config_.listen_address == IpAddress{}) fresh.listen_address = IpAddress{};
  if (fresh.is_plain() != config_.is_plain())
    return fail(ErrorCode::kInvalid, "listen.certificate: whether there is one changes with a restart only");
  TRY_VOID(doors_.take_certificate(fresh));
  doors_.trust(fresh.trusted_proxies);
  log_.set_least(fresh.log_level);
  budget_.use(fresh.budgets);
  json::array changed;
  json::array restart;
  for (const std::string& key : admin::changed_settings(config_, fresh)) {
    if (!admin::counts_at_once(key)) restart.emplace_back(key);
    if (admin::counts_at_once(key) && is_of_fronts(key)) changed.emplace_back(key);
  }
  config_.certificate = fresh.certificate;
  config_.key = fresh.key;
  config_.trusted_proxies = fresh.trusted_proxies;
  config_.budgets = fresh.budgets;
  config_.log_level = fresh.log_level;
  log_.info("reloaded", {{"changed", json::serialize(changed)}, {"restart", json::serialize(restart)}});
  return {};
}

}  // namespace tagring::app
