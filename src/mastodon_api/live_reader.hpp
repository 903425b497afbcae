// One who reads hashtags as posts arrive: what is said to them, as server-sent events or on a WebSocket, and
// what they say (docs/client-api.md). Who does not take what comes, or says too much, is cut off; what they
// have missed is in the timeline.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/runtime.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "queues/alarm.hpp"

namespace tagring::mastodon_api {

// Belongs to the connection; its owner only knows it while it is open.
class LiveReader final : public HttpStream {
 public:
  struct Options {
    std::size_t tags_max = 20;                    // of a WebSocket
    std::size_t waiting_max = 200;                // events that are not taken yet
    std::size_t waiting_bytes_max = 256U << 10U;  // of them, beyond the first
    std::uint32_t messages_a_minute = 120;        // of a WebSocket
    Duration heartbeat = std::chrono::seconds(15);
  };
  class Owner {
   public:
    virtual ~Owner() = default;
    [[nodiscard]] virtual bool offers(const Tag& tag) const = 0;
    // Each tag is left once, when it is not read any more or before the reader closes.
    virtual void listens(LiveReader* reader, const Tag& tag) = 0;
    virtual void leaves(LiveReader* reader, const Tag& tag) = 0;
    virtual void closes(LiveReader* reader) = 0;  // the last that is heard of it
  };
  struct Event {
    Tag tag;
    std::string name;     // "update", "status.update" or "delete"
    std::string payload;  // a Status, or an id
  };

  // `owner` outlives it, or closes it before.
  LiveReader(Options options, Owner& owner, bool is_socket, const Runtime& runtime);
  ~LiveReader() override { close(); }
  LiveReader(const LiveReader&) = delete;
  LiveReader& operator=(const LiveReader&) = delete;

  [[nodiscard]] Task<std::optional<std::string>> next() override;
  // {"type": "subscribe" or "unsubscribe", "stream": "hashtag", "tag": "…"}
  [[nodiscard]] Task<void> receive(std::string message) override;
  void close() override;

  // Reads that as well from now on; events name it as it is spelled here.
  void listen(const Tag& tag, const std::string& spelling);
  // The event is one for all who read the hashtag: posts are long, and readers many.
  void push(std::shared_ptr<const Event> event);
  [[nodiscard]] const std::map<Tag, std::string>& tags() const { return tags_; }

 private:
  // Written down only when the reader takes it.
  struct Waiting {
    std::shared_ptr<const Event> event;  // none: just the text
    std::string text;                    // how the reader spells the event's hashtag
  };

  void hear(const std::string& message);
  [[nodiscard]] bool has_said_too_much();
  [[nodiscard]] std::string text_of(Waiting waiting) const;
  void refuse(std::string_view why);
  void put(std::string text);

  const Options options_;
  Owner* owner_;  // null once it is closed
  const bool is_socket_;
  Clock& clock_;
  std::map<Tag, std::string> tags_;  // to: how the reader spells it
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;  // of the events
  queues::Alarm alarm_;
  Instant minute_ends_;
  std::uint32_t messages_ = 0;  // in that minute
};

}  // namespace tagring::mastodon_api
