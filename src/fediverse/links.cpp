#include "fediverse/links.hpp"

#include <algorithm>
#include <gumbo.h>

#include "base/bytes.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/html.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::size_t kHeadMax = 64U * 1024U;  // bytes of a page that are read
// A head has some dozens.
constexpr std::ptrdiff_t kTagsMax = 500;

struct Link {
  std::string url;
  std::string rel;
  std::string type;
};

std::string_view take_before(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end);
  return taken;
}

// A token, or a string in quotes.
std::string take_value(std::string_view& text) {
  if (!text.starts_with('"')) return std::string(trim(take_before(text, ";,")));
  std::string value;
  for (text.remove_prefix(1); !text.empty() && text.front() != '"'; text.remove_prefix(1)) {
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    value += text.front();
  }
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  return value;
}

// Of each parameter the first counts.
void take_parameters(std::string_view& text, Link& link) {
  while (!text.empty() && text.front() != ',') {
    if (text.front() != ';') {
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    const std::string_view name = trim(take_before(text, "=;,"));
    if (!text.starts_with('=')) continue;
    text.remove_prefix(std::min(text.find_first_not_of(" \t", 1), text.size()));
    std::string value = take_value(text);
    for (auto& [known, place] : {std::pair("rel", &link.rel), std::pair("type", &link.type)}) {
      if (ascii_iequals(name, known) && place->empty()) *place = std::move(value);
    }
  }
}

// `rel` is a list of names in one parameter.
bool has_relation(std::string_view rel, std::string_view wanted) {
  while (!rel.empty()) {
    if (ascii_iequals(take_before(rel, " \t\r\n\f"), wanted)) return true;
    rel.remove_prefix(std::min<std::size_t>(1, rel.size()));
  }
  return false;
}

bool is_activity(const Link& link) {
  return has_relation(link.rel, "alternate") && is_activity_json(link.type);
}

template <class Wanted>
std::optional<std::string> find_in_header(std::string_view header, Wanted wanted) {
  for (;;) {
    header.remove_prefix(std::min(header.find('<'), header.size()));
    const std::size_t close = header.find('>');
    if (close == std::string_view::npos) return std::nullopt;
    Link link{std::string(header.substr(1, close - 1)), {}, {}};
    header.remove_prefix(close + 1);
    take_parameters(header, link);
    if (wanted(link)) return std::move(link.url);
  }
}

std::string attribute(const GumboNode& node, const char* name) {
  const GumboAttribute* found = gumbo_get_attribute(&node.v.element.attributes, name);
  return found == nullptr ? std::string() : std::string(trim(found->value));
}

const GumboNode* child(const GumboNode& node, GumboTag tag, unsigned& next) {
  const GumboVector& children = node.v.element.children;
  while (next < children.length) {
    const auto* one = static_cast<const GumboNode*>(children.data[next++]);
    if (one->type == GUMBO_NODE_ELEMENT && one->v.element.tag == tag) return one;
  }
  return nullptr;
}

std::optional<std::string> find_in_head(std::string_view page) {
  page = page.substr(0, std::min(page.size(), kHeadMax));
  if (std::ranges::count(page, '<') > kTagsMax) {
    const std::size_t end = page.find("</head");
    if (end == std::string_view::npos || std::ranges::count(page.substr(0, end), '<') > kTagsMax)
      return std::nullopt;
    page = page.substr(0, end);
  }
  const html::Tree parsed = html::parse(page, GUMBO_TAG_LAST);
  if (parsed == nullptr) return std::nullopt;
  unsigned first = 0;
  const GumboNode* head = child(*parsed->root, GUMBO_TAG_HEAD, first);
  if (head == nullptr) return std::nullopt;
  for (unsigned next = 0; const GumboNode* link = child(*head, GUMBO_TAG_LINK, next);) {
    Link found{attribute(*link, "href"), attribute(*link, "rel"), attribute(*link, "type")};
    if (is_activity(found) && !found.url.empty()) return std::move(found.url);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> next_link(std::string_view header) {
  return find_in_header(header, [](const Link& link) { return has_relation(link.rel, "next"); });
}

std::optional<std::string> activity_link(std::string_view header, std::string_view page) {
  auto named = find_in_header(header, is_activity);
  return named ? named : find_in_head(page);
}

}  // namespace tagring::fediverse
