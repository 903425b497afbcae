// One request and its response on a connection that stands. Internal to net/.
#pragma once

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>

#include "base/task.hpp"
#include "net/wire.hpp"

namespace tagring::net {

// Errors are values; but a cancelled coroutine throws at its next await all the same.
inline constexpr auto kTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

template <class Stream>
Task<boost::system::error_code> write_message(Stream* stream,
                                              std::shared_ptr<const OutgoingMessage> message) {
  namespace asio = boost::asio;
  const std::array<asio::const_buffer, 2> parts = {asio::buffer(message->head), asio::buffer(message->body)};
  const auto [error, size] = co_await asio::async_write(*stream, parts, kTuple);
  co_return error;
}

struct Exchange {
  explicit Exchange(Result<HttpResponse> result) : response(std::move(result)) {}

  Result<HttpResponse> response;
  bool is_stale = false;    // the connection ended before anything of the response arrived
  bool keep_alive = false;  // another exchange may follow
};

struct ExchangeLimits {
  ExchangeLimits(std::chrono::steady_clock::time_point until, std::size_t body_size, bool is_head)
      : deadline(until), response_size_max(body_size), to_head(is_head) {}

  std::chrono::steady_clock::time_point deadline;
  std::size_t response_size_max;
  bool to_head;
};

// `stream` and `buffer` belong to the caller and outlive the task.
template <class Stream>
Task<Exchange> exchange(Stream* stream, boost::beast::flat_buffer* buffer,
                        std::shared_ptr<const OutgoingMessage> message, ExchangeLimits limits) {
  namespace beast = boost::beast;
  namespace http = boost::beast::http;
  constexpr int kInformationalMax = 4;
  beast::get_lowest_layer(*stream).expires_at(limits.deadline);
  // A server may refuse and close before it has read all: then the answer is there though writing failed.
  const boost::system::error_code write_error = co_await write_message(stream, std::move(message));
  if (write_error == beast::error::timeout) co_return Exchange(fail_with(write_error, "sending the request"));
  std::optional<http::response_parser<http::string_body>> parser;
  for (int informational = 0;; ++informational) {
    parser.emplace();
    parser->header_limit(kHeaderSizeMax);
    parser->body_limit(limits.response_size_max);
    parser->skip(limits.to_head);
    const auto [error, size] = co_await http::async_read_header(*stream, *buffer, *parser, kTuple);
    if (error) {
      const bool cut = !parser->got_some() && informational == 0 && error != beast::error::timeout;
      Exchange failed(cut && write_error ? fail_with(write_error, "sending the request")
                                         : fail_with(error, "reading the response"));
      failed.is_stale = cut && buffer->size() == 0 && failed.response.error().code == ErrorCode::kUnavailable;
      co_return failed;
    }
    if (parser->get().result_int() / 100 != 1) break;
    if (informational == kInformationalMax || parser->get().result_int() == 101) {
      co_return Exchange(fail(ErrorCode::kInvalid, "unexpected informational response"));
    }
  }
  // Fields of a trailer are not looked at, so that they cannot pass for fields of the header.
  Headers headers = to_headers(parser->get());
  if (!parser->is_done()) {
    const auto [error, size] = co_await http::async_read(*stream, *buffer, *parser, kTuple);
    if (error) co_return Exchange(fail_with(error, "reading the response"));
  }
  // Bytes behind the response belong to no request: such a connection is not used again.
  const bool keep_alive = !write_error && parser->keep_alive() && !parser->need_eof() && buffer->size() == 0;
  auto received = parser->release();
  HttpResponse response;
  response.status = static_cast<int>(received.result_int());
  response.headers = std::move(headers);
  response.body = std::move(received.body());
  Exchange done(std::move(response));
  done.keep_alive = keep_alive;
  co_return done;
}

}  // namespace tagring::net
