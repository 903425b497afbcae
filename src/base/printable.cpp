#include "base/printable.hpp"

namespace tagring {
namespace {

// C0, C1, and the marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm.
bool is_obeyed(std::string_view character) {
  if (character.size() == 1) return character[0] == '\x7f' || static_cast<unsigned char>(character[0]) < ' ';
  const auto among = [&](std::string_view first, std::string_view last) {
    return first <= character && character <= last;
  };
  return (character.size() == 2 && among("\u0080", "\u009f")) ||
         (character.size() == 3 &&
          (among("\u200e", "\u200f") || among("\u2028", "\u202e") || among("\u2066", "\u2069")));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    std::size_t size = 1;
    while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) ++size;
    const std::string_view character = text.substr(0, size);
    line += is_obeyed(character) ? " " : character;
    text.remove_prefix(size);
  }
  return line;
}

}  // namespace tagring
