#include "mastodon_api/streams.hpp"

#include <iterator>
#include <string_view>
#include <utility>

#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kStreamingPath = "/api/v1/streaming";
constexpr const char* kReason = "readers";
constexpr Duration kFetchTime = std::chrono::seconds(30);
constexpr Duration kFirstPause = std::chrono::seconds(30);  // before it is tried again; the next are longer
constexpr int kTries = 6;                                   // a quarter of an hour

}  // namespace

Streams::Streams(Options options, posts::PostCache& posts, subscriber::Subscriptions& subscriber,
                 const federation::Blocks& blocks, budget::Manager& budget, const Runtime& runtime)
    : options_(options),
      posts_(posts),
      subscriber_(subscriber),
      blocks_(blocks),
      budget_(budget),
      runtime_(runtime),
      clock_(runtime.clock),
      tasks_(runtime.executor) {}

Streams::~Streams() {
  tasks_.cancel();  // or the leaving readers would begin new ones
  while (!readers_.empty()) readers_.begin()->first->close();
}

void Streams::start() { tasks_.spawn("former_readers", forget_former()); }

Task<void> Streams::stop() {
  tasks_.cancel();
  while (!readers_.empty()) readers_.begin()->first->close();
  co_await tasks_.join();
}

Task<void> Streams::forget_former() {
  std::vector<Tag> tags(subscriber_.wanted().begin(), subscriber_.wanted().end());
  if (tags.empty()) co_return;
  (void)co_await subscriber_.unwant(std::move(tags), kReason);
  bring_all();  // who came while that was written down found them wanted
}

void Streams::bring_all() {
  for (const auto& [tag, readers] : by_tag_) bring(tag, *readers.begin());
}

// What others wanted when its readers came they may want no more.
Task<void> Streams::look_again() {
  while (!by_tag_.empty()) {
    const Instant next = clock_.now() + kLookEvery;
    co_await clock_.sleep_until(next);
    bring_all();
  }
  looks_again_ = false;
}

std::shared_ptr<LiveReader> Streams::open(bool is_socket, IpAddress peer) {
  Place place{budget_.who(peer), {}};
  place.share = budget::Share(&budget_, budget::Resource::kStreams, place.reader);
  if (!place.share.is_granted()) return nullptr;
  auto reader = std::make_shared<LiveReader>(options_.reader, *this, is_socket, runtime_);
  readers_.emplace(reader.get(), std::move(place));
  return reader;
}

std::shared_ptr<HttpStream> Streams::open_events(Tag tag, IpAddress peer) {
  auto reader = open(/*is_socket=*/false, peer);
  if (reader) reader->listen(tag, tag.canonical());
  return reader;
}

std::shared_ptr<HttpStream> Streams::open_socket(std::optional<Tag> tag, const std::string& spelling,
                                                 IpAddress peer) {
  auto reader = open(/*is_socket=*/true, peer);
  if (reader && tag) reader->listen(*tag, spelling);
  return reader;
}

// --- subscriptions -----------------------------------------------------------------------------------------

bool Streams::offers(const Tag& tag) const { return blocks_.of_tag(tag.canonical()) == nullptr; }

void Streams::listens(LiveReader* reader, const Tag& tag) {
  by_tag_[tag].insert(reader);
  bring(tag, reader);
  if (!std::exchange(looks_again_, true)) tasks_.spawn("readers", look_again());
}

void Streams::bring(const Tag& tag, LiveReader* reader) {
  if (subscribed_.contains(tag) || subscriber_.wants(tag)) return;
  budget::Share share(&budget_, budget::Resource::kStreamTags, readers_.at(reader).reader);
  if (!share.is_granted()) return;
  subscribed_.emplace(tag, std::move(share));
  tasks_.spawn("reader_subscribes", subscribe(tag));
}

void Streams::leaves(LiveReader* reader, const Tag& tag) {
  const auto listeners = by_tag_.find(tag);
  listeners->second.erase(reader);
  if (!listeners->second.empty()) return;
  by_tag_.erase(listeners);
  if (!subscribed_.contains(tag)) return;
  if (left_.insert_or_assign(tag, clock_.now()).second) tasks_.spawn("reader_leaves", let_go(tag));
}

Task<void> Streams::subscribe(Tag tag) {
  const Result<void> done = co_await subscriber_.want({tag}, kReason);
  if (!done) subscribed_.erase(tag);
}

Task<void> Streams::let_go(Tag tag) {
  while (clock_.now() < left_[tag] + options_.linger) {
    const Instant later = left_[tag] + options_.linger;
    co_await clock_.sleep_until(later);
  }
  left_.erase(tag);
  const auto subscribed = subscribed_.find(tag);
  if (by_tag_.contains(tag) || subscribed == subscribed_.end()) co_return;
  budget::Share share = std::move(subscribed->second);
  subscribed_.erase(subscribed);
  (void)co_await subscriber_.unwant({tag}, kReason);
  // Somebody came while that was written down.
  if (by_tag_.contains(tag) && subscribed_.try_emplace(tag, std::move(share)).second) co_await subscribe(tag);
}

// --- events ------------------------------------------------------------------------------------------------

void Streams::note(const delivery::TagEvent& event) {
  if (event.op == delivery::Op::kRemove) telling_.erase({event.tag, event.uri});
  if (!by_tag_.contains(event.tag) || event.is_repeat()) return;
  if (event.op == delivery::Op::kRemove) {
    const std::string id = std::to_string(posts::status_id(event.published, event.uri));
    deliver({event.tag, "delete", id});
  } else if (event.indexable &&
             (event.is_edit() || event.published >= clock_.wall_now() - options_.news_age_max)) {
    Telling& telling = telling_[{event.tag, event.uri}];
    telling.number = ++last_;
    telling.is_new |= !event.is_edit();
    tasks_.spawn("tell_readers", tell(event, telling.number));
  }
}

// Not if it was changed or deleted since.
bool Streams::is_told_by(std::uint64_t number, const delivery::TagEvent& event) const {
  const auto telling = telling_.find({event.tag, event.uri});
  return telling != telling_.end() && telling->second.number == number;
}

bool Streams::may_try_again(std::uint64_t number, const delivery::TagEvent& event) const {
  return by_tag_.contains(event.tag) && is_told_by(number, event) && posts_.may_come(event.uri);
}

bool Streams::begin_trying_again(const std::string& domain, std::uint64_t number) {
  const auto drop_newest = [](auto& its) { its.erase(std::prev(its.end())); };
  return trying_again_.make_room(domain, kTryingAgainMax, drop_newest) &&
         trying_again_.change(domain, [&](auto& its) { return its.insert(number).second; });
}

bool Streams::is_trying_again(const std::string& domain, std::uint64_t number) const {
  const auto* its = trying_again_.find(domain);
  return its != nullptr && its->contains(number);
}

Task<void> Streams::tell(delivery::TagEvent event, std::uint64_t number) {
  std::string told = co_await tell_once(event, number, "");
  // All who follow the author ask for a post when it is published, and that may be too many.
  Duration pause = kFirstPause;
  const std::string domain = ring::domain_of(host_of(event.uri));
  for (int tries = 1; tries < kTries && told.empty() && may_try_again(number, event); ++tries) {
    if (tries == 1 && !begin_trying_again(domain, number)) break;
    const Instant later = clock_.now() + std::exchange(pause, 2 * pause);
    co_await clock_.sleep_until(later);
    if (!is_trying_again(domain, number)) break;
    told = co_await tell_once(event, number, std::move(told));
  }
  if (is_trying_again(domain, number)) trying_again_.change(domain, [&](auto& its) { its.erase(number); });
  const std::optional<Instant> again = posts_.outdated_until(event.uri);
  if (again && is_told_by(number, event)) {
    co_await clock_.sleep_until(*again);
    co_await tell_once(event, number, std::move(told));
  }
  if (is_told_by(number, event)) telling_.erase({event.tag, event.uri});
}

// Returns the Status as readers have it now. `told`: as they had it before.
Task<std::string> Streams::tell_once(delivery::TagEvent event, std::uint64_t number, std::string told) {
  if (!by_tag_.contains(event.tag) || !is_told_by(number, event)) co_return told;
  const Instant deadline = clock_.now() + kFetchTime;
  const auto contents = co_await posts_.read({{event.uri, event.author}}, deadline);
  if (!contents.front() || !is_told_by(number, event)) co_return told;
  const posts::Post& post = *contents.front()->post;
  if (post.author != event.author || !post.has(event.tag)) co_return told;
  // Blocked or taken down, before or while it was fetched.
  if (!options_.is_shown({event.tag, event.uri, event.author, event.published})) co_return told;
  std::string status =
      json::serialize(posts_.show(*contents.front(), posts::status_id(event.published, event.uri)));
  if (status == told) co_return told;
  const bool is_new = std::exchange(telling_[{event.tag, event.uri}].is_new, false);
  deliver({event.tag, is_new ? "update" : "status.update", status});
  co_return status;
}

void Streams::deliver(LiveReader::Event event) {
  const auto listeners = by_tag_.find(event.tag);
  if (listeners == by_tag_.end()) return;
  // Pushing may close a reader, which changes the set.
  const auto readers = listeners->second;
  const auto shared = std::make_shared<const LiveReader::Event>(std::move(event));
  for (LiveReader* reader : readers) reader->push(shared);
}

// --- the API -----------------------------------------------------------------------------------------------

Task<std::optional<HttpResponse>> Streams::answer(ApiRequest request) {
  if (!request.path.starts_with(kStreamingPath)) co_return std::nullopt;
  co_return open(request);
}

HttpResponse Streams::open(const ApiRequest& request) {
  HttpResponse response;
  if (request.path == "/api/v1/streaming/health") {
    response.headers.add("Content-Type", "text/plain");
    response.body = "OK";
    return response;
  }
  const bool is_events = request.path == "/api/v1/streaming/hashtag";
  const bool is_socket =
      request.wants_socket && (request.path == kStreamingPath || request.path == "/api/v1/streaming/");
  if (!is_events && !is_socket) return api_error(404, "Not found");
  const std::string name = query_value(request.query, "tag");
  const std::string kind = query_value(request.query, "stream");
  std::optional<Tag> tag;
  if (is_events || !kind.empty()) {
    if (!is_events && kind != "hashtag") return api_error(404, "Unknown stream type");
    Result<Tag> parsed = offered_tag(blocks_, name);
    if (!parsed) return api_error(parsed.error());
    tag = *std::move(parsed);
  }
  response.stream =
      is_events ? open_events(*tag, request.peer) : open_socket(std::move(tag), name, request.peer);
  if (!response.stream) return too_many_requests(std::chrono::minutes(1), "Too many streams");
  response.status = is_socket ? 101 : 200;
  if (is_events) {
    response.headers.add("Content-Type", "text/event-stream");
    response.headers.add("Cache-Control", "private, no-store");
    response.headers.add("X-Accel-Buffering", "no");
  }
  return response;
}

}  // namespace tagring::mastodon_api
