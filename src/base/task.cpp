#include "base/task.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <list>
#include <utility>
#include <vector>

#include "base/assert.hpp"

namespace tagring {
namespace asio = boost::asio;

// Shared with the completion handlers, so that a handler that the executor drops uninvoked can still
// tell that its task has ended.
struct TaskGroup::State {
  struct Entry {
    asio::cancellation_signal signal;
    std::list<std::shared_ptr<Entry>>::iterator place;
    bool started = false;
    bool cancelled = false;  // before it started
    bool spawning = true;    // spawn() has not returned
  };
  // Cancelled before its first step, a coroutine of co_spawn would throw where nobody catches. And an
  // executor may run it at once, in the middle of what spawns it.
  static Task<void> run(std::shared_ptr<Entry> entry, Task<void> task) {
    entry->started = true;
    if (entry->spawning) {
      const auto executor = co_await asio::this_coro::executor;
      co_await asio::post(executor, asio::use_awaitable);
    }
    if (!entry->cancelled) co_await std::move(task);
  }

  std::list<std::shared_ptr<Entry>> entries;
  std::vector<std::move_only_function<void()>> waiters;
  bool cancelled = false;

  void cancel() {
    cancelled = true;
    // A task that ends at once removes itself from the list, so walk over a copy.
    const auto all = entries;
    for (const auto& entry : all) {
      entry->cancelled = !entry->started;
      if (entry->started) entry->signal.emit(asio::cancellation_type::terminal);
    }
  }

  void remove(const std::shared_ptr<Entry>& entry) {
    entries.erase(entry->place);
    if (!entries.empty()) return;
    auto ready = std::exchange(waiters, {});
    for (auto& waiter : ready) waiter();
  }
};

// Boost 1.81's bind_cancellation_slot posts a cancellation with a raw pointer to the signal, a use after
// free if the task ends first. A handler with its own slot takes the direct path.
struct TaskGroup::Done {
  using cancellation_slot_type = asio::cancellation_slot;  // NOLINT: the name Asio looks for

  struct Token {
    std::shared_ptr<State> state;
    std::shared_ptr<State::Entry> entry;
    std::string name;
    bool reported = false;
    ~Token() {
      if (!reported) state->remove(entry);
    }
  };
  std::shared_ptr<Token> token;

  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
    return token->entry->signal.slot();
  }
  void operator()(std::exception_ptr error) const {
    token->reported = true;
    if (error) {
      try {
        std::rethrow_exception(error);
      } catch (const boost::system::system_error& e) {
        if (e.code() != asio::error::operation_aborted) {
          std::fprintf(stderr, "task %s ended with: %s\n", token->name.c_str(), e.what());
          std::abort();
        }
      } catch (const std::exception& e) {
        if (!token->state->cancelled) {
          std::fprintf(stderr, "task %s ended with: %s\n", token->name.c_str(), e.what());
          std::abort();
        }
      }
    }
    token->state->remove(token->entry);
  }
};

TaskGroup::TaskGroup(Executor executor) : executor_(std::move(executor)), state_(std::make_shared<State>()) {}

TaskGroup::~TaskGroup() { TR_ASSERT(state_->entries.empty()); }

void TaskGroup::spawn(std::string name, Task<void> task) {
  if (state_->cancelled) return;
  auto entry = std::make_shared<State::Entry>();
  entry->place = state_->entries.insert(state_->entries.end(), entry);
  auto token = std::make_shared<Done::Token>(state_, entry, std::move(name));
  asio::co_spawn(executor_, State::run(entry, std::move(task)), Done{std::move(token)});
  entry->spawning = false;
}

void TaskGroup::cancel() { state_->cancel(); }

void TaskGroup::reopen() {
  if (!state_->cancelled) return;
  TR_ASSERT(state_->entries.empty());
  state_->cancelled = false;
}

std::size_t TaskGroup::size() const { return state_->entries.size(); }

Task<void> TaskGroup::join() {
  const auto state = state_;
  const auto executor = co_await asio::this_coro::executor;
  if (state->entries.empty()) co_return;
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
      [state, executor](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.assign([state](asio::cancellation_type) { state->cancel(); });
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        state->waiters.emplace_back(
            [shared, executor] { asio::post(executor, [shared] { std::move (*shared)(); }); });
      },
      asio::use_awaitable);
}

}  // namespace tagring
