// Documents of actors while the ring does not answer: who checks a signature must have them at once.
#include "activitypub/actor_documents.hpp"

#include <fmt/format.h>

#include "node/peer_fixture.hpp"
#include "storage/history_service.hpp"

namespace tagring::node {
namespace {

using activitypub::ActorDocuments;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kDays(storage::HistoryService::kDaysPath);

// The other node owns hashtags, and does not answer for them.
class SilentOwners : public PeerTest {
 protected:
  SilentOwners() {
    alone.storage_replicas = 1;
    be_silent();
    start(alone);
    join(near);
    internet.calls.clear();
  }
  void be_silent() {
    internet.delays[at(kDays)] = overlay::kOwnerTimeout;
    internet.answers[at(kDays)] = [](const HttpCall&) { return with_status(503, "{}"); };
  }
  void speak() {
    internet.delays.erase(at(kDays));
    internet.answers[at(kDays)] = [](const HttpCall&) {
      return with_status(200, R"({"days":[{"day":"2025-12-03","posts":3,"authors":2}]})");
    };
  }
  // Hashtags that the other node owns.
  std::vector<std::string> theirs(std::size_t count) {
    std::vector<std::string> names;
    for (int i = 0; i < 10'000 && names.size() < count; ++i) {
      std::string name = fmt::format("cats{}", i);
      if (in_half_open(self(Ring::kStorage).id, Tag::from_canonical(name).key(), near.id))
        names.push_back(std::move(name));
    }
    EXPECT_THAT(names, SizeIs(count));
    return names;
  }
  // What is answered before any time has passed.
  HttpResponse at_once(const std::string& target) {
    HttpRequest request;
    request.target = target;
    const auto answer = loop.await(kOwner, node->answer(std::move(request)), Duration(1), Duration(1));
    EXPECT_TRUE(answer) << target << " waits";
    return answer.value_or(with_status(504));
  }
  std::string published(const std::string& tag) {
    return json::id_of(json::parse_object(at_once("/tag/" + tag).body).value_or(json::object()), "published");
  }

  config::Config alone = config();
};

TEST_F(SilentOwners, HoldUpNoDocument) {
  const std::string tag = theirs(1).front();
  for (const char* part : {"", "/about", "/featured", "/followers", "/following", "/icon.png", "/header.png"})
    EXPECT_EQ(at_once("/tag/" + tag + part).status, 200) << part;
  EXPECT_EQ(at_once("/.well-known/webfinger?resource=acct:" + tag + "@tags.home.example").status, 200);
  for (const char* target : {"/actor", "/actor/followers", "/actor/outbox", "/actor/featured",
                             "/.well-known/host-meta", "/.well-known/nodeinfo", "/nodeinfo/2.1"})
    EXPECT_EQ(at_once(target).status, 200) << target;
  EXPECT_EQ(published(tag).substr(0, 10), to_rfc3339(loop.wall_now()).substr(0, 10));
  settle(std::chrono::seconds(1));
  EXPECT_EQ(calls_to(kDays), 1U) << "they are asked, once";
}

TEST_F(SilentOwners, AreAskedAgainNowAndThenUntilTheyAnswer) {
  const std::string tag = theirs(1).front();
  const std::string first = published(tag);
  settle(std::chrono::seconds(10));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(published(tag), first);
  settle(std::chrono::seconds(1));
  EXPECT_EQ(calls_to(kDays), 1U);
  speak();
  settle(ActorDocuments::kLookAgain);
  EXPECT_EQ(published(tag), first) << "nobody waits";
  settle(std::chrono::seconds(1));
  EXPECT_THAT(published(tag), StartsWith("2025-12-03T00:00:00"));
  settle(std::chrono::hours(1));
  EXPECT_THAT(published(tag), StartsWith("2025-12-03T00:00:00"));
  settle(std::chrono::seconds(1));
  EXPECT_EQ(calls_to(kDays), 2U) << "it does not change";
}

TEST_F(SilentOwners, AreAskedForAFewHashtagsAtATime) {
  for (const std::string& tag : theirs(3 * ActorDocuments::kLookUpsMax)) EXPECT_NE(published(tag), "");
  settle(std::chrono::seconds(1));
  EXPECT_EQ(calls_to(kDays), ActorDocuments::kLookUpsMax);
}

// Who looks before following asks for the account first.
TEST_F(SilentOwners, AreAskedWhenAnAccountIsLookedFor) {
  speak();
  const std::string tag = theirs(1).front();
  EXPECT_EQ(at_once("/.well-known/webfinger?resource=acct:" + tag + "@tags.home.example").status, 200);
  settle(std::chrono::seconds(1));
  EXPECT_THAT(published(tag), StartsWith("2025-12-03T00:00:00"));
}

}  // namespace
}  // namespace tagring::node
