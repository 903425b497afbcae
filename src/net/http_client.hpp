// HttpClient on real sockets.
#pragma once

#include <memory>

#include "http/message.hpp"
#include "net/http_client_options.hpp"
#include "net/resolver.hpp"

namespace tagring::net {

// Name look-up, TLS and I/O run on `io`, which may have many threads; send() resumes on its caller's
// executor.
//
// A name is resolved once per connection, every address is checked (is_public, required_prefix), and the
// connection goes to exactly the address checked. Connections are kept per scheme, host and port, and each
// remembers its address: a call with required_prefix or exact_address only gets one that has it. Requests
// that found a kept connection closed by the other side are sent once more on a new one.
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
