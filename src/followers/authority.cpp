#include "followers/authority.hpp"

#include "http/url.hpp"

namespace tagring::followers {

std::optional<Authority> Authority::of(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed) return std::nullopt;
  return Authority(parsed->origin());
}

}  // namespace tagring::followers
