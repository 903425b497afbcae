// Files that an administrator names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace tagring::config {

// All of it. kNotFound or kDenied with the system's reason; kInvalid for a folder, kTooLarge beyond
// `size_max` bytes, of which no more is read: it may be a device that has no end.
Result<std::string> read_file(const std::filesystem::path& file, std::size_t size_max);

// The folder in which it is, or would be: absolute, so the same wherever a process goes, and for whoever is
// told of what lies there.
std::filesystem::path folder_of(const std::filesystem::path& file);

}  // namespace tagring::config
