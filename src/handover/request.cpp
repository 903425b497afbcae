#include "handover/request.hpp"

#include "hashtag/tag.hpp"
#include "redundancy/partition.hpp"
#include "ring/codec.hpp"

namespace tagring::handover {

json::object to_json(const Request& request, const std::string& network) {
  json::object body = {{"protocol", ring::kProtocolVersion},
                       {"network", network},
                       {"ring", ring::to_string(request.ring)},
                       {"requester", to_json(request.requester)},
                       {"from", request.segment.from.hex()},
                       {"to", request.segment.to.hex()},
                       {"kind", request.kind},
                       {"after_tag", request.after_tag},
                       {"after", request.after}};
  if (!request.partition.empty()) body["shelf"] = request.partition;
  if (!request.question.empty()) body["question"] = request.question;
  return body;
}

Result<Request> request_from_json(const json::object& body, const std::string& network) {
  if (json::get_int(body, "protocol") != ring::kProtocolVersion || json::text_of(body, "network") != network)
    return fail(ErrorCode::kInvalid, "another protocol version or network");
  Request result;
  const std::string ring = json::text_of(body, "ring");
  if (ring != "relay" && ring != "storage")
    return fail(ErrorCode::kInvalid, "'ring' must be relay or storage");
  result.ring = ring == "relay" ? Ring::kRelay : Ring::kStorage;
  const json::value* requester = json::find(body, "requester");
  if (requester == nullptr) return fail(ErrorCode::kInvalid, "'requester' is missing");
  TRY(result.requester, ring::contact_from_json(*requester));
  const auto from = RingId::from_hex(json::text_of(body, "from"));
  const auto to = RingId::from_hex(json::text_of(body, "to"));
  if (!from || !to) return fail(ErrorCode::kInvalid, "'from' and 'to' must be 64 hexadecimal digits");
  result.segment = {*from, *to};
  result.kind = json::text_of(body, "kind");
  result.after_tag = json::text_of(body, "after_tag");
  result.after = json::text_of(body, "after");
  result.partition = json::text_of(body, "shelf");
  const json::value* question = json::find(body, "question");
  if (question != nullptr && question->is_object()) result.question = question->get_object();
  return result;
}

Result<void> check_item(const Segment& segment, const redundancy::Partition& item) {
  if (segment.contains(item.key())) return {};
  return fail(ErrorCode::kInvalid, "a transferred item is not of the segment that was asked for");
}

}  // namespace tagring::handover
