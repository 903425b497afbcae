#include "http/html.hpp"

#include <csetjmp>
#include <cstddef>
#include <memory_resource>

namespace tagring::html {
namespace {

// All that is allocated, whether it is needed to the end or not: so this is a limit of the work, too. A post
// of 720 elements and 73 kB takes a tenth of it, a page's head of 48 kB 300 kB.
constexpr std::size_t kBytesMax = 8U << 20U;
constexpr std::size_t kBookkeeping = 16;  // counted for each piece

// The pieces go all at once.
struct Memory {
  std::pmr::monotonic_buffer_resource pieces;
  std::size_t used = 0;
  std::jmp_buf too_much;
};

// Gumbo takes no for an answer nowhere. It is plain C, and what it holds is in `pieces`: to leave it where it
// stands costs nothing.
void* allocate(void* memory, std::size_t size) {
  auto* of_tree = static_cast<Memory*>(memory);
  of_tree->used += size + kBookkeeping;
  if (of_tree->used > kBytesMax) std::longjmp(of_tree->too_much, 1);  // NOLINT(cert-err52-cpp)
  return of_tree->pieces.allocate(size, alignof(std::max_align_t));
}

void keep(void* /*memory*/, void* /*piece*/) {}

// Nothing in here has a destructor that longjmp would skip.
const GumboOutput* parse_within(Memory* memory, std::string_view text, GumboTag fragment_context) {
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = allocate;
  options.deallocator = keep;
  options.userdata = memory;
  options.max_errors = 0;
  options.fragment_context = fragment_context;
  if (setjmp(memory->too_much) != 0) return nullptr;  // NOLINT(cert-err52-cpp)
  return gumbo_parse_with_options(&options, text.data(), text.size());
}

}  // namespace

Tree parse(std::string_view text, GumboTag fragment_context) {
  const auto memory = std::make_shared<Memory>();
  const GumboOutput* tree = parse_within(memory.get(), text, fragment_context);
  return {memory, tree};
}

}  // namespace tagring::html
