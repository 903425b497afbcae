#include "followers/header.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace tagring::followers {
namespace {

using Parameters = std::map<std::string_view, std::string_view>;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}
// Nobody agrees on escapes, and no URL needs them.
bool fits_between_quotes(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '"' || c == '\\';
  });
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}
bool skip(std::string_view& text, char c) {
  skip_blanks(text);
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  skip_blanks(text);
  return true;
}

// Of RFC 9110, 5.6.2.
bool is_token_character(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return is_name_character(c) || kMarks.find(c) != std::string_view::npos;
}

// What stands after the equals sign, taken off the text: in quotes, or a token, as a parameter that somebody
// adds may have. Nothing if it is neither.
std::optional<std::string_view> take_value(std::string_view& text) {
  const bool quoted = text.starts_with('"');
  if (quoted) text.remove_prefix(1);
  const std::size_t end =
      quoted ? text.find('"')
             : static_cast<std::size_t>(std::ranges::find_if_not(text, is_token_character) - text.begin());
  if (end == std::string_view::npos || (!quoted && end == 0)) return std::nullopt;
  const std::string_view value = text.substr(0, end);
  text.remove_prefix(end + (quoted ? 1 : 0));
  return fits_between_quotes(value) ? std::optional(value) : std::nullopt;
}

// name="value", … Views into `text`.
std::expected<Parameters, Ignore> parse_parameters(std::string_view text) {
  Parameters parameters;
  skip_blanks(text);
  do {
    const auto name_end = std::ranges::find_if_not(text, is_name_character);
    const std::string_view name(text.begin(), name_end);
    text.remove_prefix(name.size());
    if (name.empty() || !skip(text, '=')) return std::unexpected(Ignore::kMalformed);
    const std::optional<std::string_view> value = take_value(text);
    if (!value) return std::unexpected(Ignore::kMalformed);
    if (!parameters.emplace(name, *value).second) return std::unexpected(Ignore::kDuplicateParameter);
  } while (skip(text, ','));
  if (!text.empty()) return std::unexpected(Ignore::kMalformed);
  return parameters;
}

}  // namespace

std::string_view to_string(Ignore reason) {
  switch (reason) {
    case Ignore::kTooLong:
      return "too_long";
    case Ignore::kMalformed:
      return "malformed";
    case Ignore::kDuplicateParameter:
      return "duplicate_parameter";
    case Ignore::kMissingParameter:
      return "missing_parameter";
    case Ignore::kBadDigest:
      return "bad_digest";
    case Ignore::kNotSigned:
      return "not_signed";
    case Ignore::kOtherCollection:
      return "other_collection";
    case Ignore::kOtherServer:
      return "other_server";
    case Ignore::kOwnServer:
      return "own_server";
  }
  return "unknown";
}

std::optional<std::string> format_header(const Header& header) {
  if (!fits_between_quotes(header.collection_id) || !fits_between_quotes(header.url)) return std::nullopt;
  std::string value = "collectionId=\"" + header.collection_id + "\", url=\"" + header.url + "\", digest=\"" +
                      header.digest.hex() + '"';
  if (value.size() > kHeaderBytesMax) return std::nullopt;
  return value;
}

std::expected<Header, Ignore> parse_header(std::string_view value) {
  if (value.size() > kHeaderBytesMax) return std::unexpected(Ignore::kTooLong);
  const std::expected<Parameters, Ignore> parameters = parse_parameters(value);
  if (!parameters) return std::unexpected(parameters.error());
  const auto find = [&](std::string_view name) {
    const auto it = parameters->find(name);
    return it == parameters->end() ? std::string_view() : it->second;
  };
  const std::string_view collection_id = find("collectionId");
  const std::string_view url = find("url");
  if (collection_id.empty() || url.empty() || !parameters->contains("digest")) {
    return std::unexpected(Ignore::kMissingParameter);
  }
  const std::optional<Digest> digest = Digest::from_hex(find("digest"));
  if (!digest) return std::unexpected(Ignore::kBadDigest);
  return Header{std::string(collection_id), std::string(url), *digest};
}

std::expected<void, Ignore> check_header(const Header& header, const Delivery& delivery, const Authority& own,
                                         Policy policy) {
  if (policy.require_coverage && !delivery.covers_header) return std::unexpected(Ignore::kNotSigned);
  if (header.collection_id != delivery.followers) return std::unexpected(Ignore::kOtherCollection);
  const std::optional<Authority> sender = Authority::of(delivery.actor);
  if (!sender || !sender->covers(header.collection_id) || !sender->covers(header.url)) {
    return std::unexpected(Ignore::kOtherServer);
  }
  if (*sender == own) return std::unexpected(Ignore::kOwnServer);
  return {};
}

}  // namespace tagring::followers
