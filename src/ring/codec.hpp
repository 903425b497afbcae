// The JSON form of ring requests and replies (docs/protocol.md, "Ring calls").
#pragma once

#include <string>

#include "ring/messages.hpp"

namespace tagring::ring {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kContactsMax = 128;  // in one reply

// A request with its address.
struct Envelope {
  std::string network;  // name of the network: nodes of different networks do not talk
  RingId to;            // the vserver asked
  std::uint64_t incarnation = 0;
  Request request;
};

const char* to_string(Ring ring);

std::string encode(const Envelope& envelope);
// kInvalid, saying which field, for a wrong protocol version, an unknown ring or operation, a key that is not
// 64 hex digits.
Result<Envelope> decode_envelope(std::string_view body);

std::string encode(const Reply& reply);
Result<Reply> decode_reply(std::string_view body);

}  // namespace tagring::ring
