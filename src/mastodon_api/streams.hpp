// Posts as they arrive, for readers who wait for them: Mastodon's streaming API, as server-sent events and on
// WebSockets (docs/client-api.md).
//
// While somebody reads a hashtag live, the node is subscribed to it, and for some minutes longer, as far as
// the budget of the reader goes; beyond that streams get what comes anyway.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "delivery/store.hpp"
#include "federation/blocks.hpp"
#include "http/message.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/live_reader.hpp"
#include "posts/post_cache.hpp"
#include "storage/history.hpp"
#include "subscriber/subscriptions.hpp"

namespace tagring::mastodon_api {

class Streams final : public ApiPart, public LiveReader::Owner {
 public:
  struct Options {
    // Readers of this node may see it.
    std::function<bool(const storage::HistoryEntry&)> is_shown;
    LiveReader::Options reader = {};
    Duration linger = std::chrono::minutes(10);     // a subscription after its last reader
    Duration news_age_max = std::chrono::hours(1);  // what is older is no news: a subscription brings it too
  };

  Streams(Options options, posts::PostCache& posts, subscriber::Subscriptions& subscriber,
          const federation::Blocks& blocks, budget::Manager& budget, const Runtime& runtime);
  ~Streams() override;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Ends the subscriptions of readers that an earlier run left behind, and keeps those of readers who are
  // there.
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
  struct Place {
    budget::Spender reader;
    budget::Share share;
  };
  [[nodiscard]] bool offers(const Tag& tag) const override;
  void listens(LiveReader* reader, const Tag& tag) override;
  void leaves(LiveReader* reader, const Tag& tag) override;
  void closes(LiveReader* reader) override { readers_.erase(reader); }

  [[nodiscard]] HttpResponse open(const ApiRequest& request);
  std::shared_ptr<LiveReader> open(bool is_socket, IpAddress peer);
  void deliver(LiveReader::Event event);
  // What is being told of a post under a hashtag, now and later.
  struct Telling {
    std::uint64_t number = 0;  // of the event; a later one takes its place
    bool is_new = false;       // readers have had nothing of it
  };
  [[nodiscard]] bool is_told_by(std::uint64_t number, const delivery::TagEvent& event) const;
  [[nodiscard]] bool may_try_again(std::uint64_t number, const delivery::TagEvent& event) const;
  // Has it among those that are tried again, if there is room or another gives way; which ends that one.
  [[nodiscard]] bool begin_trying_again(const std::string& domain, std::uint64_t number);
  [[nodiscard]] bool is_trying_again(const std::string& domain, std::uint64_t number) const;
  Task<void> tell(delivery::TagEvent event, std::uint64_t number);
  Task<std::string> tell_once(delivery::TagEvent event, std::uint64_t number, std::string told);
  Task<void> subscribe(Tag tag);
  Task<void> let_go(Tag tag);
  Task<void> forget_former();
  void bring(const Tag& tag, LiveReader* reader);
  void bring_all();
  Task<void> look_again();

  // Beyond that a post that does not come at once does not come: servers that do not answer say how many. So
  // the newest of the registered domain that has most gives way. Each counts once for each of its hashtags
  // that is read.
  static constexpr std::size_t kTryingAgainMax = 300;
  static constexpr Duration kLookEvery = std::chrono::minutes(1);
  const Options options_;
  posts::PostCache& posts_;
  subscriber::Subscriptions& subscriber_;
  const federation::Blocks& blocks_;
  budget::Manager& budget_;
  const Runtime runtime_;
  Clock& clock_;
  std::map<LiveReader*, Place> readers_;
  std::map<Tag, std::set<LiveReader*>> by_tag_;
  std::map<Tag, budget::Share> subscribed_;  // for readers; of who came first
  bool looks_again_ = false;
  std::map<Tag, Instant> left_;  // by the last reader; each has one task that waits
  std::map<std::pair<Tag, std::string>, Telling> telling_;  // by URI; each has one task, beside former ones
  std::uint64_t last_ = 0;
  Shares<std::set<std::uint64_t>> trying_again_;  // numbers of events, by domain of the post
  TaskGroup tasks_;
};

}  // namespace tagring::mastodon_api
