// What became of the posts of instances, written down and read again.
#include "health/seen_posts.hpp"

#include <fmt/format.h>

#include "http/url.hpp"
#include "node/fixture.hpp"

namespace tagring::node {
namespace {

class SeenPostsTest : public NodeTest {
 protected:
  Task<Result<void>> save(std::string text) {
    saved = std::move(text);
    co_return Result<void>();
  }

  std::optional<std::string> saved;
};

TEST_F(SeenPostsTest, ThoseOfMoreThanAThousandInstancesAreKnownAfterARestart) {
  std::vector<delivery::TagEvent> events;
  for (int i = 0; i < 1'500; ++i) {
    const std::string origin = fmt::format("https://i{}.example", i);
    events.push_back({Tag::from_canonical("cats"), delivery::Op::kAdd, origin + "/1", origin + "/users/a",
                      clock.wall_now()});
  }
  health::SeenPosts before(
      health::Memory{{}, [this](std::string text) -> Task<Result<void>> { return save(std::move(text)); }},
      runtime);
  before.note_answer(events, {});
  run([](health::SeenPosts* ending) -> Task<bool> {
    co_await ending->stop();
    co_return true;
  }(&before));
  const health::SeenPosts after(health::Memory{saved, {}}, runtime);
  for (const delivery::TagEvent& event : events) {
    const health::SeenPosts::Posts* const posts = after.of(host_of(event.author));
    ASSERT_NE(posts, nullptr) << event.author;
    EXPECT_TRUE(posts->taken);
  }
}

}  // namespace
}  // namespace tagring::node
