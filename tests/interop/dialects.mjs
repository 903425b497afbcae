// Servers that say to a relay, on the wire, what Mastodon, Misskey and Pleroma say, each in the words of its code. Documents of
// actors, WebFinger, keys, signatures (draft-cavage; those of Linked Data too) and the check of what comes in are
// Fedify's. A control port tells them what to do; dialects_check.py does.

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { MemoryKvStore, createFederation, generateCryptoKeyPair, signJsonLd, signRequest } from "@fedify/fedify";
import { Activity, Application, Endpoints, Person } from "@fedify/vocab";
import { announceReady, endOnSignal, serveControl, text } from "../../demo/lib/control.mjs";
import { hashtags, tagList, timestamp, toHtml } from "../../demo/lib/note.mjs";
import { ACTIVITY_JSON, AS_PUBLIC, BadRequest, openWorld, readBody, sendJson, serveTls } from "../../demo/lib/world.mjs";

const { values: options } = parseArgs({
  options: {
    port: { type: "string" }, hosts: { type: "string" }, certs: { type: "string" }, run: { type: "string" }, control: { type: "string" },
  },
});

endOnSignal();
const world = openWorld(options);
const AS = "https://www.w3.org/ns/activitystreams";
const LITEPUB = "/schemas/litepub-0.1.jsonld"; // every Pleroma serves its own; here what is used of it
const LITEPUB_CONTEXT = { "@context": { litepub: "http://litepub.social/ns#", state: "litepub:state" } };
const MISSKEY_CONTEXT = [AS, "https://w3id.org/security/v1", { Hashtag: "as:Hashtag", sensitive: "as:sensitive" }];

/** How each server writes. `s` is the server; `actor` the path of who follows relays. */
const DIALECTS = {
  mastodon: {
    actor: "/actor", ld: { Create: true, Delete: true },
    // StatusReachFinder and Relay#follow_activity: no `to`.
    followRelay: (s) => ({ "@context": AS, id: s.url(`/${randomUUID()}`), type: "Follow", actor: s.url("/actor"), object: AS_PUBLIC }),
    undoRelay: (s, follow) => ({ "@context": AS, id: s.url(`/${randomUUID()}`), type: "Undo", actor: follow.actor, object: bare(follow) }),
    follow: (s, object) => ({ "@context": AS, id: s.url(`/${randomUUID()}`), type: "Follow", actor: s.person, object }),
    undo: (s, follow) => ({ "@context": AS, id: `${s.person}#follows/1/undo`, type: "Undo", actor: s.person, object: bare(follow) }),
    publish: (s, note) => [s.person, envelope([AS, { Hashtag: "as:Hashtag" }], "Create", `${note.id}/activity`, s.person, note)],
    remove: (s, id) => [s.person, {
      "@context": [AS, { atomUri: "ostatus:atomUri", ostatus: "http://ostatus.org#" }], id: `${id}#delete`, type: "Delete", actor: s.person, to: [AS_PUBLIC],
      object: { id, type: "Tombstone", atomUri: id },
    }],
  },
  misskey: {
    actor: "/users/relay", ld: { Create: true, Delete: true },
    followRelay: (s) => ({ "@context": MISSKEY_CONTEXT, id: s.url("/activities/follow-relay/9ab1"), type: "Follow", actor: s.url("/users/relay"), object: AS_PUBLIC }),
    undoRelay: (s, follow) => ({
      "@context": MISSKEY_CONTEXT, type: "Undo", id: `${follow.id}/undo`, actor: follow.actor, object: bare(follow), published: new Date().toISOString(),
    }),
    follow: (s, object) => ({ "@context": MISSKEY_CONTEXT, id: s.url(`/follows/${randomUUID()}`), type: "Follow", actor: s.person, object }),
    undo: (s, follow) => ({
      "@context": MISSKEY_CONTEXT, type: "Undo", id: `${follow.id}/undo`, actor: s.person, object: bare(follow), published: new Date().toISOString(),
    }),
    publish: (s, note) => [s.person, envelope(MISSKEY_CONTEXT, "Create", `${note.id}/activity`, s.person, note)],
    // Has no id of its own; what adds the context makes one. `to` is put in for relays.
    remove: (s, id) => [s.person, {
      "@context": MISSKEY_CONTEXT, type: "Delete", actor: s.person, object: { id, type: "Tombstone" }, published: new Date().toISOString(),
      id: s.url(`/${randomUUID()}`), to: [AS_PUBLIC],
    }],
  },
  pleroma: {
    actor: "/relay", ld: {},
    followRelay: (s, relay) => litepub(s, { type: "Follow", actor: s.url("/relay"), object: relay, to: [relay], cc: [], bcc: [], state: "pending" }),
    undoRelay: (s, follow) => litepub(s, { type: "Undo", actor: follow.actor, object: bare(follow), to: [follow.object], cc: [] }),
    follow: (s, object) => litepub(s, { type: "Follow", actor: s.person, object, to: [object], cc: [AS_PUBLIC], bcc: [], state: "pending" }),
    undo: (s, follow) => litepub(s, { type: "Undo", actor: s.person, object: bare(follow), to: [follow.object], cc: [AS_PUBLIC] }),
    // Its relay boosts what its people write; their deletions do not go to relays.
    publish: (s, note) => [s.url("/relay"), litepub(s, {
      type: "Announce", actor: s.url("/relay"), object: note.id, to: [s.url("/relay/followers"), s.person], cc: [],
      context: s.url(`/contexts/${randomUUID()}`), published: new Date().toISOString(),
    })],
  },
};

function bare(activity) {
  const { "@context": _, ...rest } = activity;
  return rest;
}

function litepub(s, activity) {
  return { "@context": [AS, s.url(LITEPUB), { "@language": "und" }], id: s.url(`/activities/${randomUUID()}`), ...activity };
}

function envelope(context, type, id, actor, note) {
  return { "@context": context, id, type, actor, published: note.published, to: note.to, cc: note.cc, object: note };
}

class Server {
  constructor(name) {
    this.dialect = DIALECTS[name];
    this.host = `${name}.example`;
    this.origin = `https://${this.host}:${options.port}`;
    this.person = this.url("/users/alice");
    this.posts = new Map();
    this.follows = new Map(); // by what is followed
    this.received = [];
    this.keys = new Map();
  }

  url(path) {
    return this.origin + path;
  }

  async start() {
    this.federation = createFederation({ kv: new MemoryKvStore(), origin: this.origin, allowPrivateAddress: true, firstKnock: "draft-cavage-http-signatures-12" });
    this.context = this.federation.createContext(new URL(this.origin), undefined);
    for (const name of ["alice", "relay"]) this.keys.set(name, await generateCryptoKeyPair("RSASSA-PKCS1-v1_5"));
    const setters = this.federation.setActorDispatcher("/users/{identifier}", (context, name) => this.actor(context, name));
    if (this.dialect.actor !== "/users/relay") setters.mapActorAlias(this.dialect.actor, "relay");
    setters.setKeyPairsDispatcher((_, name) => (this.keys.has(name) ? [this.keys.get(name)] : []));
    this.federation.setInboxListeners("/users/{identifier}/inbox", "/inbox")
      .on(Activity, () => {})
      .onError((_, error) => console.error(error));
    await serveTls(world, this.host, Number(options.port), (req, res) => this.handle(req, res));
  }

  async actor(context, name) {
    if (!this.keys.has(name)) return null;
    const [pair] = await context.getActorKeyPairs(name);
    const Kind = name === "relay" ? Application : Person;
    const inbox = name === "relay" ? this.url("/inbox") : context.getInboxUri(name).href;
    return new Kind({
      id: context.getActorUri(name), preferredUsername: name, inbox: new URL(inbox), followers: new URL(`${context.getActorUri(name).href}/followers`),
      endpoints: new Endpoints({ sharedInbox: new URL(this.url("/inbox")) }), indexable: true, publicKey: pair.cryptographicKey,
    });
  }

  async handle(req, res) {
    const url = new URL(req.url, this.origin);
    if (this.posts.has(url.href)) return this.show(res, this.posts.get(url.href));
    if (url.pathname === LITEPUB) return sendJson(res, 200, LITEPUB_CONTEXT, "application/ld+json");
    const body = req.method === "POST" ? await readBody(req) : undefined;
    const request = new Request(url, { method: req.method, headers: headersOf(req), body });
    const response = await this.federation.fetch(request, { contextData: undefined });
    if (body) this.received.push({ path: url.pathname, status: response.status, activity: JSON.parse(body) });
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.end(Buffer.from(await response.arrayBuffer()));
  }

  show(res, { note, deleted }) {
    if (deleted) throw new BadRequest("gone", 410);
    sendJson(res, 200, { "@context": [AS, { Hashtag: "as:Hashtag" }], ...note }, ACTIVITY_JSON);
  }

  /** As `actor`, with the signature of Linked Data where the server makes one. */
  async send(inbox, actor, activity) {
    const name = actor === this.person ? "alice" : "relay";
    const { privateKey } = this.keys.get(name);
    const keyId = new URL(`${actor}#main-key`);
    const loader = { contextLoader: this.context.contextLoader };
    const document = this.dialect.ld[activity.type] ? await signJsonLd(activity, privateKey, keyId, loader) : activity;
    const request = new Request(inbox, { method: "POST", headers: { "Content-Type": ACTIVITY_JSON }, body: JSON.stringify(document) });
    const response = await fetch(await signRequest(request, privateKey, keyId, { spec: "draft-cavage-http-signatures-12" }));
    return { status: response.status, answer: await response.text(), sent: document };
  }

  async write(inbox, words) {
    const published = new Date();
    const id = this.url(`/objects/${randomUUID()}`);
    const note = {
      id, type: "Note", published: timestamp(published), attributedTo: this.person, to: [AS_PUBLIC], cc: [`${this.person}/followers`],
      content: toHtml(this.origin, words), tag: tagList(this.origin, hashtags(words)),
    };
    this.posts.set(id, { note, deleted: false });
    return { id, ...(await this.send(inbox, ...this.dialect.publish(this, note))) };
  }

  async remove(inbox, id) {
    this.posts.get(id).deleted = true;
    return await this.send(inbox, ...this.dialect.remove(this, id));
  }

  async followRelay(inbox, relay) {
    const follow = this.dialect.followRelay(this, relay);
    this.follows.set(inbox, follow);
    return await this.send(inbox, follow.actor, follow);
  }

  undoRelay(inbox) {
    const follow = this.follows.get(inbox);
    return this.send(inbox, follow.actor, this.dialect.undoRelay(this, follow));
  }

  async follow(inbox, object) {
    const follow = this.dialect.follow(this, object);
    this.follows.set(object, follow);
    return await this.send(inbox, this.person, follow);
  }

  undo(inbox, object) {
    return this.send(inbox, this.person, this.dialect.undo(this, this.follows.get(object)));
  }

  /** Pleroma accepts whoever its relay is followed back by. */
  accept(inbox, follow) {
    return this.send(inbox, follow.object, litepub(this, { type: "Accept", actor: follow.object, object: follow, to: [follow.actor], cc: [] }));
  }

  /** A document as this server fetches it: signed by its relay actor. */
  async fetch(url) {
    const loader = await this.context.getDocumentLoader({ identifier: "relay" });
    return (await loader(url)).document;
  }
}

function headersOf(req) {
  const headers = new Headers();
  for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
  return headers;
}

const servers = new Map(Object.keys(DIALECTS).map((name) => [name, new Server(name)]));
await Promise.all([...servers.values()].map((server) => server.start()));

function serverOf(body) {
  const server = servers.get(text(body, "server"));
  if (!server) throw new BadRequest(`"server" is one of: ${[...servers.keys()].join(", ")}`);
  return server;
}

const control = await serveControl(Number(options.control), {
  "POST /follow-relay": (body) => serverOf(body).followRelay(text(body, "inbox"), body.relay),
  "POST /undo-relay": (body) => serverOf(body).undoRelay(text(body, "inbox")),
  "POST /follow": (body) => serverOf(body).follow(text(body, "inbox"), text(body, "object")),
  "POST /undo": (body) => serverOf(body).undo(text(body, "inbox"), text(body, "object")),
  "POST /accept": (body) => serverOf(body).accept(text(body, "inbox"), body.follow),
  "POST /post": (body) => serverOf(body).write(text(body, "inbox"), text(body, "text")),
  "POST /delete": (body) => serverOf(body).remove(text(body, "inbox"), text(body, "id")),
  "POST /fetch": (body) => serverOf(body).fetch(text(body, "url")),
  "GET /received": (body) => serverOf(body).received,
});
announceReady({ control: `http://127.0.0.1:${control.address().port}` });
