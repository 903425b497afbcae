// Calls to a node's vservers and requests for its data that are not in order.
#include <fmt/format.h>
#include <functional>

#include "handover/comparison.hpp"
#include "handover/transfer.hpp"
#include "node/fixture.hpp"
#include "node/peer_fixture.hpp"
#include "ring/codec.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::node {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class RingCalls : public NodeTest {
 protected:
  RingCalls() {
    envelope.network = "tagring";
    envelope.to = self().id;
    envelope.incarnation = self().incarnation;
    envelope.request.body = ring::Ping{};
  }

  const ring::Contact& self() { return node->rings().of(Ring::kRelay).vservers().front()->self(); }
  std::string view() {
    std::string all;
    for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
      const ring::Vserver& vserver = *node->rings().of(which).vservers().front();
      all += fmt::format("{} {} {}\n", vserver.predecessor() ? vserver.predecessor()->host : "-",
                         vserver.successors().contacts().size(), vserver.fingers().size());
    }
    return all;
  }
  static HttpRequest request(std::string body) {
    return {.method = "POST",
            .target = std::string(overlay::RingService::kPath),
            .headers = {{"Host", "tags.home.example"}, {"Content-Type", "application/json"}},
            .body = std::move(body),
            .peer = {}};
  }
  void expect_call_refused(std::string body, int status, const std::string& error,
                           const std::string& message) {
    const std::string before = view();
    expect_refused(request(std::move(body)), status, error, message);
    EXPECT_EQ(view(), before);
  }
  // The envelope with something changed in its JSON.
  std::string with(const std::string& key, const json::value& value) {
    json::object object = json::parse_object(encode(envelope)).value();
    object[key] = value;
    return json::serialize(object);
  }

  ring::Envelope envelope;
};

TEST_F(RingCalls, ACallInOrderIsAnswered) {
  const HttpResponse response = ask(request(encode(envelope)));
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.body, "{}");
}

TEST_F(RingCalls, WrongFieldsAreRefusedByName) {
  expect_call_refused(with("protocol", 2), 400, "invalid", "'protocol' must be 1");
  expect_call_refused(with("protocol", "1"), 400, "invalid", "'protocol' must be 1");
  expect_call_refused(with("network", "another"), 400, "invalid", "this node is of network 'tagring'");
  expect_call_refused(with("network", nullptr), 400, "invalid", "this node is of network 'tagring'");
  expect_call_refused(with("ring", "history"), 400, "invalid", "'ring' must be relay or storage");
  expect_call_refused(with("to", json::value(std::string(63, 'a'))), 400, "invalid",
                      "'to' is not 64 hexadecimal digits");
  expect_call_refused(with("to", json::value(std::string(64, 'x'))), 400, "invalid",
                      "'to' is not 64 hexadecimal digits");
  expect_call_refused(with("incarnation", -1), 400, "invalid", "'incarnation' must be a number");
  expect_call_refused(with("operation", "explode"), 400, "invalid", "unknown 'operation'");
  expect_call_refused(with("operation", 7), 400, "invalid", "unknown 'operation'");
}

TEST_F(RingCalls, WhatIsNoJsonObjectIsRefused) {
  expect_call_refused("", 400, "invalid", "not JSON");
  expect_call_refused("[]", 400, "invalid", "not a JSON object");
  expect_call_refused("\"\xC3\x28\"", 400, "invalid", "not UTF-8");
  expect_call_refused(std::string(100'000, '['), 400, "invalid", "not JSON");
}

TEST_F(RingCalls, KeysMustHaveTheirLength) {
  for (const std::string& key :
       {std::string(), std::string(62, '0'), std::string(66, '0'), "0x" + std::string(62, '0')}) {
    json::object object = json::parse_object(with("operation", "find")).value();
    object["key"] = key;
    expect_call_refused(json::serialize(object), 400, "invalid", "'key' is not 64 hexadecimal digits");
  }
}

TEST_F(RingCalls, AVserverThatIsNotHereIsNotFound) {
  envelope.to = self().id + RingId::power_of_two(3);
  expect_call_refused(encode(envelope), 404, "not_found", "no such vserver at this node");
}

TEST_F(RingCalls, AnotherIncarnationIsNotFound) {
  for (const std::uint64_t incarnation : {self().incarnation - 1, self().incarnation + 1}) {
    envelope.incarnation = incarnation;
    expect_call_refused(encode(envelope), 404, "not_found", "another incarnation of this vserver");
  }
}

TEST_F(RingCalls, AVserverOfTheOtherNumberOfARingIsStillChecked) {
  envelope.request.ring = Ring::kStorage;
  EXPECT_EQ(ask(request(encode(envelope))).status, 200);
}

// --- lies in a notify, told without any network
// -------------------------------------------------------------

ring::Contact honest_contact() {
  ring::Contact contact;
  contact.host = "tags.peer.example";
  contact.address = *IpAddress::parse("2001:db8:2::1");
  contact.incarnation = 1;
  contact.id = ring::make_node_id(ring::IdScheme::kSpread, contact.address.prefix64(), "peer.example", 0);
  return contact;
}

TEST_F(RingCalls, ACandidateWhoseIdDoesNotFollowFromWhatItSaysIsRefused) {
  using Lie = std::function<void(ring::Contact&)>;
  const std::vector<Lie> lies = {
      [](ring::Contact& c) { c.host = "tags.other.example"; },
      [](ring::Contact& c) { c.address = *IpAddress::parse("2001:db8:3::1"); },
      [](ring::Contact& c) { c.address = *IpAddress::parse("192.0.2.1"); },
      [](ring::Contact& c) { c.vserver = 1; },
      [](ring::Contact& c) { c.id = c.id + RingId::power_of_two(0); },
      [](ring::Contact& c) { c.id = RingId(); },
  };
  for (const Lie& lie : lies) {
    ring::Contact liar = honest_contact();
    lie(liar);
    envelope.request.body = ring::Notify{liar};
    expect_call_refused(encode(envelope), 400, "invalid",
                        "does not follow from its address, domain and vserver");
  }
  EXPECT_TRUE(internet.calls.empty()) << "a liar was called";
}

TEST_F(RingCalls, ACandidateThatIsNoContactIsRefused) {
  envelope.request.body = ring::Notify{honest_contact()};
  const json::object good = json::parse_object(encode(envelope)).value();
  const auto with_candidate = [&](const std::string& key, const json::value& value) {
    json::object object = good;
    object["candidate"].as_object()[key] = value;
    return json::serialize(object);
  };
  expect_call_refused(with_candidate("host", "Tags.Peer.Example"), 400, "invalid", "\"host\"");
  expect_call_refused(with_candidate("host", "2001:db8:2::1"), 400, "invalid", "\"host\"");
  expect_call_refused(with_candidate("host", "com"), 400, "invalid", "");
  expect_call_refused(with_candidate("port", 0), 400, "invalid", "\"port\"");
  expect_call_refused(with_candidate("port", 65536), 400, "invalid", "\"port\"");
  expect_call_refused(with_candidate("vserver", 256), 400, "invalid", "\"vserver\"");
  expect_call_refused(with_candidate("address", "peer.example"), 400, "invalid", "\"address\"");
  expect_call_refused(with_candidate("id", "00"), 400, "invalid", "\"id\"");
}

TEST_F(RingCalls, ACandidateThatClaimsToBeTheNodeItselfIsRefused) {
  envelope.request.body = ring::Notify{self()};
  expect_call_refused(encode(envelope), 400, "invalid", "cannot precede itself");
}

TEST_F(RingCalls, ACandidateThatDoesNotAnswerIsNoPredecessor) {
  const ring::Contact peer = honest_contact();
  const std::string url = peer.origin() + std::string(overlay::RingService::kPath);
  const std::vector<std::function<Result<HttpResponse>()>> answers = {
      [] { return Result<HttpResponse>(fail(ErrorCode::kDenied, "certificate of another host")); },
      [] { return Result<HttpResponse>(fail(ErrorCode::kUnavailable, "refused")); },
      [] { return with_status(404, R"({"error":"not_found","message":"no such vserver"})"); },
      [] { return with_status(200, "<html>"); },
  };
  for (const auto& answer : answers) {
    internet.answers[url] = [&](const HttpCall& call) {
      EXPECT_EQ(call.required_prefix, peer.address.prefix64());
      return answer();
    };
    envelope.request.body = ring::Notify{peer};
    const std::string before = view();
    const std::size_t calls = internet.calls.size();
    EXPECT_EQ(ask(request(encode(envelope))).status, 200);  // a hint, checked afterwards
    settle();
    EXPECT_GT(internet.calls.size(), calls);
    EXPECT_EQ(view(), before);
    settle(ring::Vserver::kSilentFor);
  }
}

TEST_F(RingCalls, WhoSpeaksForItselfIsCalledWhateverOthersHaveSaid) {
  const ring::Contact peer = honest_contact();
  envelope.request.body = ring::Notify{peer};
  for (const char* from : {"2001:db8:7::1", "2001:db8:7::1", "2001:db8:2::98", "2001:db8:2::99"}) {
    HttpRequest notify = request(encode(envelope));
    notify.peer = *IpAddress::parse(from);
    EXPECT_EQ(ask(std::move(notify)).status, 200);
    loop.run_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(internet.sent_to(peer.origin() + std::string(overlay::RingService::kPath)), SizeIs(2));
}

TEST_F(RingCalls, WhoDoesNotAnswerIsNotCalledForEachWhoNamesThem) {
  ring::Contact peer = honest_contact();
  const auto notify = [&] {
    envelope.request.body = ring::Notify{peer};
    EXPECT_EQ(ask(request(encode(envelope))).status, 200);
    loop.run_for(std::chrono::milliseconds(50));
  };
  for (int i = 0; i < 20; ++i) {
    peer.incarnation = static_cast<std::uint64_t>(i) + 1;
    notify();
  }
  EXPECT_THAT(internet.sent_to(peer.origin() + std::string(overlay::RingService::kPath)), SizeIs(1));
  settle(ring::Vserver::kSilentFor);
  notify();
  EXPECT_THAT(internet.sent_to(peer.origin() + std::string(overlay::RingService::kPath)), SizeIs(2));
}

class CallsOfANeighbour : public PeerTest {
 protected:
  CallsOfANeighbour() { join(near); }
};

TEST_F(CallsOfANeighbour, ASuccessorThatAnotherNamesIsNotCalled) {
  ring::Contact between = honest_contact();
  for (int n = 0; !in_open(self(Ring::kRelay).id, between.id, near.id); ++n) {
    between.host = fmt::format("tags.other{}.example", n);
    between.address = *IpAddress::parse("2001:db8:7::1");
    between.id = ring::make_node_id(ring::IdScheme::kSpread, between.address.prefix64(),
                                    fmt::format("other{}.example", n), 0);
  }
  const auto calls_after_nudge_from = [&](const char* address) {
    EXPECT_EQ(call(Ring::kRelay, ring::Nudge{between}, *IpAddress::parse(address)).status, 200);
    settle(std::chrono::milliseconds(500));
    return internet.sent_to(between.origin() + std::string(overlay::RingService::kPath)).size();
  };
  EXPECT_EQ(calls_after_nudge_from("2001:db8:9::1"), 0U);
  EXPECT_EQ(calls_after_nudge_from("2001:db8:7::99"), 1U);
}

TEST_F(CallsOfANeighbour, TheLoadOfKeysThatAreNotTheVserversIsNotTold) {
  const RingId& own = self(Ring::kStorage).id;
  EXPECT_EQ(call(Ring::kStorage, ring::GetLoad{{near.id, own}}).status, 200);
  const RingId within = own - RingId::power_of_two(3);
  EXPECT_EQ(call(Ring::kStorage, ring::GetLoad{{within, own}}).status, 200);
  for (const Segment& foreign : {Segment{own, near.id}, Segment{own, own}, Segment{own, within}}) {
    const HttpResponse refused = call(Ring::kStorage, ring::GetLoad{foreign});
    EXPECT_NE(refused.status, 200);
    EXPECT_THAT(refused.body, HasSubstr("those keys are not this vserver's"));
  }
}

TEST_F(CallsOfANeighbour, ANodeThatNobodyHasReachedForLongSaysSo) {
  EXPECT_TRUE(node->rings().is_reached());
  settle(std::chrono::minutes(11));
  EXPECT_EQ(vserver(Ring::kRelay).successors().front(), near) << "which this node reaches";
  EXPECT_FALSE(node->rings().is_reached());
  EXPECT_EQ(call(Ring::kRelay, ring::Ping{}).status, 200);
  EXPECT_TRUE(node->rings().is_reached());
}

TEST_F(CallsOfANeighbour, WhoIsNextOnTheRingsHasMoreThanAStranger) {
  budget::Manager shared({}, clock);
  budget = &shared;
  start(config());
  join(near);
  EXPECT_TRUE(shared.who(near.address).known);
  EXPECT_TRUE(shared.who(peer_host).known);
  EXPECT_FALSE(shared.who(*IpAddress::parse("2001:db8:3::1")).known);
  loop.drop(kOwner);
  node.reset();
}

TEST_F(RingCalls, TakingOverFromSomebodyWhoIsNotOurPredecessorIsRefused) {
  const ring::Contact peer = honest_contact();
  envelope.request.body = ring::TakeOver{peer, {peer.id, self().id}};
  expect_call_refused(encode(envelope), 421, "not_owner", "not the predecessor of this node");
  ring::Contact liar = peer;
  liar.vserver = 9;
  envelope.request.body = ring::TakeOver{liar, {peer.id, self().id}};
  expect_call_refused(encode(envelope), 400, "invalid", "does not follow from");
  EXPECT_TRUE(internet.calls.empty());
}

// --- requests for data -------------------------------------------------------------------------------------

class TransferCalls : public RingCalls {
 protected:
  Author peer = make_node_author("https://tags.peer.example");

  json::object asked() const {
    return {{"protocol", 1},
            {"network", "tagring"},
            {"ring", "storage"},
            {"requester", to_json(honest_contact())},
            {"from", std::string(64, '0')},
            {"to", std::string(64, 'f')},
            {"kind", "history"},
            {"after_tag", ""},
            {"after", ""}};
  }
  HttpRequest transfer(const json::object& body, const Author& author) const {
    return signed_request(author, json::serialize(body), std::string(handover::Transfer::kPath));
  }
  void expect_changed_refused(const std::string& key, const json::value& value, int status,
                              const std::string& error, const std::string& message) {
    json::object body = asked();
    body[key] = value;
    expect_refused(transfer(body, peer), status, error, message);
  }
};

TEST_F(TransferCalls, AStrangerInOrderIsToldToWaitUntilItIsKnownInTheRing) {
  expect_refused(transfer(asked(), peer), 503, "busy", "your place in the ring is not known here yet");
}

// Who may ask is checked as for every transfer, before what is asked.
TEST_F(TransferCalls, AQuestionAboutHoursIsReadWithSuspicion) {
  const auto read = [](const char* text) {
    return handover::comparisons_from_json(*json::parse_object(text));
  };
  const std::string zero(64, '0');
  const auto range = [&](const std::string& first, const std::string& last, const std::string& rest) {
    return R"({"ranges":[{"first":")" + first + R"(","last":")" + last + R"(",)" + rest + "}]}";
  };
  const std::string digest = R"("posts":1,"digest":"0f")";
  EXPECT_TRUE(read(range(zero + "~5", zero + "~5", digest).c_str()));
  EXPECT_FALSE(read("{}"));
  EXPECT_FALSE(read(R"({"ranges":[7]})"));
  EXPECT_FALSE(read(range(zero + "~5", zero + "~4", digest).c_str()));
  EXPECT_FALSE(read(range("00~5", zero + "~5", digest).c_str()));
  EXPECT_FALSE(read(range(zero, zero + "~5", digest).c_str()));
  EXPECT_FALSE(read(range(zero + "~5x", zero + "~6", digest).c_str()));
  EXPECT_FALSE(read(range(zero + "~5", zero + "~99999999999999", digest).c_str()));
  EXPECT_FALSE(read(range(zero + "~5", zero + "~5", R"("posts":-1,"digest":"0f")").c_str()));
  EXPECT_FALSE(read(range(zero + "~5", zero + "~5", R"("posts":1,"digest":"xyz")").c_str()));
  EXPECT_FALSE(read(range(zero + "~5", zero + "~5", R"("posts":1,"digest":"")").c_str()));
  EXPECT_FALSE(read(range(zero + "~5", zero + "~5", digest + R"(,"after":"nowhere")").c_str()));
}

TEST_F(TransferCalls, QuestionsAndAnswersAboutHoursAreReadAsTheyWereWritten) {
  const storage::HourPlace first{RingId::power_of_two(9), -3};
  const storage::HourPlace last{RingId::power_of_two(200), 490'000};
  const storage::HistoryCursor after{WallTime(Duration(1'763'691'840'000)), "https://a.example/1"};
  const std::vector<storage::Comparison> asked = {{{{first, last}, 7, 0xABCDEF}, std::nullopt},
                                                  {{{last, last}, 900, 1}, after}};
  const auto read = handover::comparisons_from_json(handover::to_json(asked, 0));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].own, asked[0].own);
  EXPECT_FALSE((*read)[0].after);
  ASSERT_TRUE((*read)[1].after);
  EXPECT_EQ((*read)[1].after->text(), after.text());

  std::vector<storage::Difference> differences(3);
  differences[0].parts = {{{first, {first.key, 5}}, 3, 4}, {{{first.key, 6}, last}, 5, 6}};
  differences[1].index = 1;
  differences[1].entries = {
      {"cats"_tag, "https://a.example/2", "https://a.example/u", after.published, true}};
  differences[1].next = after;
  differences[2].later = true;
  const auto answer = handover::differences_from_json(handover::to_json(differences), asked);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->size(), 3U);
  EXPECT_EQ((*answer)[0].parts, differences[0].parts);
  EXPECT_EQ((*answer)[1].index, 1U);
  EXPECT_EQ((*answer)[1].entries, differences[1].entries);
  EXPECT_EQ((*answer)[1].next->text(), after.text());
  EXPECT_TRUE((*answer)[2].later);
  EXPECT_FALSE(handover::differences_from_json(handover::to_json(differences), {asked[0]}));
}

TEST_F(TransferCalls, UnsignedIsRefused) {
  HttpRequest unsigned_request = request(json::serialize(asked()));
  unsigned_request.target = std::string(handover::Transfer::kPath);
  expect_refused(std::move(unsigned_request), 401, "denied", "request is not signed");
}

TEST_F(TransferCalls, ASignerOfAnotherHostThanTheRequesterIsRefused) {
  for (const std::string host :
       {"https://tags.other.example", "https://peer.example", "https://tags.peer.example:8443"}) {
    const Author other = make_node_author(host);
    expect_refused(transfer(asked(), other), 403, "denied", "the requester is a vserver of another node");
  }
}

TEST_F(TransferCalls, ARequesterWhoseIdDoesNotFitIsRefused) {
  ring::Contact liar = honest_contact();
  liar.id = liar.id + RingId::power_of_two(7);
  expect_changed_refused("requester", to_json(liar), 400, "invalid", "does not follow from");
  liar = honest_contact();
  liar.vserver = 3;
  expect_changed_refused("requester", to_json(liar), 400, "invalid", "does not follow from");
  expect_changed_refused("requester", "me", 400, "invalid", "contact is not an object");
}

TEST_F(TransferCalls, WrongFieldsAreRefused) {
  expect_changed_refused("protocol", 2, 400, "invalid", "another protocol version or network");
  expect_changed_refused("network", "other", 400, "invalid", "another protocol version or network");
  expect_changed_refused("ring", "relay", 400, "invalid", "'kind' does not exist on that ring");
  expect_changed_refused("ring", "none", 400, "invalid", "ring");
  expect_changed_refused("kind", "posts", 400, "invalid", "'kind' does not exist on that ring");
  expect_changed_refused("from", "00", 400, "invalid", "64 hexadecimal digits");
  expect_changed_refused("to", nullptr, 400, "invalid", "64 hexadecimal digits");
}

}  // namespace
}  // namespace tagring::node
