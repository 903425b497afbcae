#include "sql/postgres_values.hpp"

#include <utility>

namespace tagring::sql {
namespace {

// Types of columns, as the server numbers them.
constexpr unsigned kBool = 16;
constexpr unsigned kBytea = 17;
constexpr unsigned kInt8 = 20;
constexpr unsigned kInt2 = 21;
constexpr unsigned kInt4 = 23;
constexpr unsigned kFloat4 = 700;
constexpr unsigned kFloat8 = 701;

enum class Mark : char { kInteger = 'i', kBlob = 'b', kText = 't' };

std::string marked(Mark mark, std::string_view bytes) {
  return std::string(1, static_cast<char>(mark)) += bytes;
}

template <class T>
std::string big_endian(T value) {
  std::string bytes;
  for (int byte = sizeof value - 1; byte >= 0; --byte)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8U * static_cast<unsigned>(byte)));
  return bytes;
}

// A signature, flags, and the size of what else the header has.
constexpr std::string_view kCopyHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);

}  // namespace

std::int64_t from_big_endian(std::string_view bytes) {
  std::uint64_t value = bytes.empty() || static_cast<signed char>(bytes.front()) >= 0 ? 0 : ~std::uint64_t{0};
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

Type type_of(unsigned number) {
  switch (number) {
    case kBool:
    case kInt2:
    case kInt4:
    case kInt8:
      return Type::kInteger;
    case kFloat4:
    case kFloat8:
      return Type::kReal;
    case kBytea:
      return Type::kBlob;
    default:
      return Type::kText;
  }
}

std::string bytes_of(const Any& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return marked(Mark::kInteger, big_endian(*number));
  if (const auto* blob = std::get_if<Blob>(&value)) return marked(Mark::kBlob, blob->bytes);
  return marked(Mark::kText, std::get<std::string_view>(value));
}

Any any_of(std::string_view bytes) {
  if (bytes.empty()) return bytes;
  const std::string_view value = bytes.substr(1);
  if (bytes.front() == static_cast<char>(Mark::kInteger)) return from_big_endian(value);
  if (bytes.front() == static_cast<char>(Mark::kBlob)) return Blob{value};
  return value;
}

CopyRows::CopyRows() : bytes_(kCopyHeader) {}

void CopyRows::add(std::span<const Value> row) {
  const auto append = [this](std::string_view bytes) {
    bytes_ += big_endian(static_cast<std::int32_t>(bytes.size()));
    bytes_ += bytes;
  };
  bytes_ += big_endian(static_cast<std::int16_t>(row.size()));
  for (const Value& value : row) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      append(big_endian(*number));
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      append(*text);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      append(blob->bytes);
    } else if (const auto* any = std::get_if<Any>(&value)) {
      append(bytes_of(*any));
    } else {
      bytes_ += big_endian(std::int32_t{-1});  // NULL
    }
  }
  ++count_;
}

std::string CopyRows::take() {
  count_ = 0;
  return std::exchange(bytes_, std::string(kCopyHeader)) += big_endian(std::int16_t{-1});
}

}  // namespace tagring::sql
