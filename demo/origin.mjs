// An ActivityPub server for one or several domains, whose posts are written through a control port. See README.md.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { announceReady, endOnSignal, integer, serveControl, text } from "./lib/control.mjs";
import { inLastYear, postsOfTheYear } from "./lib/feed.mjs";
import { TAGS, inParallel, planLoad } from "./lib/load.mjs";
import { makeNote } from "./lib/note.mjs";
import { Origin } from "./lib/origin.mjs";
import { originHandler } from "./lib/origin_http.mjs";
import { BadRequest, openWorld, serveTls } from "./lib/world.mjs";

const { values: options } = parseArgs({
  options: {
    domain: { type: "string", multiple: true },
    port: { type: "string", default: "8443" },
    node: { type: "string", multiple: true, default: [] },
    authors: { type: "string", default: "alice,bob,carol" },
    hosts: { type: "string", default: "run/hosts.json" },
    certs: { type: "string", default: "run/certs" },
    run: { type: "string", default: "run" },
    control: { type: "string", default: "9101" },
    requests: { type: "string", default: "0" },
  },
});

endOnSignal();
const world = openWorld(options);
const port = Number(options.port);
const domains = options.domain ?? ["oak.example"];
const authors = options.authors.split(",");
const origins = await Promise.all(domains.map(async (domain, i) => {
  const base = new URL(`https://${domain}:${port}`).origin;
  return await Origin.open({ base, authors, node: nodeOf(i), dir: join(options.run, domain) });
}));
await Promise.all(origins.map((origin, i) => serveTls(world, domains[i], port, originHandler(origin))));

/** --node once: the node of all domains; otherwise the n-th --node is that of the n-th --domain. */
function nodeOf(i) {
  if (options.node.length > 1 && options.node.length !== domains.length) throw new Error("give --node once, or once per --domain");
  const node = options.node.length === 1 ? options.node[0] : options.node[i];
  return node ? new URL(node).origin : null;
}

function originOf(body) {
  const i = body.domain === undefined ? 0 : domains.indexOf(body.domain);
  if (i < 0) throw new BadRequest(`"domain" must be one of: ${domains.join(", ")}`);
  return origins[i];
}

function originOfPost(id) {
  const origin = origins.find((o) => id.startsWith(`${o.base}/`));
  if (!origin) throw new BadRequest(`there is no post ${id}`, 404);
  return origin;
}

const answer = (note, result) => ({ id: note.id, tags: note.tag.map((tag) => tag.name), ...result });
const retriesOf = (body, fallback) => integer(body, "retries", fallback, 0, 100);

async function post(body) {
  const origin = originOf(body);
  const words = text(body, "text");
  const retries = retriesOf(body, 3);
  origin.inbox();
  const published = body.published === undefined ? new Date() : new Date(text(body, "published"));
  if (Number.isNaN(published.getTime())) throw new BadRequest('"published" must be a date');
  const more = { ...(body.warning !== undefined && { warning: text(body, "warning") }), ...(body.image !== undefined && { image: text(body, "image") }) };
  const note = origin.write(text(body, "author", authors[0]), words, published, more);
  return answer(note, await origin.publish(note, retries));
}

async function edit(body) {
  const id = text(body, "id");
  const { note, ...result } = await originOfPost(id).edit(id, text(body, "text"), retriesOf(body, 3));
  return answer(note, result);
}

async function remove(body) {
  const id = text(body, "id");
  const { note, ...result } = await originOfPost(id).delete(id, retriesOf(body, 3));
  return answer(note, result);
}

async function follow(body, undo) {
  const origin = originOf(body);
  return await origin.followActor(text(body, "author", authors[0]), text(body, "actor"), undo)
    .catch((error) => { throw error instanceof BadRequest ? error : new BadRequest(String(error.cause ?? error.message)); });
}

/** Publishes what `prepare` makes of each item, many at a time, and tells what was acknowledged. */
async function publishAll(items, body, prepare) {
  const retries = retriesOf(body, 8);
  const width = integer(body, "concurrency", 16, 1, 256);
  const start = performance.now();
  const results = await inParallel(items, width, async (item) => {
    const { origin, note } = prepare(item);
    return { origin, note, ...(await origin.publish(note, retries)) };
  });
  const good = results.filter(({ status }) => status >= 200 && status < 300);
  const failed = results.filter((result) => !good.includes(result));
  return {
    sent: results.length,
    acknowledged: good.length,
    attempts: results.reduce((sum, { attempts }) => sum + attempts, 0),
    seconds: Math.round(performance.now() - start) / 1000,
    posts: good.map(({ note }) => ({ id: note.id, published: note.published, tags: note.tag.map((tag) => tag.name.slice(1)) })),
    failures: failed.map(({ note, status, error }) => ({ id: note.id, status, error })),
  };
}

/**
 * A load of made-up posts. With several processes, all get the same `count`, `seed` and `origins`, and each the
 * index of its `first` domain among them: together they publish the same plan as one process would.
 */
async function load(body) {
  const first = integer(body, "first", 0, 0, 1000);
  const plan = planLoad({
    count: integer(body, "count", 1000, 1, 100_000),
    tags: integer(body, "tags", TAGS.length, 1, TAGS.length),
    origins: integer(body, "origins", origins.length, 1, 1000),
    authors: authors.length,
    seed: integer(body, "seed", 1, 0, 2 ** 32 - 1),
  });
  for (const origin of origins) origin.inbox();
  const mine = plan.filter((item) => origins[item.origin - first]);
  return await publishAll(mine, body, (item) => {
    const origin = origins[item.origin - first];
    return { origin, note: origin.write(authors[item.author], item.text) };
  });
}

/** A year of posts, dealt out over the domains; each has its season and hour, within the last year. */
async function feed(body) {
  const posts = postsOfTheYear();
  const now = new Date();
  for (const origin of origins) origin.inbox();
  const items = posts.slice(0, integer(body, "count", posts.length, 1, posts.length)).map((post, i) => ({ ...post, i }));
  return await publishAll(items, body, ({ when, text, warning, image, i }) => {
    const origin = origins[i % origins.length];
    const author = authors[Math.floor(i / origins.length) % authors.length];
    const number = origin.nextNumber(new Date(now.getTime() - i));
    const published = inLastYear(when, now);
    return { origin, note: origin.keep(makeNote({ base: origin.base, author, number, text, published, warning, image })) };
  });
}

const control = await serveControl(Number(options.control), {
  "GET /": () => ({ origins: origins.map(({ base, node }) => ({ base, node })), authors }),
  "POST /post": post,
  "POST /edit": edit,
  "POST /delete": remove,
  "POST /follow": (body) => follow(body, false),
  "POST /unfollow": (body) => follow(body, true),
  "POST /subscribe": (body) => originOf(body).subscribe(false),
  "POST /unsubscribe": (body) => originOf(body).subscribe(true),
  "POST /load": load,
  "POST /feed": feed,
  "GET /received": (body) => originOf(body).received,
  "GET /posts": (body) => [...originOf(body).posts.values()].map(({ note, deleted }) =>
    ({ id: note.id, published: note.published, tags: hashtagsOf(note), content: note.content, deleted })),
});

function hashtagsOf(note) {
  return note.tag.filter((tag) => tag.type === "Hashtag").map((tag) => tag.name.slice(1));
}

announceReady({ origins: origins.map((origin) => origin.base), control: `http://127.0.0.1:${control.address().port}` });
