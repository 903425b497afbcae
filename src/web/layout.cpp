#include "web/layout.hpp"

#include <fmt/format.h>
#include <utility>

#include "web/assets.hpp"
#include "web/html.hpp"

namespace tagring::web {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types dompurify";

constexpr std::string_view kFrame = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="{icon}" type="image/svg+xml">
<link rel="stylesheet" href="{style}">
<script src="{early}"></script>
<script type="module" src="{script}"></script>
{head}</head>
<body data-node="{node}">
<a class="skip" href="#main">Skip to the content</a>
<header class="banner">
<a class="brand" href="/"><img src="{icon}" alt="" width="28" height="28"><span>{node}</span></a>
<form class="search" role="search" action="/search">
<input type="search" name="q" aria-label="Search for a hashtag" placeholder="Search for a hashtag" value="{search}" dir="auto" maxlength="2048" autocapitalize="none" enterkeyhint="search">
<button>Search</button>
</form>
</header>
<main id="main" tabindex="-1">
{main}</main>
<footer class="foot">
<p><a href="/">{node}</a> relays public posts under hashtags between servers of the fediverse, with <span translate="no">tagring</span>. Not yours, please? Write #nobot in your profile{contact}. <span aria-hidden="true">·</span> <a href="/admin">Administration</a></p>
</footer>
</body>
</html>
)";

}  // namespace

void add_security_headers(Headers& headers) {
  headers.add("Content-Security-Policy", std::string(kPolicy));
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Referrer-Policy", "no-referrer");
  headers.add("Cross-Origin-Opener-Policy", "same-origin");
}

std::string render_preview(const Preview& preview) {
  std::string head = fmt::format(
      "<meta name=\"description\" content=\"{}\">\n<meta property=\"og:type\" content=\"website\">\n",
      escape(preview.text));
  for (const auto& [name, value] :
       {std::pair("title", &preview.title), std::pair("description", &preview.text),
        std::pair("url", &preview.url), std::pair("image", &preview.image),
        std::pair("site_name", &preview.site)})
    head += fmt::format("<meta property=\"og:{}\" content=\"{}\">\n", name, escape(*value));
  return head;
}

HttpResponse make_page(const PageParts& parts, std::string_view authority, std::string_view contact) {
  using fmt::arg;
  HttpResponse response;
  response.status = parts.status;
  response.headers.add("Content-Type", "text/html; charset=utf-8");
  response.headers.add("Cache-Control", "no-cache");
  add_security_headers(response.headers);
  if (!parts.is_for_search_engines) response.headers.add("X-Robots-Tag", "noindex");
  const std::string write_to =
      contact.empty() ? "" : fmt::format(R"(, or write to <a href="mailto:{0}">{0}</a>)", escape(contact));
  response.body = fmt::format(kFrame, arg("title", escape(parts.title)), arg("icon", asset_url("icon.svg")),
                              arg("style", asset_url("page.css")), arg("early", asset_url("early.js")),
                              arg("script", asset_url(parts.script)), arg("head", parts.head),
                              arg("node", escape(authority)), arg("contact", write_to),
                              arg("search", escape(parts.search)), arg("main", parts.main));
  return response;
}

}  // namespace tagring::web
