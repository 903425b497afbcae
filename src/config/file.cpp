#include "config/file.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace tagring::config {

Result<std::string> read_file(const std::filesystem::path& file, std::size_t size_max) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return fail(ErrorCode::kInvalid, file.string() + " is a folder");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return fail(errno == EACCES ? ErrorCode::kDenied : ErrorCode::kNotFound,
                fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  }
  std::string text;
  std::string piece(64 << 10U, '\0');
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > size_max)
      return fail(ErrorCode::kTooLarge, fmt::format("{} has more than {} bytes", file.string(), size_max));
  }
  return text;
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  return (error ? file : whole).parent_path();
}

}  // namespace tagring::config
