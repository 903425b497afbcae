#include "ring/codec.hpp"

#include <array>
#include <fmt/format.h>

namespace tagring::ring {
namespace {

json::object to_json(const Segment& segment) {
  return {{"from", segment.from.hex()}, {"to", segment.to.hex()}};
}

json::array to_json(const std::vector<Contact>& contacts) {
  json::array list;
  for (const Contact& contact : contacts) list.push_back(ring::to_json(contact));
  return list;
}

Result<RingId> get_id(const json::object& object, std::string_view name) {
  const std::optional<std::string> hex = json::get_string(object, name);
  const std::optional<RingId> id = hex ? RingId::from_hex(*hex) : std::nullopt;
  if (!id) return fail(ErrorCode::kInvalid, fmt::format("'{}' is not 64 hexadecimal digits", name));
  return *id;
}

Result<Segment> get_segment(const json::object& object, std::string_view name) {
  const json::object* inner = json::get_object(object, name);
  if (inner == nullptr) return fail(ErrorCode::kInvalid, fmt::format("'{}' is missing", name));
  TRY(const RingId from, get_id(*inner, "from"));
  TRY(const RingId to, get_id(*inner, "to"));
  return Segment{from, to};
}

Result<Contact> get_contact(const json::object& object, std::string_view name) {
  const json::value* inner = json::find(object, name);
  if (inner == nullptr) return fail(ErrorCode::kInvalid, fmt::format("'{}' is missing", name));
  return contact_from_json(*inner);
}

Result<std::vector<Contact>> get_contacts(const json::object& object, std::string_view name) {
  const json::value* inner = json::find(object, name);
  if (inner == nullptr || !inner->is_array())
    return fail(ErrorCode::kInvalid, fmt::format("'{}' is no list", name));
  if (inner->get_array().size() > kContactsMax)
    return fail(ErrorCode::kTooLarge, fmt::format("'{}' is too long", name));
  std::vector<Contact> contacts;
  for (const json::value& element : inner->get_array()) {
    TRY(Contact contact, contact_from_json(element));
    contacts.push_back(std::move(contact));
  }
  return contacts;
}

Result<std::uint64_t> get_count(const json::object& object, std::string_view name) {
  const std::optional<std::int64_t> count = json::get_int(object, name);
  if (!count || *count < 0) return fail(ErrorCode::kInvalid, fmt::format("'{}' is no number", name));
  return static_cast<std::uint64_t>(*count);
}

struct EncodeRequest {
  json::object& out;
  void operator()(const Find& find) const {
    out["operation"] = "find";
    out["key"] = find.key.hex();
  }
  void operator()(const GetNeighbours&) const { out["operation"] = "neighbours"; }
  void operator()(const Notify& notify) const {
    out["operation"] = "notify";
    out["candidate"] = ring::to_json(notify.candidate);
  }
  void operator()(const Ping&) const { out["operation"] = "ping"; }
  void operator()(const Nudge& nudge) const {
    out["operation"] = "nudge";
    if (nudge.successor) out["successor"] = ring::to_json(*nudge.successor);
  }
  void operator()(const TakeOver& take_over) const {
    out["operation"] = "take_over";
    out["leaver"] = ring::to_json(take_over.leaver);
    out["segment"] = to_json(take_over.segment);
  }
  void operator()(const GetLoad& load) const {
    out["operation"] = "load";
    out["segment"] = to_json(load.segment);
  }
};

Result<decltype(Request::body)> decode_operation(const json::object& object) {
  const std::string operation = json::text_of(object, "operation");
  if (operation == "neighbours") return GetNeighbours{};
  if (operation == "ping") return Ping{};
  if (operation == "nudge") {
    Nudge nudge;
    if (object.contains("successor")) {
      TRY(nudge.successor, get_contact(object, "successor"));
    }
    return nudge;
  }
  if (operation == "find") {
    TRY(const RingId key, get_id(object, "key"));
    return Find{key};
  }
  if (operation == "notify") {
    TRY(Contact candidate, get_contact(object, "candidate"));
    return Notify{std::move(candidate)};
  }
  if (operation == "take_over") {
    TRY(Contact leaver, get_contact(object, "leaver"));
    TRY(const Segment segment, get_segment(object, "segment"));
    return TakeOver{std::move(leaver), segment};
  }
  if (operation == "load") {
    TRY(const Segment segment, get_segment(object, "segment"));
    return GetLoad{segment};
  }
  return fail(ErrorCode::kInvalid, "unknown 'operation'");
}

}  // namespace

const char* to_string(Ring ring) { return ring == Ring::kRelay ? "relay" : "storage"; }

std::string encode(const Envelope& envelope) {
  json::object out = {{"protocol", kProtocolVersion},
                      {"network", envelope.network},
                      {"ring", to_string(envelope.request.ring)},
                      {"to", envelope.to.hex()},
                      {"incarnation", envelope.incarnation}};
  std::visit(EncodeRequest{out}, envelope.request.body);
  return json::serialize(out);
}

Result<Envelope> decode_envelope(std::string_view body) {
  TRY(const json::object object, json::parse_object(body));
  const std::optional<std::int64_t> version = json::get_int(object, "protocol");
  if (version != kProtocolVersion) {
    return fail(ErrorCode::kInvalid, fmt::format("'protocol' must be {}", kProtocolVersion));
  }
  Envelope envelope;
  envelope.network = json::text_of(object, "network");
  const std::string ring = json::text_of(object, "ring");
  if (ring != "relay" && ring != "storage")
    return fail(ErrorCode::kInvalid, "'ring' must be relay or storage");
  envelope.request.ring = ring == "relay" ? Ring::kRelay : Ring::kStorage;
  TRY(envelope.to, get_id(object, "to"));
  const std::optional<std::int64_t> incarnation = json::get_int(object, "incarnation");
  if (!incarnation || *incarnation < 0) return fail(ErrorCode::kInvalid, "'incarnation' must be a number");
  envelope.incarnation = static_cast<std::uint64_t>(*incarnation);
  TRY(envelope.request.body, decode_operation(object));
  return envelope;
}

std::string encode(const Reply& reply) {
  json::object out;
  if (const auto* found = std::get_if<FindReply>(&reply)) {
    if (found->owned) out["owned"] = to_json(*found->owned);
    out["closer"] = to_json(found->closer);
  } else if (const auto* neighbours = std::get_if<Neighbours>(&reply)) {
    if (neighbours->predecessor) out["predecessor"] = ring::to_json(*neighbours->predecessor);
    out["successors"] = to_json(neighbours->successors);
  } else if (const auto* load = std::get_if<Load>(&reply)) {
    out["load"] = load->of_segment;
    out["node_load"] = load->of_node;
    out["capacity"] = load->capacity;
    out["strained"] = load->strained;
  }
  return json::serialize(out);
}

Result<Reply> decode_reply(std::string_view body) {
  TRY(const json::object object, json::parse_object(body));
  if (object.contains("closer")) {
    FindReply reply;
    if (object.contains("owned")) {
      TRY(reply.owned, get_segment(object, "owned"));
    }
    TRY(reply.closer, get_contacts(object, "closer"));
    return reply;
  }
  if (object.contains("successors")) {
    Neighbours reply;
    if (object.contains("predecessor")) {
      TRY(reply.predecessor, get_contact(object, "predecessor"));
    }
    TRY(reply.successors, get_contacts(object, "successors"));
    return reply;
  }
  if (object.contains("load")) {
    Load reply;
    TRY(reply.of_segment, get_count(object, "load"));
    TRY(reply.of_node, get_count(object, "node_load"));
    TRY(reply.capacity, get_count(object, "capacity"));
    reply.strained = json::get_flag(object, "strained");
    return reply;
  }
  return Done{};
}

}  // namespace tagring::ring
