#include "runs/flash_crowd.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include "base/assert.hpp"
#include "sim/world.hpp"

namespace tagring::runs {
namespace {

constexpr const char* kCrowdedTag = "flashcrowd";
constexpr auto kSecond = std::chrono::seconds(1);
constexpr Duration kFollowRetry = std::chrono::seconds(30);
constexpr int kFollowTriesMax = 10;
constexpr auto kCrowdSettles = std::chrono::minutes(10);
constexpr auto kCalmMax = std::chrono::minutes(30);  // until all is sent and the set is small again

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

class FlashCrowd {
 public:
  explicit FlashCrowd(const FlashCrowdOptions& options)
      : options_(options), world_(options.seed, world_options(options)) {}

  FlashCrowdResult run() {
    prepare();
    begin_ = world_.loop.now();
    std::size_t next = 0;
    while (next < options_.arrivals.size()) {
      const double second = seconds(world_.loop.now() - begin_);
      for (; next < options_.arrivals.size() && options_.arrivals[next] < second + 1; ++next) {
        const Duration at(static_cast<Duration::rep>(options_.arrivals[next] * 1000));
        world_.loop.run_until(std::max(world_.loop.now(), begin_ + at));
        world_.publish(next % options_.nodes, {kCrowdedTag});
      }
      world_.loop.run_until(begin_ + Duration(static_cast<Duration::rep>((second + 1) * 1000)));
      sample();
      options_.on_progress(static_cast<double>(next) / static_cast<double>(options_.arrivals.size() + 1));
    }
    const Instant end = world_.loop.now() + kCalmMax;
    while (world_.loop.now() < end && !(world_.is_quiet() && world_.relays() <= 2)) {
      world_.loop.run_for(kSecond);
      sample();
    }
    judge();
    return std::move(result_);
  }

 private:
  static sim::WorldOptions world_options(const FlashCrowdOptions& options) {
    sim::WorldOptions world;
    world.vservers = static_cast<unsigned>(options.vservers);
    world.stabilise = std::chrono::seconds(5);
    world.deliveries_per_second = options.capacity;
    world.cooldown_seconds = options.cooldown_seconds;
    world.posts_an_hour = 1'000'000;
    return world;
  }

  void prepare() {
    for (std::size_t i = 0; i < options_.nodes; ++i) {
      world_.start_node(i);
      world_.loop.run_for(std::chrono::milliseconds(300));
    }
    TR_ASSERT(world_.run_until(kCrowdSettles, [this] { return world_.is_settled(); }));
    const std::size_t nodes = std::min({options_.subscribed_nodes, options_.subscribers, options_.nodes});
    for (std::size_t k = 0; k < nodes; ++k) {
      subscribed_.push_back(k * options_.nodes / nodes);
      const auto wanted = world_.await(
          world_.node(subscribed_.back()).subscriber().want({Tag::from_canonical(kCrowdedTag)}, "admin"),
          kCrowdSettles);
      TR_ASSERT(wanted && *wanted);
    }
    const std::set<std::size_t> owners = relay_nodes();
    for (std::size_t k = nodes; k < options_.subscribers; ++k) {
      const std::size_t endpoint = world_.add_endpoint();
      for (const std::size_t owner : owners) {
        follow(endpoint, owner);
      }
    }
    TR_ASSERT(world_.run_until(kCrowdSettles, [this] { return world_.is_quiet(); }));
    fetches_ = world_.fetches();
    for (const std::size_t i : world_.up()) announced_[i] = announced(i);
    messages_before_ = world_.messages;
  }

  // As any server does that is told to ask again later: a node fetches only so many keys a minute.
  void follow(std::size_t endpoint, std::size_t owner) {
    for (int tries = 0;; ++tries) {
      const auto taken = world_.await(world_.follow(endpoint, owner, kCrowdedTag), kCrowdSettles);
      if (taken && *taken) return;
      TR_ASSERT(tries < kFollowTriesMax);
      world_.loop.run_for(kFollowRetry);
    }
  }

  // The nodes that own the hashtag on the relay ring, at rest.
  std::set<std::size_t> relay_nodes() {
    std::set<std::size_t> owners;
    const RingId key = Tag::from_canonical(kCrowdedTag).key();
    for (const unsigned i : {0U, 1U}) {
      for (const std::size_t node : world_.up()) {
        if (world_.node(node).rings().of(Ring::kRelay).owning(replica_key(key, i, 2)) != nullptr)
          owners.insert(node);
      }
    }
    return owners;
  }

  std::uint64_t announced(std::size_t i) {
    return world_.node(i).status().at("announced").to_number<std::uint64_t>();
  }

  // At the end of every second.
  void sample() {
    for (const std::size_t i : world_.up()) {
      const std::uint64_t total = announced(i);
      const std::uint64_t sent = total - announced_[i];
      announced_[i] = total;
      result_.deliveries += sent;
      note_load(i, static_cast<double>(sent));
    }
    for (const auto& [instance, fetches] : world_.fetches()) {
      const std::uint64_t before = std::exchange(fetches_[instance], fetches);
      result_.fetch_peak = std::max(result_.fetch_peak, static_cast<double>(fetches - before));
    }
    result_.relays_end = world_.relays();
    result_.relays_max = std::max(result_.relays_max, result_.relays_end);
  }

  // How long a node has sent more than its capacity, over ten seconds each; and over a minute.
  void note_load(std::size_t i, double sent) {
    std::deque<double>& last = sent_[i];
    last.push_back(sent);
    if (last.size() > 60) last.pop_front();
    const auto mean = [&](std::size_t count) {
      double sum = 0;
      for (std::size_t k = last.size() - std::min(count, last.size()); k < last.size(); ++k) sum += last[k];
      return sum / static_cast<double>(count) / options_.capacity;
    };
    over_[i] = mean(10) > 1 ? over_[i] + 1 : 0;
    result_.over_capacity = std::max(result_.over_capacity, over_[i]);
    result_.busiest_minute = std::max(result_.busiest_minute, mean(60));
  }

  void judge() {
    std::vector<std::multiset<std::string>> feeds;
    for (const std::size_t i : subscribed_) feeds.push_back(world_.feed(i, kCrowdedTag));
    result_.posts = world_.posts().size();
    for (const sim::World::Post& post : world_.posts()) {
      if (!post.acknowledged) continue;
      ++result_.acknowledged;
      bool everywhere =
          std::ranges::all_of(feeds, [&](const auto& feed) { return feed.count(post.uri) == 1; });
      Instant last = post.published;
      for (const auto& [number, endpoint] : world_.endpoints()) {
        const std::optional<Instant> received = endpoint.received(post.uri);
        everywhere = everywhere && received;
        if (received) last = std::max(last, *received);
      }
      result_.lost += everywhere ? 0 : 1;
      result_.delay_max = std::max(result_.delay_max, seconds(last - post.published));
    }
    result_.messages = world_.messages - messages_before_;
    result_.trace = world_.loop.trace();
  }

  const FlashCrowdOptions& options_;
  sim::World world_;
  FlashCrowdResult result_;
  Instant begin_{};
  std::vector<std::size_t> subscribed_;
  std::map<std::size_t, std::uint64_t> fetches_;  // by instance, until this second
  std::map<std::size_t, std::uint64_t> announced_;
  std::map<std::size_t, std::deque<double>> sent_;  // by node, in the last seconds
  std::map<std::size_t, double> over_;
  std::uint64_t messages_before_ = 0;
};

}  // namespace

FlashCrowdResult run_flash_crowd(const FlashCrowdOptions& options) { return FlashCrowd(options).run(); }

}  // namespace tagring::runs
