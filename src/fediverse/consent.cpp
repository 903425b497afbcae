#include "fediverse/consent.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/bytes.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::array<std::string_view, 4> kRefusals = {"nobot", "nobots", "noindex", "notagring"};

// Whether markup begins at `at`; it must end before `end`. Much else has a '<' in it: "I <3 cats".
bool opens_tag(std::string_view html, std::size_t at, std::size_t end) {
  if (html[at] != '<' || at + 1 >= end) return false;
  const char next = html[at + 1];
  return (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '/' || next == '!' ||
         next == '?';
}

// The text of HTML, near enough to find words in. Markup ends a word, but for what opens just after '#':
// "#<span>NoBot</span>" is "#nobot".
std::string text_of(std::string_view html) {
  std::string text;
  const std::size_t last = html.rfind('>');
  const std::size_t end = last == std::string_view::npos ? 0 : last;
  bool joins = false;
  bool in_tag = false;
  for (std::size_t i = 0; i < html.size(); ++i) {
    if (!in_tag && opens_tag(html, i, end)) {
      in_tag = true;
      joins = text.ends_with('#') && !html.substr(i).starts_with("</");
    }
    if (!in_tag) text.push_back(html[i]);
    if (html[i] != '>' || !in_tag) continue;
    in_tag = false;
    if (!joins) text.push_back(' ');
  }
  return ascii_lower(text);
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool refuses(std::string_view html) {
  const std::string text = text_of(html);
  for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at + 1)) {
    const bool starts_word = at == 0 || !is_word_character(text[at - 1]);
    std::size_t end = at + 1;
    while (end < text.size() && is_word_character(text[end])) ++end;
    const std::string_view word = std::string_view(text).substr(at + 1, end - at - 1);
    if (starts_word && std::ranges::find(kRefusals, word) != kRefusals.end()) return true;
  }
  return false;
}

}  // namespace tagring::fediverse
