#include "publisher/put_off.hpp"

#include <map>

#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::publisher {

Task<void> PutOff::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> PutOff::publish() {
  for (;;) {
    if (const auto count = co_await store_.count_put_off()) publisher_.note_put_off(*count);
    const Instant next = clock_.now() + kEvery;
    co_await clock_.sleep_until(next);
    if (publisher_.put_off() == 0) continue;
    auto due = co_await store_.put_off_until(clock_.wall_now(), kTriedAtOnce);
    if (!due) continue;
    std::map<std::string, std::vector<delivery::PublishedPost>> by_host;
    for (delivery::PublishedPost& post : *due) by_host[host_of(post.uri)].push_back(std::move(post));
    for (auto& [host, posts] : by_host) {
      if (tried_.insert(host).second) {
        tasks_.spawn("put_off_of_host", try_host(host, std::move(posts)));
        continue;
      }
      // Or those of a slow server would always be the next.
      for (delivery::PublishedPost& post : posts) co_await put_off_again(std::move(post));
    }
  }
}

Task<void> PutOff::try_host(std::string host, std::vector<delivery::PublishedPost> posts) {
  unsigned failures = 0;
  for (delivery::PublishedPost& post : posts) {
    if (failures == kFailuresMax || !posts_.may_ask(host)) {
      co_await put_off_again(std::move(post));
      continue;
    }
    const Result<void> tried = co_await try_again(std::move(post));
    if (!tried && is_unanswered(tried.error())) ++failures;
  }
  tried_.erase(host);
}

// Fails if its server does not show it now. What cannot be written is due still.
Task<Result<void>> PutOff::try_again(delivery::PublishedPost post) {
  const bool is_unknown =
      post.author == FetchedPosts::author_of_unknown(post.uri);  // FetchedPosts::ask_later
  const std::vector<Tag> counted = moderation_.admit(post.author, post.uri, post.tags);
  if (counted.empty() && !post.tags.empty()) {
    post.published = clock_.wall_now();  // its server is not what it waits for
    co_return co_await put_off_again(std::move(post));
  }
  const WallTime begun = clock_.wall_now();
  Result<std::string> done = "nothing to be published";
  if (!publisher_.takes(post.author) && observer_.is_shared(post.uri)) {
    const Result<bool> published = co_await observer_.look_at_shared(post.uri);
    if (!published) done = std::unexpected(published.error());
    if (published && *published) done = "";
  } else {
    const std::string author = is_unknown ? std::string() : post.author;
    done = co_await posts_.announced(post.uri, {.by = author, .is_update = !is_unknown});
  }
  const bool is_published = done && done->empty();
  if (!is_published) moderation_.take_back(post.author, post.uri, counted);
  if (!done && done.error().code == ErrorCode::kNotFound)
    co_return co_await store_.drop_put_off(post.uri, begun);
  const bool is_old = clock_.wall_now() - post.published > kPatience;
  const bool is_over = done || (date_.is_believed() && is_old);
  // Not what was put off meanwhile.
  if (is_over) co_return co_await store_.drop_put_off(post.uri, begun);
  // Those that were not tried because of it come first.
  CO_TRY_VOID(co_await put_off_again(std::move(post), kEvery));
  co_return std::unexpected(done.error());
}

Task<Result<void>> PutOff::put_off_again(delivery::PublishedPost post, Duration longer) {
  CO_TRY_VOID(co_await store_.put_off(std::move(post), clock_.wall_now() + Publisher::kTryAgain + longer));
  co_return Result<void>();
}

}  // namespace tagring::publisher
