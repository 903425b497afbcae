// Whom others name as a follower is looked at before anything is sent there.
#include "belief/node_actors.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/assert.hpp"
#include "belief/fixture.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::belief {
namespace {

using testing::ElementsAre;
using Pairs = std::vector<std::pair<std::string, std::string>>;

const std::string kNode = "https://tags.a.example/actor";
const std::string kInbox = "https://tags.a.example/inbox";

class NodeActorsTest : public BeliefTest {
 protected:
  ~NodeActorsTest() override { loop.drop(kOwner); }

  std::vector<bool> are(Pairs pairs) {
    auto result = std::make_shared<std::optional<std::vector<bool>>>();
    boost::asio::co_spawn(loop.executor(kOwner), nodes.are_nodes(std::move(pairs)),
                          [result](std::exception_ptr error, std::vector<bool> answer) {
                            if (!error) result->emplace(std::move(answer));
                          });
    loop.run_for(std::chrono::seconds(30));
    TR_ASSERT(*result);
    return **result;
  }
  void serve(const std::string& actor, const std::string& shared_inbox, bool is_node) {
    servers.documents[actor] =
        fmt::format(R"({{"id":"{0}","type":"Application","inbox":"{0}/inbox","preferredUsername":"n",)"
                    R"("endpoints":{{"sharedInbox":"{1}"}}{2}}})",
                    actor, shared_inbox, is_node ? R"(,"tagring":1)" : "");
  }

  NodeActors nodes{budget, client, runtime};
};

TEST_F(NodeActorsTest, ANodeHasTheInboxesThatItSaysWheneverItIsAsked) {
  serve(kNode, kInbox, /*is_node=*/true);
  const Pairs asked = {{kNode, kInbox}, {kNode, kNode + "/inbox"}, {kNode, "https://tags.a.example/other"}};
  for (int i = 0; i < 2; ++i) EXPECT_THAT(are(asked), ElementsAre(true, true, false));
}

TEST_F(NodeActorsTest, WhoFollowsNothingGetsNothingAndIsAskedOnce) {
  serve(kNode, kInbox, /*is_node=*/false);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(are({{kNode, kInbox}}), ElementsAre(false));
  EXPECT_EQ(servers.asked_in_all(), 1);
}

TEST_F(NodeActorsTest, ManyInventedActorsOfOneServerAreNotAllAskedFor) {
  Pairs pairs;
  for (int i = 0; i < 50; ++i)
    pairs.emplace_back("https://victim.example/" + std::to_string(i), "https://victim.example/inbox");
  EXPECT_THAT(are(pairs), testing::Each(false));
  EXPECT_LE(servers.asked_in_all(), 4);
}

TEST_F(NodeActorsTest, WhoIsDownAndNeverSaidThatItIsANodeGetsNothing) {
  servers.down = true;
  for (int i = 0; i < 5; ++i) EXPECT_THAT(are({{kNode, kInbox}}), ElementsAre(false));
  EXPECT_EQ(servers.asked_in_all(), 1) << "nor does a list have it asked again and again";
  servers.down = false;
  serve(kNode, kInbox, /*is_node=*/true);
  loop.run_for(std::chrono::minutes(10));
  EXPECT_THAT(are({{kNode, kInbox}}), ElementsAre(true));
}

TEST_F(NodeActorsTest, WhatANodeSaidHoldsWhileItIsAway) {
  serve(kNode, kInbox, /*is_node=*/true);
  EXPECT_THAT(are({{kNode, kInbox}}), ElementsAre(true));
  loop.run_for(std::chrono::hours(13));
  servers.down = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(are({{kNode, kInbox}}), ElementsAre(true));
    EXPECT_THAT(are({{kNode, "https://tags.a.example/other"}}), ElementsAre(false));
    loop.run_for(std::chrono::minutes(11));
  }
  EXPECT_EQ(servers.asked_in_all(), 4);
  servers.down = false;
  serve(kNode, kInbox, /*is_node=*/false);
  EXPECT_THAT(are({{kNode, kInbox}}), ElementsAre(false));
}

}  // namespace
}  // namespace tagring::belief
