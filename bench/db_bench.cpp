// Size and speed of the stores: db_bench <directory, or connection string of an empty PostgreSQL database>
// [posts]
//
// History: posts of one tag over a year, in batches of 1000 as replicas and publishers send them (nearly in
// order of time), from authors of which few write much; then pages of 40 at random places. Relay: accept() in
// batches.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>

#include "base/rng.hpp"
#include "db/stores.hpp"
#include "figures.hpp"
#include "sql/postgres.hpp"

namespace tagring::db {
namespace {

using SteadyClock = std::chrono::steady_clock;
using storage::HistoryCursor;
using storage::HistoryEntry;

class SystemWallClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {}; }
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
  }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }
};

template <class T>
T must(Task<Result<T>> task) {
  boost::asio::io_context loop;
  std::optional<Result<T>> result;
  boost::asio::co_spawn(loop, std::move(task),
                        [&](std::exception_ptr, Result<T> value) { result.emplace(std::move(value)); });
  loop.run();
  if (!result || !*result) {
    fmt::print(stderr, "{}\n", result ? result->error().message : "exception");
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(**result);
}

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

struct RandomPosts {
  Rng rng{1};
  std::uint64_t posts;
  std::int64_t year = 365LL * 86400;

  HistoryEntry make(std::uint64_t i) {
    // Authors: the square of a uniform number favours low ranks. Servers: likewise, of 500.
    const double u = rng.uniform();
    const auto rank = static_cast<std::uint64_t>(u * u * static_cast<double>(posts) / 10);
    const std::uint64_t host = rank * 2654435761U % 500;
    const std::string author =
        fmt::format("https://{}/users/somebody{}",
                    host < 100 ? "mastodon.social" : fmt::format("social{}.example", host), rank);
    // Mastodon dates posts by the second. They arrive up to a minute late.
    const std::int64_t second = 1'763'000'000 +
                                static_cast<std::int64_t>(i * static_cast<std::uint64_t>(year) / posts) -
                                static_cast<std::int64_t>(rng.below(60));
    const std::uint64_t id = 113'512'345'678'901'234U +
                             static_cast<std::uint64_t>(second - 1'763'000'000) * 65'536'000 +
                             rng.below(65'536'000);
    return {Tag::from_canonical("nowplaying"), fmt::format("{}/statuses/{}", author, id), author,
            WallTime(Duration(second * 1000)), false};
  }
};

void fill_history(Stores& stores, std::uint64_t posts) {
  RandomPosts random{.posts = posts};
  const auto start = SteadyClock::now();
  for (std::uint64_t i = 0; i < posts;) {
    std::vector<HistoryEntry> batch;
    for (; batch.size() < 1000 && i < posts; ++i) batch.push_back(random.make(i));
    must(stores.history.put(std::move(batch)));
  }
  const double seconds = seconds_since(start);
  bench::print({"history_put", static_cast<double>(posts) / seconds, "posts/s", 0, ""});
}

void read_pages(Stores& stores) {
  Rng rng(2);
  std::vector<double> times;
  for (int i = 0; i < 20'000; ++i) {
    const WallTime when(
        Duration((1'763'000'000 + static_cast<std::int64_t>(rng.below(365LL * 86400))) * 1000));
    const auto start = SteadyClock::now();
    must(stores.history.page(Tag::from_canonical("nowplaying"), HistoryCursor{when, "https://m"}, 40));
    times.push_back(seconds_since(start) * 1e3);
  }
  std::ranges::sort(times);
  bench::print({"history_page_p50", times[times.size() / 2], "ms", 5, "goal for the p99"});
  bench::print({"history_page_p99", times[times.size() * 99 / 100], "ms", 5, "goal"});
}

void accept_events(Stores& stores, unsigned storage_replicas) {
  RandomPosts random{.posts = 1'000'000};
  std::vector<std::vector<delivery::TagEvent>> batches;
  constexpr std::uint64_t kEvents = 500'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    if (i % 1000 == 0) batches.emplace_back();
    HistoryEntry post = random.make(i);
    batches.back().push_back(
        {Tag::from_canonical(fmt::format("tag{}-{}", storage_replicas, random.rng.below(10'000))),
         delivery::Op::kAdd, post.uri, post.author, post.published, true});
  }
  const auto start = SteadyClock::now();
  for (auto& batch : batches) must(stores.relay.accept(std::move(batch), storage_replicas));
  bench::print({storage_replicas > 0 ? "accept_and_owe" : "accept",
                static_cast<double>(kEvents) / seconds_since(start), "events/s", 0, ""});
}

void publish_posts(Stores& stores) {
  RandomPosts random{.posts = 1'000'000};
  constexpr std::uint64_t kPosts = 100'000;
  boost::asio::io_context loop;
  const auto start = SteadyClock::now();
  // Each a job of its own, many at a time: group commit makes few transactions of them.
  for (std::uint64_t i = 0; i < kPosts; ++i) {
    HistoryEntry post = random.make(i);
    boost::asio::co_spawn(
        loop,
        stores.relay.publish(
            {post.uri, post.author, post.published, {Tag::from_canonical("a"), Tag::from_canonical("b")}}, 2),
        [](std::exception_ptr, const auto& owed) {
          if (!owed || owed->size() != 2) std::exit(1);
        });
  }
  loop.run();
  bench::print(
      {"publish", static_cast<double>(kPosts) / seconds_since(start), "posts/s", 20'000, "goal for ingest"});
}

std::unique_ptr<Stores> open(const std::string& place, const char* file) {
  static const SystemWallClock clock;
  sql::DatabaseOptions options;
  if (place.contains('=') || place.starts_with("postgres")) {  // a connection string
    options.postgres = place;
  } else {
    options.path = fmt::format("{}/{}", place, file);
  }
  auto opened = open_stores(std::move(options), clock);
  if (opened) return std::move(*opened);
  fmt::print(stderr, "{}\n", opened.error().message);
  std::exit(1);
}

int measure(const std::string& place, std::uint64_t posts) {
  for (const char* file : {"history.db", "history.db-wal", "relay.db", "relay.db-wal"})
    std::filesystem::remove(std::filesystem::path(place) / file);
  {
    const auto stores = open(place, "history.db");
    fill_history(*stores, posts);
  }
  {
    const auto stores = open(place, "history.db");
    bench::print({"history_bytes_per_post",
                  static_cast<double>(must(stores->history.totals()).bytes) / static_cast<double>(posts),
                  "bytes", 100, "goal"});
    read_pages(*stores);
  }
  const auto stores = open(place, "relay.db");
  accept_events(*stores, 0);
  accept_events(*stores, 4);
  publish_posts(*stores);
  return 0;
}

}  // namespace
}  // namespace tagring::db

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: db_bench <directory, or connection string> [posts]\n");
    return 2;
  }
  return tagring::db::measure(argv[1], argc > 2 ? std::stoull(argv[2]) : 1'000'000);
}
