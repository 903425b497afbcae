#include "hashtag/typed.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <utility>

#include "base/bytes.hpp"
#include "base/printable.hpp"

namespace tagring {
namespace {

constexpr std::size_t kTypedMax = 4 * Tag::kSizeMax;  // bytes
constexpr std::size_t kShownMax = 100;                // bytes of what somebody typed
constexpr std::size_t kMeantMax = 5;
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kBetween = " \t\r\n,;#|+&";  // what people write between hashtags
constexpr std::string_view kWideHash = "＃";

bool is_plain_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Of one character.
bool stands_in_hashtags(std::string_view character) {
  if (character.size() == 1) return is_plain_word(character[0]);
  const auto text = icu::UnicodeString::fromUTF8(
      icu::StringPiece(character.data(), static_cast<int32_t>(character.size())));
  constexpr std::uint32_t kAlong = U_GC_M_MASK | U_GC_CF_MASK;
  if ((U_GET_GC_MASK(text.char32At(0)) & kAlong) != 0) return true;
  const Result<Tag> among = Tag::parse("a" + std::string(character) + "a");
  return among && among->canonical() != "aa";
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view without_hash(std::string_view text) {
  if (text.starts_with('#')) return text.substr(1);
  return text.starts_with(kWideHash) ? text.substr(kWideHash.size()) : text;
}

bool is_punycode(std::string_view text) { return ascii_lower(text.substr(0, 4)) == "xn--"; }

bool is_address(std::string_view text) { return text.contains("://"); }

// The name of "@cats@tags.example.org", which is that of a hashtag's account; empty if it is none.
std::string_view name_of_account(std::string_view text) {
  if (text.starts_with('@')) text.remove_prefix(1);
  const std::size_t at = text.find('@');
  return at == std::string_view::npos ? std::string_view() : text.substr(0, at);
}

// What follows "/tags/" or "/tag/" in an address, as most servers have it.
std::string name_in_address(std::string_view text) {
  text = text.substr(0, text.find_first_of("?#"));
  for (const std::string_view before : {"/tags/", "/tag/"}) {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + before.size());
    return percent_decode(rest.substr(0, rest.find('/'))).value_or("");
  }
  return {};
}

Error no_hashtag(std::string_view text, std::string_view because) {
  std::string meant;
  for (const Tag& tag : tags_meant_by(text))
    meant += fmt::format("{}\"{}\"", meant.empty() ? "" : " ", tag.canonical());
  if (!meant.empty()) meant = ", did you mean " + meant + "?";
  return {ErrorCode::kInvalid,
          fmt::format("'{}' {}{}", printable(cut_utf8(text, kShownMax)), because, meant)};
}

}  // namespace

std::string_view first_left_out(std::string_view name) {
  while (!name.empty()) {
    std::size_t size = 1;
    while (size < name.size() && (static_cast<unsigned char>(name[size]) & 0xC0U) == 0x80U) ++size;
    if (!stands_in_hashtags(name.substr(0, size))) return name.substr(0, size);
    name.remove_prefix(size);
  }
  return name;
}

Result<Tag> parse_typed_tag(std::string_view text) {
  const std::string_view typed = trimmed(text);
  if (typed.empty()) return fail(ErrorCode::kInvalid, "no hashtag is named");
  // An answer that quoted it would be none.
  if (!is_utf8(typed)) return fail(ErrorCode::kInvalid, "what is typed is not UTF-8, and no hashtag");
  if (is_punycode(typed)) {
    if (Result<Tag> tag = Tag::from_actor_name(typed)) return tag;
  }
  const Result<Tag> tag = Tag::parse(typed);
  if (typed.size() <= kTypedMax) {
    if (is_address(typed)) return std::unexpected(no_hashtag(typed, "is an address, and no hashtag"));
    if (!name_of_account(typed).empty())
      return std::unexpected(no_hashtag(typed, "is an account, and no hashtag"));
    if (typed.find_first_of(kBlanks) != std::string_view::npos)
      return std::unexpected(no_hashtag(typed, "has a space in it: a hashtag is one word"));
    const std::string_view wrong = first_left_out(without_hash(typed));
    if (tag && !wrong.empty())
      return std::unexpected(
          no_hashtag(typed, fmt::format("is no hashtag: \"{}\" cannot stand in one", printable(wrong))));
  }
  if (tag) return tag;
  std::string_view because = tag.error().message;
  if (constexpr std::string_view kSubject = "hashtag "; because.starts_with(kSubject))
    because.remove_prefix(kSubject.size());
  return std::unexpected(no_hashtag(typed, fmt::format("is no hashtag: it {}", because)));
}

std::vector<Tag> tags_meant_by(std::string_view text) {
  std::vector<Tag> meant;
  if (text.size() > kTypedMax) return meant;
  const auto add = [&meant](Result<Tag> tag) {
    if (tag && meant.size() < kMeantMax && std::ranges::find(meant, *tag) == meant.end())
      meant.push_back(*std::move(tag));
  };
  text = trimmed(text);
  if (is_address(text)) {
    add(Tag::from_actor_name(name_in_address(text)));
  } else if (const std::string_view name = name_of_account(text); !name.empty()) {
    add(Tag::from_actor_name(name));
  } else {
    while (!text.empty()) {
      text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
      const std::string_view word = text.substr(0, text.find_first_of(kBetween));
      if (!word.empty()) add(Tag::parse(word));
      text.remove_prefix(word.size());
    }
  }
  return meant;
}

}  // namespace tagring
