// Real posts (data/README.md), made the posts of an origin of ours: ids, hosts and authors are rewritten.

import { readFileSync } from "node:fs";
import { tagList, timestamp } from "./note.mjs";
import { AS_PUBLIC } from "./world.mjs";

const FILE = new URL("../data/mastodon_creates_redacted.jsonl", import.meta.url);
const YEAR_MS = 365 * 24 * 3600 * 1000;

/** The Notes of the file that were fully public; unlisted ones and replies to people stay what they were, unpublished. */
export function realNotes() {
  return readFileSync(FILE, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line).object)
    .filter((note) => note.to.includes(AS_PUBLIC) && note.tag.some((tag) => tag.type === "Hashtag"));
}

/** The time `date` moved by whole years into the year before `now`: month, day and hour are as in life. */
export function shiftIntoLastYear(date, now) {
  const shifted = new Date(date);
  while (shifted > now) shifted.setUTCFullYear(shifted.getUTCFullYear() - 1);
  while (now - shifted > YEAR_MS) shifted.setUTCFullYear(shifted.getUTCFullYear() + 1);
  return shifted > now ? new Date(now) : shifted;
}

/** The note as if `author` had written it at the origin `base`. Mentions and replies point to nobody here and go. */
export function rehost(note, { base, author, number, now }) {
  const actor = `${base}/users/${author}`;
  const published = timestamp(shiftIntoLastYear(note.published, now));
  const names = note.tag.filter((tag) => tag.type === "Hashtag").map((tag) => tag.name.replace(/^#/, ""));
  const content = note.content.replaceAll(/https:\/\/[a-z]+\.example(?=\/tags\/)/g, base);
  return {
    ...note,
    id: `${actor}/statuses/${number}`,
    url: `${base}/@${author}/${number}`,
    attributedTo: actor,
    published,
    updated: note.updated ? published : undefined,
    to: [AS_PUBLIC],
    cc: [`${actor}/followers`],
    inReplyTo: null,
    atomUri: `${actor}/statuses/${number}`,
    inReplyToAtomUri: null,
    conversation: `tag:${new URL(base).hostname},${published.slice(0, 10)}:objectId=${number}:objectType=Conversation`,
    content,
    contentMap: Object.fromEntries(Object.keys(note.contentMap ?? {}).map((language) => [language, content])),
    context: undefined,
    replies: undefined,
    likes: undefined,
    shares: undefined,
    attachment: [],
    tag: tagList(base, names),
  };
}
