#include "db_history/history_codec.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/bytes.hpp"

namespace tagring::db_history {
namespace {

// A longer form is unlikely to be shared; its text stays in the tail.
constexpr std::size_t kFormSizeMax = 100;
constexpr std::size_t kUuidSize = 36;

// "https://host[:port]", or empty.
std::string_view origin_of(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return {};
  return url.substr(0, url.find('/', scheme_end + 3));
}

bool is_dash_place(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

std::string uuid_text(std::string_view bytes) {
  std::string text = to_hex(bytes);
  for (const std::size_t place : {8U, 13U, 18U, 23U}) text.insert(std::min(place, text.size()), 1, '-');
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kUuidSize) return std::nullopt;
  std::string hex;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_dash_place(i)) hex.push_back(text[i]);
  }
  const auto bytes = from_hex(hex);
  if (!bytes || uuid_text(*bytes) != text) return std::nullopt;
  return Uuid{*bytes};
}

Tail make_tail(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::to_string(number) == text)
    return number;
  if (auto uuid = parse_uuid(text)) return *std::move(uuid);
  return std::string(text);
}

std::string tail_text(const Tail& tail) {
  if (const auto* number = std::get_if<std::int64_t>(&tail)) return std::to_string(*number);
  if (const auto* uuid = std::get_if<Uuid>(&tail)) return uuid_text(uuid->bytes);
  return std::get<std::string>(tail);
}

std::string_view base_of(char mark, std::string_view author) {
  switch (mark) {
    case '=':
      return author;
    case '@':
      return origin_of(author);
    default:
      return {};
  }
}

}  // namespace

SplitUri split_uri(std::string_view uri, std::string_view author) {
  char mark = '!';
  if (uri.starts_with(author)) {
    mark = '=';
  } else if (uri.starts_with(origin_of(author))) {
    mark = '@';
  }
  const std::string_view rest = uri.substr(base_of(mark, author).size());
  std::size_t form_size = rest.rfind('/') + 1;  // 0 if there is none
  if (form_size > kFormSizeMax) form_size = 0;
  return {mark + std::string(rest.substr(0, form_size)), make_tail(rest.substr(form_size))};
}

std::string join_uri(std::string_view author, std::string_view form, const Tail& tail) {
  if (form.empty()) return {};
  std::string uri(base_of(form.front(), author));
  uri += form.substr(1);
  uri += tail_text(tail);
  return uri;
}

std::size_t author_prefix_size(std::string_view author) {
  const std::size_t size = author.rfind('/') + 1;
  return size > kFormSizeMax ? 0 : size;
}

}  // namespace tagring::db_history
