// Links to something else: the header Link, and the head of a page. The text stands for each of them.
#include "fediverse/links.hpp"

#include "fuzz/target.hpp"

namespace tagring::fuzzing {

void fuzz(std::string_view text) {
  if (const auto next = fediverse::next_link(text)) {
    TR_ASSERT(text.contains("<" + *next + ">") && next->find('>') == std::string::npos);
    TR_ASSERT(fediverse::next_link("<" + *next + ">; rel=\"next\"") == next);
  }
  const auto in_header = fediverse::activity_link(text, "");
  if (in_header) TR_ASSERT(text.contains("<" + *in_header + ">"));
  const auto in_page = fediverse::activity_link("", text);
  if (in_page) TR_ASSERT(!in_page->empty());
  TR_ASSERT(fediverse::activity_link(text, text) == (in_header ? in_header : in_page));
}

}  // namespace tagring::fuzzing
