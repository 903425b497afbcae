// A hashtag in a test: "cats"_tag. In canonical form.
#pragma once

#include <cstddef>

#include "hashtag/tag.hpp"

namespace tagring {

inline Tag operator""_tag(const char* text, std::size_t size) {
  return Tag::parse_canonical({text, size}).value();
}

}  // namespace tagring
