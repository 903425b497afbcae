#include "crypto/certificate.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace tagring::crypto {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    free(pointer);
  }
};
void free_chain(STACK_OF(X509) * chain) { sk_X509_pop_free(chain, X509_free); }

using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Chain = std::unique_ptr<STACK_OF(X509), Free<free_chain>>;
using File = std::unique_ptr<BIO, Free<BIO_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using Check = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;

// The own certificate; those behind it go to `others`.
Result<Certificate> read_chain(const std::string& file, STACK_OF(X509) * others) {
  TRY_VOID(check_pem_file("certificate", file));
  const File source(BIO_new_file(file.c_str(), "r"));
  Certificate own(source ? PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr) : nullptr);
  while (own) {
    X509* next = PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr);
    if (next == nullptr) break;
    sk_X509_push(others, next);
  }
  ERR_clear_error();
  if (!own)
    return fail(ErrorCode::kInvalid, fmt::format("certificate {}: cannot be read, or is no PEM", file));
  return own;
}

CertificateFacts facts_of(X509* own) {
  CertificateFacts facts;
  facts.from = to_wall(X509_get0_notBefore(own));
  facts.until = to_wall(X509_get0_notAfter(own));
  const Names names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(own, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    facts.names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                             static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  return facts;
}

std::unexpected<Error> refuse(int reason, X509* at, const CertificateFacts& facts, const std::string& file,
                              const std::string& host) {
  const auto refused = [&](std::string because) {
    return fail(ErrorCode::kDenied, fmt::format("certificate {}: {}", file, because));
  };
  switch (reason) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return refused(fmt::format(
          "is for {}, not for {}: get one for that name, or correct node.host",
          facts.names.empty() ? "no host name" : fmt::to_string(fmt::join(facts.names, ", ")), host));
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return refused(fmt::format(
          "expired on {}{}: renew it", to_rfc3339(to_wall(X509_get0_notAfter(at))),
          facts.until == to_wall(X509_get0_notAfter(at)) ? "" : ", that is, one of its chain did"));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return refused(fmt::format("is not valid before {}: is this machine's clock right?",
                                 to_rfc3339(to_wall(X509_get0_notBefore(at)))));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
      return refused(
          "does not lead to an authority that is known: the file needs the whole chain (certbot's "
          "fullchain.pem), own certificate first; for an authority of your own, name it in network.ca_file");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return refused(
          "is signed by itself or by an unknown authority, and nobody trusts that: get one from an "
          "authority, or name yours in network.ca_file");
    default:
      return refused(fmt::format("others will refuse it: {}", X509_verify_cert_error_string(reason)));
  }
}

}  // namespace

WallTime to_wall(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime(std::chrono::seconds(::timegm(&parts)));
}

Result<void> check_pem_file(std::string_view what, const std::string& file) {
  // Also where a folder above it may not be looked into. access() leaves out what a unit's
  // AmbientCapabilities let the process read.
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES)
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} {}: may not be read by this user; for certbot's files there is "
                            "/usr/share/tagring/certbot-hook (docs/proxy.md)",
                            what, file));
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("{} {}: no such file", what, file));
}

Result<CertificateFacts> check_certificate(const std::string& chain, const std::string& authorities,
                                           const std::string& host, WallTime now) {
  const Chain others(sk_X509_new_null());
  const Store store(X509_STORE_new());
  const Check check(X509_STORE_CTX_new());
  TRY(const Certificate own, read_chain(chain, others.get()));
  if (X509_STORE_set_default_paths(store.get()) != 1 ||
      (!authorities.empty() && X509_STORE_load_file(store.get(), authorities.c_str()) != 1) ||
      X509_STORE_CTX_init(check.get(), store.get(), own.get(), others.get()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kInvalid, fmt::format("CA file {}: cannot be read, or is no PEM", authorities));
  }
  const CertificateFacts facts = facts_of(own.get());
  X509_VERIFY_PARAM* wanted = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_purpose(wanted, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
  X509_VERIFY_PARAM_set_time(wanted,
                             std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  const int good = X509_verify_cert(check.get());
  const int reason = X509_STORE_CTX_get_error(check.get());
  X509* at = X509_STORE_CTX_get_current_cert(check.get());
  ERR_clear_error();
  if (good == 1) return facts;
  return refuse(reason, at == nullptr ? own.get() : at, facts, chain, host);
}

}  // namespace tagring::crypto
