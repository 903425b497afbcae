#include "mastodon_api/live_reader.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.hpp"

namespace tagring::mastodon_api {

LiveReader::LiveReader(Options options, Owner& owner, bool is_socket, const Runtime& runtime)
    : options_(options),
      owner_(&owner),
      is_socket_(is_socket),
      clock_(runtime.clock),
      alarm_(runtime.clock, runtime.executor) {
  if (!is_socket_) put(":)\n");  // so that the reader knows that it is open
}

Task<std::optional<std::string>> LiveReader::next() {
  while (waiting_.empty() && owner_ != nullptr) {
    const Instant beat = clock_.now() + options_.heartbeat;
    co_await alarm_.wait_until(beat);
    // As Mastodon, a line and no empty one after it: Mastodon.py takes that for an event without a name.
    // The pings of a WebSocket are made elsewhere.
    if (!is_socket_ && waiting_.empty() && clock_.now() >= beat) co_return ":thump\n";
  }
  if (waiting_.empty()) co_return std::nullopt;
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  if (first.event) waiting_bytes_ -= first.event->payload.size();
  co_return text_of(std::move(first));
}

void LiveReader::close() {
  if (Owner* owner = std::exchange(owner_, nullptr)) {
    for (const auto& [tag, spelling] : std::exchange(tags_, {})) owner->leaves(this, tag);
    owner->closes(this);
  }
  alarm_.ring();
}

void LiveReader::listen(const Tag& tag, const std::string& spelling) {
  if (tags_.insert_or_assign(tag, spelling).second) owner_->listens(this, tag);
}

void LiveReader::push(std::shared_ptr<const Event> event) {
  if (owner_ == nullptr) return;
  const std::size_t bytes = event->payload.size();
  const bool is_long = waiting_bytes_ + bytes > options_.waiting_bytes_max && !waiting_.empty();
  if (waiting_.size() < options_.waiting_max && !is_long) {
    const auto spelling = tags_.find(event->tag);
    std::string name = spelling == tags_.end() ? event->tag.canonical() : spelling->second;
    waiting_bytes_ += bytes;
    waiting_.push_back({std::move(event), std::move(name)});
    return alarm_.ring();
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  close();
}

bool LiveReader::has_said_too_much() {
  if (clock_.now() >= minute_ends_) {
    minute_ends_ = clock_.now() + std::chrono::minutes(1);
    messages_ = 0;
  }
  return ++messages_ > options_.messages_a_minute || waiting_.size() >= options_.waiting_max;
}

Task<void> LiveReader::receive(std::string message) {
  hear(message);
  co_return;
}

void LiveReader::hear(const std::string& message) {
  if (owner_ == nullptr) return;
  if (has_said_too_much()) return close();
  const json::object wish = json::parse_object(message).value_or(json::object());
  const std::string type = json::text_of(wish, "type");
  const std::string name = json::text_of(wish, "tag");
  if (json::get_string(wish, "stream") != "hashtag") return refuse("Unknown stream type");
  const bool subscribes = type == "subscribe";
  if (!subscribes && type != "unsubscribe") return refuse("Unknown message type");
  // To normalise a hashtag is dear, so all else comes before.
  if (name.size() > Tag::kSizeMax) return refuse("No such hashtag");
  if (subscribes && tags_.size() >= options_.tags_max) {
    // To say once more what is read already, spelled the same, is no fault.
    const bool is_read = std::ranges::any_of(tags_, [&](const auto& read) { return read.second == name; });
    if (!is_read) refuse("Too many hashtags");
    return;
  }
  const Result<Tag> tag = Tag::parse(name);
  if (!tag || !owner_->offers(*tag)) return refuse("No such hashtag");
  if (!subscribes) {
    if (tags_.erase(*tag) > 0) owner_->leaves(this, *tag);
    return;
  }
  listen(*tag, name);
}

std::string LiveReader::text_of(Waiting waiting) const {
  if (!waiting.event) return std::move(waiting.text);
  const Event& event = *waiting.event;
  if (!is_socket_) return "event: " + event.name + "\ndata: " + event.payload + "\n\n";
  return json::serialize(json::object{
      {"stream", json::array{"hashtag", waiting.text}}, {"event", event.name}, {"payload", event.payload}});
}

void LiveReader::refuse(std::string_view why) { put(json::serialize(json::object{{"error", why}})); }

void LiveReader::put(std::string text) {
  waiting_.push_back({nullptr, std::move(text)});
  alarm_.ring();
}

}  // namespace tagring::mastodon_api
