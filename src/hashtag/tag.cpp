#include "hashtag/tag.hpp"

#include <algorithm>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "crypto/hash.hpp"
#include "hashtag/punycode.hpp"

namespace tagring {
namespace {

// Real hashtags stay far below; the bound only keeps the work small.
constexpr std::size_t kSpellingSizeMax = 4 * Tag::kSizeMax;
constexpr std::string_view kPunycodePrefix = "xn--";

constexpr char32_t kMiddleDot = 0x00B7;
constexpr char32_t kKatakanaMiddleDot = 0x30FB;
constexpr char32_t kZeroWidthNonJoiner = 0x200C;
// Thai vowel and tone signs, which Unicode does not count as letters but a Thai word needs.
constexpr char32_t kThaiSignFirst = 0x0E47;
constexpr char32_t kThaiSignLast = 0x0E4E;

// The letters that Mastodon folds to ASCII. Its table also has upper-case and compatibility letters, but
// those are gone after NFKC and lower-casing. What is not here (ß, æ, ș …) stays as it is.
struct Folding {
  char ascii;
  std::u32string_view letters;
};
constexpr Folding kFoldings[] = {
    {'a', U"àáâãäåāăą"},  {'c', U"çćĉċč"},     {'d', U"ðďđ"}, {'e', U"èéêëēĕėęě"}, {'g', U"ĝğġģ"},
    {'h', U"ĥħ"},         {'i', U"ìíîïĩīĭįı"}, {'j', U"ĵ"},   {'k', U"ķĸ"},        {'l', U"ĺļľł"},
    {'n', U"ñńņňŋ"},      {'o', U"òóôõöøōŏő"}, {'r', U"ŕŗř"}, {'s', U"śŝşš"},      {'t', U"ţťŧ"},
    {'u', U"ùúûüũūŭůűų"}, {'w', U"ŵ"},         {'y', U"ýÿŷ"}, {'z', U"źżž"},
};

char32_t fold_to_ascii(char32_t c) {
  if (c < 0x80) return c;
  for (const Folding& folding : kFoldings) {
    if (folding.letters.contains(c)) return static_cast<char32_t>(folding.ascii);
  }
  return c;
}

bool is_letter(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ALPHABETIC) != 0; }

bool is_separator(char32_t c) {
  return c == '_' || c == kMiddleDot || c == kKatakanaMiddleDot || c == kZeroWidthNonJoiner;
}

// A character that may begin and end a hashtag.
bool is_word(char32_t c) {
  return c == '_' || (c >= kThaiSignFirst && c <= kThaiSignLast) || is_letter(c) ||
         u_charType(static_cast<UChar32>(c)) == U_DECIMAL_DIGIT_NUMBER;
}

std::u32string to_utf32(const icu::UnicodeString& text) {
  std::u32string out;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    out.push_back(static_cast<char32_t>(text.char32At(i)));
  }
  return out;
}

icu::UnicodeString from_utf32(std::u32string_view text) {
  icu::UnicodeString out;
  for (const char32_t c : text) out.append(static_cast<UChar32>(c));
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  from_utf32(text).toUTF8String(out);
  return out;
}

// One pass of Mastodon's normaliser, in its order: NFKC, lower case, folding, and removal of what may not be
// in a hashtag. Lower case is character by character: Ruby has no final sigma, and the dot that "İ" leaves
// behind is removed anyway.
icu::UnicodeString normalize_once(const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfkc = icu::Normalizer2::getNFKCInstance(status);
  TR_ASSERT(U_SUCCESS(status));
  const icu::UnicodeString composed = nfkc->normalize(text, status);
  TR_ASSERT(U_SUCCESS(status));
  icu::UnicodeString out;
  for (const char32_t c : to_utf32(composed)) {
    const char32_t folded = fold_to_ascii(static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
    if (is_word(folded) || is_separator(folded)) out.append(static_cast<UChar32>(folded));
  }
  while (!out.isEmpty() && !is_word(out.char32At(out.length() - 1))) out.truncate(out.length() - 1);
  return out;
}

// Passes until nothing changes, so that the canonical form of a canonical form is itself. A second pass does
// something where a removal made two letters neighbours that compose (Hangul jamo, iota subscript).
std::u32string normalize(std::string_view spelling) {
  icu::UnicodeString text =
      icu::UnicodeString::fromUTF8(icu::StringPiece(spelling.data(), static_cast<int32_t>(spelling.size())));
  for (;;) {
    icu::UnicodeString next = normalize_once(text);
    if (next == text) return to_utf32(text);
    text = std::move(next);
  }
}

// Mastodon's rule for names: word characters with a letter among them, or, from three characters on, a letter
// or separator between word characters ("1_2").
Result<void> check_name(std::u32string_view name) {
  if (name.empty()) return fail(ErrorCode::kInvalid, "hashtag has neither letters nor digits");
  if (!is_word(name.front())) return fail(ErrorCode::kInvalid, "hashtag begins with a separator");
  const auto inner = name.size() > 2 ? name.substr(1, name.size() - 2) : std::u32string_view();
  if (!std::ranges::any_of(name, is_letter) && !std::ranges::any_of(inner, is_separator)) {
    return fail(ErrorCode::kInvalid, "hashtag has no letter");
  }
  return {};
}

bool is_plain(std::string_view canonical) {
  return std::ranges::all_of(canonical, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

Result<Tag> Tag::parse(std::string_view spelling) {
  if (spelling.size() > kSpellingSizeMax) return fail(ErrorCode::kInvalid, "hashtag is too long");
  if (!is_utf8(spelling)) return fail(ErrorCode::kInvalid, "hashtag is not UTF-8");
  const std::u32string name = normalize(spelling);
  TRY_VOID(check_name(name));
  std::string canonical = to_utf8(name);
  if (canonical.size() > kSizeMax) return fail(ErrorCode::kInvalid, "hashtag is too long");
  return Tag(std::move(canonical));
}

Result<Tag> Tag::parse_canonical(std::string_view text) {
  TRY(Tag tag, parse(text));
  if (tag.canonical_ != text) return fail(ErrorCode::kInvalid, "hashtag is not in canonical form");
  return tag;
}

Tag Tag::from_canonical(std::string canonical) {
  TR_ASSERT(!canonical.empty());
  return Tag(std::move(canonical));
}

RingId Tag::key() const { return RingId::from_bytes(crypto::sha3_256(canonical_)); }

std::string Tag::actor_name() const {
  if (is_plain(canonical_)) return canonical_;
  const auto text = icu::UnicodeString::fromUTF8(canonical_);
  return std::string(kPunycodePrefix) + punycode_encode(to_utf32(text));
}

Result<Tag> Tag::from_actor_name(std::string_view name) {
  const std::string lower = ascii_lower(name.substr(0, kSpellingSizeMax + 1));
  if (!lower.starts_with(kPunycodePrefix)) return parse(name);
  if (lower.size() > kSpellingSizeMax) return fail(ErrorCode::kInvalid, "hashtag actor name is too long");
  const auto decoded = punycode_decode(std::string_view(lower).substr(kPunycodePrefix.size()));
  if (!decoded) return fail(ErrorCode::kInvalid, "hashtag actor name is not Punycode");
  TRY(Tag tag, parse(to_utf8(*decoded)));
  // Else one tag would have many actors.
  if (tag.actor_name() != lower)
    return fail(ErrorCode::kInvalid, "hashtag actor name is not in canonical form");
  return tag;
}

}  // namespace tagring
