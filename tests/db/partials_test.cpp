// The digests of followers collections, beside the followers: on disk and in memory.
#include <algorithm>
#include <map>
#include <set>

#include "base/rng.hpp"
#include "delivery/followers.hpp"
#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {

using namespace sql;

namespace {

using delivery::Follower;
using delivery::Partial;
using delivery::PartialKey;
using delivery::Via;
using followers::Digest;

constexpr const char* kFar = "https://far.example";

class Partials : public StoresTest {
 protected:
  // As the node does it: on disk, then in memory.
  void follow(std::vector<Follower> followers) {
    for (const Follower& stored : must(stores->relay.follow(std::move(followers)))) memory.add(stored);
  }
  void unfollow(const Tag& tag, const std::string& actor) {
    must(stores->relay.unfollow({{tag, actor}}));
    memory.remove(tag, actor);
  }
  void restart() {
    reopen();
    memory = delivery::Followers();
    for (const Follower& follower : rows()) memory.add(follower);
  }
  std::vector<Follower> rows() { return must(stores->relay.followers(std::nullopt, "", 100'000)); }
  Partial on_disk(const PartialKey& key) { return must(stores->relay.partial(key)); }
  template <class... Args>
  void execute(const char* sql, Args... args) {
    must(stores->database->write([=](Connection& db) -> Result<void> {
      TRY_VOID(db.run(sql, args...));
      return {};
    }));
  }
  std::vector<PartialKey> repaired() { return must(stores->relay.check_partials()).repaired; }

  delivery::Followers memory;
};

Follower follower(const Tag& tag, const std::string& actor, Via via = Via::kBoost) {
  return {tag, actor, actor + "/inbox", actor + "/follows/1", via, 0};
}

Partial sum_of(const std::set<std::string>& ids) {
  Partial partial;
  for (const std::string& id : ids) partial.add(id);
  return partial;
}

INSTANTIATE_TEST_SUITE_P(, Partials, every_database(), name_of);

TEST_P(Partials, PeopleStandInTheCollectionOfTheHashtag) {
  follow({follower("cats"_tag, "https://far.example/users/a"),
          follower("cats"_tag, "https://far.example/users/b"),
          follower("cats"_tag, "https://other.example/users/c"),
          follower("dogs"_tag, "https://far.example/users/a")});
  const Partial expected = sum_of({"https://far.example/users/a", "https://far.example/users/b"});
  EXPECT_EQ(on_disk({"cats", kFar}), expected);
  EXPECT_EQ(memory.partial({"cats", kFar}), expected);
  EXPECT_EQ(expected.count, 2U);
  EXPECT_EQ(expected.bytes, 54U);
  EXPECT_EQ(on_disk({"", kFar}), Partial());
  EXPECT_EQ(on_disk({"birds", kFar}), Partial());
}

TEST_P(Partials, NodesStandInTheNodesCollectionUnderTheirOwnHashtagActors) {
  follow({follower("cats"_tag, "https://far.example/actor", Via::kNode),
          follower("猫"_tag, "https://far.example/actor", Via::kNode)});
  const Partial expected = sum_of({"https://far.example/tag/cats", "https://far.example/tag/xn--z7x"});
  EXPECT_EQ(on_disk({"", kFar}), expected);
  EXPECT_EQ(memory.partial({"", kFar}), expected);
  EXPECT_EQ(on_disk({"cats", kFar}), Partial());
  std::vector<std::string> members = memory.members({"", kFar});
  std::ranges::sort(members);
  EXPECT_EQ(members,
            (std::vector<std::string>{"https://far.example/tag/cats", "https://far.example/tag/xn--z7x"}));
}

TEST_P(Partials, WhoUsesTheNodeAsARelayIsInNone) {
  follow({follower("cats"_tag, "https://far.example/actor", Via::kRelay),
          follower("dogs"_tag, "https://far.example/actor", Via::kTagRelay)});
  for (const std::string collection : {"", "cats", "dogs"}) {
    EXPECT_EQ(on_disk({collection, kFar}), Partial());
    EXPECT_EQ(memory.partial({collection, kFar}), Partial());
  }
}

TEST_P(Partials, ASecondActorOfANodeIsNotCountedTwice) {
  follow({follower("cats"_tag, "https://far.example/actor", Via::kNode),
          follower("cats"_tag, "https://far.example/other", Via::kNode)});
  EXPECT_EQ(on_disk({"", kFar}), sum_of({"https://far.example/tag/cats"}));
  unfollow("cats"_tag, "https://far.example/other");
  EXPECT_EQ(memory.partial({"", kFar}), sum_of({"https://far.example/tag/cats"}));
}

// Mastodon's interactions_spec: hosts that only look alike are other servers.
TEST_P(Partials, LookAlikesAreOtherServers) {
  const std::vector<std::string> ids = {
      "https://foo.org/users/eve", "https://foo.org.evil.com/users/eve", "https://foo.org:8443/users/eve",
      "http://foo.org/users/eve",  "https://FOO.org/users/bob",          "https://foo.org:443/users/carol",
      "https://foo.orga/users/d",  "https://evil.com/https://foo.org/",  "https://foo.org"};
  for (const std::string& id : ids) follow({follower("cats"_tag, id)});
  const std::set<std::string> expected = {"https://foo.org/users/eve", "https://FOO.org/users/bob",
                                          "https://foo.org:443/users/carol", "https://foo.org"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(on_disk({"cats", "https://foo.org"}), sum_of(expected));
    EXPECT_EQ(memory.partial({"cats", "https://foo.org"}), sum_of(expected));
    const auto members = memory.members({"cats", "https://foo.org"});
    EXPECT_EQ(std::set<std::string>(members.begin(), members.end()), expected);
    EXPECT_EQ(members.size(), expected.size());
    restart();
  }
  EXPECT_EQ(memory.members({"cats", "https://foo.org.evil.com"}), std::vector{ids[1]});
  EXPECT_EQ(memory.members({"cats", "https://foo"}), std::vector<std::string>());
}

TEST_P(Partials, AFollowThatIsRepeatedCountsOnce) {
  const Follower one = follower("cats"_tag, "https://far.example/users/a");
  Follower moved = one;
  moved.inbox = "https://far.example/inbox";
  moved.follow_id += "0";
  follow({one});
  follow({one, moved});
  EXPECT_EQ(on_disk({"cats", kFar}), sum_of({one.actor}));
  EXPECT_EQ(memory.partial({"cats", kFar}), sum_of({one.actor}));
  unfollow("cats"_tag, one.actor);
  unfollow("cats"_tag, one.actor);
  EXPECT_EQ(on_disk({"cats", kFar}), Partial());
  EXPECT_EQ(memory.partial({"cats", kFar}), Partial());
}

TEST_P(Partials, WhatIsWrongOnDiskIsFoundAndRepaired) {
  follow({follower("cats"_tag, "https://far.example/users/a"),
          follower("cats"_tag, "https://other.example/users/b"),
          follower("dogs"_tag, "https://far.example/users/a"),
          follower("dogs"_tag, "https://far.example/actor", Via::kNode)});
  EXPECT_TRUE(repaired().empty());
  const std::string nothing(32, '\0');
  execute(
      "UPDATE partials SET digest = ? WHERE collection = 'cats' AND authority = "
      "'https://far.example'",
      Blob{nothing});
  execute("UPDATE partials SET octets = octets + 1 WHERE collection = 'dogs'");
  execute("DELETE FROM partials WHERE collection = ''");
  execute("INSERT INTO partials VALUES('birds', 'https://far.example', ?, 1, 1)", Blob{nothing});
  execute("INSERT INTO partials VALUES('cats', 'https://gone.example', ?, 1, 1)",
          Blob{std::string_view(nothing).substr(0, 1)});
  auto wrong = repaired();
  std::ranges::sort(wrong);
  EXPECT_EQ(
      wrong,
      (std::vector<PartialKey>{
          {"", kFar}, {"birds", kFar}, {"cats", kFar}, {"cats", "https://gone.example"}, {"dogs", kFar}}));
  EXPECT_TRUE(repaired().empty());
  EXPECT_EQ(on_disk({"cats", kFar}), sum_of({"https://far.example/users/a"}));
  EXPECT_EQ(on_disk({"", kFar}), sum_of({"https://far.example/tag/dogs"}));
  EXPECT_EQ(on_disk({"birds", kFar}), Partial());
}

TEST_P(Partials, AFollowThatFailsLeavesTheDigestsAlone) {
  follow({follower("cats"_tag, "https://far.example/users/a")});
  execute("CREATE UNIQUE INDEX not_two ON followers(tag) WHERE actor > 'https://far.example/users/a'");
  EXPECT_FALSE(run(stores->relay.follow({follower("cats"_tag, "https://far.example/users/c"),
                                         follower("cats"_tag, "https://far.example/users/b")})));
  EXPECT_EQ(on_disk({"cats", kFar}), sum_of({"https://far.example/users/a"}));
  EXPECT_TRUE(repaired().empty());
}

// At any time, digests on disk and in memory are those of the followers who are there, computed anew.
TEST_P(Partials, AnyHistoryGivesWhatComputingAnewGives) {
  const std::vector<Tag> tags = {"cats"_tag, "dogs"_tag, "猫"_tag};
  const std::vector<std::string> names = {"cats", "dogs", "xn--z7x"};
  const std::vector<std::string> hosts = {"https://a.example", "https://b.example:8443", "https://A.example",
                                          "https://a.example.evil.example", "http://a.example"};
  const std::vector<std::string> authorities = {hosts[0], hosts[1], hosts[0], hosts[3], hosts[4]};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Rng rng(seed);
    for (int step = 0; step < 200; ++step) {
      const Tag& tag = tags[rng.below(tags.size())];
      const std::string& host = hosts[rng.below(hosts.size())];
      const bool is_node = rng.chance(0.3);
      const std::string actor = host + (is_node ? "/actor" : "/users/" + std::to_string(rng.below(4)));
      if (rng.chance(0.5)) {
        Follower one = follower(tag, actor, is_node ? Via::kNode : static_cast<Via>(rng.below(4)));
        if (rng.chance(0.3)) one.inbox = host + "/inbox";
        follow({one, follower(tags[rng.below(3)], host + "/users/0")});
      } else {
        unfollow(tag, actor);
      }
      if (rng.chance(0.02)) restart();
      if (step % 10 != 0) continue;
      std::map<PartialKey, std::set<std::string>> expected;
      for (const Follower& row : rows()) {
        const auto at = static_cast<std::size_t>(std::ranges::find(tags, row.tag) - tags.begin());
        const std::string origin = row.actor.substr(0, row.actor.find('/', 8));
        const std::string& authority =
            authorities[static_cast<std::size_t>(std::ranges::find(hosts, origin) - hosts.begin())];
        if (row.via == Via::kBoost) expected[{row.tag.canonical(), authority}].insert(row.actor);
        if (row.via == Via::kNode && row.actor == authority + "/actor") {
          expected[{"", authority}].insert(authority + "/tag/" + names[at]);
        }
      }
      for (const std::string& authority : std::set(authorities.begin(), authorities.end())) {
        for (const std::string collection : {"", "cats", "dogs", "猫"}) {
          const PartialKey key{collection, authority};
          const Partial sum = sum_of(expected[key]);
          ASSERT_EQ(on_disk(key), sum) << "seed " << seed << " step " << step;
          ASSERT_EQ(memory.partial(key), sum) << "seed " << seed << " step " << step;
          const auto members = memory.members(key);
          ASSERT_EQ(std::set<std::string>(members.begin(), members.end()), expected[key]);
          ASSERT_EQ(members.size(), expected[key].size());
        }
      }
      ASSERT_TRUE(repaired().empty()) << "seed " << seed << " step " << step;
    }
    for (const Follower& row : rows()) unfollow(row.tag, row.actor);
  }
}

TEST_P(Partials, AServerThatTheLastFollowerHasLeftIsRememberedUntilSomebodyComesBack) {
  const auto former = [this] {
    std::vector<std::string> found;
    for (const auto& server : must(stores->relay.former_servers()))
      found.push_back(server.key.collection + " " + server.key.authority + " " + server.inbox);
    return found;
  };
  const std::string fan = std::string(kFar) + "/fan";
  const std::string pal = std::string(kFar) + "/pal";
  follow({follower("cats"_tag, fan), follower("cats"_tag, pal), follower("dogs"_tag, fan)});
  unfollow("cats"_tag, fan);
  EXPECT_TRUE(former().empty());
  unfollow("cats"_tag, pal);
  unfollow("dogs"_tag, fan);
  unfollow("dogs"_tag, fan);
  restart();
  EXPECT_EQ(former(), (std::vector<std::string>{"cats https://far.example " + pal + "/inbox",
                                                "dogs https://far.example " + fan + "/inbox"}));
  follow({follower("cats"_tag, fan)});
  EXPECT_EQ(former().size(), 1U);
  must(stores->relay.drop_former_server({"dogs", kFar}));
  EXPECT_TRUE(former().empty());
}

}  // namespace
}  // namespace tagring::db
