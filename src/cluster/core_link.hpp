// A front's way to its core: where that is now, whether it answers, and how it is asked.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/time.hpp"
#include "cluster/channel.hpp"
#include "http/message.hpp"
#include "queues/alarm.hpp"

namespace tagring::cluster {

// One task looks for the core and hears whether it is there; whoever brings something uses what that one
// knows, and never waits for the database.
class CoreLink {
 public:
  struct Options {
    std::string place;  // where this front listens for the core: Place::text()
    Secret secret;
    // Where the core is now: Place::text(), or empty. Another core may have taken over.
    std::function<Task<Result<std::string>>()> find_core;
  };
  // All of these outlive it. `client` goes to other processes of the node.
  CoreLink(Options options, HttpClient& client, Clock& clock, Executor executor, Log& log);

  // Tells the core each two seconds that this front is there, as `news` has it, and looks for another core
  // where it does not answer or cannot write, until it is cancelled.
  [[nodiscard]] Task<void> keep(std::function<std::string()> news);
  // Looks, and tells it once.
  [[nodiscard]] Task<void> tell(std::string news);

  // Makes a call to the core at place() through `client`. kUnavailable if there is none, or who answers there
  // is none of this node. kInvalid: it cannot be sent, whoever the core is.
  [[nodiscard]] Task<Result<HttpResponse>> ask(HttpClient& client, HttpCall call);

  [[nodiscard]] bool answers() const { return answers_; }
  // For longer than another core takes to be in its place, or ever since the start.
  [[nodiscard]] bool is_lost() const;
  [[nodiscard]] const std::string& place() const { return core_; }  // empty: not known

 private:
  static constexpr Duration kTellEvery{2'000};
  static constexpr Duration kLookEvery{500};  // for another core
  static constexpr Duration kTakeOver{15'000};
  Task<Result<HttpResponse>> send(HttpClient& client, HttpCall call);
  void note(const std::string& place, const std::optional<Error>& trouble);

  const Options options_;
  HttpClient& client_;
  Clock& clock_;
  Log& log_;
  queues::Alarm alarm_;
  std::string core_;
  bool answers_ = false;
  std::optional<Instant> answered_;  // when it said last that it is there
  bool can_write_ = true;
};

}  // namespace tagring::cluster
