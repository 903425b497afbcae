// Who sent a request: the HTTP signature checked, with the sender's key fetched as needed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "base/workers.hpp"
#include "crypto/key.hpp"
#include "federation/remote_keys.hpp"
#include "fediverse/actor.hpp"
#include "http/message.hpp"
#include "signatures/replay_cache.hpp"
#include "signatures/signature.hpp"

namespace tagring::federation {

// For SignaturePolicy::not_before: when this process started, by the wall clock as it goes now. It may have
// been set since, and by what it said then a node would refuse everything until that hour comes. Dates on the
// wire have whole seconds.
inline WallTime start_by_wall_clock(const Clock& clock, Instant started) {
  return std::chrono::floor<std::chrono::seconds>(clock.wall_now() - (clock.now() - started));
}

// Actors who are no longer there, and were known before: taken by the last key that they had, for what they
// say of that.
enum class Gone : std::uint8_t { kRefused, kTaken };

struct Authentic {
  fediverse::RemoteActor actor;
  WallTime signed_at;
  bool covers_synchronization = false;  // its header Collection-Synchronization is signed
  bool gone = false;
  std::vector<signatures::SeenSignature> seen = {};  // with the request
};

// Signatures dated ahead that were taken, by the registered domain of the actor: what was signed so before a
// restart could be sent again after it. Kept across restarts as text; without `save` they are forgotten.
// Hosts below a domain cost nothing, so they share an entry; and where there are many domains, the rest of
// them do. So nobody is refused for what others do, except for minutes after a restart.
struct DatedAhead {
  std::optional<std::string> saved = {};
  std::function<Task<Result<void>>(std::string)> save = {};
};

class Authenticator {
 public:
  Authenticator(signatures::SignaturePolicy policy, DatedAhead ahead, RemoteKeys& actors,
                const Runtime& runtime)
      : policy_(std::move(policy)),
        save_ahead_(std::move(ahead.save)),
        taken_before_(read_ahead(ahead.saved.value_or(""))),
        ahead_(taken_before_),
        ahead_saved_(taken_before_),
        actors_(actors),
        clock_(runtime.clock),
        started_(runtime.clock.now()),
        workers_(runtime.workers),
        replays_(policy_.age_max) {}

  // The actor whose key signed the request: of several signatures, the first that is genuine counts. kDenied,
  // with the reason, for everything that is not in order: unsigned, badly covered, stale, wrongly signed;
  // kConflict if it was received before; kUnavailable if the key could not be fetched. One key is fetched for
  // a request at most. A GET may be repeated.
  [[nodiscard]] Task<Result<Authentic>> authenticate(HttpRequest request, Gone gone = Gone::kRefused);

  // For a front, whose core authenticates: that one of the request's signatures is genuine, by
  // checked_text(), and whose it is. kNotFound if the key's owner is not there any more; else errors as
  // above, but kConflict.
  struct Checked {
    std::string text;
    std::string actor;
  };
  [[nodiscard]] Task<Result<Checked>> check(HttpRequest request);

  // The request that was just authenticated so was answered. If it was refused for now (429, 5xx), who sends
  // the very same again is heard: some do within the second, and proxies, too.
  void answered(const Authentic& sender, const HttpResponse& response) {
    if (is_refused_for_now(response)) replays_.forget(sender.seen);
  }

  // The actor is of a server that this node works for: it and the address that it sends from have their share
  // of the budget.
  void note_known(const std::string& actor, const IpAddress& peer) { actors_.note_known(actor, peer); }

  [[nodiscard]] RemoteKeys& keys() { return actors_; }

 private:
  using Claims = std::vector<signatures::SignatureClaim>;
  struct Signer {
    Authentic authentic;
    signatures::SignatureClaim claim;
    crypto::PublicKey key;
  };
  // Whose key it takes to know them, and what a front says of it.
  struct Asked {
    IpAddress peer;
    Gone gone = Gone::kRefused;
    std::string checked = {};
  };
  Task<std::optional<Signer>> signer_known(Claims claims, std::string checked);
  Task<Result<Signer>> signer_fetched(signatures::SignatureClaim claim, Asked asked);
  Task<Result<Signer>> signer(Claims claims, Asked asked);
  // Those of the request's signatures that may be good: by keys of the sender's registered domain, and others
  // that are known to be. Whoever sends a request can put any others there, and none of those is remembered.
  Task<std::vector<signatures::SeenSignature>> seen(Claims claims, Signer found);
  Task<bool> is_genuine(signatures::SignatureClaim claim, crypto::PublicKey key, std::string checked);

  using Latest = std::map<std::string, WallTime>;  // by domain; empty: all the others
  static Latest read_ahead(const std::string& text);
  [[nodiscard]] bool is_from_before(const std::string& domain, WallTime signed_at) const;
  Task<Result<void>> check_ahead(std::string domain, WallTime signed_at);

  signatures::SignaturePolicy policy_;
  const std::function<Task<Result<void>>(std::string)> save_ahead_;
  const Latest taken_before_;  // this start
  Latest ahead_;               // that are to be on disk
  Latest ahead_saved_;         // that are
  RemoteKeys& actors_;
  Clock& clock_;
  const Instant started_;
  Workers& workers_;
  signatures::ReplayCache replays_;
};

// To a request whose sender could not be made sure of: 401, or 503 and when to try again if only the sender's
// key was out of reach.
HttpResponse not_authentic(const Error& error);

}  // namespace tagring::federation
