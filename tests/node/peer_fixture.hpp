// A node with one neighbour.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "node/fixture.hpp"
#include "overlay/ring_service.hpp"
#include "ring/codec.hpp"

namespace tagring::node {

// The node under test, and another one on both rings, whose answers are made here.
class PeerTest : public NodeTest {
 protected:
  PeerTest() {
    near.host = peer_host;
    near.address = *IpAddress::parse("2001:db8:2::1");
    near.incarnation = 1;
    near.id = id_of(0);
    internet.answers[at(std::string(overlay::RingService::kPath))] = [this](const HttpCall& call) {
      return answer(ring::decode_envelope(call.body).value());
    };
    internet.answers[at("/inbox")] = [](const HttpCall&) {
      return with_status(200, R"({"accepted":1,"refused":[]})");
    };
    internet.answers[at("/tagring/v1/history")] = [](const HttpCall&) {
      return with_status(200, R"({"entries":[],"more":false})");
    };
    internet.answers[at("/tagring/v1/transfer")] = [](const HttpCall&) {
      return with_status(200, R"({"items":[]})");
    };
    internet.answers[at("/tagring/v1/missed")] = [](const HttpCall&) {
      return with_status(200, R"({"items":[]})");
    };
  }

  [[nodiscard]] std::string at(const std::string& path) const { return "https://" + peer_host + path; }
  static RingId id_of(std::uint8_t vserver) {
    const Prefix64 prefix = IpAddress::parse("2001:db8:2::1")->prefix64();
    return ring::make_node_id(ring::IdScheme::kSpread, prefix, "peer.example", vserver);
  }
  const ring::Contact& self(Ring which) { return node->rings().of(which).vservers().front()->self(); }
  ring::Vserver& vserver(Ring which) { return *node->rings().of(which).vservers().front(); }

  HttpResponse answer(const ring::Envelope& envelope) {
    const ring::Contact& us = self(envelope.request.ring);
    if (envelope.to != near.id && !(further && envelope.to == further->id)) return with_status(404, "{}");
    ring::Reply reply = ring::Done{};
    if (std::holds_alternative<ring::GetNeighbours>(envelope.request.body))
      reply = ring::Neighbours{us, {us}};
    if (const auto* find = std::get_if<ring::Find>(&envelope.request.body)) {
      const bool ours = in_half_open(us.id, find->key, near.id);
      reply = ours ? ring::FindReply{Segment{us.id, near.id}, {}} : ring::FindReply{std::nullopt, {us}};
    }
    return with_status(200, ring::encode(reply));
  }

  HttpResponse call(Ring which, decltype(ring::Request::body) body, const IpAddress& from = {}) {
    ring::Envelope envelope;
    envelope.network = "tagring";
    envelope.to = self(which).id;
    envelope.incarnation = self(which).incarnation;
    envelope.request.ring = which;
    envelope.request.body = std::move(body);
    return ask({.method = "POST",
                .target = std::string(overlay::RingService::kPath),
                .headers = {{"Host", "tags.home.example"}},
                .body = encode(envelope),
                .peer = from});
  }
  void join(const ring::Contact& contact) {
    for (const Ring which : {Ring::kRelay, Ring::kStorage}) {
      EXPECT_EQ(call(which, ring::Notify{contact}).status, 200);
    }
    settle(std::chrono::seconds(20));
  }
  std::size_t calls_to(const std::string& path) {
    return static_cast<std::size_t>(std::ranges::count_if(internet.calls, [&](const HttpCall& one) {
      return one.url.origin() + std::string(one.url.path()) == at(path);
    }));
  }

  const std::string peer_host = "tags.peer.example";
  ring::Contact near;
  std::optional<ring::Contact> further;  // another vserver of it, while it lives
  Author peer = make_node_author("https://tags.peer.example");
};

}  // namespace tagring::node
