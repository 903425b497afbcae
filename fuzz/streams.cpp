// A reader of streams, by what they say and what comes for them. Each line of the text is a step:
//   +tag -tag  a wish in the form of clients      !n  an event under the n-th hashtag that is read
//   >          what waits is taken, one piece     ~   20 s pass      .  the connection ends
// and everything else is a message as it is. An "e" in front of all makes them server-sent events.
#include <charconv>
#include <deque>
#include <fmt/format.h>
#include <memory>
#include <set>

#include "base/json.hpp"
#include "fuzz/target.hpp"
#include "mastodon_api/live_reader.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::fuzzing {
namespace {

using mastodon_api::LiveReader;

// Notes what it is told of its one reader.
class Owner final : public LiveReader::Owner {
 public:
  [[nodiscard]] bool offers(const Tag& tag) const override { return tag.canonical() != "blocked"; }
  void listens(LiveReader* /*reader*/, const Tag& tag) override {
    TR_ASSERT(!is_closed && offers(tag));
    TR_ASSERT(tags.insert(tag).second);
  }
  void leaves(LiveReader* /*reader*/, const Tag& tag) override {
    TR_ASSERT(!is_closed && tags.erase(tag) == 1);
  }
  void closes(LiveReader* /*reader*/) override {
    TR_ASSERT(!is_closed && tags.empty());
    is_closed = true;
  }
  std::set<Tag> tags;
  bool is_closed = false;
};

class Run {
 public:
  explicit Run(bool is_socket) : is_socket_(is_socket), reader_(options_, owner_, is_socket, runtime_) {}
  ~Run() { loop_.drop_all(); }

  void step(std::string_view line) {
    const char kind = line.empty() ? ' ' : line.front();
    if (kind == '+' || kind == '-') {
      const char* type = kind == '+' ? "subscribe" : "unsubscribe";
      say(json::serialize(json::object{{"type", type}, {"stream", "hashtag"}, {"tag", line.substr(1)}}));
    } else if (kind == '!') {
      push(line.substr(1));
    } else if (kind == '>') {
      (void)take();
    } else if (kind == '~') {
      loop_.run_for(std::chrono::seconds(20));
    } else if (kind == '.') {
      reader_.close();
    } else {
      say(std::string(line));
    }
    TR_ASSERT(owner_.tags.size() == reader_.tags().size() && owner_.tags.size() <= options_.tags_max);
    if (owner_.is_closed) TR_ASSERT(reader_.tags().empty());
  }
  // What still waits is given, and then it is at its end.
  void finish() {
    reader_.close();
    TR_ASSERT(owner_.is_closed);
    std::size_t bytes = 0;
    std::size_t pieces = 0;
    for (std::optional<std::string> piece = take(); piece; piece = take()) {
      bytes += piece->size();
      ++pieces;
    }
    TR_ASSERT(pieces <= options_.waiting_max + 1);
    TR_ASSERT(bytes <= options_.waiting_bytes_max + kPayloadMax + 100 * options_.waiting_max);
  }

 private:
  static constexpr std::size_t kPayloadMax = 130'000;

  void say(std::string message) {
    if (is_socket_) {
      loop_.spawn(ring_sim::kWorld, reader_.receive(std::move(message)));
      loop_.run_for(Duration(0));
    } else if (const auto tag = Tag::parse(message);
               tag && !owner_.is_closed && reader_.tags().empty() && owner_.offers(*tag)) {
      reader_.listen(*tag, message);
    }
  }
  void push(std::string_view number) {
    if (reader_.tags().empty()) return;
    std::size_t n = 0;
    (void)std::from_chars(number.data(), number.data() + number.size(), n);
    auto tag = reader_.tags().begin();
    std::advance(tag, n % reader_.tags().size());
    reader_.push(
        std::make_shared<const LiveReader::Event>(tag->first, "update", std::string(n % kPayloadMax, 'x')));
  }
  Task<void> wait_for_piece() { piece_ = co_await reader_.next(); }
  // Nothing at the end, or while nothing comes; waits no longer than for a sign of life.
  std::optional<std::string> take() {
    if (!std::exchange(waits_, true)) loop_.spawn(ring_sim::kWorld, wait_for_piece());
    loop_.run_for(is_socket_ ? Duration(1) : options_.heartbeat);
    if (!piece_) {
      TR_ASSERT(is_socket_ && !owner_.is_closed);
      return std::nullopt;
    }
    waits_ = false;
    std::optional<std::string> piece = *std::exchange(piece_, std::nullopt);
    if (piece)
      check(*piece);
    else
      TR_ASSERT(owner_.is_closed);
    return piece;
  }
  void check(const std::string& text) const {
    if (!is_socket_) {
      TR_ASSERT(text == ":)\n" || text == ":thump\n" ||
                (text.starts_with("event: update\ndata: ") && text.ends_with("\n\n")));
      return;
    }
    const auto message = json::parse_object(text);
    TR_ASSERT(message.has_value());
    TR_ASSERT(message->contains("error") != message->contains("event"));
  }

  const bool is_socket_;
  const LiveReader::Options options_;
  ring_sim::Loop loop_{1};
  ring_sim::LoopClock clock_{loop_, ring_sim::kWorld};
  Workers workers_;
  Log log_{[](LogLevel, const std::string&) {}};
  const Runtime runtime_{clock_, loop_.executor(ring_sim::kWorld), workers_, log_, Rng(1)};
  Owner owner_;
  LiveReader reader_;
  bool waits_ = false;                               // for the next piece
  std::optional<std::optional<std::string>> piece_;  // that has come
};

}  // namespace

void fuzz(std::string_view text) {
  const bool is_events = text.starts_with('e');
  if (is_events) text.remove_prefix(1);
  Run run(!is_events);
  while (!text.empty()) run.step(take_until(text, '\n'));
  run.finish();
}

}  // namespace tagring::fuzzing
