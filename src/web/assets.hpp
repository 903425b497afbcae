// The scripts, styles and the icon of the pages: compiled in, from ui/dist.
#pragma once

#include <string>
#include <string_view>

namespace tagring::web {

struct Asset {
  std::string_view name;  // "page.js"
  std::string_view type;  // Content-Type
  std::string_view body;
};

// Nothing for names that are not there.
const Asset* find_asset(std::string_view name);

// "/assets/page.js?v=…": the version is a hash of the content, so that browsers may keep it for ever.
// The asset must exist.
std::string asset_url(std::string_view name);

}  // namespace tagring::web
