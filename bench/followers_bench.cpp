// What FEP-8fcf costs a sender: followers_bench <directory>
//
// One hashtag with 1,000 and with 1,000,000 followers, on up to 20,000 servers. Updates: followers who leave
// and come back, a thousand in a transaction, on disk and in memory. Headers: made as for a delivery, for
// servers in turn, without the signature. Neither should depend on how many followers there are.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fmt/format.h>

#include "../tests/delivery/silent_observer.hpp"
#include "db/stores.hpp"
#include "delivery/partial_collections.hpp"
#include "figures.hpp"
#include "net/system_clock.hpp"

namespace tagring::bench {
namespace {

constexpr std::size_t kServersMax = 20'000;
constexpr std::size_t kBatch = 1'000;

class NoHttp final : public HttpClient {
 public:
  Task<Result<HttpResponse>> send(HttpCall /*call*/) override {
    co_return fail(ErrorCode::kUnavailable, "nobody is outside");
  }
};

struct Bench {
  explicit Bench(const std::filesystem::path& directory) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    auto opened = db::open_stores(
        {.path = (directory / "followers.db").string(), .vfs = {}, .mode = sql::Mode::kThread}, clock);
    if (!opened) give_up(opened.error().message);
    stores = std::move(*opened);
  }
  [[noreturn]] static void give_up(const std::string& why) {
    fmt::print(stderr, "{}\n", why);
    std::exit(1);
  }
  template <class T>
  T must(Task<Result<T>> task) {
    std::optional<Result<T>> result;
    boost::asio::co_spawn(loop, std::move(task),
                          [&](std::exception_ptr, Result<T> value) { result.emplace(std::move(value)); });
    loop.run();
    loop.restart();
    if (!result || !*result) give_up(result ? result->error().message : "exception");
    if constexpr (!std::is_void_v<T>) return std::move(**result);
  }
  static std::string server(std::size_t i) { return fmt::format("https://social{}.example", i); }
  std::vector<delivery::Follower> people(std::size_t first, std::size_t count) const {
    std::vector<delivery::Follower> found;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::string origin = server(i % servers);
      found.push_back({Tag::from_canonical("hot"), fmt::format("{}/users/somebody{}", origin, i),
                       origin + "/inbox", origin + "/follows/1", delivery::Via::kBoost, 0});
    }
    return found;
  }
  void follow(std::size_t first, std::size_t count) {
    for (const delivery::Follower& stored : must(stores->relay.follow(people(first, count))))
      followers.add(stored);
  }
  void unfollow(std::size_t first, std::size_t count) {
    std::vector<std::pair<Tag, std::string>> pairs;
    for (const delivery::Follower& person : people(first, count))
      pairs.emplace_back(person.tag, person.actor);
    must(stores->relay.unfollow(pairs));
    for (const auto& [tag, actor] : pairs) followers.remove(tag, actor);
  }

  boost::asio::io_context loop{1};
  net::SystemClock clock{loop.get_executor()};
  std::unique_ptr<db::Stores> stores;
  delivery::Followers followers;
  std::size_t servers = kServersMax;
};

void measure(Bench& bench, std::size_t count, const std::string& suffix) {
  bench.servers = std::min(kServersMax, count / 10);
  for (std::size_t first = 0; first < count; first += kBatch)
    bench.follow(first, std::min(kBatch, count - first));
  constexpr std::size_t kUpdates = 20'000;
  const Stopwatch updates;
  for (std::size_t done = 0; done < kUpdates; done += 2 * kBatch) {
    const std::size_t first = done * 37 % count / kBatch * kBatch;
    bench.unfollow(first, kBatch);
    bench.follow(first, kBatch);
  }
  print(
      {"followers_update_" + suffix, static_cast<double>(kUpdates) / updates.seconds(), "changes/s", 0, ""});

  NoHttp http;
  Workers workers;
  const federation::Identity identity("https://tags.bench.example",
                                      crypto::PrivateKey::ed25519_from_seed(std::string(32, 'b')));
  Log log = Log::off();
  const Runtime runtime{bench.clock, bench.loop.get_executor(), workers, log, Rng(1)};
  federation::SignedClient client(identity, http, runtime);
  budget::Manager budget(budget::default_budgets(), runtime.clock);
  federation::RemoteKeys keys(budget, client, runtime);
  federation::Authenticator authenticator({}, {}, keys, runtime);
  delivery::SilentObserver observer;
  const delivery::PartialCollections partials({}, bench.followers, identity, authenticator, observer,
                                              runtime);
  std::vector<std::string> inboxes;
  for (std::size_t i = 0; i < bench.servers; ++i) inboxes.push_back(Bench::server(i) + "/inbox");
  constexpr std::size_t kHeaders = 500'000;
  const Stopwatch headers;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    if (!partials.header("hot", inboxes[i % inboxes.size()])) Bench::give_up("no header");
  }
  print(
      {"followers_header_" + suffix, static_cast<double>(kHeaders) / headers.seconds(), "headers/s", 0, ""});

  const Stopwatch check;
  const auto checked = bench.must(bench.stores->relay.check_partials());
  if (!checked.repaired.empty() || checked.followers != count) Bench::give_up("the digests are wrong");
  print({"followers_check_" + suffix, check.seconds(), "s at start", 0, ""});
}

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  using namespace tagring::bench;
  if (argc != 2) Bench::give_up("usage: followers_bench <directory>");
  const std::filesystem::path directory = argv[1];
  {
    Bench small(directory);
    measure(small, 1'000, "1k");
  }
  Bench large(directory);
  measure(large, 1'000'000, "1m");
}
