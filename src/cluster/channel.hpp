// How the processes of one node speak with each other: HTTP/1.1, in a network of the administrator's own
// (docs/scaling.md). A front brings the core what comes from outside, and the core has fronts sign and send
// what goes out. Each shows that it is of this node by a proof that only who has the node's key can make, and
// that serves with whom it is meant for, and for some minutes only.
//
//   to the core    as it came, with whom it is from in X-Forwarded-For, its Host in Tagring-Host, what the
//                  front has checked in Tagring-Checked (federation/checked_signature.hpp), and the host of
//                  who signed in Tagring-Signer. What a front itself has to say has no Tagring-Host, which
//                  nobody outside can leave out.
//                  The answer has its status in Tagring-Status, too: without that field it is not this
//                  node's. Tagring-Known says who is known to the core (budget/manager.hpp), Tagring-Keep
//                  that everybody gets the same (kept_answers.hpp).
//                  POST /cluster/front {"at", "version", "leaves", …}: a front is there, each two seconds, or
//                  goes now. 204, or {"cannot_write"} if another core may be in its place
//   to a front     GET /cluster/front: what it says of itself
//                  POST /cluster/send: the call with its fields and body; its method, URL, what it may take
//                  in milliseconds, and bytes, how it is to be signed, in fields. The answer is that of the
//                  other side, its status in Tagring-Status; without that field it is what HttpClient would
//                  have failed with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "federation/couriers.hpp"
#include "http/message.hpp"

namespace tagring::cluster {

inline constexpr std::string_view kFrontPath = "/cluster/front";
inline constexpr std::string_view kSendPath = "/cluster/send";
inline constexpr std::string_view kFrontField = "Tagring-Front";  // which one brings it
inline constexpr std::string_view kSignerField = "Tagring-Signer";
inline constexpr std::string_view kKnownField = "Tagring-Known";  // kKnownPeer, kKnownSigner or both
inline constexpr std::string_view kKnownPeer = "peer";
inline constexpr std::string_view kKnownSigner = "signer";
inline constexpr std::string_view kKeepField = "Tagring-Keep";

// A process's part of what all of the node with that key have in common.
class Secret {
 public:
  explicit Secret(const crypto::PrivateKey& key);

  // Adds to a call, whose URL says where it goes, that it comes from this node.
  void prove(HttpCall& call, WallTime now) const;
  // It comes from this node, and is meant for who listens at `own`, a Place::text(). Takes the same time
  // whatever it is that was shown.
  [[nodiscard]] bool is_proven(const Headers& headers, const std::string& own, WallTime now) const;
  // The same, but for the time at which it was said.
  [[nodiscard]] bool has_key(const Headers& headers, const std::string& own) const;

 private:
  static constexpr Duration kProvesFor = std::chrono::minutes(5);  // clocks differ
  [[nodiscard]] std::string proof(std::string_view place, std::string_view time) const;
  std::string secret_;
};

// A call of another process of the node, at "host:port". kInvalid if that is no place.
[[nodiscard]] Result<HttpCall> call_to(std::string method, const std::string& place, std::string_view target,
                                       Instant deadline);

// A request from outside as a front brings it to the core at "host:port". kInvalid if it cannot be brought.
[[nodiscard]] Result<HttpCall> to_core(HttpRequest request, const std::string& core, Instant deadline);
// A front brings that, and has not to say it itself.
[[nodiscard]] bool is_from_outside(const HttpRequest& request);
// The same at the core, as if it had come from outside.
[[nodiscard]] HttpRequest from_front(HttpRequest request);
// The core's answer, as itself or, with a stream, as the stream has it; and the same as it came.
[[nodiscard]] HttpResponse to_front(HttpResponse answer);
// kUnavailable if it is no answer of this node's core. What its listener refuses is one, though the node has
// not seen it.
[[nodiscard]] Result<HttpResponse> from_core(HttpResponse answer);

// A call that a front is to sign and make, and what came of it.
struct Errand {
  HttpCall call;
  federation::SignAs as;
};
[[nodiscard]] Result<HttpCall> to_front(const Errand& errand, const std::string& front, Instant now);
[[nodiscard]] Result<Errand> from_core(HttpRequest request, Instant now);
[[nodiscard]] HttpResponse to_answer(Result<HttpResponse> result);
[[nodiscard]] Result<HttpResponse> from_answer(HttpResponse answer);

// Fields that are of one connection, and no part of the message, left out (RFC 9110, 7.6.1); and those of
// this channel.
[[nodiscard]] Headers end_to_end(const Headers& headers);

// "192.0.2.1:7946" or "[2001:db8::1]:7946": where a process listens for the others of its node.
struct Place {
  IpAddress address;
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
  // kInvalid, with what is wrong.
  static Result<Place> parse(std::string_view text);
};

}  // namespace tagring::cluster
