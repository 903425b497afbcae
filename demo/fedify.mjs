// A fediverse instance built on Fedify: one person, one instance actor, and a control port. See README.md.

import {
  InProcessMessageQueue, MemoryKvStore, createFederation, exportJwk, generateCryptoKeyPair, importJwk,
} from "@fedify/fedify";
import {
  Accept, Announce, Application, Create, Delete, Endpoints, Follow, Hashtag, Note, PUBLIC_COLLECTION, Person, Reject, Tombstone, Undo,
  Update, isActor,
} from "@fedify/vocab";
import { Temporal } from "@js-temporal/polyfill";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { announceReady, endOnSignal, serveControl, text } from "./lib/control.mjs";
import { hashtags, toHtml } from "./lib/note.mjs";
import { BadRequest, openWorld, readBody, serveTls } from "./lib/world.mjs";

const { values: options } = parseArgs({
  options: {
    domain: { type: "string", default: "fedify.example" },
    port: { type: "string", default: "8443" },
    node: { type: "string" },
    hosts: { type: "string", default: "run/hosts.json" },
    certs: { type: "string", default: "run/certs" },
    run: { type: "string", default: "run" },
    control: { type: "string", default: "9102" },
    "first-knock": { type: "string", default: "rfc9421" },
    "followers-page": { type: "string", default: "0" },
  },
});

endOnSignal();
const world = openWorld(options);
const port = Number(options.port);
const origin = new URL(`https://${options.domain}:${port}`);
const dir = join(options.run, options.domain);
const PERSON = "alice";
const INSTANCE = "instance";

const notes = new Map();
const follows = new Map();
const followers = new Map(); // by id
const pageSize = Number(options["followers-page"]); // 0: all in one document
const lists = []; // requests for them
let quiet = false; // follows are accepted, and the Accepts are lost
const received = { accepts: [], rejects: [], announces: [], undos: [], creates: [], updates: [], deletes: [] };

const federation = createFederation({
  kv: new MemoryKvStore(),
  queue: new InProcessMessageQueue(),
  origin: origin.origin,
  allowPrivateAddress: true,
  firstKnock: options["first-knock"],
});
const context = federation.createContext(origin, undefined);

async function keyPair(name) {
  const file = join(dir, `${name}.jwk.json`);
  if (!existsSync(file)) {
    const pair = await generateCryptoKeyPair("RSASSA-PKCS1-v1_5");
    const jwk = { publicKey: await exportJwk(pair.publicKey), privateKey: await exportJwk(pair.privateKey) };
    writeFileSync(file, JSON.stringify(jwk), { mode: 0o600 });
  }
  const jwk = JSON.parse(readFileSync(file, "utf8"));
  return { publicKey: await importJwk(jwk.publicKey, "public"), privateKey: await importJwk(jwk.privateKey, "private") };
}

mkdirSync(dir, { recursive: true, mode: 0o700 });
const keys = { [PERSON]: await keyPair(PERSON), [INSTANCE]: await keyPair(INSTANCE) };

federation
  .setActorDispatcher("/users/{identifier}", async (ctx, identifier) => {
    if (!keys[identifier]) return null;
    const [pair] = await ctx.getActorKeyPairs(identifier);
    const Kind = identifier === INSTANCE ? Application : Person;
    return new Kind({
      id: ctx.getActorUri(identifier),
      preferredUsername: identifier,
      name: identifier,
      summary: "<p>Runs on Fedify.</p>",
      inbox: ctx.getInboxUri(identifier),
      followers: ctx.getFollowersUri(identifier),
      endpoints: new Endpoints({ sharedInbox: ctx.getInboxUri() }),
      discoverable: true,
      indexable: true,
      publicKey: pair.cryptographicKey,
      assertionMethods: [pair.multikey],
    });
  })
  .setKeyPairsDispatcher((_, identifier) => (keys[identifier] ? [keys[identifier]] : []));

federation.setObjectDispatcher(Note, "/users/{identifier}/posts/{number}", (_, { number }) => notes.get(number) ?? null);

/** FEP-8fcf: with a base, only those of that server. */
const collection = federation.setFollowersDispatcher("/users/{identifier}/followers", (_, identifier, cursor, base) => {
  const all = identifier === PERSON ? [...followers.values()] : [];
  const those = all.filter(({ id }) => !base || id.origin === new URL(base).origin).sort((a, b) => (a.id.href < b.id.href ? -1 : 1));
  if (cursor === null) return pageSize > 0 ? null : { items: those };
  const first = Number(cursor);
  return { items: those.slice(first, first + pageSize), nextCursor: first + pageSize < those.length ? String(first + pageSize) : null };
});
if (pageSize > 0) collection.setFirstCursor(() => "0");

federation
  .setInboxListeners("/users/{identifier}/inbox", "/inbox")
  .setSharedKeyDispatcher(() => ({ identifier: INSTANCE }))
  .on(Follow, takeFollow)
  .on(Accept, (_, activity) => keep(received.accepts, activity))
  .on(Reject, (_, activity) => keep(received.rejects, activity))
  .on(Undo, takeUndo)
  .on(Create, (_, activity) => keep(received.creates, activity))
  .on(Update, (_, activity) => keep(received.updates, activity))
  .on(Delete, (_, activity) => keep(received.deletes, activity))
  .on(Announce, keepAnnounce)
  .onError((_, error) => console.error(error));

function keep(list, activity, object = activity.objectId) {
  const entry = {
    at: new Date().toISOString(),
    id: activity.id?.href ?? null,
    actor: activity.actorId?.href ?? null,
    object: object?.href ?? null,
  };
  list.push(entry);
  return entry;
}

/** The node follows back whoever publishes through it. */
async function takeFollow(ctx, activity) {
  const follower = await activity.getActor(ctx);
  const inbox = { id: follower.id, inboxId: follower.inboxId, endpoints: follower.endpoints };
  followers.set(follower.id.href, inbox);
  if (quiet) return;
  const id = new URL(`#accepts/${crypto.randomUUID()}`, context.getActorUri(PERSON));
  await ctx.sendActivity({ identifier: PERSON }, follower, new Accept({ id, actor: context.getActorUri(PERSON), object: activity }));
}

async function takeUndo(ctx, activity) {
  keep(received.undos, activity);
  const follow = await activity.getObject(ctx);
  // By its actor: the Follow that a server undoes may never have been seen.
  if (follow instanceof Follow && follow.objectId?.href === context.getActorUri(PERSON).href) followers.delete(follow.actorId?.href);
}

/** What a restored backup does: the list is `ids`, each at the node's inbox. */
function setFollowers(body) {
  followers.clear();
  for (const id of body.ids) followers.set(id, { id: new URL(id), inboxId: node().inboxId, endpoints: new Endpoints({ sharedInbox: node().inboxId }) });
  return { followers: [...followers.keys()] };
}

/** To the followers, with FEP-8fcf's header. */
async function postToFollowers(body) {
  const actor = context.getActorUri(PERSON);
  const number = crypto.randomUUID();
  const note = new Note({
    id: context.getObjectUri(Note, { identifier: PERSON, number }),
    attribution: actor, content: text(body, "text"), tos: [PUBLIC_COLLECTION], ccs: [context.getFollowersUri(PERSON)], published: Temporal.Now.instant(),
  });
  notes.set(number, note);
  const create = new Create({ id: new URL(`${note.id.href}/activity`), actor, object: note, tos: note.toIds, ccs: note.ccIds });
  const how = { immediate: true, syncCollection: true, preferSharedInbox: true };
  await context.sendActivity({ identifier: PERSON }, "followers", create, how);
  return { id: note.id.href };
}

/** Boosts name posts; what they name is fetched as any server would. */
async function keepAnnounce(ctx, activity) {
  for (const objectId of activity.objectIds) {
    const entry = keep(received.announces, activity, objectId);
    const documentLoader = await ctx.getDocumentLoader({ identifier: PERSON });
    const object = await ctx.lookupObject(objectId, { documentLoader }).catch(() => null);
    entry.fetched = object !== null;
    entry.title = object === null ? null : String(object.name ?? object.content ?? "").replace(/<[^>]*>/g, "");
    entry.author = object?.attributionId?.href ?? null;
  }
}

function node() {
  if (!options.node) throw new BadRequest("this instance has no node (--node)");
  const base = new URL(options.node).origin;
  return { id: new URL(`${base}/actor`), inboxId: new URL(`${base}/inbox`) };
}

/** Delivers at once, so that the answer tells how it went. */
async function send(identifier, recipient, activity) {
  try {
    await context.sendActivity({ identifier }, recipient, activity, { immediate: true });
    return { id: activity.id.href, delivered: true };
  } catch (error) {
    console.error(error);
    return { id: activity.id.href, delivered: false, status: error.statusCode ?? 0, error: error.message };
  }
}

async function findActor(body) {
  if (body.handle === undefined && body.actor === undefined) throw new BadRequest('give a "handle" (@name@host) or an "actor" (URL)');
  const name = body.handle === undefined ? text(body, "actor") : text(body, "handle");
  const documentLoader = await context.getDocumentLoader({ identifier: PERSON });
  const actor = await context.lookupObject(name, { documentLoader }).catch((error) => console.error(error));
  if (!actor || !isActor(actor)) throw new BadRequest(`${name} is not an actor that can be found`);
  if (!actor.id || !actor.inboxId) throw new BadRequest(`${name} has no id or no inbox`);
  return actor;
}

async function follow(body) {
  const actor = await findActor(body);
  const id = new URL(`#follows/${crypto.randomUUID()}`, context.getActorUri(PERSON));
  const activity = new Follow({ id, actor: context.getActorUri(PERSON), object: actor.id, to: actor.id });
  follows.set(actor.id.href, activity);
  return { actor: actor.id.href, ...(await send(PERSON, actor, activity)) };
}

async function unfollow(body) {
  const actor = await findActor(body);
  const object = follows.get(actor.id.href);
  if (!object) throw new BadRequest(`${actor.id.href} is not followed`);
  follows.delete(actor.id.href);
  const id = new URL(`${object.id.href}/undo`);
  return { actor: actor.id.href, ...(await send(PERSON, actor, new Undo({ id, actor: object.actorId, object, to: actor.id }))) };
}

/** The relay handshake: the instance actor follows Public at the node. */
async function subscribe() {
  const actor = context.getActorUri(INSTANCE);
  return await send(INSTANCE, node(), new Follow({ id: new URL(`#follows/${crypto.randomUUID()}`, actor), actor, object: PUBLIC_COLLECTION }));
}

async function post(body) {
  const words = text(body, "text");
  const recipient = node();
  const actor = context.getActorUri(PERSON);
  const number = crypto.randomUUID();
  const note = new Note({
    id: context.getObjectUri(Note, { identifier: PERSON, number }),
    attribution: actor,
    content: toHtml(origin.origin, words),
    published: Temporal.Now.instant(),
    tos: [PUBLIC_COLLECTION],
    ccs: [new URL(`${actor.href}/followers`)],
    tags: hashtags(words).map((name) => new Hashtag({ name: `#${name}`, href: new URL(`/tags/${encodeURIComponent(name)}`, origin) })),
  });
  notes.set(number, note);
  const create = new Create({
    id: new URL(`${note.id.href}/activity`), actor, object: note, published: note.published, tos: note.toIds, ccs: note.ccIds,
  });
  const { id, ...result } = await send(PERSON, recipient, create);
  return { id: note.id.href, activity: id, ...result };
}

async function remove(body) {
  const id = text(body, "id");
  const recipient = node();
  const number = id.split("/").at(-1);
  if (notes.get(number)?.id?.href !== id) throw new BadRequest(`there is no post ${id}`, 404);
  notes.delete(number);
  const actor = context.getActorUri(PERSON);
  const object = new Tombstone({ id: new URL(id) });
  const { id: activity, ...result } = await send(PERSON, recipient, new Delete({ id: new URL(`${id}#delete`), actor, object, to: PUBLIC_COLLECTION }));
  return { id, activity, ...result };
}

/** node:https to fetch(): the URL is the one the client asked for. */
async function handle(req, res) {
  const headers = new Headers();
  for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
  const hasBody = !["GET", "HEAD"].includes(req.method);
  let url;
  try {
    url = new URL(req.url, `https://${req.headers.host}`);
  } catch {
    throw new BadRequest("bad request target");
  }
  if (url.pathname === `/users/${PERSON}/followers`) lists.push(`${url.pathname}${url.search}`);
  const request = new Request(url, { method: req.method, headers, body: hasBody ? await readBody(req) : undefined });
  const response = await federation.fetch(request, { contextData: undefined });
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.end(Buffer.from(await response.arrayBuffer()));
}

await serveTls(world, options.domain, port, handle);
const control = await serveControl(Number(options.control), {
  "GET /": () => ({ actor: context.getActorUri(PERSON).href, node: options.node ?? null }),
  "POST /follow": follow,
  "POST /unfollow": unfollow,
  "POST /subscribe": subscribe,
  "POST /post": post,
  "POST /delete": remove,
  "GET /received": () => received,
  "GET /followers": () => ({ followers: [...followers.keys()], lists }),
  "POST /followers": setFollowers,
  "POST /quiet": () => ({ quiet: (quiet = true) }),
  "POST /post-to-followers": postToFollowers,
  "GET /posts": () => [...notes.values()].map((note) => ({ id: note.id.href, content: String(note.content) })),
});
announceReady({ actor: context.getActorUri(PERSON).href, control: `http://127.0.0.1:${control.address().port}` });
