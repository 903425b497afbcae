#include "redundancy/asked_tag.hpp"

#include "http/url.hpp"

namespace tagring::redundancy {

Result<Tag> asked_tag(std::string_view query) {
  const std::string text = query_value(query, "tag");
  if (text.empty()) return fail(ErrorCode::kInvalid, "'tag' is missing");
  return Tag::parse(text);
}

}  // namespace tagring::redundancy
