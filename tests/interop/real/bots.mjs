// A server of @evanp/activitypub-bot, the engine of tags.pub. Here are names and certificates, and what its user writes: a bot for a
// person, and one that is a client of a relay. A control port tells them what to do.

import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { announceReady, endOnSignal, serveControl, text } from "../../../demo/lib/control.mjs";
import { AS_PUBLIC, openWorld, serveTls } from "../../../demo/lib/world.mjs";
import "./streams.mjs";

const { values: options } = parseArgs({
  options: {
    port: { type: "string" }, hosts: { type: "string" }, certs: { type: "string" }, run: { type: "string" }, control: { type: "string" },
    host: { type: "string" }, database: { type: "string" },
    relay: { type: "string", multiple: true, default: [] }, litepub: { type: "string", multiple: true, default: [] },
  },
});

endOnSignal();
const world = openWorld(options);
const origin = `https://${options.host}:${options.port}`;

// It asks the system for addresses.
const dns = createRequire(import.meta.url)("node:dns");
const { lookup } = dns;
dns.lookup = (name, ...rest) => lookup(world.addresses[name] ?? name, ...rest);

// Its log goes to standard output, which is for announceReady here.
Object.defineProperty(process.stdout, "fd", { value: 2 });

const { Bot, LitePubRelayClientBot, MastodonRelayClientBot, makeApp } = await import("@evanp/activitypub-bot");

const received = new Map(); // by the person and by the client of a relay

const recording = (Base) => class extends Base {
  async handleActivity(activity) {
    received.set(activity.id, await activity.export());
    return await super.handleActivity(activity);
  }

  async onPublic(activity) {
    received.set(activity.id, await activity.export());
  }
};

class Person extends recording(Bot) {
  get context() {
    return this._context;
  }

  async write(words) {
    return await this.context.sendNote(words, { to: AS_PUBLIC, cc: this.context.getFollowersId() });
  }
}

class LitePubRelay extends LitePubRelayClientBot {
  async announce(note) {
    await this._context.announceObject(note);
  }
}

async function idsOf(objects) {
  const ids = [];
  for await (const object of objects) ids.push(object.id);
  return ids;
}

const alice = new Person("alice", { fullname: "Alice", description: "Writes by hand" });
const relays = new LitePubRelay("litepub", { relay: options.litepub });
const bots = { alice, litepub: relays, mastodon: new (recording(MastodonRelayClientBot))("mastodon", { relay: options.relay }) };

const app = await makeApp({ databaseUrl: options.database, origin, bots, logLevel: "info", allowPrivateNetworkRequests: true });
await serveTls(world, options.host, Number(options.port), app);

const object = (id) => alice.context.getObject(id);
const done = async (promise) => {
  await promise;
  return {};
};
const control = await serveControl(Number(options.control), {
  "POST /write": async (body) => ({ id: (await alice.write(text(body, "text"))).id }),
  "POST /announce": async (body) => done(relays.announce(await object(text(body, "id")))),
  "POST /edit": async (body) => done(alice.context.updateNote(await object(text(body, "id")), text(body, "text"))),
  "POST /delete": async (body) => done(alice.context.deleteNote(await object(text(body, "id")))),
  "POST /follow": async (body) => done(alice.context.followActor(await object(text(body, "actor")))),
  "POST /unfollow": async (body) => done(alice.context.unfollowActor(await object(text(body, "actor")))),
  "GET /following": () => idsOf(alice.context.following()),
  "GET /followers": () => idsOf(alice.context.followers()),
  "GET /received": () => [...received.values()],
});
announceReady({ control: `http://127.0.0.1:${control.address().port}` });
