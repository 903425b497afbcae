// How the processes of one node speak with each other: HTTP/1.1, in a network of the administrator's own
// (docs/scaling.md). A front brings the core what comes from outside, and the core has fronts send what goes
// out. Each shows that it is of this node by a secret that is made of the node's key.
//
//   to the core    as it came, with whom it is from in X-Forwarded-For, its Host in Tagring-Host, and what
//                  the front has checked in Tagring-Checked (federation/checked_signature.hpp)
//                  POST /cluster/front {"at", "version", "leaves", …}: a front is there, each two seconds, or
//                  goes now
//   to a front     GET /cluster/front: what it says of itself
//                  POST /cluster/send: the call with its fields and body; its method, URL, what it may take
//                  in milliseconds, and bytes, in fields. The answer is that of the other side, its status in
//                  Tagring-Status; without that field it is what HttpClient would have failed with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"

namespace tagring::cluster {

inline constexpr std::string_view kFrontPath = "/cluster/front";
inline constexpr std::string_view kSendPath = "/cluster/send";
inline constexpr std::string_view kSecretField = "Tagring-Secret";
inline constexpr std::string_view kFrontField = "Tagring-Front";  // which one brings it

// What the processes of the node with that key show each other, in kSecretField.
[[nodiscard]] std::string secret_of(const crypto::PrivateKey& key);
// Takes the same time whatever it is that was shown.
[[nodiscard]] bool shows(const Headers& headers, const std::string& secret);

// A call of another process of the node, at "host:port", without its secret. kInvalid if that is no place.
[[nodiscard]] Result<HttpCall> call_to(std::string method, const std::string& place, std::string_view target,
                                       Instant deadline);

// A request from outside as a front brings it to the core at "host:port". kInvalid if it cannot be brought.
[[nodiscard]] Result<HttpCall> to_core(HttpRequest request, const std::string& core, Instant deadline);
// The same at the core, as if it had come from outside.
[[nodiscard]] HttpRequest from_front(HttpRequest request);

// A call that a front is to make, and what came of it.
[[nodiscard]] Result<HttpCall> to_front(HttpCall call, const std::string& front, Instant now);
[[nodiscard]] Result<HttpCall> from_core(HttpRequest request, Instant now);
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
