#include "federation/activity_queue.hpp"

#include "base/url.hpp"

namespace tagring::federation {
namespace {
constexpr std::size_t kLoadPage = 1'000;
}

ActivityQueue::ActivityQueue(budget::Manager& budget, LetterStore& store, SignedClient& client,
                             const Runtime& runtime)
    : budget_(budget),
      store_(store),
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
    for (Letter& letter : page) push(std::move(letter));
  }
}

void ActivityQueue::push(Letter letter) {
  budget_.count(budget::Resource::kLetters, budget_.who(host_of(letter.inbox)));
  const std::string inbox = letter.inbox;
  lanes_.push(inbox, std::move(letter));
}

Result<void> ActivityQueue::check_room(const std::string& inbox) const {
  if (budget_.has_room(budget::Resource::kLetters, budget_.who(host_of(inbox)))) return {};
  return fail(ErrorCode::kUnavailable, "too many answers wait for " + host_of(inbox) + " already");
}

Task<void> ActivityQueue::stop() { return lanes_.stop(); }

Task<Result<void>> ActivityQueue::send(std::string actor, std::string inbox, std::string body) {
  Letter draft{0, std::move(actor), std::move(inbox), std::move(body), {}};
  CO_TRY(Letter letter, co_await store_.write_letter(std::move(draft)));
  push(std::move(letter));
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
    budget_.give_back(budget::Resource::kLetters, budget_.who(host_of(inbox)));
    // If this fails, the letter goes out once more after a restart.
    co_await store_.drop_letter(letters[i].seq);
  }
  co_return Letters();
}

}  // namespace tagring::federation
