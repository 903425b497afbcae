#include "ring/public_suffix.hpp"

#include <algorithm>
#include <cstdio>
#include <idn2.h>
#include <libpsl.h>
#include <memory>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "http/ip.hpp"
#include "http/url.hpp"

namespace tagring::ring {
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char kList[] = {
#embed "../../data/public_suffix_list/public_suffix_list.dat"
};
#pragma clang diagnostic pop
constexpr std::string_view kPrivateSection = "// ===BEGIN PRIVATE DOMAINS===";

constexpr std::size_t kHostSizeMax = 253;
// Unicode host names are longer than their Punycode at most by the width of UTF-8.
constexpr std::size_t kInputSizeMax = 4 * kHostSizeMax;

struct Deleter {
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(psl_ctx_t* list) const { psl_free(list); }
};
using List = std::unique_ptr<psl_ctx_t, Deleter>;

List load_list() {
  std::string text(kList, sizeof kList);
  const std::size_t end = text.find(kPrivateSection);
  TR_ASSERT(end != std::string::npos);
  const std::unique_ptr<std::FILE, Deleter> file(fmemopen(text.data(), end, "r"));
  TR_ASSERT(file != nullptr);
  List list(psl_load_fp(file.get()));
  TR_ASSERT(list != nullptr);
  return list;
}

std::unexpected<Error> refuse() { return fail(ErrorCode::kInvalid, "not a host name"); }

// Plain names are kept away from libidn2, which refuses real ones with hyphens in the third and fourth place.
bool needs_idna(std::string_view lower) {
  return lower.starts_with("xn--") || lower.contains(".xn--") ||
         std::ranges::any_of(lower, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

// By UTS #46, non-transitional ("ß" is kept), as browsers do.
Result<std::string> to_punycode(const std::string& host) {
  std::uint8_t* output = nullptr;
  const int status = idn2_lookup_u8(reinterpret_cast<const std::uint8_t*>(host.c_str()), &output,
                                    IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  if (status != IDN2_OK) return refuse();
  std::string ascii = ascii_lower(reinterpret_cast<const char*>(output));
  idn2_free(output);
  return ascii;
}

}  // namespace

Result<std::string> ascii_host(std::string_view host) {
  if (host.size() > kInputSizeMax || host.contains('\0') || !is_utf8(host)) return refuse();
  if (IpAddress::parse(host)) return fail(ErrorCode::kInvalid, "an address is not a host name");
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string ascii = ascii_lower(host);
  if (needs_idna(ascii)) {
    TRY(ascii, to_punycode(ascii));
  }
  // Every node must read a contact alike, so no names that only some resolvers take.
  if (!is_host_name(ascii) || ascii.contains('_')) return refuse();
  return ascii;
}

Result<std::string> registered_domain(const std::string& host) {
  static const List list = load_list();
  const char* domain = psl_registrable_domain(list.get(), host.c_str());
  if (domain == nullptr)
    return fail(ErrorCode::kInvalid, "\"" + host + "\" is a public suffix, not a registered domain");
  return std::string(domain);
}

}  // namespace tagring::ring
