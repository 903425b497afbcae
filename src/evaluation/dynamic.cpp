#include "evaluation/dynamic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balance/kchoices.hpp"
#include "base/assert.hpp"

namespace tagring::evaluation {
namespace {

constexpr unsigned kStepsOfHour = 6;
constexpr double kHoursOfYear = 24 * 365;
constexpr double kGibOfMbit = 1e6 / 8 / (1 << 30);

// A hashtag while it grows.
struct GrowingTag {
  std::uint64_t key = 0;
  double gib = 0;  // of its first partition, which has the most; without replicas
  unsigned copies = 0;
};

class Simulation {
 public:
  Simulation(const DynamicOptions& options, const Network& network, std::vector<GrowingTag> tags,
             double posted, Placement placement)
      : options_(options),
        network_(network),
        placement_(std::move(placement)),
        holdings_(network, options.setting.placing.replicas),
        rng_(options.seed),
        tags_(std::move(tags)),
        sites_of_(network.capacity.size()),
        next_decision_(network.capacity.size()),
        fits_last_(network.capacity.size()) {
    const double posts = std::accumulate(options.stream.of_hour.begin(), options.stream.of_hour.end(), 0.0);
    gib_of_post_ = posted / options.setting.placing.replicas / posts;
    const auto days = options.stream.of_hour.size() / 24 + 1;
    of_day_.resize(days);
    rest_of_day_.resize(days);
    total_of_day_.resize(days);
    for (std::size_t hour = 0; hour < options.stream.of_hour.size(); ++hour)
      total_of_day_[hour / 24] += options.stream.of_hour[hour];
    rest_of_day_ = total_of_day_;
    for (std::uint32_t tag = 0; tag < options.stream.tags.size(); ++tag) {
      for (const auto& [day, count] : options.stream.tags[tag].of_day) {
        if (day >= days) continue;
        of_day_[day].emplace_back(tag, count);
        rest_of_day_[day] = std::max(0.0, rest_of_day_[day] - count);
      }
    }
    for (double& next : next_decision_) next = rng_.uniform() * options.decide_every;
    for (const Outage& outage : options.outages) {
      events_.push_back({outage.down, outage.node, false});
      events_.push_back({outage.up, outage.node, true});
    }
    std::ranges::sort(events_, {}, [](const Event& e) { return std::pair(e.at, e.node); });
  }

  Dynamic run() {
    start();
    const std::size_t hours = options_.stream.of_hour.size();
    for (std::size_t hour = 0; hour < hours; ++hour) {
      options_.on_progress(static_cast<double>(hour) / static_cast<double>(hours));
      receive_posts(hour);
      for (unsigned step = 0; step < kStepsOfHour; ++step) {
        const double now = static_cast<double>(hour) + static_cast<double>(step) / kStepsOfHour;
        change_nodes(now);
        if (options_.balances) decide(now);
        holdings_.carry(options_.mbit_per_second * kGibOfMbit * 3600 / kStepsOfHour);
      }
      result_.hours.push_back(measure());
    }
    for (std::size_t cause = 0; cause < kCauses; ++cause)
      result_.moved_gib[cause] = holdings_.moved(static_cast<Cause>(cause));
    return std::move(result_);
  }

 private:
  struct Event {
    double at = 0;
    std::uint32_t node = 0;
    bool up = false;
  };

  // Who is down at the start has nothing yet.
  void start() {
    while (next_event_ < events_.size() && events_[next_event_].at <= 0) {
      const Event& event = events_[next_event_++];
      if (!event.up && knows(event.node)) {
        take_sites(event.node);
        holdings_.leave(event.node);
      }
    }
    std::uint32_t owner = placement_.next(static_cast<std::uint32_t>(network_.sites.size() - 1));
    for (auto gap = static_cast<std::uint32_t>(network_.sites.size()); gap-- > 0;) {
      if (placement_.is_active(gap)) owner = gap;
      holdings_.start_with(gap, network_.sites[owner].node);
    }
  }

  [[nodiscard]] bool knows(std::uint32_t node) const { return node < network_.capacity.size(); }

  // --- nodes ------------------------------------------------------------------------------------------

  std::vector<std::uint32_t> take_sites(std::uint32_t node) {
    std::vector<std::uint32_t> taken;
    for (const std::uint32_t site : network_.of_node[node]) {
      if (!placement_.is_active(site) || placement_.active() < 2) continue;
      placement_.deactivate(site);
      taken.push_back(site);
    }
    sites_of_[node] = taken;
    return taken;
  }

  void change_nodes(double now) {
    for (; next_event_ < events_.size() && events_[next_event_].at <= now; ++next_event_) {
      const Event& event = events_[next_event_];
      if (!knows(event.node) || holdings_.is_online(event.node) == event.up) continue;
      if (event.up) {
        holdings_.come(event.node);
        for (const std::uint32_t site : sites_of_[event.node]) activate(site, Cause::kChurn);
        holdings_.settle(event.node);
      } else {
        ++result_.outages;
        holdings_.leave(event.node);
        for (const std::uint32_t site : take_sites(event.node)) hand_over(site, Cause::kChurn);
      }
    }
  }

  void activate(std::uint32_t site, Cause cause) {
    if (placement_.is_active(site)) return;
    placement_.activate(site);
    hand_over(site, cause);
  }

  // All gaps from the active place before it up to this one belong to whose they are by the placement now.
  void hand_over(std::uint32_t site, Cause cause) {
    const auto count = static_cast<std::uint32_t>(network_.sites.size());
    const std::uint32_t owner = placement_.is_active(site) ? site : placement_.next(site);
    const std::uint32_t before = placement_.previous(site);
    for (std::uint32_t gap = site; gap != before; gap = (gap + count - 1) % count)
      holdings_.own(gap, network_.sites[owner].node, cause);
  }

  // --- posts ------------------------------------------------------------------------------------------

  void receive_posts(std::size_t hour) {
    const std::size_t day = hour / 24;
    if (total_of_day_[day] <= 0) return;
    const double share = options_.stream.of_hour[hour] / total_of_day_[day];
    for (const auto& [tag, count] : of_day_[day]) grow(&tags_[tag], count * share * gib_of_post_);
    // The others are of many hashtags with few posts each.
    for (double rest = rest_of_day_[day] * share; rest > 0; rest -= 1) {
      GrowingTag tag{rng_.next(), 0, options_.setting.placing.replicas};
      grow(&tag, std::min(rest, 1.0) * gib_of_post_);
    }
  }

  void grow(GrowingTag* tag, double gib) {
    split(tag, gib);
    tag->gib += gib * options_.setting.placing.replicas / tag->copies;
    const double part = gib * options_.setting.placing.replicas / tag->copies;
    for (unsigned copy = 0; copy < tag->copies; ++copy) {
      const std::uint32_t gap = gap_of(network_, position_of(tag->key, copy, tag->copies));
      placement_.add(gap, part);
      holdings_.add(gap, part);
    }
    result_.posted_gib += gib * options_.setting.placing.replicas;
  }

  // Partitions double as often as it takes, as the node does it (storage/storage_redundancy.hpp): posts that
  // are there stay, so each further doubling waits for half as much again.
  void split(GrowingTag* tag, double gib) {
    const Placing& placing = options_.setting.placing;
    if (placing.split_gib <= 0) return;
    while (tag->copies < kReplicasMax) {
      const double partitions = tag->copies / static_cast<double>(placing.replicas);
      if (tag->gib + gib / partitions <= placing.split_gib * (1 + std::log2(partitions) / 2)) return;
      tag->copies *= 2;
      ++result_.splits;
    }
  }

  // --- balancing --------------------------------------------------------------------------------------

  balance::Surroundings surroundings(std::uint32_t node, double now) const {
    balance::Surroundings around = look_around(placement_, node);
    const auto is_strained = [&](std::size_t who) { return now - fits_last_[who] >= options_.patience; };
    around.self.strained = is_strained(node);
    for (auto* places : {&around.active, &around.free}) {
      for (balance::Place& place : *places) place.successor.strained = is_strained(place.successor_node);
    }
    return around;
  }

  void decide(double now) {
    const double upper = options_.setting.balancing.parameters.upper;
    for (std::uint32_t node = 0; node < fits_last_.size(); ++node) {
      if (placement_.load(node) <= upper * network_.capacity[node]) fits_last_[node] = now;
    }
    for (std::uint32_t node = 0; node < next_decision_.size(); ++node) {
      if (next_decision_[node] > now) continue;
      next_decision_[node] = now + options_.decide_every * (0.5 + rng_.uniform());
      // One relocation at a time.
      if (!holdings_.is_online(node) || holdings_.is_moving(node)) continue;
      const balance::Move move =
          balance::best_move(options_.setting.balancing.parameters, surroundings(node, now), true);
      if (move.cost >= 0) continue;
      ++result_.moves;
      if (move.to) activate(static_cast<std::uint32_t>(*move.to), Cause::kBalancing);
      if (move.from) {
        placement_.deactivate(static_cast<std::uint32_t>(*move.from));
        hand_over(static_cast<std::uint32_t>(*move.from), Cause::kBalancing);
      }
    }
  }

  // --- measuring --------------------------------------------------------------------------------------

  Hour measure() const {
    Hour hour;
    const std::vector<double> stored = holdings_.stored();
    double capacity = 0;
    for (std::uint32_t node = 0; node < stored.size(); ++node) {
      if (!holdings_.is_online(node)) continue;
      ++hour.nodes_up;
      capacity += network_.capacity[node];
      const double owned_over = placement_.load(node) - network_.capacity[node];
      const double stored_over = stored[node] - network_.capacity[node];
      hour.owned_over += std::max(0.0, owned_over) / placement_.total();
      hour.stored_over += std::max(0.0, stored_over) / placement_.total();
      if (std::max(owned_over, stored_over) > kNothing) ++hour.nodes_over;
    }
    hour.fill = placement_.total() / capacity;
    return hour;
  }

  const DynamicOptions& options_;
  const Network& network_;
  Placement placement_;
  Holdings holdings_;
  Rng rng_;
  std::vector<GrowingTag> tags_;  // as those of the stream
  double gib_of_post_ = 0;        // one copy
  std::vector<std::vector<std::pair<std::uint32_t, double>>> of_day_;
  std::vector<double> rest_of_day_;
  std::vector<double> total_of_day_;
  std::vector<Event> events_;
  std::size_t next_event_ = 0;
  std::vector<std::vector<std::uint32_t>> sites_of_;  // of a node that is down: where it was
  std::vector<double> next_decision_;
  std::vector<double> fits_last_;  // when a node was last not overloaded
  Dynamic result_;
};

// Whose outages are by rank among some number of nodes: of fewer, each takes those of one rank.
std::vector<Outage> outages_of_nodes(const std::vector<Outage>& outages, std::size_t nodes) {
  std::size_t ranks = nodes;
  for (const Outage& outage : outages) ranks = std::max<std::size_t>(ranks, outage.node + 1);
  std::vector<Outage> taken;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (Outage outage : outages) {
      if (outage.node != node * ranks / nodes) continue;
      outage.node = node;
      taken.push_back(outage);
    }
  }
  return taken;
}

// The hashtags of the stream as they are at the start: those used before are the ones of that rank.
std::vector<GrowingTag> growing_tags(const DynamicOptions& options, double gib_of_post) {
  std::vector<Tag> known = make_tags(options.spectrum, options.setting.placing.seed);
  std::ranges::sort(known, std::ranges::greater(),
                    [](const Tag& tag) { return std::pair(tag.posts, tag.key); });
  Rng rng(options.seed + 1);
  std::vector<GrowingTag> tags;
  for (const TagStream& of_stream : options.stream.tags) {
    GrowingTag tag{rng.next(), 0, 0};
    if (of_stream.rank_before > 0 && of_stream.rank_before <= known.size()) {
      const Tag& before = known[of_stream.rank_before - 1];
      tag = {before.key, static_cast<double>(before.posts) * gib_of_post, 0};
    }
    tag.copies = copies_of(options.setting.placing, tag.gib);
    tag.gib *= static_cast<double>(options.setting.placing.replicas) / tag.copies;
    tags.push_back(tag);
  }
  return tags;
}

}  // namespace

unsigned Dynamic::longest_over(double ratio) const {
  unsigned longest = 0;
  unsigned now = 0;
  for (const Hour& hour : hours) {
    now = std::max(hour.owned_over, hour.stored_over) > ratio ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  return longest;
}

Setting dynamic_setting() {
  Setting setting = recommended_setting();
  setting.balancing.parameters.epsilon = 0.5;
  setting.balancing.parameters.relief = 0.6;
  return setting;
}

Dynamic run_network(const DynamicOptions& options) {
  TR_ASSERT(!options.nodes.empty() && !options.stream.of_hour.empty());
  DynamicOptions of_run = options;
  std::ranges::sort(of_run.nodes, {},
                    [](const NodeRow& node) { return std::pair(-node.weight, node.prefix); });
  of_run.outages = outages_of_nodes(options.outages, of_run.nodes.size());
  of_run.setting.placing.seed = of_run.setting.balancing.seed = options.seed;
  // At the end a year has passed, and all of its posts are there.
  Placing& placing = of_run.setting.placing;
  const double posted =
      placing.total_gib * std::min(1.0, static_cast<double>(options.stream.of_hour.size()) / kHoursOfYear);
  const double grown = placing.total_gib / (placing.total_gib - posted);
  placing.total_gib -= posted;
  placing.capacity_factor *= grown;
  const Network network = make_network(of_run.nodes, of_run.spectrum, placing);
  double posts = 0;
  for (const SpectrumRow& row : of_run.spectrum) posts += static_cast<double>(row.posts * row.tags);
  const double gib_of_post = placing.total_gib / placing.replicas / posts;
  Balanced balanced = balance_network(network, of_run.setting.balancing);
  return Simulation(of_run, network, growing_tags(of_run, gib_of_post), posted, std::move(balanced.placement))
      .run();
}

}  // namespace tagring::evaluation
