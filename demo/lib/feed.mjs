// A year of posts as people write them (data/README.md), for origins to publish as theirs.

import { readFileSync } from "node:fs";

const FILE = new URL("../data/posts.tsv", import.meta.url);

/** `[{when: "MM-DDTHH:MM", text, warning, image}]` in the order of the year; no warning or no image is null. */
export function postsOfTheYear() {
  const [, ...lines] = readFileSync(FILE, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [when, text, warning, image] = line.split("\t");
    return { when, text, warning: warning || null, image: image || null };
  });
}

/** That day and hour (UTC) in the year before `now`. */
export function inLastYear(when, now) {
  const year = now.getUTCFullYear();
  const date = new Date(`${year}-${when}:00Z`);
  return date <= now ? date : new Date(`${year - 1}-${when}:00Z`);
}
