#include "base/task.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

namespace tagring {
namespace {

Task<void> mark(bool* reached) {
  *reached = true;
  co_return;
}

Task<void> wait_for_ever(bool* cancelled) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, std::chrono::hours(1));
  try {
    co_await timer.async_wait(boost::asio::use_awaitable);
  } catch (const boost::system::system_error&) {
    *cancelled = true;
    throw;
  }
}

Task<void> cancel_and_join(TaskGroup* group, bool* joined) {
  group->cancel();
  co_await group->join();
  *joined = true;
}

// Found by a simulated node that left the ring: the exception went through the event loop.
TEST(TaskGroup, ATaskCancelledBeforeItsFirstStepEndsQuietly) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool reached = false;
  bool joined = false;
  group.spawn("early", mark(&reached));
  boost::asio::co_spawn(context, cancel_and_join(&group, &joined),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  group.cancel();
  EXPECT_NO_THROW(context.run());
  EXPECT_FALSE(reached);
  EXPECT_TRUE(joined);
}

TEST(TaskGroup, CancelInterruptsWhatWaitsAndJoinSeesItEnd) {
  boost::asio::io_context context;
  TaskGroup group(context.get_executor());
  bool cancelled = false;
  bool joined = false;
  group.spawn("waiting", wait_for_ever(&cancelled));
  context.poll();
  boost::asio::co_spawn(context, cancel_and_join(&group, &joined),
                        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  context.run();
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(joined);
  group.reopen();
  EXPECT_EQ(group.size(), 0U);
}

}  // namespace
}  // namespace tagring
