// Structured fields (RFC 8941), as far as signatures need them: dictionaries of items and inner lists,
// without decimals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace tagring::signatures::sf {

struct Token {
  std::string text;
  friend bool operator==(const Token&, const Token&) = default;
};
struct Bytes {
  std::string bytes;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};
using BareItem = std::variant<bool, std::int64_t, std::string, Token, Bytes>;

struct Parameter {
  std::string key;
  BareItem value;
};
using Parameters = std::vector<Parameter>;  // in order

struct Item {
  BareItem value;
  Parameters parameters;
};
struct InnerList {
  std::vector<Item> items;
  Parameters parameters;
};
struct Member {
  std::string key;
  std::variant<Item, InnerList> value;
};
using Dictionary = std::vector<Member>;  // in order

inline constexpr std::size_t kTextSizeMax = 8192;
inline constexpr std::size_t kMembersMax = 16;
inline constexpr std::size_t kItemsMax = 64;
inline constexpr std::size_t kParametersMax = 16;

// kInvalid for what is not such a dictionary or over a limit. A key that occurs twice is an error too: RFC
// 8941 lets the last one win, and other readers the first.
Result<Dictionary> parse_dictionary(std::string_view text);

// The canonical text (RFC 8941 §4.1).
std::string serialize(const BareItem& value);
std::string serialize(const InnerList& list);

// The value if it is there and of type T.
template <class T>
const T* find(const Parameters& parameters, std::string_view key) {
  for (const Parameter& parameter : parameters) {
    if (parameter.key == key) return std::get_if<T>(&parameter.value);
  }
  return nullptr;
}
inline bool has(const Parameters& parameters, std::string_view key) {
  for (const Parameter& parameter : parameters) {
    if (parameter.key == key) return true;
  }
  return false;
}
// The bytes of a member that is a byte sequence.
const std::string* bytes_of(const Member& member);

}  // namespace tagring::signatures::sf
