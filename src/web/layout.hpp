// The frame of every page: head, banner, main part.
#pragma once

#include <string>
#include <string_view>

#include "http/message.hpp"

namespace tagring::web {

// What is shown of a page where somebody posts its address; in plain text.
struct Preview {
  std::string title;
  std::string text;
  std::string url;
  std::string image;
  std::string site;
};

// HTML for the head.
std::string render_preview(const Preview& preview);

struct PageParts {
  int status = 200;
  std::string title = {};               // plain text
  std::string head = {};                // HTML: more links
  std::string main = {};                // HTML
  std::string_view script = "page.js";  // the asset that brings the page to life
  std::string search = {};              // plain text: what stands in the search field
  bool is_for_search_engines = false;   // whose posts they are has agreed to be found in the fediverse only
};

// Nothing but this node's own scripts and styles, and no inline ones; images of other servers, which the
// script asks for only when the reader wishes to see them. `contact`: an e-mail address, or empty.
HttpResponse make_page(const PageParts& parts, std::string_view authority, std::string_view contact = {});

// What every answer that browsers show should carry.
void add_security_headers(Headers& headers);

}  // namespace tagring::web
