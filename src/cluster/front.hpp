// A front: a process that has no part in the rings and keeps nothing (docs/scaling.md). It speaks with the
// world for its node: TLS, HTTP, budgets and signatures are its matter; what is in order it brings the core,
// and whoever sent it gets the core's answer. So nothing is acknowledged that the core has not taken, and a
// front may die at any time. What the core gives it to send it signs and sends. Streams it passes on as they
// come: who may read them is for the core to say.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "cluster/core_link.hpp"
#include "cluster/kept_answers.hpp"
#include "crypto/certificate.hpp"
#include "federation/authenticator.hpp"
#include "federation/identity.hpp"
#include "federation/inbox_tally.hpp"
#include "federation/remote_keys.hpp"
#include "federation/signed_client.hpp"
#include "http/message.hpp"

namespace tagring::cluster {

class Front {
 public:
  struct Options {
    CoreLink::Options core;
    // None if a proxy has it.
    std::function<std::optional<crypto::CertificateFacts>()> certificate;
  };
  struct Clients {
    HttpClient& outside;
    HttpClient& inside;
    HttpClient& streams;  // inside, too; a stream takes no connection from other calls
    HttpClient& news;     // inside, too: what tells that all are there waits for nothing else
  };
  // All of these outlive it.
  Front(Options options, const federation::Identity& identity, budget::Manager& budget, Clients clients,
        const Runtime& runtime);

  // To the world. 401 to what is signed wrongly, 503 while there is no core.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // To the core.
  [[nodiscard]] Task<HttpResponse> answer_core(HttpRequest request);
  // GET /livez, /readyz (report(), and whether a core is there), /metrics; to its own listener. /livez is for
  // balancers: 503 where requests are better brought by another front.
  [[nodiscard]] Task<HttpResponse> probe(HttpRequest request);
  // Looks for the core, and tells it each two seconds that this front is there, until it is cancelled.
  [[nodiscard]] Task<void> keep_in_touch();
  // The same once, before anybody is let in.
  [[nodiscard]] Task<void> get_in_touch();
  // Tells the core that it goes, so that nobody misses it, and from then on balancers, when they ask.
  [[nodiscard]] Task<void> leave();

  // {"role", "at", "version", "began", "core", "core_answers", "brought", "refused", "unanswered", "sent",
  // "leaves"}: "began" tells this run from others of the same place; of the activities among what it refused
  // {"inbox_refused": {reason: times}}, as InboxTally has them; and of the certificate that it shows
  // {"certificate_until", "certificate_late_from", "certificate_late"}
  [[nodiscard]] json::object report() const;

 private:
  static constexpr Duration kCoreTimeout{30'000};
  [[nodiscard]] HttpResponse alive() const;
  using Checked = federation::Authenticator::Checked;
  Task<Result<std::optional<Checked>>> check(const HttpRequest& request);
  Task<HttpResponse> bring(HttpRequest request);
  HttpResponse refuse(const std::string& sender, const Error& because);
  Task<Result<HttpResponse>> ask_core(const HttpRequest& request, std::optional<Checked> checked);
  void note_known(const HttpResponse& answer, const IpAddress& peer, const std::optional<Checked>& checked);
  [[nodiscard]] json::object figures() const;

  const Options options_;
  const Clients clients_;
  budget::Manager& budget_;
  Clock& clock_;
  const WallTime began_;
  CoreLink core_;
  KeptAnswers kept_;
  federation::SignedClient client_;
  federation::RemoteKeys keys_;
  federation::Authenticator authenticator_;
  federation::InboxTally tally_;  // of what does not come to the core
  std::uint64_t brought_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t unanswered_ = 0;
  std::uint64_t sent_ = 0;
  bool leaves_ = false;
};

}  // namespace tagring::cluster
