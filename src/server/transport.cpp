#include "server/transport.hpp"

#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>

namespace tagring::server {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace {

using boost::system::error_code;
using TcpStream = beast::tcp_stream;
using LocalStream = beast::basic_stream<asio::local::stream_protocol>;

template <class Stream>
class TransportOn final : public Transport {
 public:
  template <class... Args>
  explicit TransportOn(Args&&... args) : stream_(std::forward<Args>(args)...) {}

  executor_type get_executor() override { return stream_.get_executor(); }
  void expires_after(std::chrono::steady_clock::duration time) override { stream_.expires_after(time); }
  void expires_never() override { stream_.expires_never(); }
  void close() override { stream_.close(); }
  Task<void> say_goodbye(std::size_t unread) override;
  void tear_down(beast::role_type role, Completion<> done) override {
    using beast::websocket::async_teardown;
    async_teardown(role, stream_, std::move(done));
  }

 private:
  void read(ReadParts parts, Completion<std::size_t> done) override {
    stream_.async_read_some(parts, std::move(done));
  }
  void write(WriteParts parts, Completion<std::size_t> done) override {
    stream_.async_write_some(parts, std::move(done));
  }

  Stream stream_;
};

template <class Stream>
Task<void> TransportOn<Stream>::say_goodbye(std::size_t unread) {
  auto& socket = stream_.socket();
  if (!socket.is_open()) co_return;
  stream_.expires_after(kGoodbyeTimeout);
  error_code ignored;
  socket.shutdown(unread > 0 ? asio::socket_base::shutdown_send : asio::socket_base::shutdown_both, ignored);
  co_await read_rest(&stream_, unread);
}

}  // namespace

std::unique_ptr<Transport> make_transport(TcpSocket socket) {
  return std::make_unique<TransportOn<TcpStream>>(std::move(socket));
}

std::unique_ptr<Transport> make_transport(LocalSocket socket) {
  return std::make_unique<TransportOn<LocalStream>>(std::move(socket));
}

}  // namespace tagring::server
