#include "net/control_socket.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>

#include "net/exchange.hpp"
#include "net/hop.hpp"
#include "net/system_clock.hpp"

namespace tagring::net {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace {

using Local = asio::local::stream_protocol;
constexpr std::size_t kResponseSizeMax = 64U << 20U;

Task<Result<HttpResponse>> call(std::string path, HttpRequest request, Instant deadline) {
  const auto until = to_steady(deadline);
  const bool is_head = request.method == "HEAD";
  CO_TRY(OutgoingMessage message, write_request("localhost", std::move(request)));
  const Executor executor = co_await asio::this_coro::executor;
  beast::basic_stream<Local> stream(executor);
  stream.expires_at(until);
  const auto [error] = co_await stream.async_connect(Local::endpoint(path), kTuple);
  if (error) co_return fail_with(error, path);
  beast::flat_buffer buffer;
  buffer.max_size(kUnparsedMax);
  buffer.reserve(kReadSize);
  auto shared = std::make_shared<const OutgoingMessage>(std::move(message));
  Exchange done = co_await exchange(&stream, &buffer, std::move(shared),
                                    ExchangeLimits(until, kResponseSizeMax, is_head));
  co_return std::move(done.response);
}

}  // namespace

Result<HttpResponse> call_control_socket(std::string path, HttpRequest request, Duration timeout) {
  if (path.size() >= 108)
    return fail(ErrorCode::kInvalid, "path of the control socket longer than 107 bytes");
  asio::io_context context(1);
  Result<HttpResponse> result = fail(ErrorCode::kUnavailable, "no answer");
  asio::co_spawn(context, call(std::move(path), std::move(request), steady_now() + timeout),
                 [&result](std::exception_ptr error, Result<HttpResponse> answer) {
                   if (!error) result = std::move(answer);
                 });
  context.run();
  return result;
}

}  // namespace tagring::net
