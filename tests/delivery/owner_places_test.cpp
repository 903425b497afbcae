// Where a post that is owed belongs, by what is known of the number of owners.
#include "delivery/owner_places.hpp"

#include <set>

#include "delivery/role_fixture.hpp"
#include "hashtag/tag.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::delivery {
namespace {

class OwnerPlacesTest : public RoleTest {
 protected:
  TagEvent event(Op op, const std::string& uri = "https://a.example/1") const {
    return {"cats"_tag, op, uri, "https://a.example/u", clock.wall_now(), true};
  }
  RingId key(Ring ring, const TagEvent& of, unsigned copy, std::size_t step = 0) const {
    return places.key(ring, of, tag.key(), copy, step);
  }

  const Tag tag = "cats"_tag;
  redundancy::RelayHints relays{2, clock, [](const Tag&) {}};
  redundancy::StorageHints storage{4, clock};
  OwnerPlaces places{*rings, relays, storage};
};

TEST_F(OwnerPlacesTest, AtRestEveryOwnerGetsEveryPost) {
  EXPECT_EQ(places.copies(Ring::kRelay), 2U);
  EXPECT_EQ(places.copies(Ring::kStorage), 4U);
  for (unsigned copy = 0; copy < 4; ++copy)
    EXPECT_EQ(key(Ring::kStorage, event(Op::kAdd), copy), replica_key(tag.key(), copy, 4));
}

TEST_F(OwnerPlacesTest, OfMoreRelaysTwoGetAPost) {
  relays.learn("cats"_tag, 8);
  std::set<RingId> used;
  for (int i = 0; i < 100; ++i) {
    const TagEvent post = event(Op::kAdd, "https://a.example/" + std::to_string(i));
    used.insert(key(Ring::kRelay, post, 0));
    used.insert(key(Ring::kRelay, post, 1));
  }
  std::set<RingId> all;
  for (unsigned i = 0; i < 8; ++i) all.insert(replica_key(tag.key(), i, 8));
  EXPECT_EQ(used, all);
  EXPECT_EQ(places.copies(Ring::kRelay), 2U);
}

TEST_F(OwnerPlacesTest, AnOwnersAnswerIsLearnt) {
  const redundancy::StorageSet set{"cats"_tag, 1, 8, 8, clock.wall_now()};
  places.read_answer(Ring::kStorage, {{"stores", redundancy::to_json(std::vector{set})}}, {"cats"_tag},
                     "https://tags.b.example");
  EXPECT_EQ(storage.known("cats"_tag).replicas, 8U);
}

TEST_F(OwnerPlacesTest, ARemovalGoesToEveryPartitionInWhichThePostMayBe) {
  storage.keep({"cats"_tag, 2, 16, 16, clock.wall_now()});
  const std::string uri = "https://a.example/upper-half";
  std::set<RingId> keys;
  const std::size_t steps = places.steps(Ring::kStorage, event(Op::kRemove, uri));
  for (std::size_t step = 0; step < steps; ++step)
    keys.insert(key(Ring::kStorage, event(Op::kRemove, uri), 0, step));
  EXPECT_EQ(keys.size(), steps);
  EXPECT_TRUE(keys.contains(tag.key())) << "where it was at rest";
  EXPECT_TRUE(keys.contains(key(Ring::kStorage, event(Op::kAdd, uri), 0))) << "where it is now";
  EXPECT_EQ(places.steps(Ring::kStorage, event(Op::kAdd, uri)), 1U);
}

// This node keeps a set of which the owner there has never heard.
TEST_F(OwnerPlacesTest, APostThatIsRefusedWhereItBelongsGoesWhereItWouldHaveBeenPutBefore) {
  std::string uri = "https://a.example/1";
  for (int i = 2; redundancy::partition_of_post(uri, 4, 16) % 32 == 0; ++i)
    uri = "https://a.example/" + std::to_string(i);
  const TagEvent post = event(Op::kAdd, uri);
  EXPECT_EQ(places.ways(Ring::kStorage, post), 1U);
  storage.keep({"cats"_tag, 2, 16, 16, clock.wall_now()});
  const std::size_t ways = places.ways(Ring::kStorage, post);
  ASSERT_GE(ways, 2U);
  EXPECT_EQ(places.steps(Ring::kStorage, post), 1U);
  const RingId now = redundancy::partition_key(tag.key(), redundancy::partition_of_post(uri, 4, 16));
  EXPECT_EQ(key(Ring::kStorage, post, 0), now);
  EXPECT_EQ(key(Ring::kStorage, post, 0, ways - 1), tag.key());
  EXPECT_EQ(key(Ring::kStorage, post, 1, ways - 1), replica_key(tag.key(), 1, 4));
}

}  // namespace
}  // namespace tagring::delivery
