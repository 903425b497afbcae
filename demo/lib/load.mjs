// What a load consists of: which author of which origin posts under which tags. Same arguments, same plan.

import { seeded } from "./random.mjs";

/** Hashtags in the scripts that are in use on the fediverse, most used first. */
export const TAGS = [
  "caturday", "fediverse", "猫", "silentsunday", "photography", "CatsOfMastodon", "喵呜", "haiku", "music", "قطط",
  "tourdefrance", "introduction", "café", "NowPlaying", "art", "写真", "México", "BikeTooter", "книги", "gardening",
  "followfriday", "고양이", "KpopTime", "climate", "açaí", "FOSS", "巨人叨叨", "straße", "bookstodon", "שבת",
  "astronomy", "mosstodon", "नमस्ते", "eclipse", "ねこのいる生活", "birds", "Ελλάδα", "giro2024", "linux", "naïve",
  "กาแฟ", "mathstodon", "pintjes", "žmogus", "recipes", "snow_day", "ポケモンGO", "trains", "İstanbul", "totality",
];

// Share of posts by number of tags, after real outboxes (data/README.md), with more weight on many.
const TAGS_PER_POST = [[1, 0.65], [2, 0.18], [3, 0.08], [4, 0.04], [5, 0.03], [8, 0.02]];
const EMOJI = ["", "", "", " 🎉", "😺", "❤️", " 🏳️‍🌈"];
const MAX_TAGS = TAGS.length;

function pick(weighted, random) {
  let rest = random() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [value, weight] of weighted) if ((rest -= weight) < 0) return value;
  return weighted.at(-1)[0];
}

/** [{origin, author, tags, text}]; tag ranks follow Zipf's law (s = 1), origins are equally likely. */
export function planLoad({ count, tags = MAX_TAGS, origins, authors, seed = 1 }) {
  const random = seeded(seed);
  const ranked = TAGS.slice(0, tags).map((name, rank) => [name, 1 / (rank + 1)]);
  return Array.from({ length: count }, (_, i) => {
    const wanted = Math.min(pick(TAGS_PER_POST, random), ranked.length);
    const chosen = new Set();
    while (chosen.size < wanted) chosen.add(pick(ranked, random));
    const emoji = EMOJI[Math.floor(random() * EMOJI.length)];
    return {
      origin: Math.floor(random() * origins),
      author: Math.floor(random() * authors),
      tags: [...chosen],
      text: `Post ${i + 1} ${[...chosen].map((name) => `#${name}${emoji}`).join(" ")}`,
    };
  });
}

/** Runs `work(item)` over all items, at most `width` at a time; the results keep the items' order. */
export async function inParallel(items, width, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const i = next++;
      results[i] = await work(items[i]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  return results;
}
