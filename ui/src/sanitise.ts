// The HTML of posts, which anybody in the world may have written. The node has sanitised it already; what the
// browser is shown does not depend on that.

import DOMPurify from "dompurify";

const TAGS = ["p", "br", "a", "span", "strong", "b", "em", "i", "u", "del", "s", "code", "pre", "blockquote", "ul", "ol", "li", "ruby", "rt", "rp"];
// Mastodon hides the middle of long links with these.
const CLASSES = new Set(["invisible", "ellipsis"]);

export function sanitise(html: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "class", "lang", "dir", "start", "reversed"],
    ALLOWED_URI_REGEXP: /^https?:/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const element of fragment.querySelectorAll("[class]")) {
    const kept = [...element.classList].filter((name) => CLASSES.has(name));
    if (kept.length > 0) element.className = kept.join(" ");
    else element.removeAttribute("class");
  }
  for (const link of fragment.querySelectorAll("a")) {
    const text = link.textContent.trim();
    // A hashtag leads to its timeline here, not to the part of it that one server has.
    if (/^[#＃]\S+$/u.test(text)) {
      link.href = `/tags/${encodeURIComponent(text.slice(1))}`;
      link.className = "tag";
    } else {
      link.rel = "nofollow noopener noreferrer";
    }
  }
  return fragment;
}

/** For names, which are plain text or HTML depending on the server. */
export function plain(html: string): string {
  return html.includes("<") || html.includes("&") ? (sanitise(html).textContent ?? "") : html;
}
