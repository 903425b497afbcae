#include "web/html.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/bytes.hpp"

namespace tagring::web {
namespace {

constexpr std::size_t kEntityMax = 10;

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t octet) { out.push_back(static_cast<char>(octet)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

// `name` is what stands between '&' and ';'. False if it is no reference that servers write.
bool append_entity(std::string& out, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNamed = {
      {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00A0"}}};
  for (const auto& [entity, text] : kNamed) {
    if (name == entity) {
      out.append(text);
      return true;
    }
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool is_hex = name.starts_with('x') || name.starts_with('X');
  if (is_hex) name.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, is_hex ? 16 : 10);
  const bool is_character = code >= 0x20 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  if (error != std::errc() || end != name.data() + name.size() || !is_character) return false;
  append_utf8(out, code);
  return true;
}

void break_line(std::string& out, std::size_t lines) {
  if (out.empty()) return;
  std::size_t have = 0;
  while (have < out.size() && out[out.size() - 1 - have] == '\n') ++have;
  if (have < lines) out.append(lines - have, '\n');
}

// `tag` without its brackets: "p", "/p", "br /".
void append_break(std::string& out, std::string_view tag) {
  const std::string name = ascii_lower(tag.substr(0, tag.find_first_of(" \t\r\n/", 1)));
  if (name == "br") break_line(out, 1);
  if (name == "/p" || name == "p" || name == "/blockquote" || name == "/ul" || name == "/ol" ||
      name == "/pre")
    break_line(out, 2);
  if (name == "/li" || name == "/div") break_line(out, 1);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&quot;");
        break;
      case '\'':
        out.append("&#39;");
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string text_of(std::string_view html) {
  std::string out;
  while (!html.empty()) {
    const char c = html.front();
    if (c == '<') {
      const std::size_t end = html.find('>');
      if (end == std::string_view::npos) break;
      append_break(out, html.substr(1, end - 1));
      html.remove_prefix(end + 1);
      continue;
    }
    if (c == '&') {
      const std::size_t end = html.find(';');
      if (end <= kEntityMax && append_entity(out, html.substr(1, end - 1))) {
        html.remove_prefix(end + 1);
        continue;
      }
    }
    out.push_back(c);
    html.remove_prefix(1);
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string_view safe_link(std::string_view url) {
  return url.starts_with("https://") || url.starts_with("http://") ? url : std::string_view();
}

}  // namespace tagring::web
