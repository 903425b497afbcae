// HttpClient whose answers may go on for as long as somebody reads them: HttpResponse::stream.
#pragma once

#include "http/message.hpp"

namespace tagring::net {

// For a network of one's own: it speaks http, to addresses and not to names. Each call has a connection of
// its own, and its answer keeps that if it is a stream: a body whose length nobody knows, or with 101 a
// tunnel. The deadline of a call is for all but the stream.
//
// Pieces are read when they are asked for, and no others; what waits is the other side's, which cuts off who
// does not take it. A stream ends when the other side ends it or is gone; if its machine is,
// half a minute later. close() or the stream's own end ends the connection.
//
// Thread-safe. I/O runs on `io`; calls and streams may outlive the client.
class StreamClient final : public HttpClient {
 public:
  explicit StreamClient(Executor io) : io_(std::move(io)) {}

  // As any HttpClient; kInvalid: not the URL of an address.
  [[nodiscard]] Task<Result<HttpResponse>> send(HttpCall call) override;

 private:
  const Executor io_;
};

}  // namespace tagring::net
