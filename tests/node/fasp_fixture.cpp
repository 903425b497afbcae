#include "node/fasp_fixture.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "signatures/signature.hpp"

namespace tagring::node {

HttpResponse FaspTest::signed_answer(const FaspPeer& peer, int status, std::string body) const {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  signatures::sign_fasp_response(response, peer.key, peer.server_id, loop.wall_now());
  return response;
}

Result<HttpResponse> FaspTest::serve(FaspPeer& peer, const HttpCall& call) {
  const std::string path = call.url.text().substr(peer.base().size());
  if (path == "/registration") {
    const json::object body = json::parse_object(call.body).value();
    // As Mastodon: it keeps whom it has taken, and another one at the same address is an error of its
    // database.
    const std::string base = json::get_string(body, "baseUrl").value();
    if (!peer.bases.insert(base).second) return with_status(500);
    peer.node_base = base;
    peer.server_id = json::get_string(body, "serverId").value();
    peer.node_key = from_base64(json::get_string(body, "publicKey").value()).value();
    HttpResponse response;
    response.status = 200;  // as Mastodon
    response.body = json::serialize(
        json::object{{"faspId", peer.fasp_id},
                     {"publicKey", to_base64(peer.key.public_key().ed25519())},
                     {"registrationCompletionUri", "https://" + peer.host + "/admin/fasp/providers/7"}});
    return response;
  }
  // What the node signs must be what a server checks.
  HttpRequest received{.method = call.method,
                       .target = call.url.target,
                       .headers = call.headers,
                       .body = call.body,
                       .peer = {}};
  received.headers.set("Host", call.url.authority());
  signatures::SignaturePolicy policy;
  policy.authorities = {peer.host};
  const auto claim = signatures::read_fasp_signature(received, loop.wall_now(), policy);
  EXPECT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->key_id, peer.fasp_id);
  EXPECT_TRUE(signatures::verify(*claim, crypto::PublicKey::from_ed25519(peer.node_key).value()));
  peer.calls.push_back(call);
  if (const auto status = peer.statuses.find(path); status != peer.statuses.end())
    return signed_answer(peer, status->second, "");
  if (call.method == "POST" && path == "/data_sharing/v0/event_subscriptions")
    return signed_answer(peer, 201, fmt::format(R"({{"subscription":{{"id":{}}}}})", ++peer.made));
  if (call.method == "POST" && path == "/data_sharing/v0/backfill_requests")
    return signed_answer(peer, 201, fmt::format(R"({{"backfillRequest":{{"id":{}}}}})", ++peer.made));
  return signed_answer(peer, 204, "");
}

FaspPeer& FaspTest::enroll(const std::string& host) {
  auto peer = std::make_unique<FaspPeer>(FaspPeer{
      .host = host, .key = crypto::PrivateKey::ed25519_from_seed(fmt::format("fasp{:028}", ++keys_made))});
  FaspPeer& made = *peer;
  peers[host] = std::move(peer);
  const auto answer = [this, &made](const HttpCall& call) { return serve(made, call); };
  for (const char* path :
       {"/registration", "/data_sharing/v0/event_subscriptions", "/data_sharing/v0/event_subscriptions/1",
        "/data_sharing/v0/event_subscriptions/2", "/data_sharing/v0/event_subscriptions/9",
        "/data_sharing/v0/backfill_requests", "/data_sharing/v0/backfill_requests/3/continuation",
        "/hashtag_subscription/v0/announcements"})
    internet.answers[made.base() + path] = answer;
  const HttpResponse registered =
      control("/fasp/register", json::serialize(json::object{{"server", made.host}}));
  EXPECT_EQ(registered.status, 200) << registered.body;
  return made;
}

HttpRequest FaspTest::request(const FaspPeer& peer, const std::string& method, const std::string& path,
                              std::string body, How how) const {
  HttpCall call(method, Url::parse(peer.node_base + path).value(), loop.now());
  call.body = std::move(body);
  const std::string& key_id = how.key_id.empty() ? peer.server_id : how.key_id;
  signatures::sign_fasp_call(call, how.key == nullptr ? peer.key : *how.key, key_id,
                             how.created.value_or(loop.wall_now()));
  HttpRequest made;
  made.method = method;
  made.target = how.target.empty() ? call.url.target : how.target;
  made.headers = std::move(call.headers);
  made.headers.set("Host", call.url.authority());
  made.headers.set("Accept", "application/json");
  made.body = std::move(call.body);
  return made;
}

HttpResponse FaspTest::ask_as(const FaspPeer& peer, const std::string& method, const std::string& path,
                              std::string body) {
  HttpResponse response = ask(request(peer, method, path, std::move(body)));
  const auto genuine =
      signatures::check_fasp_response(response, crypto::PublicKey::from_ed25519(peer.node_key).value(),
                                      loop.wall_now(), std::chrono::minutes(5));
  EXPECT_TRUE(genuine) << response.status << " " << genuine.error().message;
  return response;
}

void FaspTest::activate(FaspPeer& peer, const std::string& capability) {
  EXPECT_EQ(ask_as(peer, "POST", "/capabilities/" + capability + "/0/activation").status, 204);
  settle();
}

void FaspTest::expect_unchanged(const FaspPeer& peer, HttpRequest asked, int status) {
  const std::string before = state();
  const std::size_t calls = internet.calls.size();
  const HttpResponse response = ask(std::move(asked));
  settle();
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(state(), before);
  EXPECT_EQ(internet.calls.size(), calls);
  if (status == 401 || peer.node_key.empty()) return;
  EXPECT_TRUE(signatures::check_fasp_response(response,
                                              crypto::PublicKey::from_ed25519(peer.node_key).value(),
                                              loop.wall_now(), std::chrono::minutes(5)));
}

std::vector<HttpCall> FaspTest::calls_to(const FaspPeer& peer, const std::string& path) const {
  std::vector<HttpCall> found;
  for (const HttpCall& call : peer.calls) {
    if (call.url.text() == peer.base() + path) found.push_back(call);
  }
  return found;
}

}  // namespace tagring::node
