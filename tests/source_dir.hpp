// Where the files of the repository are that tests read.
#pragma once

#include <filesystem>

namespace tagring {

std::filesystem::path source_dir();

}  // namespace tagring
