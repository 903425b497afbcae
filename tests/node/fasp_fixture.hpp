// A fediverse server that uses the node as its FASP: it takes the registration, activates capabilities, and
// signs what it asks.
#pragma once

#include <set>

#include "node/fixture.hpp"
#include "signatures/fasp_signature.hpp"

namespace tagring::node {

struct FaspPeer {
  std::string host;
  crypto::PrivateKey key;
  std::string server_id = {};  // that the node gave
  std::string node_key = {};   // 32 bytes
  std::string node_base = {};
  std::set<std::string> bases = {};  // of all that were ever registered
  std::string fasp_id = "7";
  std::vector<HttpCall> calls = {};          // signed requests of the node
  std::map<std::string, int> statuses = {};  // path → what is answered in the place of success
  int made = 0;                              // subscriptions and backfill requests

  [[nodiscard]] std::string base() const { return "https://" + host + "/api/fasp"; }
};

// How a request differs from the ordinary.
struct How {
  std::string target = {};                  // "" : as asked
  std::optional<WallTime> created = {};     // now
  const crypto::PrivateKey* key = nullptr;  // the peer's
  std::string key_id = {};                  // the peer's
};

class FaspTest : public NodeTest {
 protected:
  // Registers the node with a server; it answers from then on.
  FaspPeer& enroll(const std::string& host);
  // What the peer's side of the interface answers, signed.
  Result<HttpResponse> serve(FaspPeer& peer, const HttpCall& call);
  [[nodiscard]] HttpResponse signed_answer(const FaspPeer& peer, int status, std::string body) const;

  [[nodiscard]] HttpRequest request(const FaspPeer& peer, const std::string& method, const std::string& path,
                                    std::string body = {}, How how = {}) const;
  HttpResponse ask_as(const FaspPeer& peer, const std::string& method, const std::string& path,
                      std::string body = {});
  void activate(FaspPeer& peer, const std::string& capability);
  // The answer has that status, is signed by the node, and seconds later nothing has changed.
  void expect_unchanged(const FaspPeer& peer, HttpRequest asked, int status);
  // Calls of the node to a path below the peer's base.
  [[nodiscard]] std::vector<HttpCall> calls_to(const FaspPeer& peer, const std::string& path) const;

  std::map<std::string, std::unique_ptr<FaspPeer>> peers;
  std::size_t keys_made = 0;
};

}  // namespace tagring::node
