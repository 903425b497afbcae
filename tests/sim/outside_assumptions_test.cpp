// What the proofs do not cover: many neighbours die at once, the network is in halves for an hour, clocks
// jump, disks are full, lost or replaced by an old backup, two networks meet. Nobody crashes (the simulator
// aborts if one does); no key has two owners who can hear each other, and in the end there is one ring; and
// what was acknowledged is everywhere, unless all who had it are gone.

#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

const std::vector<std::string> kTags = {"caturday", "dogs", "music", "haiku"};

void begin(World& world, std::size_t nodes, const std::vector<std::size_t>& subscribers) {
  for (std::size_t i = 0; i < nodes; ++i) {
    world.start_node(i);
    world.loop.run_for(std::chrono::milliseconds(300));
  }
  ASSERT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_settled(); }))
      << world.unsettled();
  for (const std::size_t i : subscribers) subscribe(world, i, kTags);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_quiet(); })) << world.unrest();
}

// `count` posts, about one each `pause`, at instances of `authors` by turns.
void publish(World& world, const std::vector<std::size_t>& authors, std::size_t count,
             Duration pause = std::chrono::seconds(1)) {
  for (std::size_t n = 0; n < count; ++n) {
    world.publish(authors[n % authors.size()], {kTags[n % kTags.size()], kTags[n / 3 % kTags.size()]});
    world.loop.run_for(pause);
  }
}

std::vector<std::size_t> range(std::size_t from, std::size_t to) {
  std::vector<std::size_t> all;
  for (std::size_t i = from; i < to; ++i) all.push_back(i);
  return all;
}

void expect_rest(World& world) {
  ASSERT_TRUE(world.run_until(std::chrono::minutes(30), [&] { return world.is_quiet(); })) << world.unrest();
  world.loop.run_for(std::chrono::minutes(2));  // renewals of subscriptions, comparisons, last hand-overs
  ASSERT_TRUE(world.run_until(std::chrono::minutes(30), [&] { return world.is_quiet(); })) << world.unrest();
}

void expect_history(World& world, const std::vector<std::string>& tags,
                    const std::vector<std::size_t>& readers) {
  for (const std::string& tag : tags) {
    for (const std::size_t i : readers) {
      const auto history = world.history(i, tag, 20);
      ASSERT_TRUE(history) << "#" << tag << " through node " << i;
      EXPECT_EQ(uris_of(*history), live_posts(world, tag)) << "#" << tag << " through node " << i;
    }
  }
}

void expect_feeds(World& world, const std::vector<std::size_t>& subscribers) {
  for (const std::size_t i : subscribers) {
    for (const std::string& tag : kTags)
      EXPECT_EQ(world.feed(i, tag), live_posts(world, tag)) << "#" << tag << " at node " << i;
  }
}

// The nodes that store a hashtag, as a node of the network sees it.
std::set<std::size_t> storage_owners(World& world, const std::string& tag) {
  constexpr unsigned kReplicas = 4;  // of WorldOptions
  std::set<std::size_t> owners;
  for (unsigned replica = 0; replica < kReplicas; ++replica) {
    const RingId key = replica_key(Tag::from_canonical(tag).key(), replica, kReplicas);
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kStorage).serving(key) != nullptr) owners.insert(i);
    }
  }
  return owners;
}

// The tags of which somebody outside of `lost` has the history.
std::vector<std::string> kept_without(World& world, const std::set<std::size_t>& lost) {
  std::vector<std::string> kept;
  for (const std::string& tag : kTags) {
    if (!std::ranges::includes(lost, storage_owners(world, tag))) kept.push_back(tag);
  }
  return kept;
}

// All in one prefix, so, by the paper's IDs, side by side on both rings: more than the longest list of
// successors.
TEST(OutsideAssumptions, A64Of120NodesDiesAtOnce) {
  constexpr std::size_t kOthers = 20;
  constexpr std::size_t kHoster = 120;
  WorldOptions options;
  options.vservers = 1;
  options.stabilise = std::chrono::seconds(5);
  options.first_of_hoster = kOthers;
  options.ids.scheme = ring::IdScheme::kPaper;
  World world(1, options);
  const std::vector<std::size_t> subscribers = {1, 7, 13};
  begin(world, kOthers + kHoster, subscribers);
  publish(world, range(0, kOthers), 20);
  const auto hoster = range(kOthers, kOthers + kHoster);
  const std::vector<std::string> kept = kept_without(world, {hoster.begin(), hoster.end()});
  EXPECT_GE(kept.size(), 3U);
  for (const std::size_t i : hoster) world.crash_node(i);
  publish(world, range(0, kOthers), 20);
  expect_rest(world);
  expect_feeds(world, subscribers);
  expect_history(world, kept, {0, 9, 19});
}

TEST(OutsideAssumptions, HalfTheNetworkIsCutOffForAnHour) {
  constexpr std::size_t kNodes = 12;
  World world(2, WorldOptions{});
  const std::vector<std::size_t> subscribers = {1, 4, 7, 10};
  begin(world, kNodes, subscribers);
  publish(world, range(0, kNodes), 12);
  std::map<std::size_t, int> parts;
  for (const std::size_t i : range(0, kNodes)) parts[i] = static_cast<int>(i % 2);
  world.partition(parts);
  const std::vector<std::size_t> even = {0, 2, 4, 6, 8, 10};
  const std::vector<std::size_t> odd = {1, 3, 5, 7, 9, 11};
  publish(world, range(0, kNodes), 60, std::chrono::seconds(60));
  EXPECT_EQ(world.unsettled(even), "");
  EXPECT_EQ(world.unsettled(odd), "");
  world.partition({});
  publish(world, range(0, kNodes), 12);
  expect_rest(world);
  expect_feeds(world, subscribers);
  expect_history(world, kTags, range(0, kNodes));
}

// Nobody is configured at the founder, and it is all that the others are configured to know. Alone, it founds
// a second network.
TEST(OutsideAssumptions, TheFounderStartsAgainWhileItIsCutOffFromAllOthersForHours) {
  constexpr std::size_t kNodes = 6;
  WorldOptions options;
  options.configured_nodes = 1;
  World world(12, options);
  const std::vector<std::size_t> subscribers = {0, 2, 4};
  begin(world, kNodes, subscribers);
  world.partition({{0, 1}});
  world.crash_node(0);
  world.start_node(0);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.unsettled({0}).empty(); }));
  publish(world, range(0, kNodes), 12, std::chrono::minutes(10));
  EXPECT_EQ(world.unsettled(range(1, kNodes)), "");
  world.partition({});
  EXPECT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }))
      << world.unsettled();
  publish(world, range(0, kNodes), kNodes);
  expect_rest(world);
  expect_feeds(world, subscribers);
  expect_history(world, kTags, range(0, kNodes));
}

// By an hour and by a day, to and fro, at owners, publishers and subscribers, some of which start so.
TEST(OutsideAssumptions, ClocksJump) {
  constexpr std::size_t kNodes = 12;
  WorldOptions options;
  options.reconcile = std::chrono::minutes(1);
  World world(3, options);
  const std::vector<std::size_t> subscribers = {1, 4, 7, 10};
  begin(world, kNodes, subscribers);
  const std::map<std::size_t, Duration> wrong = {
      {1, std::chrono::hours(1)},
      {2, -std::chrono::hours(1)},
      {5, std::chrono::hours(24)},
      // Three days would be too old for its feed when the clock is right again.
      {7, -std::chrono::hours(23)},
      {8, std::chrono::minutes(10)}};
  publish(world, range(0, kNodes), 12);
  for (const auto& [i, skew] : wrong) {
    world.set_clock(i, skew);
    publish(world, range(0, kNodes), 4);
  }
  for (const std::size_t i : {1, 2, 7}) {
    world.crash_node(i);
    world.start_node(i);
    publish(world, range(0, kNodes), 4);
  }
  world.loop.run_for(std::chrono::minutes(5));
  for (const auto& [i, skew] : wrong) {
    world.set_clock(i, Duration::zero());
    publish(world, range(0, kNodes), 4);
  }
  expect_rest(world);
  expect_feeds(world, subscribers);
  expect_history(world, kTags, range(0, kNodes));
}

TEST(OutsideAssumptions, DisksAreFull) {
  constexpr std::size_t kNodes = 12;
  World world(4, WorldOptions{});
  const std::vector<std::size_t> subscribers = {1, 4, 7, 10};
  begin(world, kNodes, subscribers);
  publish(world, range(0, kNodes), 24);
  const std::set<std::size_t> full = {1, 3, 4, 8};
  for (const std::size_t i : full) world.disk(i).set_capacity(world.disk(i).size());
  publish(world, range(0, kNodes),
          48);  // there is room for some of these where the log of the database began anew
  const std::size_t before = world.posts().size();
  publish(world, range(0, kNodes), 24);
  for (std::size_t post = before; post < world.posts().size(); ++post) {
    if (full.contains(world.posts()[post].origin)) {
      EXPECT_FALSE(world.posts()[post].acknowledged) << world.posts()[post].uri;
    }
  }
  world.loop.run_for(std::chrono::minutes(5));
  for (const std::size_t i : full) world.disk(i).set_capacity(std::uint64_t{1} << 30U);
  expect_rest(world);
  expect_feeds(world, subscribers);
  expect_history(world, kTags, range(0, kNodes));
}

// A subscriber whose disk fails ends what it follows at an owner that is none any more. Started again, when
// that one owns the hashtag again, it must not believe that it follows there.
TEST(OutsideAssumptions, ADiskFailsWhenOwnersChange) {
  constexpr std::size_t kNodes = 4;
  constexpr std::size_t kSubscriber = 1;
  WorldOptions options;
  options.relay_replicas = 1;
  World world(11, options);
  begin(world, kNodes, {kSubscriber});
  publish(world, range(0, kNodes), 8);
  world.disk(kSubscriber).set_failures(1, 1);
  for (std::size_t i = kNodes; i < kNodes + 4; ++i) world.start_node(i);
  world.loop.run_for(std::chrono::minutes(3));
  for (std::size_t i = kNodes; i < kNodes + 4; ++i) world.crash_node(i);
  world.crash_node(kSubscriber);
  world.disk(kSubscriber).set_failures(0, 0);
  world.start_node(kSubscriber);
  publish(world, range(0, kNodes), 24);
  expect_rest(world);
  expect_feeds(world, {kSubscriber});
}

// Three at once, of four copies of a history and two of a relay's followers.
TEST(OutsideAssumptions, DisksAreLost) {
  for (const std::uint64_t seed : drawn({5, 6, 7})) {
    constexpr std::size_t kNodes = 12;
    WorldOptions options;
    options.reconcile = std::chrono::minutes(1);
    World world(seed, options);
    const std::vector<std::size_t> subscribers = {1, 4, 10};
    begin(world, kNodes, subscribers);
    publish(world, range(0, kNodes), 40);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
    const std::set<std::size_t> lost = {0, 6, 9};
    const std::vector<std::string> kept = kept_without(world, lost);
    EXPECT_GE(kept.size(), 3U);
    for (const std::size_t i : lost) world.crash_node(i);
    for (const std::size_t i : lost) {
      world.disk(i).restore({});
      world.start_node(i);
    }
    publish(world, range(0, kNodes), 20);
    expect_rest(world);
    expect_feeds(world, subscribers);
    expect_history(world, kept, range(0, kNodes));
  }
}

// Posts were made, removed and subscribed since; what the backup owes is owed no more. A subscriber has lost
// its record of what it was sent since, and is not sent it again: its people have seen it.
TEST(OutsideAssumptions, DisksAreReplacedByAnOldBackup) {
  for (const std::uint64_t seed : drawn({8, 9, 10})) {
    constexpr std::size_t kNodes = 12;
    WorldOptions options;
    options.reconcile = std::chrono::minutes(1);
    World world(seed, options);
    const std::vector<std::size_t> subscribers = {1, 4, 10};
    begin(world, kNodes, subscribers);
    const std::vector<std::size_t> restored = {2, 4, 9};
    std::map<std::size_t, Disk::Image> backups;
    publish(world, range(0, kNodes), 24, std::chrono::milliseconds(100));
    for (const std::size_t i : restored) {
      world.crash_node(i);
      backups[i] = world.disk(i).image();
      world.start_node(i);
    }
    publish(world, range(0, kNodes), 24);
    subscribe(world, 7, kTags);
    for (const std::size_t post : {2, 9, 14, 27, 30}) world.remove(post);
    ASSERT_TRUE(world.run_until(std::chrono::minutes(10), [&] { return world.is_quiet(); }))
        << world.unrest();
    for (const std::size_t i : restored) {
      world.crash_node(i);
      world.disk(i).restore(backups.at(i));
      world.start_node(i);
    }
    const std::size_t before = world.posts().size();
    publish(world, range(0, kNodes), 24);
    expect_rest(world);
    expect_feeds(world, {1, 10});
    for (const std::string& tag : kTags) {
      const std::multiset<std::string> feed = world.feed(4, tag);
      for (std::size_t post = before; post < world.posts().size(); ++post) {
        const bool tagged =
            std::ranges::find(world.posts()[post].tags, tag) != world.posts()[post].tags.end();
        EXPECT_EQ(feed.count(world.posts()[post].uri), tagged ? 1U : 0U) << world.posts()[post].uri;
      }
    }
    expect_history(world, kTags, range(0, kNodes));
  }
}

TEST(OutsideAssumptions, TwoNetworksMeet) {
  constexpr std::size_t kNodes = 16;
  constexpr std::size_t kSecond = 9;
  WorldOptions options;
  options.first_of_second_network = kSecond;
  World world(11, options);
  std::map<std::size_t, int> parts;
  for (const std::size_t i : range(0, kNodes)) parts[i] = i < kSecond ? 0 : 1;
  world.partition(parts);
  for (const std::size_t i : range(0, kNodes)) world.start_node(i);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(10), [&] {
    return world.unsettled(range(0, kSecond)).empty() && world.unsettled(range(kSecond, kNodes)).empty();
  }));
  const std::vector<std::size_t> subscribers = {1, 5, 10, 14};
  for (const std::size_t i : subscribers) subscribe(world, i, kTags);
  publish(world, range(0, kNodes), 32);
  world.partition({});
  publish(world, range(0, kNodes), 16);
  expect_rest(world);
  // What one network had before is history for the other, not news.
  expect_history(world, kTags, range(0, kNodes));
  const std::multiset<std::string> after = live_posts(world, "caturday");
  for (const std::size_t i : subscribers) {
    const std::multiset<std::string> feed = world.feed(i, "caturday");
    EXPECT_TRUE(std::ranges::includes(after, feed)) << "at node " << i << ": something twice";
    for (std::size_t n = 0; n < world.posts().size(); ++n) {
      const World::Post& post = world.posts()[n];
      const bool here = n >= 32 || parts[post.origin] == parts[i];
      if (here && std::ranges::find(post.tags, "caturday") != post.tags.end())
        EXPECT_TRUE(feed.contains(post.uri)) << "at node " << i;
    }
  }
}

}  // namespace
}  // namespace tagring::sim
