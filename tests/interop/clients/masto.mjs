// What masto, a client library of Mastodon, makes of a node. Each line is a check; the last says how many passed.
//
//   BASE     the node: "https://tags.oak.example:9445"
//   CONTROL  where posts are written (demo/origin.mjs)

import assert from "node:assert/strict";
import { createRestAPIClient, createStreamingAPIClient, MastoHttpError } from "masto";

const { BASE, CONTROL } = process.env;
const masto = createRestAPIClient({ url: BASE });
let passed = 0;
let failed = 0;

async function check(what, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok   ${what}`);
  } catch (error) {
    failed += 1;
    console.log(`BAD  ${what}: ${error.stack}`);
  }
}

async function write(path, body) {
  const response = await fetch(CONTROL + path, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}

const publish = (text) => write("/post", { text });

async function until(what, condition) {
  for (const end = Date.now() + 120_000; Date.now() < end; ) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`gave up: ${what}`);
}

const all = JSON.parse(process.env.POSTS);  // URIs, oldest first
const timeline = (params, tag = "cats") => masto.v1.timelines.tag.$select(tag).list(params);
const uris = (statuses) => statuses.map((status) => status.uri);

await check("a timeline, newest first, with the author", async () => {
  const page = await timeline({ limit: 10 });
  assert.equal(page.length, 10);
  assert.equal(page[0].uri, all.at(-1));
  assert.match(page[0].content, /class="mention hashtag"/);
  assert.match(page[0].account.acct, /^\w+@oak\.example:\d+$/);
  assert.ok(page.every((status, i) => i === 0 || BigInt(page[i - 1].id) > BigInt(status.id)));
});

await check("its pages, by Link, to the end", async () => {
  const seen = [];
  for await (const page of timeline({ limit: 7 })) seen.push(...uris(page));
  assert.deepEqual(seen, [...all].reverse());
});

await check("what is newer than an id", async () => {
  const page = await timeline({ limit: 10 });
  assert.deepEqual(uris(await timeline({ minId: page[5].id, limit: 2 })), uris(page.slice(3, 5)));
  assert.deepEqual(uris(await timeline({ sinceId: page[5].id, limit: 2 })), uris(page.slice(0, 2)));
});

await check("any, all and none", async () => {
  assert.equal((await timeline({ any: ["dogs"], limit: 40 }, "birds")).length, 3);
  assert.equal((await timeline({ all: ["dogs"], limit: 40 })).length, 3);
  assert.equal((await timeline({ none: ["dogs"], limit: 40 })).length, all.length - 3);
});

await check("a hashtag with its history", async () => {
  const tag = await masto.v1.tags.$select("Cats").fetch();
  assert.equal(tag.name, "cats");
  assert.equal(tag.history.length, 7);
  // Midnight may have been since.
  assert.equal(Number(tag.history[0].uses) + Number(tag.history[1].uses), all.length);
});

await check("trends", async () => {
  assert.ok((await masto.v1.trends.tags.list()).some((tag) => tag.name === "cats"));
});

await check("search for a hashtag and for a URI", async () => {
  assert.equal((await masto.v2.search.list({ q: "#cats" })).hashtags[0].name, "cats");
  assert.equal((await masto.v2.search.list({ q: all[0], resolve: true })).statuses[0].uri, all[0]);
});

await check("the instance, both versions", async () => {
  assert.equal((await masto.v2.instance.fetch()).domain, new URL(BASE).host);
  assert.equal((await masto.v1.instance.fetch()).uri, new URL(BASE).host);
});

await check("an error is one of masto's", async () => {
  const is = (status) => (error) => error instanceof MastoHttpError && error.statusCode === status;
  await assert.rejects(masto.v1.tags.$select("!").fetch(), is(422));
  await assert.rejects(masto.v1.statuses.$select("1").fetch(), is(404));
  // What needs an account, as without a token at Mastodon.
  await assert.rejects(async () => await masto.v1.followedTags.list(), is(401));
});

await check("a stream by WebSocket: a post, and its deletion", async () => {
  const { configuration } = await masto.v2.instance.fetch();
  const streaming = createStreamingAPIClient({ streamingApiUrl: configuration.urls.streaming, retry: false });
  const events = streaming.hashtag.subscribe({ tag: "Live" })[Symbol.asyncIterator]();
  const first = events.next();
  // What is published before the node is subscribed does not come.
  const written = [];
  let arrived;
  while (!arrived && written.length < 30) {
    written.push((await publish("now #live")).id);
    arrived = await Promise.race([first, new Promise((resolve) => setTimeout(resolve, 3000))]);
  }
  const update = arrived.value;
  assert.equal(update.event, "update");
  assert.ok(written.includes(update.payload.uri));
  await write("/delete", { id: update.payload.uri });
  let removal = (await events.next()).value;
  while (removal.event === "update") removal = (await events.next()).value;
  assert.equal(removal.event, "delete");
  assert.equal(removal.payload, update.payload.id);
  streaming.close();
});

await check("a stream by server-sent events", async () => {
  const response = await fetch(`${BASE}/api/v1/streaming/hashtag?tag=live`);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const { id: uri } = await publish("again #live");
  let text = "";
  // Others may be under way from before.
  const updates = () => [...text.matchAll(/event: update\ndata: (.*)\n\n/g)].map(([, data]) => JSON.parse(data).uri);
  for await (const piece of response.body) {
    text += Buffer.from(piece).toString();
    if (updates().includes(uri)) return;
  }
  assert.fail(`the stream ended: ${text}`);
});

await check("the request of GetMoarFediverse, which keeps to robots.txt and reads URIs", async () => {
  const robots = await (await fetch(`${BASE}/robots.txt`, { headers: { "User-Agent": "GetMoarFediverse" } })).text();
  const path = "/api/v1/timelines/tag/cats";
  const barred = [...robots.matchAll(/^Disallow: (\S+)$/gm)].some(([, prefix]) => path.startsWith(prefix));
  assert.equal(barred, false, robots);
  const response = await fetch(`${BASE}${path}?limit=40`, { headers: { "User-Agent": "GetMoarFediverse" } });
  assert.deepEqual((await response.json()).map(({ uri }) => uri), [...all].reverse().slice(0, 40));
});

await check("the feeds", async () => {
  const rss = await (await fetch(`${BASE}/tags/cats.rss`)).text();
  assert.equal(rss.match(/<item>/g).length, 20);
  assert.match(await (await fetch(`${BASE}/tags/cats.atom`)).text(), /<entry>/);
});

await check("a deleted post is gone from the timeline", async () => {
  await write("/delete", { id: all.at(-1) });
  await until("it is gone", async () => !uris(await timeline({ limit: 5 })).includes(all.at(-1)));
});

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
