#include "hashtag/punycode.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tagring {
namespace {

// RFC 3492 §5.
constexpr std::uint32_t kBase = 36;
constexpr std::uint32_t kDigitMin = 1;
constexpr std::uint32_t kDigitMax = 26;
constexpr std::uint32_t kSkew = 38;
constexpr std::uint32_t kDamp = 700;
constexpr std::uint32_t kInitialBias = 72;
constexpr char32_t kInitialCodePoint = 0x80;
constexpr char32_t kCodePointMax = 0x10FFFF;
constexpr char kDelimiter = '-';
constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz0123456789";

// §6.1: how the variable-length integers get shorter where the code points lie close together.
std::uint32_t adapt(std::uint32_t delta, std::uint32_t count, bool first) {
  delta /= first ? kDamp : 2;
  delta += delta / count;
  std::uint32_t k = 0;
  for (; delta > (kBase - kDigitMin) * kDigitMax / 2; k += kBase) delta /= kBase - kDigitMin;
  return k + (kBase - kDigitMin + 1) * delta / (delta + kSkew);
}

std::uint32_t threshold(std::uint32_t k, std::uint32_t bias) {
  return k <= bias ? kDigitMin : std::min(k - bias, kDigitMax);
}

void append_integer(std::string& out, std::uint32_t value, std::uint32_t bias) {
  for (std::uint32_t k = kBase;; k += kBase) {
    const std::uint32_t t = threshold(k, bias);
    if (value < t) break;
    out.push_back(kDigits[t + (value - t) % (kBase - t)]);
    value = (value - t) / (kBase - t);
  }
  out.push_back(kDigits[value]);
}

// Takes one integer off the front of `code`. Nothing on a foreign digit, a missing one or an overflow.
std::optional<std::uint32_t> take_integer(std::string_view& code, std::uint32_t bias) {
  std::uint64_t value = 0;
  std::uint64_t weight = 1;
  for (std::uint32_t k = kBase;; k += kBase) {
    if (code.empty()) return std::nullopt;
    const std::size_t digit = kDigits.find(code.front());
    if (digit == std::string_view::npos) return std::nullopt;
    code.remove_prefix(1);
    value += digit * weight;
    if (value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    const std::uint32_t t = threshold(k, bias);
    if (digit < t) return static_cast<std::uint32_t>(value);
    weight *= kBase - t;
    if (weight > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  }
}

}  // namespace

std::string punycode_encode(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    if (c < kInitialCodePoint) out.push_back(static_cast<char>(c));
  }
  const std::size_t basic = out.size();
  std::size_t done = basic;
  if (basic > 0) out.push_back(kDelimiter);
  char32_t least = kInitialCodePoint;
  std::uint32_t delta = 0;
  std::uint32_t bias = kInitialBias;
  while (done < text.size()) {
    char32_t next = kCodePointMax;
    for (const char32_t c : text) {
      if (c >= least) next = std::min(next, c);
    }
    delta += (next - least) * static_cast<std::uint32_t>(done + 1);
    for (const char32_t c : text) {
      if (c < next) ++delta;
      if (c != next) continue;
      append_integer(out, delta, bias);
      bias = adapt(delta, static_cast<std::uint32_t>(done + 1), done == basic);
      delta = 0;
      ++done;
    }
    ++delta;
    least = next + 1;
  }
  return out;
}

std::optional<std::u32string> punycode_decode(std::string_view code) {
  std::u32string text;
  const std::size_t delimiter = code.rfind(kDelimiter);
  if (delimiter != std::string_view::npos) {
    for (const char c : code.substr(0, delimiter)) {
      if (static_cast<unsigned char>(c) >= kInitialCodePoint) return std::nullopt;
      text.push_back(static_cast<char32_t>(c));
    }
    code.remove_prefix(delimiter + 1);
  }
  std::uint64_t code_point = kInitialCodePoint;
  std::uint64_t index = 0;
  std::uint32_t bias = kInitialBias;
  for (bool first = true; !code.empty(); first = false) {
    const auto delta = take_integer(code, bias);
    if (!delta) return std::nullopt;
    const std::uint64_t count = text.size() + 1;
    bias = adapt(*delta, static_cast<std::uint32_t>(count), first);
    index += *delta;
    code_point += index / count;
    index %= count;
    if (code_point > kCodePointMax || (code_point >= 0xD800 && code_point <= 0xDFFF)) return std::nullopt;
    text.insert(text.begin() + static_cast<std::ptrdiff_t>(index), static_cast<char32_t>(code_point));
    ++index;
  }
  return text;
}

}  // namespace tagring
