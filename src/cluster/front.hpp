// A front: a process that has no part in the rings and keeps nothing (docs/scaling.md). It speaks with the
// world for its node: TLS, HTTP, budgets and signatures are its matter; what is in order it brings the core,
// and whoever sent it gets the core's answer. So nothing is acknowledged that the core has not taken, and a
// front may die at any time. What the core gives it to send it sends. Streams it passes on as they come: who
// may read them is for the core to say.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "federation/authenticator.hpp"
#include "federation/identity.hpp"
#include "federation/remote_keys.hpp"
#include "federation/signed_client.hpp"
#include "http/message.hpp"

namespace tagring::cluster {

class Front {
 public:
  struct Options {
    std::string place;  // where it listens for the core: Place::text()
    std::string secret;
    // Where the core is now: Place::text(). Another core may have taken over.
    std::function<Task<Result<std::string>>()> find_core;
    // None if a proxy has it.
    std::function<std::optional<WallTime>()> certificate_until;
  };
  struct Clients {
    HttpClient& outside;
    HttpClient& inside;
    HttpClient& streams;  // inside, too; a stream takes no connection from other calls
  };
  // All of these outlive it.
  Front(Options options, const federation::Identity& identity, budget::Manager& budget, Clients clients,
        const Runtime& runtime);

  // To the world. 401 to what is signed wrongly, 503 while there is no core.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // To the core.
  [[nodiscard]] Task<HttpResponse> answer_core(HttpRequest request);
  // GET /livez, /readyz (report(), and whether a core is there), /metrics; to its own listener.
  [[nodiscard]] Task<HttpResponse> probe(HttpRequest request);
  // Tells the core each two seconds that it is there, until it is cancelled.
  [[nodiscard]] Task<void> announce();
  // Tells the core that it goes, so that nobody misses it.
  [[nodiscard]] Task<void> leave();

  // {"role", "at", "version", "core", "core_answers", "brought", "refused", "unanswered", "sent", "leaves"}
  [[nodiscard]] json::object report() const;

 private:
  static constexpr Duration kAnnounceEvery{2'000};
  static constexpr Duration kCoreTimeout{30'000};
  static constexpr Duration kLookEvery{1'000};  // for another core
  Task<Result<void>> check(HttpRequest* request);
  Task<void> tell_core();
  Task<Result<HttpResponse>> ask_core(HttpClient& client, HttpCall call);
  [[nodiscard]] json::object figures() const;
  // None: it answered as the core does.
  void note_core(const std::optional<std::string>& trouble);
  Task<void> look_for_core();

  const Options options_;
  const Clients clients_;
  budget::Manager& budget_;
  Clock& clock_;
  Log& log_;
  federation::SignedClient client_;
  federation::RemoteKeys keys_;
  federation::Authenticator authenticator_;
  std::string core_;  // empty: not known
  bool core_answers_ = false;
  std::optional<Instant> looked_;
  std::uint64_t brought_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t unanswered_ = 0;
  std::uint64_t sent_ = 0;
  bool leaves_ = false;
};

}  // namespace tagring::cluster
