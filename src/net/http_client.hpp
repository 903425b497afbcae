// HttpClient on real sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/http.hpp"
#include "net/resolver.hpp"

namespace tagring::net {

struct HttpClientOptions {
  std::string ca_file;                   // PEM, trusted besides the system's CAs; may be empty
  bool allow_private_addresses = false;  // for networks of one's own: any address, and http as well as https
  std::vector<std::uint16_t> ports;  // that may be connected to. Empty: 443, or any with private addresses
  std::size_t connections_per_host_max = 16;  // at once; further calls wait their turn
  Duration idle_timeout{50'000};              // how long an unused connection is kept
  Duration connect_timeout{8'000};            // per address, so that the next one gets its chance
  std::string user_agent = "tagring";
};

// Name look-up, TLS and I/O run on `io`, which may have many threads; send() resumes on its caller's
// executor.
//
// A name is resolved once per connection, every address is checked (is_public, required_prefix), and the
// connection goes to exactly the address checked. Connections are kept per scheme, host and port, and each
// remembers its address: a call with required_prefix only gets one that has it. Requests that found a kept
// connection closed by the other side are sent once more on a new one.
//
// Thread-safe. Calls may outlive the client; `resolver` must outlive both. A call whose I/O context is
// destroyed never returns: its coroutine is destroyed.
class BeastHttpClient final : public HttpClient {
 public:
  // kInvalid: ca_file cannot be read.
  static Result<std::unique_ptr<BeastHttpClient>> make(HttpClientOptions options, Executor io,
                                                       Resolver& resolver);
  ~BeastHttpClient() override;

  [[nodiscard]] Task<Result<HttpResponse>> send(HttpCall call) override;

 private:
  struct Impl;
  explicit BeastHttpClient(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tagring::net
