#include "delivery/told_notes.hpp"

#include <optional>

#include "base/bytes.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kNoteSize = 12;  // a sign, and 8 bytes in base 64

}  // namespace

std::string to_note(std::uint64_t inbox, bool told) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(inbox >> shift));
  return (told ? "+" : "!") + to_base64url(bytes);
}

ToldNotes read_notes(std::string_view text) {
  ToldNotes notes;
  for (; text.size() >= kNoteSize; text.remove_prefix(kNoteSize)) {
    const std::optional<std::string> bytes = from_base64url(text.substr(1, kNoteSize - 1));
    if (!bytes || bytes->size() != 8) continue;
    std::uint64_t inbox = 0;
    for (const char byte : *bytes) inbox = inbox << 8U | static_cast<std::uint8_t>(byte);
    notes.insert_or_assign(inbox, text.front() == '+');
  }
  return notes;
}

}  // namespace tagring::delivery
