#include "posts/html.hpp"

#include <algorithm>
#include <array>
#include <gumbo.h>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "http/html.hpp"
#include "http/url.hpp"

namespace tagring::posts {
namespace {

constexpr std::array kAllowed = {GUMBO_TAG_P,    GUMBO_TAG_BR, GUMBO_TAG_SPAN, GUMBO_TAG_A,
                                 GUMBO_TAG_DEL,  GUMBO_TAG_S,  GUMBO_TAG_PRE,  GUMBO_TAG_CODE,
                                 GUMBO_TAG_B,    GUMBO_TAG_I,  GUMBO_TAG_U,    GUMBO_TAG_STRONG,
                                 GUMBO_TAG_EM,   GUMBO_TAG_UL, GUMBO_TAG_OL,   GUMBO_TAG_LI,
                                 GUMBO_TAG_RUBY, GUMBO_TAG_RT, GUMBO_TAG_RP,   GUMBO_TAG_BLOCKQUOTE};
// Their text is not for people, or is read as something else than text by a browser.
constexpr std::array kDropped = {
    GUMBO_TAG_SCRIPT,   GUMBO_TAG_STYLE,    GUMBO_TAG_TEMPLATE,  GUMBO_TAG_IFRAME, GUMBO_TAG_OBJECT,
    GUMBO_TAG_EMBED,    GUMBO_TAG_NOSCRIPT, GUMBO_TAG_NOEMBED,   GUMBO_TAG_XMP,    GUMBO_TAG_NOFRAMES,
    GUMBO_TAG_TITLE,    GUMBO_TAG_HEAD,     GUMBO_TAG_PLAINTEXT, GUMBO_TAG_SELECT, GUMBO_TAG_TEXTAREA,
    GUMBO_TAG_FRAMESET, GUMBO_TAG_AUDIO,    GUMBO_TAG_VIDEO};
// Shown as a paragraph of their own.
constexpr std::array kHeadings = {GUMBO_TAG_H1, GUMBO_TAG_H2, GUMBO_TAG_H3,
                                  GUMBO_TAG_H4, GUMBO_TAG_H5, GUMBO_TAG_H6};
constexpr std::array kBlocks = {GUMBO_TAG_P,   GUMBO_TAG_DIV, GUMBO_TAG_BLOCKQUOTE, GUMBO_TAG_LI,
                                GUMBO_TAG_PRE, GUMBO_TAG_UL,  GUMBO_TAG_OL,         GUMBO_TAG_BR,
                                GUMBO_TAG_H1,  GUMBO_TAG_H2,  GUMBO_TAG_H3,         GUMBO_TAG_H4,
                                GUMBO_TAG_H5,  GUMBO_TAG_H6};
constexpr std::array<std::string_view, 5> kClasses = {"mention", "hashtag", "ellipsis", "invisible",
                                                      "quote-inline"};

template <std::size_t N>
bool holds(const std::array<GumboTag, N>& tags, GumboTag tag) {
  return std::ranges::find(tags, tag) != tags.end();
}

// Null if it has more tags than are read, or would cost too much.
html::Tree parse(std::string_view html) {
  const auto tags = static_cast<std::size_t>(std::ranges::count(html, '<'));
  return tags > HtmlLimits::kTagsMax ? nullptr : html::parse(html, GUMBO_TAG_DIV);
}

// Calls `enter` and `leave` for each node below the root, children only where `enter` says so. Without
// recursion: strangers choose the depth.
template <class Enter, class Leave>
void walk(const GumboNode* root, Enter enter, Leave leave) {
  struct Place {
    const GumboNode* node;
    unsigned next = 0;
  };
  std::vector<Place> path = {{root}};
  while (!path.empty()) {
    Place& here = path.back();
    const GumboVector& children = here.node->v.element.children;
    if (here.next == children.length) {
      if (path.size() > 1) leave(*here.node);
      path.pop_back();
      continue;
    }
    const auto* child = static_cast<const GumboNode*>(children.data[here.next++]);
    if (enter(*child)) path.push_back({child});
  }
}

bool is_text(const GumboNode& node) {
  return node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE || node.type == GUMBO_NODE_CDATA;
}

bool is_html(const GumboNode& node) {
  return node.type == GUMBO_NODE_ELEMENT && node.v.element.tag_namespace == GUMBO_NAMESPACE_HTML &&
         node.v.element.tag != GUMBO_TAG_UNKNOWN;
}

// An element of no interest, whose text counts.
bool is_transparent(const GumboNode& node) {
  if (node.type != GUMBO_NODE_ELEMENT) return false;
  return node.v.element.tag_namespace == GUMBO_NAMESPACE_HTML && !holds(kDropped, node.v.element.tag);
}

std::optional<std::string_view> attribute(const GumboNode& node, const char* name) {
  const GumboAttribute* found = gumbo_get_attribute(&node.v.element.attributes, name);
  return found == nullptr ? std::nullopt : std::optional<std::string_view>(found->value);
}

bool is_kept_class(std::string_view name) {
  // Microformats: h-card, u-url, p-name, …
  const bool microformat =
      name.size() > 2 && name[1] == '-' && std::string_view("hpued").contains(name.front());
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  return std::ranges::find(kClasses, name) != kClasses.end() ||
         (microformat && std::ranges::all_of(name, is_plain));
}

std::string classes_of(const GumboNode& node) {
  std::string kept;
  std::string_view rest = attribute(node, "class").value_or("");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \t\n\r\f"), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!is_kept_class(name)) continue;
    if (!kept.empty()) kept += ' ';
    kept += name;
  }
  return kept;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

class Writer {
 public:
  explicit Writer(std::size_t size_max) : size_max_(size_max) {}

  bool enter(const GumboNode& node) {
    if (is_full_) return false;
    if (is_text(node)) {
      add_text(node.v.text.text);
      return false;
    }
    if (!is_transparent(node)) return false;
    if (!is_html(node)) return true;
    const GumboTag tag = node.v.element.tag;
    if (tag == GUMBO_TAG_BR) {
      add("<br>");
      return false;
    }
    if (tag == GUMBO_TAG_IMG) add_text(attribute(node, "alt").value_or(""));
    if (holds(kHeadings, tag)) return add("<p><strong>");
    return !holds(kAllowed, tag) || add(opening(node));
  }
  // Also when it is full: what was opened is closed.
  void leave(const GumboNode& node) {
    if (!is_html(node)) return;
    const GumboTag tag = node.v.element.tag;
    if (holds(kHeadings, tag)) text_ += "</strong></p>";
    if (holds(kAllowed, tag)) text_ += std::string("</") + gumbo_normalized_tagname(tag) + ">";
  }
  std::string take() { return std::move(text_); }

 private:
  void add_text(std::string_view text) {
    std::string piece = escape_html(text);
    const std::size_t room = size_max_ - std::min(size_max_, text_.size());
    is_full_ = piece.size() > room;
    // The longest reference has 6 characters.
    if (is_full_) piece = escape_html(cut_utf8(text, room / 6));
    text_ += piece;
  }
  // Not in part.
  bool add(std::string_view piece) {
    is_full_ = text_.size() + piece.size() > size_max_;
    if (!is_full_) text_ += piece;
    return !is_full_;
  }
  static std::string opening(const GumboNode& node) {
    const GumboTag tag = node.v.element.tag;
    std::string text = std::string("<") + gumbo_normalized_tagname(tag);
    const auto put = [&](const char* name, std::string_view value) {
      text += std::string(" ") + name + "=\"" + escape_html(value) + "\"";
    };
    if (const std::string classes = classes_of(node); !classes.empty()) put("class", classes);
    if (attribute(node, "translate") == "no") put("translate", "no");
    if (const auto dir = attribute(node, "dir"); dir == "rtl" || dir == "ltr" || dir == "auto")
      put("dir", *dir);
    if (tag == GUMBO_TAG_A) {
      const Result<Url> url = Url::parse(attribute(node, "href").value_or(""));
      if (url) {
        put("href", attribute(node, "href").value_or(""));
        put("rel", "nofollow noopener noreferrer");
        put("target", "_blank");
      }
    }
    const auto start = attribute(node, tag == GUMBO_TAG_OL ? "start" : "value");
    if ((tag == GUMBO_TAG_OL || tag == GUMBO_TAG_LI) && start && is_number(*start))
      put(tag == GUMBO_TAG_OL ? "start" : "value", *start);
    return text + ">";
  }

  std::size_t size_max_;
  std::string text_;
  bool is_full_ = false;
};

// For HTML that is not parsed: drops what stands between < and >.
std::string strip_tags(std::string_view html) {
  std::string text;
  while (!html.empty()) {
    const std::size_t open = std::min(html.find('<'), html.size());
    text += html.substr(0, open);
    const std::size_t close = html.find('>', open);
    if (close == std::string_view::npos) break;
    html.remove_prefix(close + 1);
    text += ' ';
  }
  return text;
}

// U+FFFE and U+FFFF: XML may not have them, so that whoever put one into a post would break whole feeds.
constexpr std::size_t kNoncharacterSize = 3;
bool is_noncharacter(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_noncharacter(text.substr(at))) {
      at += kNoncharacterSize - 1;
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
      escaped += c;
    }
  }
  return escaped;
}

std::string sanitize_html(std::string_view html, const HtmlLimits& limits) {
  html = cut_utf8(html, limits.input_max);
  const html::Tree parsed = parse(html);
  if (parsed == nullptr) return escape_html(cut_utf8(strip_tags(html), limits.output_max));
  Writer writer(limits.output_max);
  walk(
      parsed->root, [&](const GumboNode& node) { return writer.enter(node); },
      [&](const GumboNode& node) { writer.leave(node); });
  return writer.take();
}

std::string text_of_html(std::string_view html, std::size_t bytes_max) {
  const HtmlLimits limits;
  html = cut_utf8(html, limits.input_max);
  if (!html.contains('<') && !html.contains('&')) return std::string(cut_utf8(html, bytes_max));
  const html::Tree parsed = parse(html);
  if (parsed == nullptr) return std::string(cut_utf8(strip_tags(html), bytes_max));
  std::string text;
  const auto end_line = [&](const GumboNode& node) {
    if (is_html(node) && holds(kBlocks, node.v.element.tag) && !text.empty() && text.back() != '\n')
      text += '\n';
  };
  walk(
      parsed->root,
      [&](const GumboNode& node) {
        if (is_text(node) && text.size() < bytes_max) text += node.v.text.text;
        end_line(node);
        return is_transparent(node) && text.size() < bytes_max;
      },
      end_line);
  while (text.ends_with('\n')) text.pop_back();
  return std::string(cut_utf8(text, bytes_max));
}

}  // namespace tagring::posts
