// Values as PostgreSQL has them on the wire.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sql/backend.hpp"

namespace tagring::sql {

// Of two's complement, of any size up to 8 bytes.
std::int64_t from_big_endian(std::string_view bytes);

// Of a column, by the number that the server has for its type.
Type type_of(unsigned number);

// A value of type any_value: a byte that says what it is, and it.
std::string bytes_of(const Any& value);
Any any_of(std::string_view bytes);

// Rows for COPY … FROM STDIN (FORMAT binary).
class CopyRows {
 public:
  CopyRows();
  void add(std::span<const Value> row);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  // All of them, and the end.
  std::string take();

 private:
  std::string bytes_;
  std::size_t count_ = 0;
};

}  // namespace tagring::sql
