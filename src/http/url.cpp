#include "http/url.hpp"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/printable.hpp"

namespace tagring {
namespace {
constexpr std::size_t kUrlSizeMax = 2048;
constexpr std::size_t kHostSizeMax = 253;
constexpr std::size_t kLabelSizeMax = 63;

std::uint16_t default_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLabelSizeMax && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(
             label, [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  if (text.size() > kUrlSizeMax) return fail(ErrorCode::kTooLarge, "URL longer than 2048 bytes");
  // Only ASCII is a URL; many servers put raw UTF-8 into paths, which is escaped here, never in the host.
  // WordPress makes ids with two fragments ("…/#activity#activity"): browsers take the second for a part of
  // the first.
  std::string ascii;
  bool in_fragment = false;
  bool is_ascii = true;
  for (const char c : text) {
    is_ascii = is_ascii && static_cast<unsigned char>(c) < 0x80;
    if (static_cast<unsigned char>(c) >= 0x80 || (in_fragment && c == '#')) {
      ascii += percent_encode(std::string_view(&c, 1));
    } else {
      ascii.push_back(c);
    }
    in_fragment = in_fragment || c == '#';
  }
  // People see it as it is: in logs, on terminals.
  if (!is_ascii && printable(text) != text)
    return fail(ErrorCode::kInvalid, "URL with marks that do not show");
  const auto parsed = boost::urls::parse_uri(ascii);
  if (!parsed) return fail(ErrorCode::kInvalid, "not a URL");
  const boost::urls::url_view& view = *parsed;
  Url url;
  url.scheme = ascii_lower(view.scheme());
  if (url.scheme != "https" && url.scheme != "http") return fail(ErrorCode::kInvalid, "not an http(s) URL");
  if (view.has_userinfo()) return fail(ErrorCode::kInvalid, "URL with user info");
  url.host = ascii_lower(std::string_view(view.encoded_host()));
  if (url.host.empty() || url.host.find('%') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "URL without a plain host name");
  }
  url.port = default_port(url.scheme);
  if (view.has_port()) {
    const std::string_view digits = view.port();
    unsigned port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65535) {
      return fail(ErrorCode::kInvalid, "URL with an impossible port");
    }
    url.port = static_cast<std::uint16_t>(port);
  }
  url.target = std::string(std::string_view(view.encoded_path()));
  if (url.target.empty()) url.target = "/";
  // Boost 1.81 ends the authority where a number or an address in it ends, and takes the rest for a path:
  // "https://a.example:443.b.example", "https://192.0.2.1.example".
  if (!url.target.starts_with('/')) return fail(ErrorCode::kInvalid, "URL whose host is unclear");
  if (view.has_query()) url.target += "?" + std::string(std::string_view(view.encoded_query()));
  return url;
}

std::string Url::authority() const {
  return port == default_port(scheme) ? host : fmt::format("{}:{}", host, port);
}

std::string Url::origin() const { return fmt::format("{}://{}", scheme, authority()); }

std::string_view Url::path() const { return path_of(target); }

std::string_view Url::query() const { return query_of(target); }

std::string host_of(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  return parsed ? parsed->host : std::string();
}

std::string origin_of(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  return parsed ? parsed->origin() : std::string();
}

bool is_host_name(std::string_view text) {
  if (text.size() > kHostSizeMax) return false;
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    if (!is_label(label)) return false;
    if (dot == std::string_view::npos) return is_letter(label.front());
    text.remove_prefix(dot + 1);
  }
}

bool is_same_or_below(std::string_view host, std::string_view domain) {
  if (domain.empty() || !host.ends_with(domain)) return false;
  return host.size() == domain.size() || host[host.size() - domain.size() - 1] == '.';
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view query_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    std::string value(pair.substr(std::min(equals + 1, pair.size())));
    std::ranges::replace(value, '+', ' ');
    return percent_decode(value).value_or("");
  }
  return {};
}

}  // namespace tagring
