// Anti-entropy: reconcile_bench <directory> [posts]
//
// Two stores with the same posts but for ten. What one says to the other, in bytes of JSON and round trips,
// until it has the ten, against sending it everything.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <span>
#include <tuple>

#include "base/rng.hpp"
#include "db/stores.hpp"
#include "figures.hpp"
#include "handover/anti_entropy.hpp"
#include "handover/comparison.hpp"
#include "storage/entries_json.hpp"

namespace tagring::bench {
namespace {

constexpr std::uint64_t kMissing = 10;
constexpr std::size_t kBatch = 5'000;

class NoClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {}; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  [[nodiscard]] boost::asio::awaitable<void> sleep_until(Instant) override { co_return; }
};

template <class T>
T must(Task<Result<T>> task) {
  boost::asio::io_context loop;
  std::optional<Result<T>> result;
  boost::asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr&, Result<T> value) {
    result.emplace(std::move(value));
  });
  loop.run();
  if (!result || !*result) {
    fmt::print(stderr, "{}\n", result ? result->error().message : "exception");
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(**result);
}

// A year of posts under ten thousand hashtags, few of which have most.
std::vector<storage::HistoryEntry> make_posts(std::uint64_t count) {
  Rng rng(1);
  std::vector<storage::HistoryEntry> posts;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double u = rng.uniform();
    const std::string author =
        fmt::format("https://social{}.example/users/u{}", rng.below(500), rng.below(1000));
    posts.push_back({Tag::from_canonical(fmt::format("tag{}", static_cast<int>(u * u * u * 10'000))),
                     fmt::format("{}/statuses/{}", author, 113'512'345'678'901'234U + i), author,
                     WallTime(std::chrono::hours(489'000) + Duration(rng.below(365ULL * 86'400'000))),
                     false});
  }
  return posts;
}

void fill(storage::HistoryStore& store, std::span<const storage::HistoryEntry> posts) {
  for (; !posts.empty(); posts = posts.subspan(std::min(posts.size(), kBatch))) {
    const auto batch = posts.first(std::min(posts.size(), kBatch));
    must(store.put({batch.begin(), batch.end()}));
  }
}

struct Talk {
  storage::HistoryStore& replica;
  std::size_t bytes = 0;

  Task<Result<std::vector<storage::Difference>>> ask(std::vector<storage::Comparison> asked) {
    const json::object question = handover::to_json(asked, 0);
    CO_TRY(const json::object answer,
           co_await handover::answer_comparison(replica, {RingId(), RingId()}, question));
    bytes += json::serialize(question).size() + json::serialize(answer).size();
    co_return handover::differences_from_json(answer, asked);
  }
};

std::unique_ptr<db::Stores> open(const std::filesystem::path& path, const Clock& clock) {
  auto opened = db::open_stores({.path = path.string(), .vfs = {}, .mode = sql::Mode::kInline}, clock);
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message);
    std::exit(1);
  }
  return std::move(*opened);
}

void measure(const std::filesystem::path& directory, std::uint64_t count) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const NoClock clock;
  std::vector<storage::HistoryEntry> posts = make_posts(count);
  const auto both = std::span(posts).first(posts.size() - kMissing);
  std::ranges::sort(both, {}, [](const auto& post) { return std::tie(post.partition, post.published); });
  fill(open(directory / "here.db", clock)->history, both);
  std::filesystem::copy_file(directory / "here.db", directory / "there.db");
  const auto here = open(directory / "here.db", clock);
  const auto there = open(directory / "there.db", clock);
  fill(there->history, std::span(posts).last(kMissing));
  const auto everything = static_cast<double>(json::serialize(storage::to_json(posts, true)).size());
  Talk talk{there->history};
  const Stopwatch watch;
  storage::Reconciled done;
  for (const storage::HourRange& range : handover::hour_ranges({RingId(), RingId()})) {
    const storage::Reconciled part = must(storage::reconcile(
        here->history, range, 0,
        [&](std::vector<storage::Comparison> asked) { return talk.ask(std::move(asked)); },
        [&](std::vector<storage::HistoryEntry> entries) { return here->history.put(std::move(entries)); },
        {}));
    done.questions += part.questions;
    done.entries += part.entries;
  }
  const double seconds = watch.seconds();
  const std::uint64_t now_here = must(here->history.totals()).entries;
  const std::uint64_t missing = must(there->history.totals()).entries - now_here;
  print({"antientropy_bytes", static_cast<double>(talk.bytes), "bytes", everything, "all posts, sent"});
  print({"antientropy_round_trips", static_cast<double>(done.questions), "requests", 0, ""});
  print({"antientropy_posts_sent", static_cast<double>(done.entries), "posts", kMissing, "missing"});
  print({"antientropy_still_missing", static_cast<double>(missing), "posts", 0, "goal"});
  print({"antientropy_seconds", seconds, "s", 0, ""});
}

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: reconcile_bench <directory> [posts]\n");
    return 2;
  }
  tagring::bench::measure(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000);
  return 0;
}
