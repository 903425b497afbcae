#include "publisher/put_off.hpp"

#include <map>

#include "http/url.hpp"

namespace tagring::publisher {

void PutOff::start(IsShared is_shared) { tasks_.spawn("put_off", publish(std::move(is_shared))); }

Task<void> PutOff::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> PutOff::publish(IsShared is_shared) {
  for (;;) {
    if (const auto count = co_await store_.count_put_off()) publisher_.note_put_off(*count);
    const Instant next = clock_.now() + std::chrono::minutes(1);
    co_await clock_.sleep_until(next);
    if (publisher_.put_off() == 0) continue;
    auto due = co_await store_.put_off_until(clock_.wall_now(), kTriedAtOnce);
    if (!due) continue;
    std::map<std::string, std::vector<delivery::PublishedPost>> by_host;
    for (delivery::PublishedPost& post : *due) by_host[host_of(post.uri)].push_back(std::move(post));
    for (auto& [host, posts] : by_host) {
      if (tried_.insert(host).second) {
        tasks_.spawn("put_off_of_host", try_host(host, std::move(posts), is_shared));
        continue;
      }
      // Or those of a slow server would always be the next.
      for (delivery::PublishedPost& post : posts) co_await put_off_again(std::move(post));
    }
  }
}

Task<void> PutOff::try_host(std::string host, std::vector<delivery::PublishedPost> posts,
                            IsShared is_shared) {
  bool is_silent = false;
  for (delivery::PublishedPost& post : posts) {
    Result<void> tried;
    if (is_silent) {
      tried = co_await put_off_again(std::move(post));
    } else {
      tried = co_await try_again(std::move(post), is_shared);
    }
    is_silent = is_silent || !tried;
  }
  tried_.erase(host);
}

// Fails if its server cannot be asked now. What cannot be written is due still.
Task<Result<void>> PutOff::try_again(delivery::PublishedPost post, IsShared is_shared) {
  const bool is_unknown =
      post.author == FetchedPosts::author_of_unknown(post.uri);  // FetchedPosts::ask_later
  const std::vector<Tag> counted = moderation_.admit(post.author, post.uri, post.tags);
  if (counted.empty() && !post.tags.empty()) co_return co_await put_off_again(std::move(post));
  Result<std::string> done = "nobody's whose posts are taken any more";
  if (publisher_.takes(post.author)) {
    const std::string author = is_unknown ? std::string() : post.author;
    done = co_await posts_.announced(post.uri, {.by = author, .is_update = !is_unknown});
  } else if (is_shared(post.uri)) {
    const auto found = co_await posts_.shared(post.uri, /*by_sharing=*/true);
    if (!found) done = std::unexpected(found.error());
    if (found && *found == FetchedPosts::Shared::kPublished) done = "";
  }
  // What was announced by the id of an activity waits under that.
  if (done && done->empty())
    co_return is_unknown ? co_await store_.drop_put_off(post.uri, post.author) : Result<void>();
  moderation_.take_back(post.author, post.uri, counted);
  if (!done && done.error().code == ErrorCode::kNotFound) co_return co_await posts_.take_out(post.uri);
  const bool is_over = done || clock_.wall_now() - post.published > kPatience;
  if (is_over) co_return co_await store_.drop_put_off(post.uri, "");
  CO_TRY_VOID(co_await put_off_again(std::move(post)));
  co_return std::unexpected(done.error());
}

Task<Result<void>> PutOff::put_off_again(delivery::PublishedPost post) {
  CO_TRY_VOID(co_await store_.put_off(std::move(post), clock_.wall_now() + Publisher::kTryAgain));
  co_return Result<void>();
}

}  // namespace tagring::publisher
