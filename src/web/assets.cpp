#include "web/assets.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "crypto/hash.hpp"

namespace tagring::web {
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char kPageScript[] = {
#embed "../../ui/dist/page.js"
};
constexpr char kPageStyle[] = {
#embed "../../ui/dist/page.css"
};
constexpr char kEarlyScript[] = {
#embed "../../ui/dist/early.js"
};
constexpr char kAdminScript[] = {
#embed "../../ui/dist/admin.js"
};
constexpr char kIcon[] = {
#embed "../../ui/dist/icon.svg"
};
#pragma clang diagnostic pop

template <std::size_t kSize>
constexpr std::string_view whole(const char (&bytes)[kSize]) {
  return {bytes, kSize};
}

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::array kAssets = {
    Asset{"page.js", kScript, whole(kPageScript)},
    Asset{"early.js", kScript, whole(kEarlyScript)},
    Asset{"page.css", "text/css; charset=utf-8", whole(kPageStyle)},
    Asset{"admin.js", kScript, whole(kAdminScript)},
    Asset{"icon.svg", "image/svg+xml", whole(kIcon)},
};

}  // namespace

const Asset* find_asset(std::string_view name) {
  const auto* const asset = std::ranges::find(kAssets, name, &Asset::name);
  return asset == kAssets.end() ? nullptr : asset;
}

std::string asset_url(std::string_view name) {
  static const auto urls = [] {
    std::array<std::string, kAssets.size()> result;
    std::ranges::transform(kAssets, result.begin(), [](const Asset& asset) {
      const std::string version = to_hex(crypto::sha256(asset.body)).substr(0, 16);
      return "/assets/" + std::string(asset.name) + "?v=" + version;
    });
    return result;
  }();
  const Asset* asset = find_asset(name);
  TR_ASSERT(asset != nullptr);
  return urls.at(static_cast<std::size_t>(asset - kAssets.data()));
}

}  // namespace tagring::web
