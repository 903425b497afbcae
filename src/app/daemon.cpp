#include "app/daemon.hpp"

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <fmt/core.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>

#include "administrators/administrator.hpp"
#include "base/counted.hpp"
#include "base/json.hpp"
#include "db/new_name.hpp"
#include "health/reach.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "instances/tag_tokens.hpp"
#include "machine/checks.hpp"
#include "machine/listening.hpp"
#include "machine/processes.hpp"
#include "machine/systemd.hpp"
#include "server/http_server_options.hpp"
#include "sql/backup.hpp"
#include "sql/mastodon_tags.hpp"

namespace tagring::app {
namespace asio = boost::asio;
namespace {

constexpr Duration kOwnOriginTimeout = std::chrono::seconds(10);
constexpr Duration kDnsTimeout = std::chrono::seconds(10);
constexpr Duration kCopyMax = std::chrono::hours(24);  // of the former node's database
constexpr const char* kDatabase = "tagring.db";
constexpr const char* kInPostgres = "in-postgresql";  // there if the node's database is, or was
constexpr const char* kCopy = "backup.db";            // until who asked for it takes it
constexpr Duration kCopyKept = std::chrono::hours(1);
constexpr std::size_t kControlBodyMax = 8U << 20U;  // the longest list of blocks, and room for escapes

// Nobody else's business: the private key is there. Left as it is where more than a node may live.
Result<void> keep_private(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::perms mode = fs::status(folder, error).permissions();
  constexpr auto kOthers = fs::perms::group_all | fs::perms::others_all;
  const bool shared = !fs::is_empty(folder, error) && !fs::exists(folder / kDatabase, error);
  if ((mode & kOthers) == fs::perms::none || (mode & fs::perms::sticky_bit) != fs::perms::none || shared)
    return {};
  fs::permissions(folder, kOthers, fs::perm_options::remove, error);
  if (!error) return {};
  return fail(ErrorCode::kInvalid, fmt::format("others may look into it: chmod 700 {}", folder.string()));
}

}  // namespace

Daemon::Daemon(config::Config config, std::filesystem::path config_file, bool json,
               std::optional<cluster::Place> inside)
    : config_(std::move(config)),
      config_file_(std::move(config_file)),
      json_(json),
      inside_(inside),
      pool_(std::max(2U, std::thread::hardware_concurrency())),
      workers_(pool_.get_executor()),
      clock_(loop_.get_executor()),
      log_(Log::to_stderr(config_.log_level, config_.log_format, &clock_, machine::stderr_is_journal())),
      database_watch_(config_, json_, clock_, log_),
      budget_(config_.budgets, clock_),
      doors_(config_, config_file_, budget_, {pool_.get_executor(), loop_.get_executor()}, clock_),
      resolver_(resolver_options(config_, budget_)) {}

Result<void> Daemon::run() {
  // What it makes is its own: keys and data. The sockets that others use have modes of their own.
  ::umask(S_IRWXG | S_IRWXO);
  return run_process(loop_, pool_, tasks_, serve());
}

Task<Result<void>> Daemon::serve() {
  CO_TRY_VOID(doors_.check(/*shows_certificate=*/!inside_));
  CO_TRY_VOID(co_await open());
  tasks_.spawn("watchdog", please_watchdog(clock_));  // at once: a standby counts as started
  // It may have stood by for months.
  if (database_watch_.has_stood_by() && !inside_) {
    CO_TRY_VOID(doors_.check_certificate());
  }
  CO_TRY_VOID(listen());
  CO_TRY_VOID(co_await node_->start());
  doors_.accept();
  say_ready();
  if (!inside_) tasks_.spawn("certificate", doors_.watch_certificate(log_, [this] { return look_again(); }));
  co_await wait_for_the_end();
  static_cast<void>(std::signal(SIGHUP, SIG_IGN));  // or a reload that comes too late would kill
  co_await stop();
  co_return Result<void>();
}

// --- start -------------------------------------------------------------------------------------------------

// The node's own, made at the very first start. Where PostgreSQL has it, that is noted beside it: a database
// that is empty then is another one, or has not been restored yet, and a node that is made in it nobody would
// know.
Task<Result<crypto::PrivateKey>> Daemon::key(bool has_file) {
  CO_TRY(const std::optional<std::string> pem, co_await stores_->meta.get(kKeyName));
  const std::filesystem::path note = config_.data / kInPostgres;
  std::string noted;
  std::ifstream(note) >> noted;
  const bool is_missing = !pem && !config_.postgres.empty();
  if (is_missing && has_file) {
    co_return fail(
        ErrorCode::kConflict,
        fmt::format("the database of database.postgres is new, and {0} is there: bring what is in it with "
                    "\"tagring migrate-database --from {0} --to …\", or move it away",
                    (config_.data / kDatabase).string()));
  }
  if (is_missing && noted == config_.origin()) {
    co_return fail(ErrorCode::kConflict, fmt::format("the database of database.postgres has no node, and {} "
                                                     "was in PostgreSQL: see that it leads where that "
                                                     "was, or end restoring it (docs/postgresql.md); to "
                                                     "begin as a new node, which nobody knows, remove {}",
                                                     noted, note.string()));
  }
  std::optional<crypto::PrivateKey> own;
  if (pem) {
    CO_TRY(own, crypto::PrivateKey::from_pem(*pem));
  } else {
    own = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
    CO_TRY_VOID(co_await stores_->meta.set(kKeyName, own->pem()));
  }
  if (!config_.postgres.empty() && noted != config_.origin()) std::ofstream(note) << config_.origin() << '\n';
  co_return *std::move(own);
}

// The former node's key and followers may be nowhere else, if this is no copy of its database. What is in
// PostgreSQL is for the tools of that to copy: then the path is empty.
Task<Result<std::filesystem::path>> Daemon::keep_former() {
  if (!config_.postgres.empty()) co_return std::filesystem::path();
  const std::string first = (config_.data / kDatabase).string() + machine::kBeforeNewName;
  std::filesystem::path copy = first;
  std::error_code error;
  for (int number = 2; std::filesystem::exists(copy, error); ++number)
    copy = fmt::format("{}-{}", first, number);
  const std::uintmax_t size = std::filesystem::file_size(config_.data / kDatabase, error);
  if (const std::optional<health::Disk> found = disk(); found && !error) {
    if (const Result<void> fits = machine::check_room(*found, size); !fits)
      co_return fail(fits.error().code,
                     fmt::format("{}: {}; make room, or have a copy of it elsewhere put here by \"tagring "
                                 "restore\" (docs/runbook.md)",
                                 copy.string(), fits.error().message));
  }
  machine::notify_systemd(fmt::format("EXTEND_TIMEOUT_USEC={}\nSTATUS=copying the database to {}",
                                      std::chrono::microseconds(kCopyMax).count(), copy.filename().string()));
  CO_TRY_VOID(co_await sql::back_up(*stores_->database, copy));
  log_.info("former_kept", {{"file", copy.string()}});
  co_return copy;
}

// Whose the database is. It may be a copy of what another node has, by the tools of PostgreSQL or by hand:
// with its key there would be two of that node.
Task<Result<void>> Daemon::take_name() {
  CO_TRY(const std::optional<std::string> saved, co_await stores_->meta.get("origin"));
  const std::string before = saved.value_or("");
  if (!before.empty() && before == config_.moved_from) {
    CO_TRY(const std::filesystem::path copy, co_await keep_former());
    const auto take = [own = config_.origin(), before](sql::Connection& database) {
      return db::take_over_in_transaction(database, own, before);
    };
    const Result<bool> taken = co_await stores_->database->write(take);
    if (!taken) {
      // All of it is in the database still; the next start would make another.
      std::error_code error;
      std::filesystem::remove(copy, error);
      co_return std::unexpected(taken.error());
    }
    log_.info("taken_over", {{"from", before}});
  } else if (!before.empty() && host_of(before) != config_.host) {
    co_return fail(
        ErrorCode::kInvalid,
        fmt::format(
            "the database is that of {0}, and this is {1}. If node.host was changed by mistake, or in place, "
            "set it back to {2}: another name is another node. If this node goes on for that one, on a copy "
            "of what it has, put moved_from = \"{0}\" under [node], which takes the former node's key and "
            "followers out of the copy (docs/runbook.md, \"Another name\")",
            before, config_.origin(), host_of(before)));
  }
  co_return Result<void>();
}

// What the node has itself written down, and where it goes on writing.
Task<Result<void>> Daemon::remember(node::Environment* environment) {
  const auto saves = [this](const char* name) {
    return [this, name](std::string text) { return stores_->meta.set(name, std::move(text)); };
  };
  CO_TRY(environment->places, co_await stores_->meta.get("places"));
  environment->save_places = saves("places");
  CO_TRY(environment->owed, co_await stores_->meta.get("owed"));
  environment->save_owed = saves("owed");
  CO_TRY(environment->address_book, co_await stores_->meta.get("address_book"));
  environment->save_address_book = saves("address_book");
  CO_TRY(environment->sizes.saved, co_await stores_->meta.get("sizes"));
  environment->sizes.save = saves("sizes");
  CO_TRY(environment->seen.saved, co_await stores_->meta.get("seen_posts"));
  environment->seen.save = saves("seen_posts");
  CO_TRY(environment->ahead.saved, co_await stores_->meta.get("signed_ahead"));
  environment->ahead.save = saves("signed_ahead");
  CO_TRY(environment->move.saved, co_await stores_->meta.get("move"));
  environment->move.save = saves("move");
  co_return Result<void>();
}

Task<Result<void>> Daemon::take_fronts(const crypto::PrivateKey& own_key) {
  CO_TRY(const std::optional<std::string> saved, co_await stores_->meta.get("fronts"));
  const cluster::Fronts::Options options{
      .place = inside_->text(),
      .secret = cluster::Secret(own_key),
      .can_write = [this] { return database_watch_.can_write(); },
      .saved = saved.value_or("[]"),
      .save = [this](std::string places) { return stores_->meta.set("fronts", std::move(places)); }};
  fronts_ = std::make_unique<cluster::Fronts>(options, inside_http_->client(), budget_, clock_, log_);
  co_return Result<void>();
}

// Fronts that have read where the core was would wait for it there.
Task<Result<void>> Daemon::say_where_core_is() {
  CO_TRY(const std::optional<std::string> before, co_await stores_->meta.get(kCoreName));
  if (!inside_ && !before.value_or("").empty()) {
    log_.warn("fronts_left_alone", {{"because", "this process is no core; the one before was, at " + *before},
                                    {"to_have_them_again", "tagring run --role core --inside " + *before}});
  }
  co_return co_await stores_->meta.set(kCoreName, inside_ ? inside_->text() : "");
}

Task<Result<void>> Daemon::open() {
  std::error_code error;
  std::filesystem::create_directories(config_.data, error);
  if (error)
    co_return fail(ErrorCode::kUnavailable,
                   fmt::format("cannot create {}: {}", config_.data.string(), error.message()));
  CO_TRY_VOID(keep_private(config_.data));
  const bool has_file = std::filesystem::exists(config_.data / kDatabase, error);
  CO_TRY(stores_, database_watch_.open(config_.data / kDatabase));
  // Not before nobody else has the database: a copy may be under way.
  for (const char* suffix : {"", ".part"})
    std::filesystem::remove(config_.data / (std::string(kCopy) + suffix), error);
  tasks_.spawn("heartbeat", database_watch_.beat(*stores_->database));
  CO_TRY_VOID(co_await take_name());
  CO_TRY(crypto::PrivateKey own_key, co_await key(has_file));
  CO_TRY(const std::uint64_t incarnation, co_await stores_->meta.next_incarnation(clock_));
  CO_TRY_VOID(co_await stores_->meta.set("origin", config_.origin()));  // whose a copy is (db/new_name.hpp)
  CO_TRY(const bool asks_again, co_await stores_->database->write(db::ask_owners_after_loss));
  if (asks_again) log_.warn("asks_owners_again", {{"because", "the database lacks what was committed last"}});
  CO_TRY(http_, net::BeastHttpClient::make(client_options(config_), pool_.get_executor(), resolver_));
  if (inside_) {
    CO_TRY(inside_http_, InsideClient::make(pool_.get_executor()));
    CO_TRY_VOID(co_await take_fronts(own_key));
  }
  if (!config_.postgres.empty()) {
    CO_TRY_VOID(co_await say_where_core_is());
  }
  node::Environment environment{.clock = clock_,
                                .executor = loop_.get_executor(),
                                .http = *http_,
                                .workers = workers_,
                                .stores = node::stores_of(*stores_),
                                .log = log_,
                                .seed = random_seed(),
                                .read_followed_tags = sql::read_mastodon_tags,
                                .services = &resolver_,
                                .budget = &budget_,
                                .machine = this,
                                .couriers = fronts_.get()};
  CO_TRY_VOID(co_await remember(&environment));
  if (!config_.followed_tags_tokens.empty()) {
    // What is wrong with it is better told now than in a log.
    CO_TRY_VOID(instances::load_tag_tokens(config_.followed_tags_tokens));
    environment.read_tag_tokens = [file = config_.followed_tags_tokens] {
      return instances::load_tag_tokens(file);
    };
  }
  node_ = std::make_unique<node::Node>(config_, std::move(own_key), incarnation, environment);
  co_return Result<void>();
}

// Who comes from outside waits until the node has taken up what it was doing. To a core all of them come by
// its fronts: one of these, or a balancer, may have the same port of the same machine.
Result<void> Daemon::listen() {
  const auto by = [this](Answer answer) {
    return [this, answer](HttpRequest request) { return (*node_.*answer)(std::move(request)); };
  };
  const HttpHandler node = by(&node::Node::answer);
  if (!inside_) {
    TRY_VOID(doors_.open_outside(
        [node](HttpRequest request) { return answer_outside(node, std::move(request)); }));
  }
  TRY_VOID(open_metrics(by(&node::Node::probe)));
  if (inside_) {
    TRY_VOID(doors_.open_for_fronts(
        *inside_, [this, node](HttpRequest request) { return fronts_->answer(std::move(request), node); }));
  }
  server::HttpServerOptions control;
  control.socket_path = config_.data / "control.sock";
  control.body_size_max = kControlBodyMax;
  return doors_.open(std::move(control), by(&node::Node::control));
}

// A core that takes over goes on without: a front of its machine may have that port.
Result<void> Daemon::open_metrics(HttpHandler handler) {
  const std::uint16_t port = inside_ ? config_.port_of_cores_metrics() : config_.metrics_port;
  const Result<void> opened = doors_.open_metrics(port, std::move(handler));
  if (opened || !inside_) return opened;
  metrics_closed_ = opened.error().message;
  log_.error("metrics_closed", {{"because", metrics_closed_}});
  return {};
}

void Daemon::say_ready() {
  if (json_) {
    fmt::print("{}\n", json::serialize(json::object{{"ready", true}, {"origin", config_.origin()}}));
  } else {
    fmt::print("tagring {} {} {}; \"tagring status\" says whether it serves; stop with Ctrl-C\n",
               TAGRING_VERSION, inside_ ? "is the core of" : "listens for", config_.origin());
  }
  std::fflush(stdout);
  log_.info("started",
            {{"version", TAGRING_VERSION}, {"origin", config_.origin()}, {"listens", listens_at()}});
  machine::notify_systemd("READY=1\nSTATUS=");
}

std::string Daemon::listens_at() const {
  if (inside_) return inside_->text() + ", for fronts";
  return machine::listening_at(config_, machine::inherited_sockets(), doors_.bound());
}

// --- while it runs -----------------------------------------------------------------------------------------

Task<void> Daemon::wait_for_the_end() {
  asio::signal_set signals(loop_, SIGINT, SIGTERM, SIGHUP);
  for (;;) {
    const int signal = co_await signals.async_wait(asio::use_awaitable);
    if (signal != SIGHUP) co_return;
    HttpRequest request;
    request.method = "POST";
    request.target = "/reload";
    const HttpResponse done =
        co_await node_->administer({"SIGHUP", administrators::Role::kAll}, std::move(request));
    if (done.status != 200)
      log_.error("reload_failed", {{"because", decode_error(done.status, done.body).message}});
  }
}

Task<Result<json::object>> Daemon::reload() {
  CO_TRY(config::Config fresh, config::Config::load(config_file_));
  // A core's, where none is written (run.cpp).
  if (!fresh.listen_address && config_.listen_address == IpAddress{}) fresh.listen_address = IpAddress{};
  if (fresh.is_plain() != config_.is_plain())
    co_return fail(ErrorCode::kInvalid,
                   "listen.certificate: whether there is one changes with a restart only");
  if (config_.followers_sync && !fresh.followers_conflict.empty())
    co_return fail(
        ErrorCode::kInvalid,
        fresh.followers_conflict + "; followers.sync, which that turns off, changes with a restart only");
  if (!inside_) {
    CO_TRY_VOID(doors_.take_certificate(fresh));
  }
  doors_.trust(fresh.trusted_proxies);
  log_.set_least(fresh.log_level);
  config_.certificate = fresh.certificate;
  config_.key = fresh.key;
  config_.trusted_proxies = fresh.trusted_proxies;
  json::object done = node_->adopt(fresh);
  log_.info("reloaded", {{"changed", json::serialize(done.at("changed"))},
                         {"restart", json::serialize(done.at("restart"))}});
  co_return done;
}

// So that the status says of a new certificate, too.
Task<void> Daemon::look_again() {
  HttpRequest look;
  look.target = "/doctor";
  co_await node_->administer({"certificate", administrators::Role::kLook}, std::move(look));
}

Task<void> Daemon::stop() {
  machine::notify_systemd("STOPPING=1");
  log_.info("stopping");
  co_await doors_.stop();
  co_await node_->stop();
}

// --- health::Machine ---------------------------------------------------------------------------------------

Task<health::Checks> Daemon::look() {
  health::Checks checks = co_await machine::look_at_machine(config_, config_file_, &resolver_, &clock_);
  if (!inside_)
    checks.push_back(
        machine::look_at_listening(config_, config_file_, machine::inherited_sockets(), doors_.bound()));
  if (!metrics_closed_.empty())
    checks.push_back(
        health::bad("metrics", metrics_closed_,
                    "where a front of this machine has it, give cores another one (metrics.core_port), and "
                    "restart this one"));
  if (config_.is_plain()) {
    const auto certificate = std::ranges::find(checks, "certificate", &health::Check::name);
    const Result<HttpResponse> answer = co_await ask_as_others_do();
    *certificate = judge_proxys_certificate(answer);
    if (answer) checks.push_back(health::judge_way_in(config_, *answer));
  }
  if (config_.standby) checks.push_back(co_await look_at_standby());
  if (fronts_) {
    const health::Checks of_fronts = co_await fronts_->look();
    checks.insert(checks.end(), of_fronts.begin(), of_fronts.end());
  }
  co_return checks;
}

Task<std::vector<IpAddress>> Daemon::addresses() {
  const Instant deadline = clock_.now() + kDnsTimeout;
  const Result<std::vector<IpAddress>> found = co_await resolver_.resolve(config_.host, deadline);
  co_return found.value_or(std::vector<IpAddress>());
}

Task<health::Check> Daemon::look_at_standby() {
  const auto look = [](sql::Connection& database) { return database.tenure(); };
  const Result<sql::Tenure> tenure = co_await stores_->database->read(look);
  co_return machine::judge(tenure);
}

// Through the proxy in front.
Task<Result<HttpResponse>> Daemon::ask_as_others_do() {
  HttpCall call("GET", *Url::parse(config_.origin() + std::string(health::Reach::kPath)),
                clock_.now() + kOwnOriginTimeout);
  co_return co_await http_->send(std::move(call));
}

health::Check Daemon::judge_proxys_certificate(const Result<HttpResponse>& answer) {
  if (answer && answer->certificate) {
    proxys_certificate_ = crypto::CertificateFacts{answer->certificate->from, answer->certificate->until, {}};
    return machine::judge_lifetime(answer->certificate->from, answer->certificate->until, clock_.wall_now(),
                                   "the proxy in front shows one that others take,",
                                   "see why it was not renewed (certbot renew, or the log of Caddy), and "
                                   "that the proxy takes a new one");
  }
  if (answer) return health::well("certificate", "the proxy in front has it");
  const std::string& because = answer.error().message;
  if (because.contains("certificate")) {
    proxys_certificate_.reset();
    return health::bad(
        "certificate", because,
        "others refuse what the proxy in front shows for " + config_.host + ": renew it there");
  }
  // Not every machine gets to itself through what is in front.
  return health::well("certificate",
                      "the proxy in front has it, and could not be asked from here: " + because);
}

Task<Result<void>> Daemon::try_to_write() {
  return stores_->meta.set("last_look", to_rfc3339(clock_.wall_now()));
}

std::optional<health::Disk> Daemon::disk() const { return machine::disk_of(config_.data); }

std::optional<std::int64_t> Daemon::room() const {
  if (!config_.postgres.empty()) return std::nullopt;  // not on this disk
  const std::optional<health::Disk> found = disk();
  if (!found) return std::nullopt;
  return machine::room_on(*found);
}

// Not where the administrator wants it: the unit lets the node write to its own folder only.
Task<Result<json::object>> Daemon::back_up() {
  if (!config_.postgres.empty())
    co_return fail(ErrorCode::kInvalid,
                   "what this node has is in PostgreSQL: pg_dump copies it (docs/postgresql.md)");
  if (copies_ > 0) co_return fail(ErrorCode::kConflict, "another backup is being written");
  const Counted here(copies_);
  const std::filesystem::path file = config_.data / kCopy;
  std::error_code error;
  std::filesystem::remove(file, error);  // that nobody took
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(config_.data / kDatabase, error));
  const std::optional<std::int64_t> left = room();
  if (left && *left < size) {
    co_return fail(
        ErrorCode::kUnavailable,
        fmt::format("there is no room for a copy of {} bytes beside {}, with the last {} % of the disk "
                    "kept off",
                    size, (config_.data / kDatabase).string(), machine::kReservePercent));
  }
  CO_TRY(const std::uint64_t bytes, co_await sql::back_up(*stores_->database, file));
  tasks_.spawn("copy", remove_copy_later(file, ++copies_made_));
  co_return json::object{{"file", file.string()}, {"octets", bytes}};
}

// Whoever asked for it takes it at once, if they are still there.
Task<void> Daemon::remove_copy_later(std::filesystem::path file, std::uint64_t number) {
  const Instant end = clock_.now() + kCopyKept;
  co_await clock_.sleep_until(end);
  std::error_code error;
  if (number == copies_made_ && copies_ == 0) std::filesystem::remove(file, error);
}

}  // namespace tagring::app
