#include "base/workers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

namespace tagring {
namespace {

Task<void> ask(Workers* workers, int* answer) {
  *answer = co_await workers->run([] { return 7; });
}

TEST(Workers, ResumeTheCallerOnItsOwnThread) {
  boost::asio::io_context loop;
  boost::asio::thread_pool pool(1);
  Workers workers(pool.get_executor());
  int answer = 0;
  boost::asio::co_spawn(loop, ask(&workers, &answer), [](std::exception_ptr error) { EXPECT_FALSE(error); });
  loop.run();
  EXPECT_EQ(answer, 7);
}

Task<void> ask_what_throws(Workers* workers, bool* caught) {
  try {
    co_await workers->run([]() -> int { throw std::runtime_error("no"); });
  } catch (const std::runtime_error&) {
    *caught = true;
  }
}

TEST(Workers, HandOnWhatAJobThrows) {
  boost::asio::io_context loop;
  boost::asio::thread_pool pool(1);
  Workers workers(pool.get_executor());
  bool caught = false;
  boost::asio::co_spawn(loop, ask_what_throws(&workers, &caught),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  loop.run();
  EXPECT_TRUE(caught);
}

// Found by a busy node that was told to stop: an exception went through the pool.
TEST(Workers, WhoWaitsForABusyPoolCanBeCancelled) {
  for (int turn = 0; turn < 200; ++turn) {
    boost::asio::io_context loop;
    boost::asio::thread_pool pool(2);
    Workers workers(pool.get_executor());
    TaskGroup group(loop.get_executor());
    std::vector<int> answers(100);
    for (int& answer : answers) group.spawn("asks", ask(&workers, &answer));
    loop.poll();
    group.cancel();
    EXPECT_NO_THROW(loop.run());
    EXPECT_EQ(group.size(), 0U);
  }
}

}  // namespace
}  // namespace tagring
