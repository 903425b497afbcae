// What the processes of one node say to each other, as it arrives.
#include "cluster/channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/fronts.hpp"
#include "federation/checked_signature.hpp"

namespace tagring::cluster {
namespace {

using testing::Optional;

// As it arrives at the other end, which adds what every client does.
HttpRequest arrived(const HttpCall& call) {
  HttpRequest request{.method = call.method,
                      .target = call.url.target,
                      .headers = call.headers,
                      .body = call.body,
                      .peer = {}};
  request.headers.add("Host", call.url.authority());
  request.headers.add("Content-Length", std::to_string(call.body.size()));
  return request;
}

HttpRequest from_outside() {
  HttpRequest request;
  request.method = "POST";
  request.target = "/inbox?a=1";
  request.headers = {{"Host", "tags.example.org"},     {"Date", "Fri, 27 Nov 2026 05:00:00 GMT"},
                     {"Signature", "keyId=1"},         {"Connection", "close"},
                     {"Content-Length", "2"},          {"X-Forwarded-For", "198.51.100.7"},
                     {"Tagring-Host", "evil.example"}, {"Tagring-Proof", "guess"}};
  request.body = "{}";
  request.peer = *IpAddress::parse("203.0.113.9");
  return request;
}

TEST(Channel, TheCoreGetsWhatCameFromOutside) {
  const Result<HttpCall> call = to_core(from_outside(), "[2001:db8::5]:7946", Instant());
  ASSERT_TRUE(call);
  EXPECT_EQ(call->url.text(), "http://[2001:db8::5]:7946/inbox?a=1");
  EXPECT_THAT(call->headers.joined("X-Forwarded-For"), Optional(std::string("203.0.113.9")));
  const HttpRequest request = from_front(arrived(*call));
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/inbox?a=1");
  EXPECT_EQ(request.body, "{}");
  EXPECT_THAT(request.headers.joined("Host"), Optional(std::string("tags.example.org")));
  EXPECT_TRUE(request.headers.find("Date"));  // is signed
  EXPECT_TRUE(request.headers.find("Signature"));
  for (const char* left_out :
       {"Connection", "X-Forwarded-For", "Tagring-Host", "Tagring-Proof", "Tagring-Checked"})
    EXPECT_FALSE(request.headers.find(left_out)) << left_out;
}

TEST(Channel, WhatAFrontHasCheckedArrives) {
  Result<HttpCall> call = to_core(from_outside(), "10.0.0.5:7946", Instant());
  ASSERT_TRUE(call);
  call->headers.add(std::string(federation::kCheckedField), "ab");
  EXPECT_THAT(from_front(arrived(*call)).headers.joined(federation::kCheckedField),
              Optional(std::string("ab")));
}

TEST(Channel, AFrontSendsWhatTheCoreGivesIt) {
  const Instant now{std::chrono::hours(1)};
  HttpCall call("POST", *Url::parse("https://m.example/inbox"), now + std::chrono::seconds(9));
  call.headers = {{"Date", "Fri, 27 Nov 2026 05:00:00 GMT"}, {"Signature", "keyId=1"}};
  call.body = "{\"id\":1}";
  call.response_size_max = 77;
  const Errand errand{call, {"https://tags.example.org/actor#main-key", signatures::SignatureForm::kMessage}};
  const Result<HttpCall> passed = to_front(errand, "10.0.0.6:7946", now);
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->url.text(), "http://10.0.0.6:7946/cluster/send");
  EXPECT_GT(passed->deadline, call.deadline);  // it is not lost if the other side is slow
  const Result<Errand> at_front =
      from_core(arrived(*passed), now + std::chrono::hours(5));  // clocks of their own
  ASSERT_TRUE(at_front);
  EXPECT_EQ(at_front->as.key_id, errand.as.key_id);
  EXPECT_EQ(at_front->as.form, signatures::SignatureForm::kMessage);
  const HttpCall* const made = &at_front->call;
  EXPECT_EQ(made->method, "POST");
  EXPECT_EQ(made->url.text(), "https://m.example/inbox");
  EXPECT_EQ(made->body, call.body);
  EXPECT_EQ(made->deadline, now + std::chrono::hours(5) + std::chrono::seconds(9));
  EXPECT_EQ(made->response_size_max, 77U);
  EXPECT_EQ(made->headers.size(), 2U);
  EXPECT_FALSE(from_core(from_outside(), now));
}

TEST(Channel, TheOthersAnswerArrivesWithItsStatusAndAFailureAsOne) {
  HttpResponse refused{
      .status = 503, .headers = {{"Retry-After", "9"}, {"Connection", "close"}}, .body = "later"};
  const Result<HttpResponse> answer = from_answer(to_answer(refused));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "later");
  EXPECT_TRUE(answer->headers.find("Retry-After"));
  EXPECT_FALSE(answer->headers.find("Connection"));
  for (const ErrorCode code :
       {ErrorCode::kUnavailable, ErrorCode::kTimedOut, ErrorCode::kDenied, ErrorCode::kTooLarge}) {
    const Result<HttpResponse> failed = from_answer(to_answer(fail(code, "because")));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, code);
  }
}

TEST(Place, IsAnAddressWithAPort) {
  for (const char* text : {"10.0.0.5:7946", "[2001:db8::1]:1"}) {
    const Result<Place> place = Place::parse(text);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->text(), text);
  }
  for (const char* text : {"", "10.0.0.5", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:70000", "host:80",
                           "10.0.0.5:80x", ":80", "0.0.0.0:80", "[::]:80"})
    EXPECT_FALSE(Place::parse(text)) << text;
}

}  // namespace
}  // namespace tagring::cluster
