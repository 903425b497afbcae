#include "federation/activity_queue.hpp"

namespace tagring::federation {
namespace {
constexpr std::size_t kLoadPage = 1'000;
}

ActivityQueue::ActivityQueue(LetterStore& store, SignedClient& client, const Runtime& runtime)
    : store_(store),
      client_(client),
      clock_(runtime.clock),
      lanes_(runtime.clock, runtime.executor, runtime.rng.fork("activities"), QueueOptions{},
             [this](std::string inbox, Letters letters) {
               return deliver(std::move(inbox), std::move(letters));
             }) {}

Task<Result<void>> ActivityQueue::load() {
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(Letters page, co_await store_.letters(after, kLoadPage));
    if (page.empty()) co_return Result<void>();
    after = page.back().seq;
    for (Letter& letter : page) {
      std::string inbox = letter.inbox;
      lanes_.push(inbox, std::move(letter));
    }
  }
}

Task<void> ActivityQueue::stop() { return lanes_.stop(); }

Task<Result<void>> ActivityQueue::send(std::string actor, std::string inbox, std::string body) {
  Letter draft{0, std::move(actor), std::move(inbox), std::move(body), {}};
  CO_TRY(Letter letter, co_await store_.write_letter(std::move(draft)));
  const std::string destination = letter.inbox;
  lanes_.push(destination, std::move(letter));
  co_return Result<void>();
}

Task<ActivityQueue::Letters> ActivityQueue::deliver(std::string inbox, Letters letters) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const Result<HttpResponse> response =
        co_await client_.deliver_as(letters[i].actor, inbox, letters[i].body);
    const bool given_up = clock_.wall_now() - letters[i].written > kLifetime;
    if (!was_accepted(response) && !was_refused(response) && !given_up) {
      lanes_.blame(inbox, why_not(response));
      co_return Letters(letters.begin() + static_cast<std::ptrdiff_t>(i), letters.end());
    }
    // If this fails, the letter goes out once more after a restart.
    co_await store_.drop_letter(letters[i].seq);
  }
  co_return Letters();
}

}  // namespace tagring::federation
