#include "mastodon_api/streams.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>

#include "http/url.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kStreamingPath = "/api/v1/streaming";
constexpr const char* kReason = "readers";
constexpr Duration kFetchTime = std::chrono::seconds(30);

}  // namespace

// Belongs to the connection; the streams only know it while it is open.
class Streams::Reader final : public HttpStream {
 public:
  Reader(Streams* owner, bool is_socket, IpAddress reader_peer)
      : peer(reader_peer),
        owner_(owner),
        is_socket_(is_socket),
        heartbeat_(owner->options_.heartbeat),
        clock_(owner->clock_),
        alarm_(owner->clock_, owner->executor_) {}
  ~Reader() override { close(); }

  Task<std::optional<std::string>> next() override {
    while (waiting_.empty() && owner_ != nullptr) {
      const Instant beat = clock_.now() + heartbeat_;
      co_await alarm_.wait_until(beat);
      // As Mastodon, a line and no empty one after it: Mastodon.py takes that for an event without a name.
      // The pings of a WebSocket are made elsewhere.
      if (!is_socket_ && waiting_.empty() && clock_.now() >= beat) co_return ":thump\n";
    }
    if (waiting_.empty()) co_return std::nullopt;
    std::string text = std::move(waiting_.front());
    waiting_.pop_front();
    co_return text;
  }
  void receive(std::string message) override;
  void close() override {
    if (Streams* owner = std::exchange(owner_, nullptr)) owner->close(this);
    alarm_.ring();
  }
  void push(const Event& event, std::size_t waiting_max) {
    if (waiting_.size() >= waiting_max) {
      waiting_.clear();
      close();
      return;
    }
    waiting_.push_back(is_socket_ ? message_of(event) : event_of(event));
    alarm_.ring();
  }
  void begin() {
    if (!is_socket_) waiting_.emplace_back(":)\n");  // so that the reader knows that it is open
  }

  const IpAddress peer;
  std::map<Tag, std::string> tags;  // to: how the reader spells it

 private:
  static std::string event_of(const Event& event) {
    return "event: " + event.name + "\ndata: " + event.payload + "\n\n";
  }
  std::string message_of(const Event& event) const {
    const auto spelling = tags.find(event.tag);
    const std::string& name = spelling == tags.end() ? event.tag.canonical() : spelling->second;
    return json::serialize(json::object{
        {"stream", json::array{"hashtag", name}}, {"event", event.name}, {"payload", event.payload}});
  }
  void refuse(std::string_view why) {
    waiting_.push_back(json::serialize(json::object{{"error", why}}));
    alarm_.ring();
  }

  Streams* owner_;  // null once it is closed
  bool is_socket_;
  Duration heartbeat_;
  Clock& clock_;
  std::deque<std::string> waiting_;
  queues::Alarm alarm_;
  Instant minute_ends_;
  std::uint32_t messages_ = 0;  // in that minute
};

// {"type": "subscribe" or "unsubscribe", "stream": "hashtag", "tag": "…"}
void Streams::Reader::receive(std::string message) {
  if (owner_ == nullptr) return;
  if (clock_.now() >= minute_ends_) {
    minute_ends_ = clock_.now() + std::chrono::minutes(1);
    messages_ = 0;
  }
  if (++messages_ > owner_->options_.messages_a_minute || waiting_.size() >= owner_->options_.waiting_max)
    return close();
  const json::object wish = json::parse_object(message).value_or(json::object());
  const std::string type = json::get_string(wish, "type").value_or("");
  const Result<Tag> tag = Tag::parse(json::get_string(wish, "tag").value_or(""));
  if (json::get_string(wish, "stream") != "hashtag") return refuse("Unknown stream type");
  if (!tag || owner_->blocks_.of_tag(tag->canonical()) != nullptr) return refuse("No such hashtag");
  if (type == "unsubscribe") return owner_->leave(this, *tag);
  if (type != "subscribe") return refuse("Unknown message type");
  if (tags.size() >= owner_->options_.tags_per_stream_max) return refuse("Too many hashtags");
  owner_->listen(this, *tag, json::get_string(wish, "tag").value_or(""));
}

Streams::Streams(Options options, posts::PostCache& posts, subscriber::Subscriptions& subscriber,
                 const federation::Blocks& blocks, const Runtime& runtime)
    : options_(options),
      posts_(posts),
      subscriber_(subscriber),
      blocks_(blocks),
      clock_(runtime.clock),
      executor_(runtime.executor),
      tasks_(runtime.executor) {}

Streams::~Streams() {
  tasks_.cancel();  // or the leaving readers would begin new ones
  while (!readers_.empty()) (*readers_.begin())->close();
}

void Streams::start() { tasks_.spawn("former_readers", forget_former()); }

Task<void> Streams::stop() {
  tasks_.cancel();
  while (!readers_.empty()) (*readers_.begin())->close();
  co_await tasks_.join();
}

Task<void> Streams::forget_former() {
  std::vector<Tag> tags(subscriber_.wanted().begin(), subscriber_.wanted().end());
  if (!tags.empty()) (void)co_await subscriber_.unwant(std::move(tags), kReason);
}

std::shared_ptr<Streams::Reader> Streams::open(bool is_socket, IpAddress peer) {
  std::size_t& of_peer = per_peer_[peer.prefix64()];
  if (readers_.size() >= options_.streams_max || of_peer >= options_.streams_per_peer_max) {
    if (of_peer == 0) per_peer_.erase(peer.prefix64());
    return nullptr;
  }
  ++of_peer;
  auto reader = std::make_shared<Reader>(this, is_socket, peer);
  readers_.insert(reader.get());
  reader->begin();
  return reader;
}

std::shared_ptr<HttpStream> Streams::open_events(Tag tag, IpAddress peer) {
  auto reader = open(/*is_socket=*/false, peer);
  if (reader) listen(reader.get(), tag, tag.canonical());
  return reader;
}

std::shared_ptr<HttpStream> Streams::open_socket(std::optional<Tag> tag, const std::string& spelling,
                                                 IpAddress peer) {
  auto reader = open(/*is_socket=*/true, peer);
  if (reader && tag) listen(reader.get(), *tag, spelling);
  return reader;
}

void Streams::close(Reader* reader) {
  const auto tags = reader->tags;
  for (const auto& [tag, spelling] : tags) leave(reader, tag);
  const auto peer = per_peer_.find(reader->peer.prefix64());
  if (--peer->second == 0) per_peer_.erase(peer);
  readers_.erase(reader);
}

// --- subscriptions -----------------------------------------------------------------------------------------

void Streams::listen(Reader* reader, const Tag& tag, const std::string& spelling) {
  reader->tags[tag] = spelling;
  by_tag_[tag].insert(reader);
  const Prefix64 peer = reader->peer.prefix64();
  if (subscribed_.contains(tag) || subscriber_.wants(tag) || !may_subscribe(peer)) return;
  subscribed_.emplace(tag, peer);
  tasks_.spawn("reader_subscribes", subscribe(tag));
}

bool Streams::may_subscribe(const Prefix64& peer) const {
  const auto own = std::ranges::count(subscribed_ | std::views::values, peer);
  return subscribed_.size() < options_.tags_max && std::cmp_less(own, options_.tags_per_peer_max);
}

void Streams::leave(Reader* reader, const Tag& tag) {
  reader->tags.erase(tag);
  const auto listeners = by_tag_.find(tag);
  if (listeners == by_tag_.end()) return;
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
  const Prefix64 peer = subscribed->second;
  subscribed_.erase(subscribed);
  (void)co_await subscriber_.unwant({tag}, kReason);
  // Somebody came while that was written down.
  if (by_tag_.contains(tag) && subscribed_.emplace(tag, peer).second) co_await subscribe(tag);
}

// --- events ------------------------------------------------------------------------------------------------

void Streams::note(const delivery::TagEvent& event) {
  if (!by_tag_.contains(event.tag)) return;
  if (event.op == delivery::Op::kRemove) {
    const std::string id = std::to_string(posts::status_id(event.published, event.uri));
    deliver(std::make_shared<const Event>(Event{event.tag, "delete", id}));
  } else if (event.indexable &&
             (event.is_edit() || event.published >= clock_.wall_now() - options_.news_age_max)) {
    tasks_.spawn("tell_readers", tell(event));
  }
}

Task<void> Streams::tell(delivery::TagEvent event) {
  const Instant deadline = clock_.now() + kFetchTime;
  const auto contents = co_await posts_.read({{event.uri, event.author}}, deadline);
  if (!contents.front()) co_return;
  const posts::Post& post = *contents.front()->post;
  if (post.author != event.author || !post.has(event.tag)) co_return;
  const json::object status = posts_.show(*contents.front(), posts::status_id(event.published, event.uri));
  const char* name = event.is_edit() ? "status.update" : "update";
  deliver(std::make_shared<const Event>(Event{event.tag, name, json::serialize(status)}));
}

void Streams::deliver(const SharedEvent& event) {
  const auto listeners = by_tag_.find(event->tag);
  if (listeners == by_tag_.end()) return;
  // Pushing may close a reader, which changes the set.
  const auto readers = listeners->second;
  for (Reader* reader : readers) reader->push(*event, options_.waiting_max);
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
