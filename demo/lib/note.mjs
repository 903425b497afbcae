// Notes in Mastodon's shape.

import { AS_PUBLIC } from "./world.mjs";

// Mastodon's rule: letters, marks, digits and connectors of any script, some separators inside, at least one letter.
const HASHTAG = /(?<![=/)\p{L}\p{M}\p{N}_&])[#＃]([\p{L}\p{M}\p{Nd}\p{Pc}·・\u200c]*[\p{L}\p{M}\p{Nd}\p{Pc}])/gu;

export function escapeHtml(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (c) => entities[c]);
}

function tagUrl(base, name) {
  return `${base}/tags/${encodeURIComponent(name.toLowerCase())}`;
}

/** The hashtags of a text, in order, without "#", as they were first spelled. */
export function hashtags(text) {
  const found = new Map();
  for (const [, name] of text.matchAll(HASHTAG)) {
    const key = name.normalize("NFKC").toLowerCase();
    if (/\p{L}/u.test(name) && !found.has(key)) found.set(key, name);
  }
  return [...found.values()];
}

/** The HTML of a plain text: escaped, one paragraph per blank line, hashtags linked. */
export function toHtml(base, text) {
  let html = "";
  let end = 0;
  for (const match of text.matchAll(HASHTAG)) {
    if (!/\p{L}/u.test(match[1])) continue;
    html += escapeHtml(text.slice(end, match.index));
    html += `<a href="${tagUrl(base, match[1])}" class="mention hashtag" rel="tag">#<span>${escapeHtml(match[1])}</span></a>`;
    end = match.index + match[0].length;
  }
  html += escapeHtml(text.slice(end));
  return `<p>${html.replace(/\n{2,}/g, "</p><p>").replace(/\n/g, "<br />")}</p>`;
}

export function tagList(base, names) {
  return names.map((name) => ({ type: "Hashtag", href: tagUrl(base, name), name: `#${name}` }));
}

/** A public Note by `actor`. `number`: the last part of its id; `published`: a Date; `image`: what one would show. */
export function makeNote({ base, author, number, text, published, warning = null, image = null }) {
  const actor = `${base}/users/${author}`;
  const id = `${actor}/statuses/${number}`;
  return {
    id,
    type: "Note",
    summary: warning,
    inReplyTo: null,
    published: timestamp(published),
    url: `${base}/@${author}/${number}`,
    attributedTo: actor,
    to: [AS_PUBLIC],
    cc: [`${actor}/followers`],
    sensitive: warning !== null,
    content: toHtml(base, text),
    attachment: image === null ? [] : [{ type: "Document", mediaType: "image/png", url: `${base}/media/${number}.png`, name: image }],
    tag: tagList(base, hashtags(text)),
  };
}

/** RFC 3339 in UTC without fraction, as Mastodon writes it. */
export function timestamp(date) {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

export function createOf(note) {
  return envelope("Create", `${note.id}/activity`, note.published, note, note);
}

export function updateOf(note) {
  return envelope("Update", `${note.id}#updates/${Date.parse(note.updated)}`, note.updated, note, note);
}

export function deleteOf(note) {
  const activity = envelope("Delete", `${note.id}#delete`, undefined, note, { id: note.id, type: "Tombstone" });
  return { ...activity, cc: undefined };
}

const CONTEXT = ["https://www.w3.org/ns/activitystreams", { Hashtag: "as:Hashtag", sensitive: "as:sensitive" }];

function envelope(type, id, published, note, object) {
  return { "@context": CONTEXT, id, type, actor: note.attributedTo, published, to: note.to, cc: note.cc, object };
}

export function withContext(object) {
  return { "@context": CONTEXT, ...object };
}
