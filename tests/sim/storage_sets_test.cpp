// Sets of storage owners that grow and shrink with what a hashtag's history weighs, with whole nodes: history
// is complete and in order through every node before, during and after, and what is removed stays so.

#include <cstdlib>
#include <map>

#include "audit/evidence.hpp"
#include "redundancy/storage_place.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kTag = "caturday";

struct Numbers {
  std::uint64_t version = 0;
  unsigned replicas = 0;
  unsigned reach = 0;
};

// The last that a node knows of.
Numbers numbers_at(World& world, std::size_t i) {
  const json::array sets = world.node(i).status().at("storage_sets").get_array();
  if (sets.empty()) return {};
  const json::value& set = sets.front();
  return {set.at("version").to_number<std::uint64_t>(), set.at("replicas").to_number<unsigned>(),
          set.at("reach").to_number<unsigned>()};
}

// The last that any node knows of.
Numbers numbers(World& world) {
  Numbers last;
  for (const std::size_t i : world.up()) {
    const Numbers found = numbers_at(world, i);
    if (found.version > last.version) last = found;
  }
  return last;
}

// A reader sees all of `must` and nothing of `must_not`. Posts that are on their way, or being removed, may
// be there or not.
void expect_history(World& world, std::size_t reader, const std::set<std::string>& must,
                    const std::set<std::string>& must_not) {
  const auto history = world.history(reader, kTag, 40);
  ASSERT_TRUE(history) << "node " << reader << " cannot read the history";
  EXPECT_TRUE(std::ranges::is_sorted(*history, storage::newer));
  for (const storage::HistoryEntry& entry : *history) EXPECT_EQ(entry.partition.tag.canonical(), kTag);
  const std::multiset<std::string> seen = uris_of(*history);
  for (const std::string& uri : must) EXPECT_EQ(seen.count(uri), 1U) << uri << " through node " << reader;
  for (const std::string& uri : must_not) EXPECT_EQ(seen.count(uri), 0U) << uri << " through node " << reader;
}

// How many of the hashtag's posts a node shows in a partition, tombstones included.
std::size_t held(World& world, std::size_t node, unsigned part) {
  const auto page =
      world.await(world.history_store(node).page(redundancy::Partition{Tag::from_canonical(kTag), part},
                                                 std::nullopt, 10'000),
                  std::chrono::seconds(10));
  return page && *page ? (*page)->entries.size() : 0;
}

// In all partitions, of each node.
std::vector<std::size_t> held(World& world) {
  std::vector<std::size_t> counts;
  for (const std::size_t i : world.up()) {
    std::size_t& count = counts.emplace_back();
    for (const unsigned part : redundancy::partitions_of_set(4, 256)) count += held(world, i, part);
  }
  return counts;
}

// In all partitions but that of the whole hashtag, at nodes that know of the last change. Others were no
// owners any more when it was made, and keep what they had, as of any key.
std::size_t entries_of_parts(World& world) {
  const std::uint64_t version = numbers(world).version;
  std::size_t count = 0;
  for (const std::size_t i : world.up()) {
    if (numbers_at(world, i).version < version) continue;
    for (const unsigned part : redundancy::partitions_of_set(4, 256))
      count += part == 0 ? 0 : held(world, i, part);
  }
  return count;
}

// The nodes and partitions where a post stands. It may be in two partitions: an Add that is repeated after a
// doubling.
std::set<std::pair<std::size_t, unsigned>> places_of(World& world, const std::string& uri) {
  std::set<std::pair<std::size_t, unsigned>> places;
  for (const std::size_t i : world.up()) {
    for (const unsigned part : redundancy::partitions_of_set(4, 256)) {
      const auto found = world.await(
          world.history_store(i).find({{redundancy::Partition{Tag::from_canonical(kTag), part}, uri}}),
          std::chrono::seconds(10));
      EXPECT_TRUE(found && *found);
      if (found && *found && (*found)->front()) places.emplace(i, part);
    }
  }
  return places;
}

class Grown {
 public:
  struct Options {
    std::size_t nodes = 24;
    unsigned at_rest = 4;
    double loss = 0;
    bool crashes = false;
    Drops drops = nullptr;  // as storage owner
    std::function<std::optional<HttpResponse>(std::size_t, const HttpRequest&)> lie = nullptr;
  };

  Grown(std::uint64_t seed, Options options) : options_(options), rng_(seed * 31 + 7) {
    WorldOptions world;
    world.vservers = 1;
    world.storage_replicas = options.at_rest;
    world.posts_an_hour = 1'000'000;
    world.stabilise = std::chrono::seconds(5);
    world.storage_cooldown_seconds = 60;
    world.reconcile = std::chrono::minutes(5);
    world.storage_capacity = [this](std::size_t) { return capacity_; };
    world.drops_stored = options.drops;
    world.lie = options.lie;
    if (std::getenv("TAGRING_LOG") != nullptr) world.log = to_stderr;
    world_.emplace(seed, world);
    for (std::size_t i = 0; i < options.nodes; ++i) world_->start_node(i);
    EXPECT_TRUE(world_->run_until(std::chrono::minutes(5), [&] { return world_->is_settled(); }));
  }

  World& world() { return *world_; }

  // While nothing goes wrong, posts are with their owners after half a minute.
  void note_old() {
    for (const World::Post& post : world_->posts()) {
      const bool is_old = world_->loop.now() - post.published > std::chrono::seconds(30);
      if (post.deletion_sent) must_.erase(post.uri);
      if (is_old && post.acknowledged && !post.deletion_sent) must_.insert(post.uri);
    }
  }
  // Of posts that were acknowledged long ago, and removed long ago.
  void check(std::size_t reader) { expect_history(*world_, reader, must_, must_not_); }

  // Publishes for so long, removes now and then, and reads through some node all the time.
  void publish(int seconds) {
    world_->faults.loss = options_.loss;
    std::optional<std::size_t> down;
    for (int second = 0; second < seconds; ++second) {
      for (int n = 0; n < 2; ++n) {
        world_->publish(rng_.below(options_.nodes), {kTag});
        world_->loop.run_for(std::chrono::milliseconds(500));
      }
      if (second % 10 == 9) world_->remove(rng_.below(world_->posts().size()));
      if (options_.crashes && second % 20 == 6 && !down) {
        const std::size_t i = rng_.below(options_.nodes);
        world_->crash_node(i);
        down = i;
      }
      if (down && second % 20 == 16) {
        world_->start_node(*down);
        down.reset();
      }
      if (options_.loss > 0 || options_.crashes || second % 15 != 14) continue;
      note_old();
      check(rng_.below(options_.nodes));
    }
    world_->faults = ring_sim::NetworkFaults{};
    if (down) world_->start_node(*down);
    settle();
  }

  // Until everything is where it belongs; then all of it must be seen by everybody.
  void settle() {
    EXPECT_TRUE(world_->run_until(std::chrono::minutes(30), [&] { return world_->is_quiet(); }))
        << world_->unrest();
    for (const World::Post& post : world_->posts()) {
      const bool is_gone = post.deleted || hidden_.contains(post.uri);
      if (is_gone) must_.erase(post.uri);
      (is_gone ? must_not_ : must_).insert(post.uri);
    }
    for (std::size_t reader = 0; reader < options_.nodes; reader += 5) check(reader);
  }

  // By the administrators of all nodes that have it. How many these are.
  std::size_t take_down(const std::string& uri) {
    std::size_t count = 0;
    HttpRequest request;
    request.method = "POST";
    request.target = "/takedown";
    request.body = json::serialize(json::object{{"tag", kTag}, {"uri", uri}, {"reason", "a court said so"}});
    for (std::size_t i = 0; i < options_.nodes; ++i) {
      const auto answer = world_->await(world_->node(i).control(request), std::chrono::seconds(30));
      count += answer && answer->status == 200 ? 1 : 0;
    }
    hidden_.insert(uri);
    return count;
  }

  struct Findings {
    std::map<std::string, std::size_t> kinds;
    std::set<std::string> named;            // owners
    std::vector<audit::Evidence> evidence;  // that holds
    std::size_t owners = 0;                 // that were asked
    std::size_t live = 0;
    std::set<std::string> errors;
  };
  Findings audit(std::size_t auditor) {
    HttpRequest request;
    request.target = std::string("/audit?tag=") + kTag;
    const auto answer =
        world_->await(world_->node(auditor).control(std::move(request)), std::chrono::minutes(5));
    const auto report = answer ? json::parse_object(answer->body) : fail(ErrorCode::kTimedOut, "no answer");
    Findings found;
    EXPECT_TRUE(report);
    if (!report) return found;
    json::for_each(json::find(*report, "owners"), [&](const json::value& line) {
      ++found.owners;
      found.live += static_cast<std::size_t>(json::get_int(line.get_object(), "live").value_or(0));
      const auto error = json::get_string(line.get_object(), "error");
      if (error) found.errors.insert(*error);
    });
    json::for_each(json::find(*report, "findings"), [&](const json::value& element) {
      const json::object& finding = element.get_object();
      ++found.kinds[json::get_string(finding, "kind").value_or("")];
      found.named.insert(json::get_string(finding, "owner").value_or(""));
      const json::object* object = json::get_object(finding, "evidence");
      const auto evidence =
          object == nullptr ? fail(ErrorCode::kNotFound, "") : audit::evidence_from_json(*object);
      if (evidence && audit::check(*evidence)) found.evidence.push_back(*evidence);
    });
    return found;
  }

  // All nodes are given more room, one after the other.
  void give_room() {
    capacity_ = std::uint64_t{1} << 30U;
    for (std::size_t i = 0; i < options_.nodes; ++i) {
      world_->crash_node(i);
      world_->start_node(i);
      world_->loop.run_for(std::chrono::seconds(5));
      EXPECT_TRUE(world_->run_until(std::chrono::minutes(5), [&] { return world_->is_settled(); }));
      if (i % 6 == 5) check((i + 3) % options_.nodes);
    }
  }

 private:
  Options options_;
  std::uint64_t capacity_ = 36'000;  // a tenth of it: 60 posts
  Rng rng_;
  std::optional<World> world_;
  std::set<std::string> must_;
  std::set<std::string> must_not_;
  std::set<std::string> hidden_;  // taken down
};

unsigned part_now(World& world, const std::string& uri) {
  return redundancy::partition_of_post(uri, 4, numbers(world).replicas);
}

TEST(StorageSets, DoubleWhenAHashtagOutgrowsItsOwnersAndHistoryStaysWhole) {
  Grown grown(1, {});
  grown.publish(150);
  const Numbers now = numbers(grown.world());
  EXPECT_GE(now.replicas, 8U);
  EXPECT_EQ(now.reach, now.replicas);
  const std::vector<std::size_t> counts = held(grown.world());
  EXPECT_GT(std::ranges::count_if(counts, [](std::size_t count) { return count > 0; }), 4);
  EXPECT_LT(std::ranges::max(counts), grown.world().posts().size()) << "nobody has all of it any more";
}

TEST(StorageSets, ACursorStaysGoodWhileTheHashtagIsDivided) {
  Grown grown(8, {});
  World& world = grown.world();
  grown.publish(25);
  ASSERT_EQ(numbers(world).replicas, 0U);  // nobody keeps another set than at rest
  const std::size_t before = world.posts().size();
  std::vector<storage::HistoryEntry> read;
  std::optional<storage::HistoryCursor> cursor;
  for (std::size_t page = 0;; ++page) {
    const auto answer =
        world.await(world.node(page % 24).history().query(Tag::from_canonical(kTag), cursor, 4),
                    std::chrono::seconds(30));
    ASSERT_TRUE(answer && *answer);
    read.insert(read.end(), (*answer)->entries.begin(), (*answer)->entries.end());
    if (!(*answer)->more) break;
    cursor = (*answer)->next;
    for (int n = 0; n < 20; ++n) {
      world.publish(static_cast<std::size_t>(n), {kTag});
      world.loop.run_for(std::chrono::milliseconds(500));
    }
  }
  EXPECT_GE(numbers(world).replicas, 8U);
  EXPECT_TRUE(std::ranges::is_sorted(read, storage::newer));
  std::multiset<std::string> expected;
  for (std::size_t i = 0; i < before; ++i) {
    if (!world.posts()[i].deleted) expected.insert(world.posts()[i].uri);
  }
  EXPECT_EQ(uris_of(read), expected);
}

// A neighbour that lies may have given it to one of them (or a disk of yesterday has). Of the others one may
// say nothing of it.
void expect_a_set_is_forgotten(bool is_one_silent) {
  std::size_t silent = SIZE_MAX;
  std::size_t unanswered = 0;
  Grown::Options options;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (node != silent || path_of(request.target) != "/tagring/v1/stores") return std::nullopt;
    ++unanswered;
    HttpResponse response;
    response.status = 503;
    response.body = R"({"error":"unavailable"})";
    return response;
  };
  Grown grown(10, options);
  World& world = grown.world();
  grown.publish(5);
  ASSERT_EQ(numbers(world).replicas, 0U);
  const Tag tag = Tag::from_canonical(kTag);
  std::vector<std::size_t> owners;
  for (unsigned copy = 1; copy < 4; ++copy) {
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kStorage).owning(replica_key(tag.key(), copy, 4)) != nullptr &&
          world.node(i).rings().of(Ring::kStorage).owning(tag.key()) == nullptr)
        owners.push_back(i);
    }
  }
  ASSERT_FALSE(owners.empty());
  const std::size_t fooled = owners.front();
  if (is_one_silent) silent = owners.back();
  ASSERT_NE(silent, fooled);
  const auto saved =
      world.await(world.history_store(fooled).save_set({tag, 1'000, 256, 256, {}}), std::chrono::seconds(10));
  ASSERT_TRUE(saved && *saved);
  world.crash_node(fooled);
  world.start_node(fooled);
  world.loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(numbers_at(world, fooled).replicas, 256U);
  world.loop.run_for(std::chrono::minutes(15));
  EXPECT_EQ(numbers_at(world, fooled).replicas, 0U);
  expect_history(world, fooled, {}, {});
  EXPECT_EQ(held(world, fooled, 0), world.posts().size());
  EXPECT_EQ(unanswered > 0, is_one_silent);
}

TEST(StorageSets, OneThatMostOwnersAtRestKnowNothingOfIsForgotten) { expect_a_set_is_forgotten(false); }

TEST(StorageSets, OneThatMostOwnersAtRestKnowNothingOfIsForgottenThoughAnotherIsSilent) {
  expect_a_set_is_forgotten(true);
}

// They refuse it: as far as they see, the ring has not so many places.
TEST(StorageSets, OneThatOwnersAtRestDoNotTakeIsHalvedUntilTheyDo) {
  Grown grown(15, {});
  World& world = grown.world();
  const Tag tag = Tag::from_canonical(kTag);
  std::size_t coordinator = 0;
  for (const std::size_t i : world.up()) {
    if (world.node(i).rings().of(Ring::kStorage).owning(tag.key()) != nullptr) coordinator = i;
  }
  const auto saved = world.await(world.history_store(coordinator).save_set({tag, 1, 256, 256, {}}),
                                 std::chrono::seconds(10));
  ASSERT_TRUE(saved && *saved);
  world.crash_node(coordinator);
  world.start_node(coordinator);
  world.loop.run_for(std::chrono::minutes(1));
  grown.publish(20);
  EXPECT_EQ(numbers_at(world, coordinator).replicas, 256U);
  world.loop.run_for(std::chrono::minutes(40));
  const auto kept = numbers(world);
  EXPECT_GT(kept.version, 1U);
  EXPECT_LT(kept.replicas, 256U);
  for (unsigned copy = 0; copy < 4; ++copy) {
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kStorage).owning(replica_key(tag.key(), copy, 4)) != nullptr) {
        EXPECT_EQ(numbers_at(world, i).version, kept.version) << "node " << i;
      }
    }
  }
  grown.check(world.up().back());
}

// The others would refuse it from the coordinator.
TEST(StorageSets, OneForWhichTheRingHasNoRoomIsNotTakenFromAnOwnerThatIsTold) {
  std::size_t liar = SIZE_MAX;
  std::size_t told = 0;
  Grown::Options options;
  options.nodes = 16;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (node != liar || request.method != "POST" || request.target != "/tagring/v1/stores")
      return std::nullopt;
    ++told;
    HttpResponse response;
    response.headers.add("Content-Type", "application/json");
    response.body = json::serialize(
        redundancy::to_json(redundancy::StorageSet{Tag::from_canonical(kTag), 2, 256, 256, {}}));
    return response;
  };
  Grown grown(17, options);
  World& world = grown.world();
  const Tag tag = Tag::from_canonical(kTag);
  const auto owner = [&](unsigned copy) {
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kStorage).owning(replica_key(tag.key(), copy, 4)) != nullptr)
        return i;
    }
    return SIZE_MAX;
  };
  const std::size_t coordinator = owner(0);
  liar = owner(1);
  ASSERT_NE(liar, coordinator);
  const auto saved =
      world.await(world.history_store(coordinator).save_set({tag, 1, 8, 8, {}}), std::chrono::seconds(10));
  ASSERT_TRUE(saved && *saved);
  world.crash_node(coordinator);
  world.start_node(coordinator);
  world.loop.run_for(std::chrono::minutes(2));
  EXPECT_GT(told, 0U);
  EXPECT_EQ(numbers(world).replicas, 8U);
}

// A neighbour that lies has given it to a new coordinator: no change that owners make reaches its version.
TEST(StorageSets, OneThatOwnersAtRestDoNotTakeFromTheirCoordinatorIsForgotten) {
  Grown grown(16, {});
  World& world = grown.world();
  const Tag tag = Tag::from_canonical(kTag);
  std::vector<std::size_t> owners;  // the coordinator last
  for (const unsigned copy : {1U, 2U, 3U, 0U}) {
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kStorage).owning(replica_key(tag.key(), copy, 4)) != nullptr)
        owners.push_back(i);
    }
  }
  ASSERT_EQ(std::set(owners.begin(), owners.end()).size(), 4U);
  const std::size_t coordinator = owners.back();
  constexpr std::uint64_t kMadeUp = 1'000'000;
  for (const std::size_t i : owners) {
    const redundancy::StorageSet set{tag, i == coordinator ? kMadeUp : 1, 8, 8, world.loop.wall_now()};
    const auto saved = world.await(world.history_store(i).save_set(set), std::chrono::seconds(10));
    ASSERT_TRUE(saved && *saved);
    world.crash_node(i);
    world.start_node(i);
    world.loop.run_for(std::chrono::seconds(5));
    ASSERT_TRUE(world.run_until(std::chrono::minutes(2), [&] { return world.is_settled(); }));
  }
  EXPECT_EQ(numbers_at(world, coordinator).version, kMadeUp);
  // What the others kept counts, and then changes as any set does.
  const bool is_merged = world.run_until(std::chrono::hours(1), [&] {
    return std::ranges::all_of(owners, [&](std::size_t i) {
      const Numbers now = numbers_at(world, i);
      return now.version > 1 && now.version < kMadeUp && now.replicas == 4 && now.reach == 4;
    });
  });
  EXPECT_TRUE(is_merged) << numbers_at(world, coordinator).version;
}

// Its coordinator lies, or could not reach the others.
TEST(StorageSets, OneThatOnlyOwnersAtRestHaveHeardOfStopsNoPost) {
  Grown grown(12, {});
  World& world = grown.world();
  const Tag tag = Tag::from_canonical(kTag);
  const auto owner = [&](unsigned copy) {
    for (const std::size_t i : world.up()) {
      if (world.node(i).rings().of(Ring::kStorage).owning(replica_key(tag.key(), copy, 4)) != nullptr)
        return i;
    }
    return SIZE_MAX;
  };
  const std::size_t coordinator = owner(0);
  json::object body = redundancy::to_json(redundancy::StorageSet{tag, 1, 16, 16, world.loop.wall_now()});
  body["action"] = "set";
  const std::set<std::size_t> told = {owner(1), owner(2), owner(3)};
  ASSERT_FALSE(told.contains(coordinator));
  for (const std::size_t to : told)
    world.forge_later(coordinator, to, "/tagring/v1/stores", json::serialize(body));
  world.loop.run_for(std::chrono::seconds(10));
  for (const std::size_t to : told) EXPECT_EQ(numbers_at(world, to).replicas, 16U);
  grown.publish(20);
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  grown.check(coordinator);
}

TEST(StorageSets, AnOwnerWithoutPostsDividesNothing) {
  Grown grown(13, {});
  World& world = grown.world();
  const RingId place = replica_key(Tag::from_canonical(kTag).key(), 1, 4);
  const json::object body = {{"action", "double"}, {"tag", kTag}, {"slot", 0}, {"copy", 1}, {"octets", 0}};
  for (const std::size_t from : world.up()) {
    if (world.node(from).rings().of(Ring::kStorage).owning(place) == nullptr) continue;
    for (const std::size_t to : world.up()) {
      if (to != from) world.forge_later(from, to, "/tagring/v1/stores", json::serialize(body));
    }
  }
  world.loop.run_for(std::chrono::minutes(1));
  EXPECT_EQ(numbers(world).version, 0U);
}

TEST(StorageSets, AnAuditAsksTheOwnersOfThePartAndAccusesNobodyElse) {
  std::size_t dropper = SIZE_MAX;
  Grown::Options options;
  options.drops = [&](std::size_t node, const std::string&) { return node == dropper; };
  Grown grown(9, options);
  World& world = grown.world();
  grown.publish(100);
  ASSERT_GE(numbers(world).replicas, 8U);
  world.loop.run_for(std::chrono::minutes(11));  // a relay has that long
  const Grown::Findings honest = grown.audit(3);
  EXPECT_EQ(honest.kinds, (std::map<std::string, std::size_t>()));
  EXPECT_EQ(honest.errors, std::set<std::string>());
  EXPECT_GE(honest.owners, 6U);
  EXPECT_GT(honest.live, 2 * world.posts().size());
  // From now on an owner of the part that was split off drops what it takes.
  const unsigned part = redundancy::partitions_of_set(4, numbers(world).replicas).back();
  const RingId key = replica_key(redundancy::Partition(Tag::from_canonical(kTag), part).key(), 1, 4);
  for (const std::size_t i : world.up()) {
    if (world.node(i).rings().of(Ring::kStorage).owning(key) != nullptr) dropper = i;
  }
  ASSERT_NE(dropper, SIZE_MAX);
  grown.publish(20);
  const Grown::Findings found = grown.audit((dropper + 1) % 24);
  EXPECT_GT(found.evidence.size(), 2U);
  EXPECT_EQ(found.kinds, (std::map<std::string, std::size_t>{{"omitted", found.evidence.size()}}));
  EXPECT_EQ(found.named, std::set{"https://tags.n" + std::to_string(dropper) + ".example"});
  EXPECT_TRUE(std::ranges::any_of(found.evidence, [&](const audit::Evidence& evidence) {
    return evidence.head.partition.number == part && evidence.receipt.item.partition.number == part;
  }));
}

TEST(StorageSets, AnOwnerOfOnePartRemovesNothingOfAnother) {
  std::size_t liar = SIZE_MAX;
  std::vector<storage::HistoryEntry> known;
  std::size_t told = 0;
  Grown::Options options;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    const std::string_view path = path_of(request.target);
    if (node != liar || path != storage::HistoryService::kPath) return std::nullopt;
    if (query_value(query_of(request.target), "slot") == "0") return std::nullopt;
    ++told;
    HttpResponse response;
    response.headers.add("Content-Type", "application/json");
    response.body =
        json::serialize(json::object{{"entries", storage::to_json(known, false)}, {"more", false}});
    return response;
  };
  Grown grown(9, options);
  World& world = grown.world();
  grown.publish(100);
  ASSERT_GE(numbers(world).replicas, 8U);
  std::vector<storage::HistoryEntry> truth = *world.history(0, kTag, 40);
  truth.erase(truth.begin() + 40, truth.end());
  std::vector<storage::HistoryEntry> removed = truth;
  for (storage::HistoryEntry& entry : removed) entry.removed = true;
  const unsigned part = redundancy::partitions_of_set(4, numbers(world).replicas).back();
  // By somebody else, says their server: of two posts each reader hears that before it doubts who named them.
  std::vector<storage::HistoryEntry> misnamed = truth;
  std::erase_if(misnamed, [&](const storage::HistoryEntry& entry) {
    return std::ranges::binary_search(redundancy::partitions_of_post(entry.uri, 4, 4, 256), part);
  });
  ASSERT_GE(misnamed.size(), 2U);
  misnamed.erase(misnamed.begin() + 2, misnamed.end());
  for (storage::HistoryEntry& entry : misnamed) entry.author += "0";
  for (unsigned copy = 0; copy < 4; ++copy) {
    const RingId key = replica_key(redundancy::Partition(Tag::from_canonical(kTag), part).key(), copy, 4);
    for (const std::size_t i : world.up())
      if (world.node(i).rings().of(Ring::kStorage).owning(key) != nullptr) liar = i;
    std::size_t reader = liar;
    for (const auto& lies : {misnamed, removed}) {
      reader = (reader + 1) % world.up().size();
      known = lies;
      const auto page = world.await_on(
          reader, world.node(reader).history().query(Tag::from_canonical(kTag), std::nullopt, 40),
          std::chrono::seconds(30));
      ASSERT_TRUE(page && *page);
      EXPECT_EQ(uris_of((*page)->entries), uris_of(truth)) << "node " << liar << " lies";
      EXPECT_TRUE(std::ranges::equal((*page)->entries, truth, {}, &storage::HistoryEntry::author,
                                     &storage::HistoryEntry::author));
    }
  }
  EXPECT_GE(told, 8U);
}

TEST(StorageSets, ARemovalAfterADoublingReachesPostsFromBefore) {
  Grown grown(2, {});
  grown.publish(100);
  ASSERT_GE(numbers(grown.world()).replicas, 8U);
  for (std::size_t post = 0; post < 40; post += 2) grown.world().remove(post);
  grown.settle();
  // At every owner that has the post, not only at one whom readers believe.
  for (std::size_t i = 0; i < 24; ++i) {
    for (const unsigned part : redundancy::partitions_of_set(4, 256)) {
      const auto page = grown.world().await(
          grown.world().history_store(i).page(redundancy::Partition{Tag::from_canonical(kTag), part},
                                              std::nullopt, 10'000),
          std::chrono::seconds(10));
      ASSERT_TRUE(page && *page);
      for (const storage::HistoryEntry& entry : (*page)->entries) {
        const auto post = std::ranges::find(grown.world().posts(), entry.uri, &World::Post::uri);
        if (post->deleted)
          EXPECT_TRUE(entry.removed) << entry.uri << " at node " << i << ", partition " << part;
      }
    }
  }
}

TEST(StorageSets, LoseNothingWhenMachinesCrashAndMessagesGetLostWhileTheyDouble) {
  Grown::Options options;
  options.loss = 0.01;
  options.crashes = true;
  Grown grown(3, options);
  grown.publish(150);
  EXPECT_GE(numbers(grown.world()).replicas, 8U);
}

TEST(StorageSets, HalveWhenThereIsRoomAgainAndMergeWhatWasApart) {
  Grown grown(4, {});
  grown.publish(150);
  ASSERT_GE(numbers(grown.world()).replicas, 8U);
  // One from before, and the last one of another part.
  const auto& posts = grown.world().posts();
  const auto early = std::ranges::find_if(posts, [](const World::Post& post) { return !post.deletion_sent; });
  const auto late = std::ranges::find_if(posts.rbegin(), posts.rend(), [&](const World::Post& post) {
    return !post.deletion_sent && part_now(grown.world(), post.uri) != 0;
  });
  std::map<std::string, std::set<std::size_t>> nodes;  // by post, who took it down
  for (const std::string& uri : {early->uri, late->uri}) {
    for (const auto& [node, part] : places_of(grown.world(), uri)) nodes[uri].insert(node);
    EXPECT_EQ(grown.take_down(uri), nodes[uri].size());
  }
  grown.settle();
  std::size_t taken_down = 0;  // also in parts that such a node has been given since
  for (const auto& [uri, takers] : nodes) {
    for (const auto& [node, part] : places_of(grown.world(), uri)) taken_down += takers.count(node);
  }
  EXPECT_GE(taken_down, 6U);
  EXPECT_EQ(grown.audit(0).kinds, (std::map<std::string, std::size_t>{{"taken_down", taken_down}}));
  EXPECT_GT(entries_of_parts(grown.world()), 100U);
  grown.give_room();
  const bool at_rest = grown.world().run_until(std::chrono::minutes(30), [&] {
    const Numbers now = numbers(grown.world());
    return now.replicas == 4 && now.reach == 4;
  });
  EXPECT_TRUE(at_rest) << numbers(grown.world()).replicas << " of " << numbers(grown.world()).reach;
  grown.settle();
  grown.publish(10);
  grown.world().loop.run_for(std::chrono::minutes(2));
  EXPECT_EQ(entries_of_parts(grown.world()), 0U) << "what was handed over is dropped";
  for (unsigned copy = 0; copy < 4; ++copy) {
    const RingId place = replica_key(Tag::from_canonical(kTag).key(), copy, 4);
    for (std::size_t i = 0; i < 24; ++i) {
      if (grown.world().node(i).rings().of(Ring::kStorage).owning(place) == nullptr) continue;
      EXPECT_EQ(held(grown.world(), i, 0), posts.size() - 2) << "all but what was taken down, at node " << i;
    }
  }
  // What was signed for parts that are no more accuses nobody.
  const auto kinds = grown.audit(0).kinds;
  EXPECT_EQ(kinds.size(), 1U);
  EXPECT_TRUE(kinds.contains("taken_down"));
}

// Its administrator has blocked the others, or it lies.
TEST(StorageSets, HalveThoughAnOwnerDoesNotGiveItsPartAndNobodyFetchesWhatItHas) {
  std::size_t denier = SIZE_MAX;
  std::size_t denied = 0;
  std::size_t given = 0;  // parts that were begun
  Grown::Options options;
  options.lie = [&](std::size_t node, const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.target != "/tagring/v1/transfer" || !request.body.contains("\"shelf\"")) return std::nullopt;
    const Result<json::object> body = json::parse_object(request.body);
    if (!body || json::text_of(*body, "kind") != "shelf") return std::nullopt;
    given += json::text_of(*body, "after").empty() && node != denier ? 1 : 0;
    if (node != denier) return std::nullopt;
    ++denied;
    HttpResponse refusal;
    refusal.status = 403;
    refusal.body = R"({"error":"denied"})";
    return refusal;
  };
  Grown grown(4, options);
  World& world = grown.world();
  for (int n = 0; n < 20 && numbers(world).replicas < 8; ++n) grown.publish(5);
  ASSERT_EQ(numbers(world).replicas, 8U);
  const unsigned part = redundancy::partitions_of_set(4, 8).back();
  const RingId place = replica_key(redundancy::Partition(Tag::from_canonical(kTag), part).key(), 3, 4);
  for (const std::size_t i : world.up())
    if (world.node(i).rings().of(Ring::kStorage).owning(place) != nullptr) denier = i;
  ASSERT_NE(denier, SIZE_MAX);
  grown.give_room();
  EXPECT_TRUE(world.run_until(std::chrono::hours(2),
                              [&] {
                                const Numbers now = numbers(world);
                                return now.replicas == 4 && now.reach == 4;
                              }))
      << numbers(world).replicas << " of " << numbers(world).reach;
  EXPECT_GT(denied, 10U);
  EXPECT_LT(given, 500U) << "each part is fetched once of each owner, and not every ten seconds";
  grown.settle();
}

TEST(StorageSets, OfNetworksThatKeepOneOrTwoCopiesAreDividedToo) {
  for (const unsigned at_rest : {1U, 2U}) {
    SCOPED_TRACE(at_rest);
    Grown::Options options;
    options.at_rest = at_rest;
    Grown grown(5 + at_rest, options);
    grown.publish(100);
    EXPECT_GE(numbers(grown.world()).replicas, 2 * at_rest);
  }
}

// A ring was cut in two, and one part has had a set by which a node put posts where nobody looks by what
// counts afterwards: a later set, or none. Their own node, which would see that, is gone.
void expect_what_was_put_elsewhere_is_read(bool is_told) {
  Grown grown(19, {});
  World& world = grown.world();
  const Tag tag = Tag::from_canonical(kTag);
  const redundancy::Partition beyond{tag, 32};
  const auto owner_of = [&](const RingId& place) {
    for (const std::size_t i : world.up())
      if (world.node(i).rings().of(Ring::kStorage).owning(place) != nullptr) return i;
    return SIZE_MAX;
  };
  const std::size_t cut_off = owner_of(beyond.key());
  std::set<std::size_t> owners{cut_off};
  for (unsigned copy = 0; copy < 4; ++copy) owners.insert(owner_of(replica_key(tag.key(), copy, 4)));
  ASSERT_EQ(owners.size(), 5U);
  std::vector<std::size_t> others = world.up();
  std::erase_if(others, [&](std::size_t i) { return owners.contains(i); });
  for (int n = 0; n < 6; ++n) world.publish(others.back(), {kTag});
  world.loop.run_for(
      std::chrono::minutes(5));  // what was owned before all had joined is owed to nobody any more
  ASSERT_TRUE(world.run_until(std::chrono::minutes(5), [&] { return world.is_quiet(); })) << world.unrest();
  world.crash_node(others.back());

  const auto await = [&](auto task) { return *world.await(std::move(task), std::chrono::seconds(10)); };
  std::vector<storage::HistoryEntry> entries =
      await(world.history_store(owner_of(tag.key())).page(tag, std::nullopt, 100))->entries;
  ASSERT_EQ(entries.size(), 6U);
  for (storage::HistoryEntry& entry : entries) entry.partition = beyond;
  for (const std::size_t i : world.up())
    ASSERT_TRUE(await(world.history_store(i).forget(tag, 100, world.loop.wall_now())));
  ASSERT_TRUE(await(world.history_store(cut_off).put(entries)));
  const auto tell = [&](std::uint64_t version, unsigned replicas) {
    json::object body =
        redundancy::to_json(redundancy::StorageSet{tag, version, replicas, replicas, world.loop.wall_now()});
    body["action"] = "set";
    world.forge_later(owner_of(tag.key()), cut_off, "/tagring/v1/stores", json::serialize(body));
    world.loop.run_for(std::chrono::seconds(5));
  };
  tell(1, 8);
  ASSERT_EQ(numbers_at(world, cut_off).replicas, 8U);
  world.loop.run_for(std::chrono::minutes(1));
  ASSERT_EQ(world.history(others.front(), kTag, 40)->size(), 0U);
  if (is_told) tell(2, 4);
  world.loop.run_for(std::chrono::minutes(is_told ? 2 : 25));
  for (const std::size_t reader : {others[0], others[1], cut_off})
    EXPECT_EQ(world.history(reader, kTag, 40)->size(), 6U) << reader;
}

TEST(StorageSets, WhatOnePartOfARingPutWhereALaterSetDoesNotLookIsReadAgain) {
  expect_what_was_put_elsewhere_is_read(true);
}

TEST(StorageSets, WhatWasPutByASetThatIsForgottenIsReadAgain) {
  expect_what_was_put_elsewhere_is_read(false);
}

}  // namespace
}  // namespace tagring::sim
