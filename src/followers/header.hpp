// The Collection-Synchronization header of FEP-8fcf: written by the sender of an activity, read and judged by
// its receiver.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "followers/authority.hpp"
#include "followers/digest.hpp"

namespace tagring::followers {

inline constexpr std::string_view kHeaderName = "Collection-Synchronization";
inline constexpr std::size_t kHeaderBytesMax = 2048;

struct Header {
  std::string collection_id;  // the sender's whole followers collection
  std::string url;            // of the partial collection for the receiver
  Digest digest;              // of that partial collection

  friend bool operator==(const Header&, const Header&) = default;
};

// Why a header is not acted on. The delivery that carried it is none the worse for it: a receiver goes on as
// if the header were not there, and answers no error.
enum class Ignore : std::uint8_t {
  kTooLong,             // more than kHeaderBytesMax bytes
  kMalformed,           // not a list of name="value"
  kDuplicateParameter,  // also what two header lines come to when they are joined
  kMissingParameter,
  kBadDigest,        // not 64 hexadecimal digits
  kNotSigned,        // the signature does not cover the header
  kOtherCollection,  // not the followers collection of who signed
  kOtherServer,      // collection or URL on another scheme, host or port than who signed
  kOwnServer,        // says that it comes from the receiver
};

// "not_signed", … for logs and counters.
std::string_view to_string(Ignore reason);

// The header's value, parameters in the order collectionId, url, digest. Nothing if it would be too long, or
// an URL has a character that does not fit between quotes: then there is no header to send.
std::optional<std::string> format_header(const Header& header);

// Accepts any order, white space or none around commas, and hexadecimal digits of either case; further
// parameters are skipped. Join repeated header lines with ", " before.
std::expected<Header, Ignore> parse_header(std::string_view value);

// What the receiver knows about the request that carried the header, apart from its body.
struct Delivery {
  std::string_view actor;      // owner of the key that signed; not who the body says it is from
  std::string_view followers;  // id of that actor's followers collection, as its document says
  bool covers_header = false;  // the signature covers the header
};

struct Policy {
  // FEP-8fcf asks for a signed header. Some servers sign their deliveries without it (Mastodon and Fedify
  // with RFC 9421, tootik): without coverage, who can change a request on its way decides when a list is
  // fetched, but not what is in it.
  bool require_coverage = true;
};

// Whether to compare the digest, and fetch `header.url` if it differs. `own` is the receiver's authority.
std::expected<void, Ignore> check_header(const Header& header, const Delivery& delivery, const Authority& own,
                                         Policy policy = {});

}  // namespace tagring::followers
