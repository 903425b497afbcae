// Servers that say to a relay, on the wire, what Mastodon, Misskey and Pleroma say, each in the words of its code, and make of what
// they are sent what these make of it; and a GoToSocial, whose people follow hashtag actors. Documents of actors, WebFinger, keys, signatures (draft-cavage; those of Linked Data too)
// and the check of what comes in are Fedify's. A control port tells them what to do; dialects_check.py does.

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

/** How each server writes. `s` is the server; `actor` the path of who follows relays. And what it makes of others:
 *    keepsFor   for how long it answers with the document that it gave first, in ms, whatever changed since
 *    opensAfter 4xx of an inbox, and it sends there nothing for a minute, of nobody
 *    edits      whether an Update of another server's post, brought by anybody, counts
 *    renotes    whether an Announce by a relay is one that its Undo takes back; else the post is there for good
 *    alone      people have an inbox each, and the server none
 *    successor  what it looks at when an actor has moved: the new one's document, or nothing if it does not believe it
 *    unfollows  whether it says that its people do not follow the old one any more
 */
const DIALECTS = {
  mastodon: {
    actor: "/actor", ld: { Create: true, Delete: true, Update: true },
    keepsFor: 180_000, // render_with_cache, posts and actors, seen in 4.3.23 and 4.6.5
    opensAfter: 10, // Stoplight around deliveries, seen in 4.6.5
    edits: true, // seen in 4.3.23 and 4.6.5
    renotes: false, // the same
    // activity/move.rb, read in 0486db9, and FetchRemoteActorService, in 03055a4: fetched again, with a round through WebFinger.
    successor: async (s, old, target) => {
      const there = await s.fetch(target);
      const { host } = new URL(target);
      const account = `acct:${there.preferredUsername}@${host}`;
      const finger = await (await fetch(`https://${host}/.well-known/webfinger?resource=${encodeURIComponent(account)}`)).json();
      const self = finger.links.find((link) => link.rel === "self").href;
      return finger.subject === account && self === target ? there : undefined;
    },
    unfollows: true, // UnfollowFollowWorker
    // StatusReachFinder and Relay#follow_activity: no `to`.
    followRelay: (s) => ({ "@context": AS, id: s.url(`/${randomUUID()}`), type: "Follow", actor: s.url("/actor"), object: AS_PUBLIC }),
    undoRelay: (s, follow) => ({ "@context": AS, id: s.url(`/${randomUUID()}`), type: "Undo", actor: follow.actor, object: bare(follow) }),
    follow: (s, object) => ({ "@context": AS, id: s.url(`/${randomUUID()}`), type: "Follow", actor: s.person, object }),
    undo: (s, follow) => ({ "@context": AS, id: `${s.person}#follows/1/undo`, type: "Undo", actor: s.person, object: bare(follow) }),
    publish: (s, note) => [s.person, envelope([AS, { Hashtag: "as:Hashtag" }], "Create", `${note.id}/activity`, s.person, note)],
    edit: (s, note) => [s.person, {
      ...envelope([AS, { Hashtag: "as:Hashtag" }], "Update", `${note.id}#updates/${Date.parse(note.updated)}`, s.person, note), published: note.updated,
    }],
    profile: (s, actor) => [s.person, {
      "@context": [AS, "https://w3id.org/security/v1", { toot: "http://joinmastodon.org/ns#", indexable: "toot:indexable" }],
      id: `${s.person}#updates/${Date.now()}`, type: "Update", actor: s.person, to: [AS_PUBLIC], object: bare(actor),
    }],
    remove: (s, id) => [s.person, {
      "@context": [AS, { atomUri: "ostatus:atomUri", ostatus: "http://ostatus.org#" }], id: `${id}#delete`, type: "Delete", actor: s.person, to: [AS_PUBLIC],
      object: { id, type: "Tombstone", atomUri: id },
    }],
  },
  misskey: {
    actor: "/users/relay", ld: { Create: true, Delete: true },
    edits: false, // "Unknown type: Note", seen in 2024.10.1
    renotes: true, // the same
    // ApPersonService.updatePerson and processRemoteMove: the old actor itself must say so. AccountMoveService only counts the old follow out.
    successor: async (s, old, target) => ((await s.fetch(old)).movedTo === target ? await s.fetch(target) : undefined),
    unfollows: false,
    followRelay: (s) => ({ "@context": MISSKEY_CONTEXT, id: s.url(`/activities/follow-relay/${randomUUID().replaceAll("-", "")}`), type: "Follow", actor: s.url("/users/relay"), object: AS_PUBLIC }),
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
    // These three are read in Rebased cb3e046, and the one shared inbox of people and the relay (UserView).
    edits: false, // MappedSignatureToIdentityPlug: what another than its actor has signed is refused
    renotes: true, // SideEffects.handle_undoing
    successor: async (s, old, target) => await s.fetch(target), // Transmogrifier: get_or_fetch_by_ap_id
    unfollows: true, // FollowingRelationship.move_following, in cb3e046: CommonAPI.unfollow
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

/** As GoToSocial 0.20.0-rc1 was seen to do. `limit`: requests of an address (there 300 in 5 minutes), then 429 until the time is over. */
DIALECTS.gotosocial = {
  actor: "/users/relay", ld: {},
  edits: false, // an Update by somebody else is a hint at most
  renotes: true,
  alone: true,
  follow: (s, object, person = s.person) => ({ "@context": AS, id: `${person}/follow/${randomUUID()}`, type: "Follow", actor: person, object, to: object }),
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
    this.dialect = DIALECTS[name] ?? DIALECTS.mastodon;
    this.host = `${name}.example`;
    this.origin = `https://${this.host}:${options.port}`;
    this.person = this.url("/users/alice");
    this.posts = new Map();
    this.follows = new Map(); // by what is followed
    this.received = [];
    this.ids = new Set(); // of what was received
    this.boosts = new Map(); // id of the Announce → post
    this.shown = new Map(); // what readers see: post → content
    this.keys = new Map();
    this.kept = new Map(); // address → {answer, until}
    this.refusals = new Map(); // by inbox
    this.held = [];
    this.keysKnown = new Set(); // of others
    this.isBroken = false;
    this.limit = undefined;
    this.turnedAway = []; // requests that were not looked at: {status, key}
    this.profile = { indexable: true, summary: "" };
  }

  url(path) {
    return this.origin + path;
  }

  async start() {
    this.federation = createFederation({ kv: new MemoryKvStore(), origin: this.origin, allowPrivateAddress: true, firstKnock: "draft-cavage-http-signatures-12" });
    this.context = this.federation.createContext(new URL(this.origin), undefined);
    for (const name of ["alice", "bob", "relay", "newcomer"]) this.keys.set(name, await generateCryptoKeyPair("RSASSA-PKCS1-v1_5"));
    const setters = this.federation.setActorDispatcher("/users/{identifier}", (context, name) => this.actor(context, name));
    if (this.dialect.actor !== "/users/relay") setters.mapActorAlias(this.dialect.actor, "relay");
    setters.setKeyPairsDispatcher((_, name) => (this.keys.has(name) ? [this.keys.get(name)] : []));
    this.federation.setInboxListeners("/users/{identifier}/inbox", "/inbox")
      .on(Activity, () => {})
      .onError((_, error) => console.error(error));
    await serveTls(world, this.host, Number(options.port), (req, res) => this.handle(req, res));
  }

  async actor(context, name) {
    // Accounts that wait for approval are 404, and their posts are sent all the same: Mastodon 4.3.23, 4.6.5.
    if (!this.keys.has(name) || name === "newcomer") return null;
    const [pair] = await context.getActorKeyPairs(name);
    const Kind = name === "relay" ? Application : Person;
    const inbox = name === "relay" ? this.url("/inbox") : context.getInboxUri(name).href;
    const shared = this.dialect.alone ? {} : { endpoints: new Endpoints({ sharedInbox: new URL(this.url("/inbox")) }) };
    return new Kind({
      id: context.getActorUri(name), preferredUsername: name, inbox: new URL(inbox), followers: new URL(`${context.getActorUri(name).href}/followers`),
      ...shared, publicKey: pair.cryptographicKey, ...this.profile,
    });
  }

  async handle(req, res) {
    const url = new URL(req.url, this.origin);
    if (url.pathname === LITEPUB) return sendJson(res, 200, LITEPUB_CONTEXT, "application/ld+json");
    if (req.method === "POST") return await this.take(req, res, url);
    const kept = this.kept.get(url.href);
    if (this.posts.get(url.href)?.deleted) throw new BadRequest("gone", 410);
    const answer = kept && kept.until > Date.now() ? kept.answer : await this.show(req, url);
    if (this.dialect.keepsFor && answer !== kept?.answer) this.kept.set(url.href, { answer, until: Date.now() + this.dialect.keepsFor });
    res.writeHead(answer.status, answer.headers);
    res.end(answer.body);
  }

  async show(req, url) {
    const post = this.posts.get(url.href);
    if (post) {
      const body = JSON.stringify({ "@context": [AS, { Hashtag: "as:Hashtag" }], ...post.note });
      return { status: 200, headers: { "Content-Type": ACTIVITY_JSON }, body };
    }
    const response = await this.federation.fetch(new Request(url, { headers: headersOf(req) }), { contextData: undefined });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: Buffer.from(await response.arrayBuffer()) };
  }

  /** Before it is known what they say. */
  turnsAway(key) {
    // Stoplight("source:IP") around fetches of keys, seen in 4.6.5: after a failure, for five minutes, whoever has a key that is not known.
    if (this.isBroken && !this.keysKnown.has(key)) return { status: 503, headers: {}, body: "Fetching attempt skipped because of recent connection failure" };
    const { limit } = this;
    if (!limit || Date.now() >= limit.until || --limit.left >= 0) return undefined;
    return { status: 429, headers: { "X-RateLimit-Limit": "300", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": new Date(limit.until).toISOString() }, body: "" };
  }

  async take(req, res, url) {
    const body = await readBody(req);
    const key = /keyId="([^"]+)"/.exec(req.headers.signature ?? "")?.[1];
    const refusal = this.turnsAway(key);
    if (refusal) {
      this.turnedAway.push({ status: refusal.status, key });
      res.writeHead(refusal.status, refusal.headers);
      return res.end(refusal.body);
    }
    const request = new Request(url, { method: "POST", headers: headersOf(req), body });
    const response = await this.federation.fetch(request, { contextData: undefined });
    const activity = JSON.parse(body);
    this.received.push({ path: url.pathname, status: response.status, activity });
    if (response.status < 300) this.keysKnown.add(key);
    res.writeHead(response.status, Object.fromEntries(response.headers));
    res.end(Buffer.from(await response.arrayBuffer()));
    // What has an id that is known is dropped, with 2xx: NodeBB 4.15.1 (200), Mastodon 4.3.23 (of an Announce).
    if (response.status < 300 && !this.ids.has(activity.id)) {
      this.ids.add(activity.id);
      await this.learn(activity);
    }
  }

  /** What readers of this server see of it. */
  async learn({ id, type, actor, object, target }) {
    const { edits, renotes } = this.dialect;
    if (type === "Move" && actor === object && this.follows.has(object)) await this.move(object, target);
    if (type === "Announce") {
      this.boosts.set(id, object);
      const note = await this.fetch(object).catch(() => undefined);
      if (note) this.shown.set(object, note.content);
    } else if (type === "Update" && edits && this.shown.has(object.id)) {
      this.shown.set(object.id, object.content);
    } else if (type === "Delete") {
      this.shown.delete(object.id ?? object);
    } else if (type === "Undo" && renotes && this.boosts.has(object.id)) {
      this.shown.delete(this.boosts.get(object.id));
    }
  }

  /** Whoever follows the old actor here follows the new one, if that says that it is the same. */
  async move(old, target) {
    const there = await this.dialect.successor?.(this, old, target);
    if (![there?.alsoKnownAs].flat().includes(old)) return;
    await this.follow(there.inbox, target);
    if (this.dialect.unfollows) await this.undo((await this.fetch(old)).inbox, old);
  }

  /** As `actor`, with the signature of Linked Data where the server makes one. */
  async send(inbox, actor, activity, name = actor === this.person ? "alice" : "relay") {
    const { privateKey } = this.keys.get(name);
    const keyId = new URL(`${actor}#main-key`);
    const loader = { contextLoader: this.context.contextLoader };
    const document = this.dialect.ld[activity.type] ? await signJsonLd(activity, privateKey, keyId, loader) : activity;
    if (this.refusals.get(inbox) >= this.dialect.opensAfter) return { status: 0, answer: "nothing is sent there for a minute", sent: document };
    const request = new Request(inbox, { method: "POST", headers: { "Content-Type": ACTIVITY_JSON }, body: JSON.stringify(document) });
    const response = await fetch(await signRequest(request, privateKey, keyId, { spec: "draft-cavage-http-signatures-12" }));
    const refused = response.status >= 400 && response.status < 500;
    this.refusals.set(inbox, refused ? (this.refusals.get(inbox) ?? 0) + 1 : 0);
    return { status: response.status, answer: await response.text(), sent: document };
  }

  /** What is held waits for `release`. */
  async deliver(inbox, [actor, activity], hold) {
    if (!hold) return await this.send(inbox, actor, activity);
    this.held.push({ inbox, actor, activity });
    return { status: 0, answer: "", sent: activity };
  }

  note(id, words, published) {
    return {
      id, type: "Note", published, attributedTo: this.person, to: [AS_PUBLIC], cc: [`${this.person}/followers`],
      content: toHtml(this.origin, words), tag: tagList(this.origin, hashtags(words)),
    };
  }

  async write(inbox, words, hold) {
    const id = this.url(`/objects/${randomUUID()}`);
    const note = this.note(id, words, timestamp(new Date()));
    this.posts.set(id, { note, deleted: false });
    return { id, ...(await this.deliver(inbox, this.dialect.publish(this, note), hold)) };
  }

  async edit(inbox, id, words) {
    const post = this.posts.get(id);
    // Two of one second would be one: dates, and so ids of Updates, have seconds.
    const updated = Math.max(Date.now(), Date.parse(post.note.updated ?? post.note.published) + 1000);
    post.note = { ...this.note(id, words, post.note.published), updated: timestamp(new Date(updated)) };
    return await this.deliver(inbox, this.dialect.edit(this, post.note));
  }

  async remove(inbox, id, hold) {
    this.posts.get(id).deleted = true;
    return await this.deliver(inbox, this.dialect.remove(this, id), hold);
  }

  /** Each delivery is a job that is tried again by itself, after a time of its own: what came last may be first. Mastodon's Sidekiq,
   *  and Misskey 2024.10.1, which brought a Delete two seconds before its Create. */
  async release() {
    const answers = [];
    for (const { inbox, actor, activity } of this.held.splice(0).reverse()) answers.push((await this.send(inbox, actor, activity)).status);
    return answers;
  }

  /** By somebody who waits for approval. */
  async writeAsNewcomer(inbox, words) {
    const newcomer = this.url("/users/newcomer");
    const note = { ...this.note(this.url(`/objects/${randomUUID()}`), words, timestamp(new Date())), attributedTo: newcomer };
    return await this.send(inbox, newcomer, envelope([AS], "Create", `${note.id}/activity`, newcomer, note), "newcomer");
  }

  async change(inbox, profile) {
    this.profile = { ...this.profile, ...profile };
    const document = await (await this.actor(this.context, "alice")).toJsonLd({ contextLoader: this.context.contextLoader });
    return await this.deliver(inbox, this.dialect.profile(this, document));
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

  async follow(inbox, object, name = "alice") {
    const person = this.url(`/users/${name}`);
    const follow = this.dialect.follow(this, object, person);
    this.follows.set(object, follow);
    return await this.send(inbox, person, follow, name);
  }

  /** So many requests, and no more in the next `seconds`. */
  limitTo(requests, seconds) {
    this.limit = { left: requests, until: Date.now() + seconds * 1000 };
    return {};
  }

  /** A key could not be fetched lately, or it is forgotten that it could not. */
  break(on) {
    this.isBroken = on;
    return {};
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

const servers = new Map([...Object.keys(DIALECTS), "elk"].map((name) => [name, new Server(name)])); // elk is a Mastodon too
await Promise.all([...servers.values()].map((server) => server.start()));

function serverOf(body) {
  const server = servers.get(text(body, "server"));
  if (!server) throw new BadRequest(`"server" is one of: ${[...servers.keys()].join(", ")}`);
  return server;
}

const control = await serveControl(Number(options.control), {
  "POST /follow-relay": (body) => serverOf(body).followRelay(text(body, "inbox"), body.relay),
  "POST /undo-relay": (body) => serverOf(body).undoRelay(text(body, "inbox")),
  "POST /follow": (body) => serverOf(body).follow(text(body, "inbox"), text(body, "object"), body.name),
  "POST /undo": (body) => serverOf(body).undo(text(body, "inbox"), text(body, "object")),
  "POST /accept": (body) => serverOf(body).accept(text(body, "inbox"), body.follow),
  "POST /post": (body) => serverOf(body).write(text(body, "inbox"), text(body, "text"), body.hold),
  "POST /post-as-newcomer": (body) => serverOf(body).writeAsNewcomer(text(body, "inbox"), text(body, "text")),
  "POST /edit": (body) => serverOf(body).edit(text(body, "inbox"), text(body, "id"), text(body, "text")),
  "POST /delete": (body) => serverOf(body).remove(text(body, "inbox"), text(body, "id"), body.hold),
  "POST /release": (body) => serverOf(body).release(),
  "POST /profile": (body) => serverOf(body).change(text(body, "inbox"), body.profile),
  "POST /fetch": (body) => serverOf(body).fetch(text(body, "url")),
  "POST /limit": (body) => serverOf(body).limitTo(body.requests, body.seconds),
  "POST /break": (body) => serverOf(body).break(body.on),
  "GET /turned-away": (body) => serverOf(body).turnedAway,
  "GET /received": (body) => serverOf(body).received,
  "GET /shown": (body) => Object.fromEntries(serverOf(body).shown),
});
announceReady({ control: `http://127.0.0.1:${control.address().port}` });
