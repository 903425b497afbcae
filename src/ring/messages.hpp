// What vservers say to each other, as values. Their JSON form is in ring/codec.hpp and docs/protocol.md.
//
// The operations are those of corrected Chord (Zave), not of the paper's figures 1 and 2: a reply carries
// whole successor lists, so that they can be adopted in one step.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ring_id.hpp"
#include "base/task.hpp"
#include "ring/contact.hpp"

namespace tagring::ring {

// Who owns `key`, or who is closer to it? Always answered.
struct Find {
  RingId key;
};
// Predecessor and successor list. Answered kBusy while the vserver changes its own pointers.
struct GetNeighbours {};
// "I think I am your predecessor."
struct Notify {
  Contact candidate;
  // It came from the candidate's own /64: seen by who receives it, and no part of the message.
  bool is_own_word = false;
};
// Are you there, in this incarnation? Always answered.
struct Ping {};
// "Look at your neighbours now": sent by a vserver that joins over its own dead predecessor or that leaves;
// and by one whose predecessor says nothing, maybe since nobody tells it who its successor is. A hint,
// believed by nobody.
struct Nudge {
  // Who says so itself, from its own /64.
  std::optional<Contact> successor = std::nullopt;
};
// "I am leaving: copy what I own." Answered when the data is on the successor's disk.
struct TakeOver {
  Contact leaver;
  Segment segment;
};

// What do these keys cost you, all of which you own? For load balancing (balance/kchoices.hpp). Answered by
// the node, like TakeOver.
struct GetLoad {
  Segment segment;
};

struct Request {
  Ring ring = Ring::kRelay;
  std::variant<Find, GetNeighbours, Notify, Ping, Nudge, TakeOver, GetLoad> body;
};

// Answer to Find. Either the asked vserver owns the key (`owned` is its segment), or `closer` are vservers to
// ask next, best first: its predecessor or successor where it knows that one to be the owner, else the
// closest ones that precede the key.
struct FindReply {
  std::optional<Segment> owned;
  std::vector<Contact> closer;
};
struct Neighbours {
  std::optional<Contact> predecessor;
  std::vector<Contact> successors;  // clockwise from the asked vserver
};
// Bytes stored on the storage ring, bytes per second sent on the relay ring.
struct Load {
  std::uint64_t of_segment = 0;
  std::uint64_t of_node = 0;
  std::uint64_t capacity = 0;  // of the node
  bool strained = false;       // the node has been overloaded for long
};
struct Done {};

using Reply = std::variant<FindReply, Neighbours, Load, Done>;

// Calls a vserver of another node (paper §5.2, verify_node_id).
//
// A call succeeds only if the contact is real: its ID fits its host, address and vserver number
// (check_node_id), the connection went to an address in its /64, with a certificate valid for its host, and
// the answer came from that vserver in that incarnation. So whoever answered is verified.
//
// Errors: kBusy (ask again soon), kDenied (it is not who it claims to be), and for everything else that means
// "not there": kUnavailable, kTimedOut, kNotFound (no such vserver, or another incarnation), kInvalid.
class Peers {
 public:
  virtual ~Peers() = default;
  [[nodiscard]] virtual Task<Result<Reply>> call(Contact to, Request request, Instant deadline) = 0;
};

}  // namespace tagring::ring
