#pragma once

#include <string_view>

namespace tagring::node {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace tagring::node
