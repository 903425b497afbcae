import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inLastYear, postsOfTheYear } from "../lib/feed.mjs";
import { TAGS, planLoad } from "../lib/load.mjs";
import { hashtags, toHtml } from "../lib/note.mjs";

const AS_PUBLIC = "https://www.w3.org/ns/activitystreams#Public";

test("hashtags are found in any script and end at emoji and punctuation", () => {
  const found = {
    "#caturday! #猫、#قطط": ["caturday", "猫", "قطط"],
    "#café😺 #snow_day, #naïve.": ["café", "snow_day", "naïve"],
    "#123 #1️⃣ # #_ a#b https://x.example/#frag https://x.example/a#b &#39;": [],
    "#2024年 ＃写真 #Cat #cat": ["2024年", "写真", "Cat"],
    "#नमस्ते #กาแฟ": ["नमस्ते", "กาแฟ"],
  };
  for (const [text, tags] of Object.entries(found)) assert.deepEqual(hashtags(text), tags, text);
});

test("content is escaped, also inside of and around hashtags", () => {
  const html = toHtml("https://oak.example", "<img src=x onerror=\"a\"> & #a<b>\n\nnext");
  assert.equal(html, "<p>&lt;img src=x onerror=&quot;a&quot;&gt; &amp; " +
    '<a href="https://oak.example/tags/a" class="mention hashtag" rel="tag">#<span>a</span></a>&lt;b&gt;</p><p>next</p>');
});

test("a load is the same every time, skewed, and under all of its tags", () => {
  const ask = { count: 1000, origins: 5, authors: 3, seed: 1 };
  const plan = planLoad(ask);
  assert.deepEqual(plan, planLoad(ask));
  assert.notDeepEqual(plan, planLoad({ ...ask, seed: 2 }));
  assert.equal(TAGS.length, 50);
  const uses = Object.fromEntries(TAGS.map((name) => [name, plan.filter(({ tags }) => tags.includes(name)).length]));
  assert.ok(Object.values(uses).every((n) => n > 0), JSON.stringify(uses));
  assert.ok(uses.caturday > 10 * uses.totality);
  const single = plan.filter(({ tags }) => tags.length === 1).length;
  assert.ok(single > 600 && single < 700, `${single} posts with one tag`);
  assert.equal(new Set(plan.map(({ origin }) => origin)).size, 5);
  for (const { text, tags } of plan) assert.deepEqual(hashtags(text), tags);
});

test("the tags of a load stay apart when case and compatibility forms are folded", () => {
  assert.equal(new Set(TAGS.map((name) => name.normalize("NFKC").toLowerCase())).size, TAGS.length);
});

test("the posts of the year have hashtags and a time in the year before now", () => {
  const now = new Date("2026-06-01T00:00:00Z");
  const posts = postsOfTheYear();
  assert.ok(posts.length > 90);
  for (const { when, text } of posts) {
    assert.ok(hashtags(text).length >= 1, text);
    const age = now - inLastYear(when, now);
    assert.ok(age >= 0 && age <= 366 * 86400e3, when);
  }
  assert.ok(posts.some(({ warning }) => warning) && posts.some(({ image }) => image));
  assert.equal(inLastYear("12-24T18:00", now).toISOString(), "2025-12-24T18:00:00.000Z");
  assert.equal(inLastYear("05-31T23:59", now).toISOString(), "2026-05-31T23:59:00.000Z");
});

test("ca.sh makes certificates that verify, keeps them, and refuses what is no host name", () => {
  const dir = mkdtempSync(join(tmpdir(), "ca-"));
  try {
    const ca = fileURLToPath(new URL("../ca.sh", import.meta.url));
    const long = `${"long-".repeat(12)}name.oak.example`;
    assert.equal(execFileSync(ca, [dir, "oak.example", long]).toString(), "");
    const before = readFileSync(join(dir, "oak.example.pem"), "utf8");
    execFileSync(ca, [dir, "oak.example", "elm.example"]);
    assert.equal(readFileSync(join(dir, "oak.example.pem"), "utf8"), before);
    for (const host of ["oak.example", "elm.example", long]) {
      execFileSync("openssl", ["verify", "-CAfile", join(dir, "ca.pem"), "-verify_hostname", host, join(dir, `${host}.pem`)]);
    }
    assert.equal(spawnSync(ca, [dir, "../evil"]).status, 2);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
