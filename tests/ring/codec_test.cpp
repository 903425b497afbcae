#include "ring/codec.hpp"

#include <gtest/gtest.h>

#include "http/http_error.hpp"
#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

constexpr std::uint64_t kIncarnationMax = INT64_MAX;

Envelope envelope(decltype(Request::body) body) {
  return {
      .network = "test", .to = place(7), .incarnation = 65536, .request = {Ring::kStorage, std::move(body)}};
}

// A request, written and read again.
template <class T>
T arrived(decltype(Request::body) body) {
  Result<Envelope> decoded = decode_envelope(encode(envelope(std::move(body))));
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded ? std::get<T>(decoded->request.body) : T{};
}
template <class T>
T arrived_reply(Reply reply) {
  Result<Reply> decoded = decode_reply(encode(reply));
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded ? std::get<T>(*decoded) : T{};
}

json::object as_json(const std::string& text) { return json::parse_object(text).value(); }

// A request that is in order, for a test to spoil.
json::object request(decltype(Request::body) body = Ping{}) {
  return as_json(encode(envelope(std::move(body))));
}

std::string refusal(const json::object& o) {
  const Result<Envelope> decoded = decode_envelope(json::serialize(o));
  if (decoded) return "accepted";
  EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
  return decoded.error().message;
}
bool refuses(json::object o, std::string_view member, json::value value) {
  o[member] = std::move(value);
  return refusal(o).contains(member);
}
bool refuses_without(json::object o, std::string_view member) {
  o.erase(member);
  return refusal(o).contains(member);
}

// --- requests ----------------------------------------------------------------------------------------------

TEST(RingCodec, AnEnvelopeArrivesWhole) {
  const Result<Envelope> decoded = decode_envelope(encode(envelope(Ping{})));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->network, "test");
  EXPECT_EQ(decoded->to, place(7));
  EXPECT_EQ(decoded->incarnation, 65536U);
  EXPECT_EQ(decoded->request.ring, Ring::kStorage);
}

TEST(RingCodec, BothRingsHaveNames) {
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    Envelope sent = envelope(Ping{});
    sent.request.ring = ring;
    const Result<Envelope> decoded = decode_envelope(encode(sent));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->request.ring, ring);
  }
}

TEST(RingCodec, EveryOperationArrives) {
  EXPECT_EQ(arrived<Find>(Find{place(9)}).key, place(9));
  arrived<GetNeighbours>(GetNeighbours{});
  arrived<Ping>(Ping{});
  EXPECT_EQ(arrived<Nudge>(Nudge{}).successor, std::nullopt);
  EXPECT_EQ(arrived<Nudge>(Nudge{real_contact(5)}).successor, real_contact(5));
  EXPECT_EQ(arrived<Notify>(Notify{real_contact(3)}).candidate, real_contact(3));
  const auto take_over = arrived<TakeOver>(TakeOver{real_contact(4), Segment{place(200), place(5)}});
  EXPECT_EQ(take_over.leaver, real_contact(4));
  EXPECT_EQ(take_over.segment, (Segment{place(200), place(5)}));
}

TEST(RingCodec, RequestsLookAsDocumented) {
  json::object expected = {{"protocol", 1},        {"network", "test"},    {"ring", "storage"},
                           {"to", place(7).hex()}, {"incarnation", 65536}, {"operation", "find"},
                           {"key", place(9).hex()}};
  EXPECT_EQ(request(Find{place(9)}), expected);
  expected.erase("key");
  for (const auto& [body, name] : std::initializer_list<std::pair<decltype(Request::body), const char*>>{
           {GetNeighbours{}, "neighbours"}, {Ping{}, "ping"}, {Nudge{}, "nudge"}}) {
    expected["operation"] = name;
    EXPECT_EQ(request(body), expected);
  }
}

TEST(RingCodec, RefusesAnotherProtocolVersion) {
  for (const json::value& version : json::array{0, 2, -1, "1", 1.5, nullptr, json::array{1}})
    EXPECT_TRUE(refuses(request(), "protocol", version)) << json::serialize(version);
  EXPECT_TRUE(refuses_without(request(), "protocol"));
}

TEST(RingCodec, RefusesAnUnknownRing) {
  for (const json::value& ring : json::array{"", "Relay", "relay ", 0, nullptr})
    EXPECT_TRUE(refuses(request(), "ring", ring)) << json::serialize(ring);
  EXPECT_TRUE(refuses_without(request(), "ring"));
}

TEST(RingCodec, RefusesAnUnknownOperation) {
  for (const json::value& operation : json::array{"", "Ping", "leave", 1, nullptr})
    EXPECT_TRUE(refuses(request(), "operation", operation)) << json::serialize(operation);
  EXPECT_TRUE(refuses_without(request(), "operation"));
}

TEST(RingCodec, APositionHas64Digits) {
  const std::string good = place(0xAB).hex();
  for (const json::value& bad :
       json::array{"", good.substr(1), good + "0", "g" + good.substr(1), " " + good.substr(1), 7, nullptr}) {
    EXPECT_TRUE(refuses(request(Find{}), "key", bad)) << json::serialize(bad);
    EXPECT_TRUE(refuses(request(), "to", bad)) << json::serialize(bad);
  }
  EXPECT_TRUE(refuses_without(request(Find{}), "key"));
  EXPECT_TRUE(refuses_without(request(), "to"));
  json::object upper = request(Find{});
  upper["key"] = "AB" + good.substr(2);
  const Result<Envelope> decoded = decode_envelope(json::serialize(upper));
  ASSERT_TRUE(decoded) << "upper case is read too";
  EXPECT_EQ(std::get<Find>(decoded->request.body).key, place(0xAB));
}

TEST(RingCodec, AnIncarnationHas63Bits) {
  for (const json::value& bad : json::array{-1, 1.0, "1", nullptr, kIncarnationMax + 1})
    EXPECT_TRUE(refuses(request(), "incarnation", bad)) << json::serialize(bad);
  EXPECT_TRUE(refuses_without(request(), "incarnation"));
  for (const std::uint64_t good : {std::uint64_t{0}, kIncarnationMax}) {
    Envelope sent = envelope(Ping{});
    sent.incarnation = good;
    const Result<Envelope> decoded = decode_envelope(encode(sent));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->incarnation, good);
  }
}

TEST(RingCodec, ContactsAreHeldToTheSameIncarnations) {
  // A contact that can be passed on but not called would be as good as dead.
  Contact candidate = real_contact(3);
  candidate.incarnation = kIncarnationMax;
  EXPECT_EQ(arrived<Notify>(Notify{candidate}).candidate.incarnation, kIncarnationMax);
  ++candidate.incarnation;
  EXPECT_TRUE(refusal(request(Notify{candidate})).contains("incarnation"));
}

TEST(RingCodec, ContactsInRequestsMustBeInOrder) {
  const struct {
    const char* member;
    json::object request;
  } cases[] = {{"candidate", request(Notify{real_contact(3)})},
               {"leaver", request(TakeOver{real_contact(3), {}})}};
  for (const auto& [member, good] : cases) {
    EXPECT_TRUE(refuses_without(good, member));
    for (const json::value& bad : json::array{nullptr, "n3.example", json::array{}, json::object{}}) {
      json::object spoilt = good;
      spoilt[member] = bad;
      EXPECT_NE(refusal(spoilt), "accepted") << member << " " << json::serialize(bad);
    }
    json::object spoilt = good;
    spoilt[member].as_object()["port"] = 65536;
    EXPECT_TRUE(refusal(spoilt).contains("port")) << member;
    spoilt = good;
    spoilt[member].as_object()["vserver"] = 256;
    EXPECT_TRUE(refusal(spoilt).contains("vserver")) << member;
  }
}

TEST(RingCodec, ASegmentHasTwoEnds) {
  const json::object good = request(TakeOver{real_contact(3), Segment{place(1), place(2)}});
  EXPECT_TRUE(refuses_without(good, "segment"));
  EXPECT_TRUE(refuses(good, "segment", json::array{place(1).hex(), place(2).hex()}));
  for (const char* end : {"from", "to"}) {
    json::object spoilt = good;
    spoilt["segment"].as_object().erase(end);
    EXPECT_TRUE(refusal(spoilt).contains(end));
    spoilt["segment"].as_object()[end] = "12";
    EXPECT_TRUE(refusal(spoilt).contains(end));
  }
}

TEST(RingCodec, UnknownMembersAreIgnored) {
  json::object more = request(Notify{real_contact(3)});
  more["since"] = "version 1.1";
  more["candidate"].as_object()["colour"] = json::array{"red"};
  const Result<Envelope> decoded = decode_envelope(json::serialize(more));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(std::get<Notify>(decoded->request.body).candidate, real_contact(3));
  Result<Reply> reply = decode_reply(R"({"closer": [], "colour": "red"})");
  ASSERT_TRUE(reply);
  EXPECT_TRUE(std::holds_alternative<FindReply>(*reply));
}

TEST(RingCodec, WhatIsNoJsonObjectIsRefused) {
  const std::string deep = R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}";
  for (const std::string& text : {std::string(), std::string("[]"), std::string("null"), std::string("{"),
                                  std::string("{} {}"), std::string("{\"a\":\"\xFF\"}"), deep}) {
    const Result<Envelope> decoded = decode_envelope(text);
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
    const Result<Reply> reply = decode_reply(text);
    ASSERT_FALSE(reply) << text;
    EXPECT_EQ(reply.error().code, ErrorCode::kInvalid);
  }
}

// --- replies -----------------------------------------------------------------------------------------------

TEST(RingCodec, EveryReplyArrives) {
  const auto owner = arrived_reply<FindReply>(FindReply{Segment{place(1), place(2)}, {}});
  EXPECT_EQ(owner.owned, (Segment{place(1), place(2)}));
  EXPECT_TRUE(owner.closer.empty());

  const auto closer = arrived_reply<FindReply>(FindReply{std::nullopt, {real_contact(2), real_contact(1)}});
  EXPECT_EQ(closer.owned, std::nullopt);
  EXPECT_EQ(closer.closer, (std::vector{real_contact(2), real_contact(1)})) << "best first";

  const auto view =
      arrived_reply<Neighbours>(Neighbours{real_contact(5), {real_contact(6), real_contact(7)}});
  EXPECT_EQ(view.predecessor, real_contact(5));
  EXPECT_EQ(view.successors, (std::vector{real_contact(6), real_contact(7)}));

  const auto alone = arrived_reply<Neighbours>(Neighbours{});
  EXPECT_EQ(alone.predecessor, std::nullopt);
  EXPECT_TRUE(alone.successors.empty());

  arrived_reply<Done>(Done{});
  EXPECT_EQ(encode(Reply{Done{}}), "{}");
}

TEST(RingCodec, ReadsUpTo128Contacts) {
  for (const bool find : {true, false}) {
    std::vector<Contact> contacts(kContactsMax, real_contact(1));
    const auto reply = [&] {
      return find ? Reply{FindReply{{}, contacts}} : Reply{Neighbours{{}, contacts}};
    };
    EXPECT_TRUE(decode_reply(encode(reply())));
    contacts.push_back(real_contact(1));
    const Result<Reply> decoded = decode_reply(encode(reply()));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kTooLarge);
  }
}

TEST(RingCodec, RefusesMalformedReplies) {
  const json::object good = to_json(real_contact(1));
  json::object bad = good;
  bad["vserver"] = 256;
  const json::array replies = {
      json::object{{"closer", nullptr}},
      json::object{{"closer", good}},
      json::object{{"closer", json::array{good, bad}}},
      json::object{{"closer", json::array{}}, {"owned", nullptr}},
      json::object{{"closer", json::array{}}, {"owned", json::object{{"from", place(1).hex()}}}},
      json::object{{"successors", "none"}},
      json::object{{"successors", json::array{nullptr}}},
      json::object{{"successors", json::array{}}, {"predecessor", nullptr}},
      json::object{{"successors", json::array{}}, {"predecessor", bad}},
  };
  for (const json::value& reply : replies) {
    const Result<Reply> decoded = decode_reply(json::serialize(reply));
    ASSERT_FALSE(decoded) << json::serialize(reply);
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
  }
}

// --- errors ------------------------------------------------------------------------------------------------

TEST(RingCodec, EveryErrorArrives) {
  for (const ErrorCode code :
       {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kConflict, ErrorCode::kDenied,
        ErrorCode::kTooLarge, ErrorCode::kNotOwner, ErrorCode::kBusy, ErrorCode::kTimedOut,
        ErrorCode::kUnavailable, ErrorCode::kCorrupt}) {
    const Error arrived = decode_error(http_status(code), encode_error({code, "because \"so\""}));
    EXPECT_EQ(arrived.code, code) << to_string(code);
    EXPECT_EQ(arrived.message, "because \"so\"");
  }
}

// A terminal obeys ESC and CSI, and 1 MB fills it.
TEST(RingCodec, WhatAnErrorSaysIsFitForATerminal) {
  const auto said = [](const std::string& message) {
    return decode_error(403, encode_error({ErrorCode::kDenied, message})).message;
  };
  EXPECT_EQ(said("\x1b[2Ja\nb\u009b1mc\u202ed"), " [2Ja b 1mc d");
  EXPECT_LE(said(std::string(1U << 20U, 'a')).size(), 1000U);
}

TEST(RingCodec, StatusesAreAsDocumented) {
  EXPECT_EQ(http_status(ErrorCode::kInvalid), 400);
  EXPECT_EQ(http_status(ErrorCode::kDenied), 403);
  EXPECT_EQ(http_status(ErrorCode::kNotFound), 404);
  EXPECT_EQ(http_status(ErrorCode::kConflict), 409);
  EXPECT_EQ(http_status(ErrorCode::kTooLarge), 413);
  EXPECT_EQ(http_status(ErrorCode::kNotOwner), 421);
  EXPECT_EQ(http_status(ErrorCode::kCorrupt), 500);
  EXPECT_EQ(http_status(ErrorCode::kBusy), 503);
  EXPECT_EQ(http_status(ErrorCode::kUnavailable), 503);
  EXPECT_EQ(http_status(ErrorCode::kTimedOut), 504);
}

TEST(RingCodec, TheCodeOfAnErrorCountsNotTheStatus) {
  EXPECT_EQ(decode_error(200, R"({"error": "busy"})").code, ErrorCode::kBusy);
  EXPECT_EQ(decode_error(503, R"({"error": "not_found"})").code, ErrorCode::kNotFound);
}

TEST(RingCodec, WithoutACodeTheStatusCounts) {
  for (const char* body : {"", "<html>", "{}", R"({"error": "no such code"})", R"({"error": 7})"}) {
    for (const int status : {429, 500, 502, 503, 504})
      EXPECT_EQ(decode_error(status, body).code, ErrorCode::kUnavailable) << status << body;
    for (const int status : {302, 400, 404, 413}) {
      EXPECT_EQ(decode_error(status, body).code, ErrorCode::kInvalid) << status << body;
      EXPECT_TRUE(decode_error(status, body).message.contains(std::to_string(status)));
    }
  }
}

TEST(RingCodec, LoadsAreAskedForBySegmentAndArriveWhole) {
  EXPECT_EQ(arrived<GetLoad>(GetLoad{{place(1), place(2)}}).segment, (Segment{place(1), place(2)}));
  EXPECT_TRUE(refuses_without(request(GetLoad{}), "segment"));
  const Load load = arrived_reply<Load>(Load{1, 2, 3, true});
  EXPECT_EQ(load.of_segment, 1U);
  EXPECT_EQ(load.of_node, 2U);
  EXPECT_EQ(load.capacity, 3U);
  EXPECT_TRUE(load.strained);
  EXPECT_FALSE(decode_reply(R"({"load": -1, "node_load": 2, "capacity": 3})"));
  EXPECT_FALSE(decode_reply(R"({"load": 1, "node_load": 2})"));
}

}  // namespace
}  // namespace tagring::ring
