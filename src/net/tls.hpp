// TLS settings for both directions.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "http/message.hpp"

namespace boost::asio::ssl {
class context;
}

namespace tagring::net {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// For connecting: TLS 1.2 or newer, the peer's certificate must chain to a CA of the system or of `ca_file`
// (PEM, may be empty). The host name is checked per connection: see expect_host(). kInvalid: unreadable file.
[[nodiscard]] Result<TlsContext> make_client_tls(const std::string& ca_file);

// For listening. Both files are PEM; the certificate's file holds the whole chain, own certificate first.
// kNotFound: no such file. kUnavailable: it may not be read. kInvalid: not PEM, or the key is not that of the
// certificate.
[[nodiscard]] Result<TlsContext> make_server_tls(const std::string& certificate_file,
                                                 const std::string& key_file);

// Makes the handshake of `ssl` (an SSL*) fail unless the peer's certificate is for `host`, and asks for that
// name (SNI). IP addresses, in brackets or not, are compared with the certificate's addresses. False if out
// of memory.
[[nodiscard]] bool expect_host(void* ssl, const std::string& host);

// Of the certificate that the other side of `ssl` (an SSL*) has shown.
[[nodiscard]] std::optional<HttpResponse::Lifetime> lifetime_of_peer(const void* ssl);

}  // namespace tagring::net
