// What one node asks of another when owners change (paper §5.3, §5.6; docs/protocol.md, "Transfer"): a page
// of one kind of data, of keys that a vserver of the asker owns or is about to own.
#pragma once

#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/ring_id.hpp"
#include "redundancy/partition.hpp"
#include "redundancy/relay_place.hpp"
#include "ring/contact.hpp"

namespace tagring::handover {

struct Request {
  Ring ring = Ring::kRelay;
  ring::Contact requester;
  Segment segment;  // of keys, not of positions, but for kind "sets"
  std::string kind;
  std::string partition;  // kind "shelf": by name
  // Where the last page ended; empty at first. What that means is for the kind to say.
  std::string after_tag;
  std::string after;
  json::object question;  // kind "hours" (handover/comparison.hpp)
  // Not sent: how many are asked for the same, and for which halves of the relays this one speaks.
  std::size_t sources = 1;
  bool is_of_rivals = false;  // who asks has served these keys, and somebody else has too
  redundancy::RelayHalves halves = redundancy::kBothHalves;
};

json::object to_json(const Request& request, const std::string& network);
// kInvalid if it is malformed, or of another network or version. Who asks is not looked at, nor is the kind.
Result<Request> request_from_json(const json::object& body, const std::string& network);

// A transferred item, of a hashtag or a partition of one, belongs to the segment that was asked for: kInvalid
// otherwise. What else may be wrong with it is a matter of that item, and of who takes it: what was kept by
// other rules is no reason to hear nothing of all the rest.
Result<void> check_item(const Segment& segment, const redundancy::Partition& item);

}  // namespace tagring::handover
