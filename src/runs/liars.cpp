#include "runs/liars.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "delivery/store.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"

namespace tagring::runs {
namespace {

constexpr Duration kSettle = std::chrono::minutes(10);
constexpr Duration kRound = std::chrono::seconds(20);  // in which each liar sends once
constexpr Duration kReconcile = std::chrono::minutes(2);
constexpr std::size_t kSubscribers = 3;  // of each hashtag
constexpr std::size_t kReaders = 8;      // of each hashtag's history
constexpr std::size_t kPage = 100;

struct Known {
  std::string author;
  WallTime published;
};
using Shown = std::multimap<std::string, Known>;  // by URI

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> tags;
  for (std::size_t n = 0; n < count; ++n) tags.push_back(fmt::format("topic{}", n));
  return tags;
}

std::set<std::size_t> draw_set(Rng& rng, std::vector<std::size_t> from, std::size_t count) {
  const std::vector<std::size_t> drawn = sim::draw(rng, std::move(from), count);
  return {drawn.begin(), drawn.end()};
}

std::vector<std::size_t> below(std::size_t end) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

class LiarRun {
 public:
  explicit LiarRun(const LiarRunOptions& options)
      : options_(options),
        rng_(Rng(options.seed).fork("liars")),
        tags_(names(options.hashtags)),
        late_(options.nodes - 1),
        // Who comes late is honest: it is to be lied to.
        lies_(
            options.seed,
            draw_set(rng_, below(late_),
                     static_cast<std::size_t>(options.malicious * static_cast<double>(options.nodes) + 0.5)),
            options.roles, tags_),
        world_(options.seed, world_options()) {}

  LiarRunResult run() {
    prepare();
    lies_.begin(world_, subscribers_, world_.add_bystander());
    const std::uint64_t asked = asked_of_bystander();
    const auto rounds = static_cast<std::size_t>(options_.attack / kRound);
    for (std::size_t n = 0; n < rounds; ++n) {
      attack(n, rounds);
      options_.on_progress(0.1 + 0.6 * static_cast<double>(n) / static_cast<double>(rounds));
    }
    result_.third_party_requests_per_minute =
        static_cast<double>(asked_of_bystander() - asked) /
        std::chrono::duration<double, std::ratio<60>>(options_.attack).count();
    rest();
    judge();
    return std::move(result_);
  }

 private:
  sim::WorldOptions world_options() {
    sim::WorldOptions world;
    world.stabilise = std::chrono::seconds(5);
    world.reconcile = kReconcile;
    lies_.shape(&world);
    return world;
  }

  void prepare() {
    for (std::size_t i = 0; i < late_; ++i) {
      world_.start_node(i);
      world_.loop.run_for(std::chrono::milliseconds(300));
    }
    TR_ASSERT(world_.run_until(kSettle, [this] { return world_.is_settled(); }));
    counted_ = {tags_.begin(), tags_.end()};
    for (const std::string& tag : tags_) {
      subscribers_[tag] = draw_set(rng_, honest(), kSubscribers);
      for (const std::size_t node : subscribers_[tag]) {
        const auto wanted =
            world_.await(world_.node(node).subscriber().want({Tag::from_canonical(tag)}, "admin"), kSettle);
        TR_ASSERT(wanted && *wanted);
      }
      for (int n = 0; n < 2; ++n) publish(tag);
    }
    world_.loop.run_for(std::chrono::minutes(2));
    options_.on_progress(0.1);
  }

  // People, faults and liars in one round.
  void attack(std::size_t n, std::size_t rounds) {
    for (std::size_t k = 0; k < std::max<std::size_t>(1, tags_.size() / 4); ++k) {
      publish(tags_[rng_.below(tags_.size())]);
      lies_.outrun(world_.posts().back());
    }
    const std::size_t post = rng_.below(world_.posts().size());
    if (world_.posts()[post].acknowledged && !world_.posts()[post].deletion_sent) world_.remove(post);
    if (n == rounds / 3) world_.start_node(late_);
    if (n % 3 == 0) down_ = crash();
    if (n % 3 == 1 && down_) world_.start_node(*std::exchange(down_, std::nullopt));
    world_.loop.run_for(std::chrono::seconds(1));  // those who start are there
    std::map<std::string, sim::Owners> owners = sim::owners_of(world_, tags_);
    for (const auto& [tag, all] : owners) {
      if (!has_honest(all.relays) || !has_honest(all.stores)) counted_.erase(tag);
    }
    lies_.tell(std::move(owners));
    world_.loop.run_for(kRound - std::chrono::seconds(1));
  }

  // Who stands for nobody else's first contact.
  std::optional<std::size_t> crash() {
    std::vector<std::size_t> up = world_.up();
    std::erase(up, 0);
    const std::size_t node = up.at(rng_.below(up.size()));
    world_.crash_node(node);
    return node;
  }

  // Nobody at all while nobody is found, as just after a crash.
  [[nodiscard]] bool has_honest(const std::set<std::size_t>& owners) const {
    return owners.empty() || std::ranges::any_of(owners, [this](std::size_t i) { return !lies_.is_liar(i); });
  }

  [[nodiscard]] std::vector<std::size_t> honest() const {
    std::vector<std::size_t> nodes = world_.up();
    std::erase_if(nodes, [this](std::size_t i) { return lies_.is_liar(i); });
    return nodes;
  }

  void publish(const std::string& tag) {
    std::vector<std::size_t> authors = honest();
    std::vector<std::string> tags = {tag};
    const std::string& other = tags_[rng_.below(tags_.size())];
    if (other != tag && rng_.chance(0.3)) tags.push_back(other);
    world_.publish(authors.at(rng_.below(authors.size())), std::move(tags));
  }

  std::uint64_t asked_of_bystander() {
    std::uint64_t sum = 0;
    for (const auto& [node, requests] : world_.asked_of_bystander())
      sum += lies_.is_liar(node) ? 0 : requests;
    return sum;
  }

  // The liars send no more; what they have and answer is still false.
  void rest() {
    if (down_) world_.start_node(*down_);
    for (int n = 0; n < 60 && !result_.rested; ++n) {
      world_.loop.run_for(std::chrono::seconds(10));
      result_.rested = world_.is_quiet();
    }
    options_.on_progress(0.8);
    world_.loop.run_for(3 * kReconcile);
    options_.on_progress(0.9);
  }

  void judge() {
    for (const std::string& tag : counted_) {
      for (const std::size_t node : subscribers_.at(tag)) {
        Shown shown;
        for (const delivery::TagEvent& event : world_.feed_events(node, tag))
          shown.emplace(event.uri, Known{event.author, event.published});
        compare(tag, fmt::format("the feed of node {}", node), shown);
      }
      for (const std::size_t node : draw_set(rng_, honest(), kReaders)) {
        Shown shown;
        for (const storage::HistoryEntry& entry :
             world_.history(node, tag, kPage).value_or(std::vector<storage::HistoryEntry>()))
          shown.emplace(entry.uri, Known{entry.author, entry.published});
        compare(tag, fmt::format("the history as node {} reads it", node), shown);
      }
    }
    for (const sim::World::Post& post : world_.posts()) {
      if (std::ranges::none_of(post.tags, [this](const std::string& tag) { return counted_.contains(tag); }))
        continue;
      if (post.acknowledged && !post.deletion_sent) ++result_.posts;
      if (post.deleted) ++result_.removed;
    }
    result_.liars = lies_.count();
    result_.hashtags_counted = counted_.size();
    result_.lies = lies_.told();
    result_.messages = world_.messages;
    result_.trace = world_.loop.trace();
  }

  void note(std::string_view what, const std::string& uri, const std::string& tag, const std::string& where) {
    if (result_.wrong.size() < LiarRunResult::kWrongMax)
      result_.wrong.push_back(fmt::format("{}: {} under #{} in {}", what, uri, tag, where));
  }

  void compare(const std::string& tag, const std::string& where, Shown shown) {
    ++result_.readers;
    for (const sim::World::Post& post : world_.posts()) {
      if (std::ranges::find(post.tags, tag) == post.tags.end()) continue;
      const auto [begin, end] = shown.equal_range(post.uri);
      const bool lives = post.acknowledged && !post.deletion_sent;
      if (lives) {
        ++result_.pairs;
        if (begin == end) {
          ++result_.lost;
          note("lost", post.uri, tag, where);
        }
        const std::string author = post.uri.substr(0, post.uri.rfind('/'));
        const bool as_it_is = std::all_of(begin, end, [&](const auto& one) {
          return one.second.author == author && one.second.published == post.dated;
        });
        if (!as_it_is) {
          ++result_.altered;
          note("altered", post.uri, tag, where);
        }
      }
      if (!post.deleted) shown.erase(begin, end);
    }
    std::set<std::string> false_ones;
    for (const auto& [uri, known] : shown) false_ones.insert(uri);
    result_.invented += false_ones.size();
    for (const std::string& uri : false_ones) note("invented", uri, tag, where);
  }

  const LiarRunOptions& options_;
  Rng rng_;
  std::vector<std::string> tags_;
  std::size_t late_;
  sim::Lies lies_;
  sim::World world_;
  LiarRunResult result_;
  std::map<std::string, std::set<std::size_t>> subscribers_;
  std::set<std::string> counted_;
  std::optional<std::size_t> down_;
};

}  // namespace

LiarRunResult run_liars(const LiarRunOptions& options) { return LiarRun(options).run(); }

}  // namespace tagring::runs
