#include "net/tls.hpp"

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string_view>

#include "crypto/certificate.hpp"
#include "http/ip.hpp"

namespace tagring::net {
namespace ssl = boost::asio::ssl;
namespace {

constexpr std::array<unsigned char, 9> kAlpn = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// What Mozilla calls intermediate, of servers with certificates of either kind.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kGroups = "X25519:P-256:P-384";

std::string openssl_reason() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "unknown error";
}

// Buffers are released: most connections are idle, and each would keep 34 KiB.
void set_common(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

int select_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                unsigned offered_size, void*) {
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, kAlpn.data(), kAlpn.size(), offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<TlsContext> make_client_tls(const std::string& ca_file) {
  ERR_clear_error();
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX* native = context->native_handle();
  set_common(native);
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(native, kAlpn.data(), kAlpn.size());
  if (SSL_CTX_set_default_verify_paths(native) != 1) {
    return fail(ErrorCode::kInvalid, "system CAs: " + openssl_reason());
  }
  if (!ca_file.empty() && SSL_CTX_load_verify_file(native, ca_file.c_str()) != 1) {
    return fail(ErrorCode::kInvalid, fmt::format("CA file {}: {}", ca_file, openssl_reason()));
  }
  ERR_clear_error();
  return context;
}

Result<TlsContext> make_server_tls(const std::string& certificate_file, const std::string& key_file) {
  TRY_VOID(crypto::check_pem_file("certificate", certificate_file));
  TRY_VOID(crypto::check_pem_file("private key", key_file));
  ERR_clear_error();
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  set_common(native);
  SSL_CTX_set_alpn_select_cb(native, select_alpn, nullptr);
  // What to resume is in tickets, with the client.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_cipher_list(native, kCiphers) != 1 || SSL_CTX_set1_groups_list(native, kGroups) != 1)
    return fail(ErrorCode::kInvalid, "TLS cipher suites: " + openssl_reason());
  if (SSL_CTX_use_certificate_chain_file(native, certificate_file.c_str()) != 1) {
    return fail(ErrorCode::kInvalid, fmt::format("certificate {}: {}", certificate_file, openssl_reason()));
  }
  // Loading a key that does not belong to the certificate fails here already.
  if (SSL_CTX_use_PrivateKey_file(native, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(native) != 1) {
    return fail(ErrorCode::kInvalid, fmt::format("private key {} for certificate {}: {}", key_file,
                                                 certificate_file, openssl_reason()));
  }
  return context;
}

bool expect_host(void* ssl_handle, const std::string& host) {
  auto* ssl = static_cast<SSL*>(ssl_handle);
  std::string name = host;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  if (IpAddress::parse(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

std::optional<HttpResponse::Lifetime> lifetime_of_peer(const void* ssl_handle) {
  const X509* shown = SSL_get0_peer_certificate(static_cast<const SSL*>(ssl_handle));
  if (shown == nullptr) return std::nullopt;
  return HttpResponse::Lifetime{crypto::to_wall(X509_get0_notBefore(shown)),
                                crypto::to_wall(X509_get0_notAfter(shown))};
}

}  // namespace tagring::net
