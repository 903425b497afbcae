// The two headers that carry the hash of a body: Digest (RFC 3230), which draft-cavage signs, and
// Content-Digest (RFC 9530), which RFC 9421 signs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tagring::signatures {

// "SHA-256=<base64>"
std::string make_digest(std::string_view body);
// "sha-256=:<base64>:"
std::string make_content_digest(std::string_view body);

// kDenied unless the header has a SHA-256, however spelled, and all of them are of the body. Other algorithms
// beside it are passed over.
Result<void> check_digest(std::string_view header, std::string_view body);
// kDenied unless the header has a sha-256 or sha-512, and both, where there are both, are of the body. Its
// keys are in lower case, as in every dictionary of RFC 8941.
Result<void> check_content_digest(std::string_view header, std::string_view body);

}  // namespace tagring::signatures
