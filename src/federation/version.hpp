// The version of this build, from CMakeLists.txt.
#pragma once

#include <string_view>

namespace tagring::federation {

inline constexpr std::string_view kVersion = TAGRING_VERSION;

}  // namespace tagring::federation
