#include "fediverse/domain.hpp"

#include <algorithm>
#include <memory>
#include <unicode/bytestream.h>
#include <unicode/idna.h>

#include "base/bytes.hpp"

namespace tagring::fediverse {

std::string domain_in(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (ascii_lower(text.substr(0, scheme.size())) == scheme) text.remove_prefix(scheme.size());
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return ascii_lower(text);
  UErrorCode error = U_ZERO_ERROR;
  const std::unique_ptr<icu::IDNA> idna(
      icu::IDNA::createUTS46Instance(UIDNA_NONTRANSITIONAL_TO_ASCII, error));
  icu::IDNAInfo info;
  std::string ascii;
  icu::StringByteSink<std::string> sink(&ascii);
  if (U_SUCCESS(error))
    idna->nameToASCII_UTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, info,
                           error);
  return U_FAILURE(error) || info.hasErrors() ? std::string(text) : ascii_lower(ascii);
}

}  // namespace tagring::fediverse
