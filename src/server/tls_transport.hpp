// The server's end of a TLS connection. Internal to server/.
//
// OpenSSL reads and writes the socket itself, and is asked when there is something to be read, or room. So a
// connection on which nothing happens has no buffers: Asio's stream over TLS keeps four of 17 KiB for each.
#pragma once

#include <memory>

#include "net/tls.hpp"
#include "server/transport.hpp"

namespace tagring::server {

// Takes some 15 KiB after the handshake; during it about 70 KiB, and up to 220 KiB if the client wants it so.
// Before that it has nothing but the socket.
std::unique_ptr<Transport> make_tls_transport(TcpSocket socket, net::TlsContext tls);

}  // namespace tagring::server
