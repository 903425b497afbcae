// What a balancer says of its node, by itself: on rings on which this node stands alone, all keys are its
// own.
#include "overlay/balancer.hpp"

#include "delivery/role_fixture.hpp"

namespace tagring::overlay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// Histories that weigh what a test says.
class Weights final : public StoredLoad {
 public:
  Task<Result<std::vector<Weight>>> weights(std::optional<RingId> after, std::size_t /*limit*/) override {
    if (after) co_return std::vector<Weight>();
    co_return all;
  }
  [[nodiscard]] std::uint64_t bytes_of_entry() const override { return each; }
  std::vector<Weight> all;
  std::uint64_t each = kBytesOfEntry;
};

class BalancerTest : public RoleTest {
 protected:
  BalancerTest() {
    loop.run_for(hours(1));
    balancer.start();  // decides nothing: it is not enabled
  }
  ~BalancerTest() override { finish(balancer.stop()); }

  static Balancer::Options options() {
    Balancer::Options made;
    made.enabled = false;
    made.storage_capacity = 1'000 * StoredLoad::kBytesOfEntry;
    made.every = minutes(4);
    made.patience = hours(6);
    return made;
  }
  static Task<Result<void>> keep(const bool* disk_full, std::string* saved, std::string text) {
    if (*disk_full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    *saved = std::move(text);
    co_return Result<void>();
  }
  // Stores so many posts of a hashtag with that key.
  void store(std::uint64_t entries, const RingId& key = RingId::power_of_two(200)) {
    weights.all = {{key, entries}};
  }
  ring::Load load(Segment of = Segment{}) {
    Result<ring::Load> said = run(balancer.load_of(Ring::kStorage, of));
    return *said;
  }

  Weights weights;
  Loads loads{{}, weights, clock};
  Balancer balancer{options(), std::nullopt, {}, *rings, loads, runtime};
};

TEST_F(BalancerTest, SaysWhatItsKeysCostAndWhatItBears) {
  store(100);
  EXPECT_EQ(load().of_node, 4 * 100 * StoredLoad::kBytesOfEntry) << "it has all four replicas";
  EXPECT_EQ(load().capacity, 1'000 * StoredLoad::kBytesOfEntry);
}

// Or nodes with other databases would take each other's posts for more, or fewer, than they are.
TEST_F(BalancerTest, OthersAreToldOfPostsAndItsAdministratorOfItsDisk) {
  weights.each = 5 * StoredLoad::kBytesOfEntry;
  store(100);
  EXPECT_EQ(load().of_node, 4 * 100 * StoredLoad::kBytesOfEntry);
  EXPECT_EQ(load().capacity, 1'000 / 5 * StoredLoad::kBytesOfEntry)
      << "for more there is no room on the disk";
  const Balancer::State state = balancer.state(Ring::kStorage);
  EXPECT_DOUBLE_EQ(state.load, 4 * 100 * 5 * StoredLoad::kBytesOfEntry);
  EXPECT_DOUBLE_EQ(state.capacity, options().storage_capacity);
}

TEST_F(BalancerTest, APartCostsWhatIsInIt) {
  store(100);
  const RingId key = RingId::power_of_two(200);
  const RingId before = key - RingId::power_of_two(0);
  EXPECT_EQ(load({before, key}).of_segment, 100 * StoredLoad::kBytesOfEntry);
  EXPECT_EQ(load({key, key + RingId::power_of_two(9)}).of_segment, 0U);
}

TEST_F(BalancerTest, CountsAnewAfterAQuarterOfTheInterval) {
  store(100);
  load();
  store(200);
  EXPECT_EQ(load().of_node, 4 * 100 * StoredLoad::kBytesOfEntry);
  loop.run_for(minutes(1));
  EXPECT_EQ(load().of_node, 4 * 200 * StoredLoad::kBytesOfEntry);
}

TEST_F(BalancerTest, AnOverloadIsAStrainOnlyWhenItLasts) {
  store(300);  // 1,200 of 1,000
  load();
  loop.run_for(hours(5));
  EXPECT_FALSE(load().strained);
  loop.run_for(hours(1) + minutes(1));
  EXPECT_TRUE(load().strained);
  store(100);
  loop.run_for(minutes(1));
  EXPECT_FALSE(load().strained) << "it has passed";
}

// It has just begun, and writes down where it stands.
TEST_F(BalancerTest, PlacesThatTheDiskDoesNotTakeNowAreWrittenLater) {
  bool disk_full = true;
  std::string saved;
  const auto save = [&](std::string text) { return keep(&disk_full, &saved, std::move(text)); };
  Balancer::Options enabled = options();
  enabled.enabled = true;
  enabled.vservers = 1;
  enabled.every = hours(1);
  Balancer fresh(enabled, std::nullopt, save, *rings, loads, runtime);
  fresh.start();
  loop.run_for(minutes(5));
  EXPECT_EQ(saved, "");
  disk_full = false;
  loop.run_for(std::chrono::seconds(10));
  EXPECT_NE(saved, "");
  finish(fresh.stop());
}

Task<Result<void>> hold_places(Clock* clock) {
  const Instant end = clock->now() + minutes(2);
  co_await clock->sleep_until(end);
  co_return fail(ErrorCode::kUnavailable, "nobody takes over");
}

// As the search for splits does, something else changes this node's places meanwhile.
TEST_F(BalancerTest, APlaceThatCannotGoNowGoesSoon) {
  RingService::Options two;
  two.contacts = {self, ring::real_contact(1, 1)};
  two.storage_places = std::vector<std::uint8_t>{0};
  RingService here(std::move(two), web, ring_observer, runtime);
  ring::Membership& storage = here.of(Ring::kStorage);
  storage.vservers().front()->create();
  storage.vservers().front()->start();
  ASSERT_TRUE(run(storage.take_place(1)));
  Places places;
  places.storage = {.taken = {0, 1}, .leaving = 0};
  Balancer::Options enabled = options();
  enabled.enabled = true;
  enabled.vservers = 2;
  enabled.every = hours(1);
  Balancer mover(enabled, places, {}, here, loads, runtime);
  const auto hold = [this](ring::Vserver* /*held*/) { return hold_places(&clock); };
  boost::asio::co_spawn(loop.executor(kOwner), storage.give_up_place(1, hold),
                        [](std::exception_ptr, Result<void>) {});
  mover.start();
  loop.run_for(minutes(1) + std::chrono::seconds(30));
  EXPECT_EQ(storage.vservers().size(), 2U);
  loop.run_for(minutes(6));
  ASSERT_EQ(storage.vservers().size(), 1U);
  EXPECT_EQ(storage.vservers().front()->self().vserver, 1U);
  finish(mover.stop());
  finish(here.stop());
}

}  // namespace
}  // namespace tagring::overlay
