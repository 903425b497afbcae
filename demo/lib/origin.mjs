// One origin: its authors and their keys, its posts, what it received, and how it delivers to its node.

import { generateKeyPair } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { fetch } from "undici";
import { createOf, deleteOf, makeNote, timestamp, updateOf } from "./note.mjs";
import { importKey, signedHeaders } from "./signature.mjs";
import { AS_PUBLIC, BadRequest, fetchDocument } from "./world.mjs";

/** The actor that speaks for the whole server, as Mastodon's does. */
export const INSTANCE = "instance";
/** An author who wants to be neither indexed nor boosted; never used unless named. */
export const QUIET = "quiet";

export class Origin {
  /** `base`: "https://oak.example:8443"; `node`: base URL of its node or null; `dir`: where it keeps its files. */
  static async open({ base, authors, node, dir }) {
    const origin = new Origin();
    Object.assign(origin, { base, authors, node, dir, actors: new Map(), posts: new Map(), received: [], sequence: 0n });
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    await Promise.all([INSTANCE, ...authors, QUIET].map((name) => origin.#loadActor(name)));
    for (const { note, deleted } of readLines(join(dir, "posts.jsonl"))) origin.posts.set(note.id, { note, deleted });
    origin.received = readLines(join(dir, "received.jsonl"));
    return origin;
  }

  async #loadActor(name) {
    const file = join(this.dir, `${name}.key.json`);
    if (!existsSync(file)) {
      const pair = await promisify(generateKeyPair)("rsa", {
        modulusLength: 2048,
        publicKeyEncoding: { type: "spki", format: "pem" },
        privateKeyEncoding: { type: "pkcs8", format: "pem" },
      });
      writeFileSync(file, JSON.stringify(pair), { mode: 0o600 });
    }
    const { publicKey, privateKey } = JSON.parse(readFileSync(file, "utf8"));
    const id = name === INSTANCE ? `${this.base}/actor` : `${this.base}/users/${name}`;
    this.actors.set(name, { name, id, publicKey, key: await importKey(`${id}#main-key`, privateKey) });
  }

  actor(name) {
    const actor = this.actors.get(name);
    if (!actor) throw new BadRequest(`there is no author "${name}"; there are: ${[...this.actors.keys()].join(", ")}`);
    return actor;
  }

  #record(file, entry) {
    appendFileSync(join(this.dir, file), `${JSON.stringify(entry)}\n`);
  }

  keepReceived(entry) {
    this.received.push(entry);
    this.#record("received.jsonl", entry);
  }

  /** Ids as Mastodon makes them: milliseconds, then a sequence number. */
  nextNumber(published) {
    return ((BigInt(published.getTime()) << 16n) | (this.sequence++ & 0xffffn)).toString();
  }

  write(author, text, published = new Date(), more = {}) {
    this.actor(author);
    return this.keep(makeNote({ base: this.base, author, number: this.nextNumber(published), text, published, ...more }));
  }

  keep(note, deleted = false) {
    this.posts.set(note.id, { note, deleted });
    this.#record("posts.jsonl", { note, deleted });
    return note;
  }

  /** A post that exists here and is not deleted. */
  livePost(id) {
    const post = this.posts.get(id);
    if (!post || post.deleted) throw new BadRequest(`there is no post ${id}`, 404);
    return post.note;
  }

  publish(note, retries) {
    return this.send(this.authorOf(note), createOf(note), retries);
  }

  /** The post with a new text. */
  async edit(id, text, retries) {
    this.inbox();
    const old = this.livePost(id);
    const author = this.authorOf(old);
    const number = id.split("/").at(-1);
    const fresh = makeNote({ base: this.base, author, number, text, published: new Date(old.published) });
    const note = this.keep({ ...fresh, updated: timestamp(new Date()) });
    return { note, ...(await this.send(author, updateOf(note), retries)) };
  }

  async delete(id, retries) {
    this.inbox();
    const note = this.keep(this.livePost(id), true);
    return { note, ...(await this.send(this.authorOf(note), deleteOf(note), retries)) };
  }

  /** Follows `object` (an actor, or Public for the relay handshake) as `author`. */
  async follow(author, object, inbox, undo = false) {
    const actor = this.actor(author).id;
    const follow = { id: `${actor}#follows/${encodeURIComponent(object)}`, type: "Follow", actor, object };
    const wrapped = undo ? { id: `${follow.id}/undo`, type: "Undo", actor, object: follow } : follow;
    return await this.send(author, { "@context": "https://www.w3.org/ns/activitystreams", ...wrapped }, 3, inbox);
  }

  async followActor(author, id, undo) {
    const target = await fetchDocument(id);
    return await this.follow(author, target.id, target.inbox, undo);
  }

  /** Adds the node as a relay: Mastodon's Follow of Public. */
  subscribe(undo) {
    return this.follow(INSTANCE, AS_PUBLIC, this.inbox(), undo);
  }

  authorOf(note) {
    return note.attributedTo.split("/").at(-1);
  }

  /** Where its node takes posts; without a node the request is refused before anything is changed. */
  inbox() {
    if (!this.node) throw new BadRequest(`${this.base} has no node (--node)`);
    return `${this.node}/inbox`;
  }

  /**
   * Delivers with the author's signature. Retries, with a growing random pause, what Mastodon 4.3 does: connection errors, 401 (what
   * was signed just before a node started is not believed), 408, 429 and 5xx.
   * Answers {status, attempts, error?}; status 0 means that no answer came.
   */
  async send(author, activity, retries = 3, inbox = this.inbox()) {
    const body = JSON.stringify(activity);
    const { key } = this.actor(author);
    for (let attempt = 1; ; attempt++) {
      const result = { ...(await post(key, inbox, body)), attempts: attempt };
      const passing = [0, 401, 408, 429].includes(result.status) || result.status >= 500;
      if (!passing || attempt > retries) return result;
      await sleep(Math.min(5000, 100 * 2 ** attempt) * (0.5 + Math.random()));
    }
  }
}

async function post(key, inbox, body) {
  try {
    const headers = await signedHeaders(key, inbox, body);
    const response = await fetch(inbox, { method: "POST", headers, body, redirect: "error", signal: AbortSignal.timeout(30000) });
    const answer = await response.text();
    return response.ok ? { status: response.status } : { status: response.status, error: answer.slice(0, 500) };
  } catch (error) {
    return { status: 0, error: String(error.cause ?? error) };
  }
}

/** The entries of a file of JSON lines; a last line that a crash cut short is left out. */
function readLines(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.slice(0, -1).filter(Boolean).map((line) => JSON.parse(line));
}
