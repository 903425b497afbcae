// Posts as they arrive, for readers who wait for them: Mastodon's streaming API, as server-sent events and on
// WebSockets (docs/client-api.md).
//
// While somebody reads a hashtag live, the node is subscribed to it, and for some minutes longer. Readers who
// do not keep up are cut off; what they have missed is in the timeline.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "delivery/store.hpp"
#include "federation/blocks.hpp"
#include "http/message.hpp"
#include "mastodon_api/api.hpp"
#include "posts/post_cache.hpp"
#include "queues/alarm.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::mastodon_api {

class Streams final : public ApiPart {
 public:
  struct Options {
    std::size_t streams_max = 1000;
    std::size_t streams_per_peer_max = 32;  // per IPv4 address or IPv6 /64
    std::size_t tags_per_stream_max = 20;   // of a WebSocket
    std::size_t waiting_max = 200;          // events that a reader has not taken; then they are cut off
    // Hashtags that the node is subscribed to for readers only. Beyond that streams get what comes anyway.
    std::size_t tags_max = 200;
    std::size_t tags_per_peer_max = 40;          // of them
    std::uint32_t messages_a_minute = 120;       // of a WebSocket; then it is cut off
    Duration linger = std::chrono::minutes(10);  // a subscription after its last reader
    Duration heartbeat = std::chrono::seconds(15);
    Duration news_age_max = std::chrono::hours(1);  // what is older is no news: a subscription brings it too
  };

  Streams(Options options, posts::PostCache& posts, subscriber::Subscriptions& subscriber,
          const federation::Blocks& blocks, const Runtime& runtime);
  ~Streams() override;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Ends the subscriptions of readers that an earlier run left behind.
  void start();
  [[nodiscard]] Task<void> stop();

  // Below /api/v1/streaming. 429 if there are too many streams.
  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;
  // Null if there are too many streams.
  [[nodiscard]] std::shared_ptr<HttpStream> open_events(Tag tag, IpAddress peer);
  // A WebSocket; `tag` is where it begins, if its address said so.
  // `spelling`, as it was written there, names it in messages.
  [[nodiscard]] std::shared_ptr<HttpStream> open_socket(std::optional<Tag> tag, const std::string& spelling,
                                                        IpAddress peer);
  // Something has entered the feed of this node.
  void note(const delivery::TagEvent& event);

  [[nodiscard]] std::size_t size() const { return readers_.size(); }

 private:
  [[nodiscard]] HttpResponse open(const ApiRequest& request);
  class Reader;
  struct Event {
    Tag tag;
    std::string name;     // "update" or "delete"
    std::string payload;  // a Status, or an id
  };
  using SharedEvent = std::shared_ptr<const Event>;

  std::shared_ptr<Reader> open(bool is_socket, IpAddress peer);
  void close(Reader* reader);
  void listen(Reader* reader, const Tag& tag, const std::string& spelling);
  void leave(Reader* reader, const Tag& tag);
  void deliver(const SharedEvent& event);
  Task<void> tell(delivery::TagEvent event);
  Task<void> subscribe(Tag tag);
  Task<void> let_go(Tag tag);
  Task<void> forget_former();

  Options options_;
  posts::PostCache& posts_;
  subscriber::Subscriptions& subscriber_;
  const federation::Blocks& blocks_;
  Clock& clock_;
  Executor executor_;
  std::set<Reader*> readers_;
  std::map<Prefix64, std::size_t> per_peer_;
  std::map<Tag, std::set<Reader*>> by_tag_;
  [[nodiscard]] bool may_subscribe(const Prefix64& peer) const;

  std::map<Tag, Prefix64> subscribed_;  // for readers; by whom first
  std::map<Tag, Instant> left_;         // by the last reader; each has one task that waits
  TaskGroup tasks_;
};

}  // namespace tagring::mastodon_api
