// Origin and Fedify instance talk to each other over TLS; a stub in this process plays a node's hashtag actor.

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Origin } from "../lib/origin.mjs";
import { originHandler } from "../lib/origin_http.mjs";
import { signedHeaders } from "../lib/signature.mjs";
import { openWorld, serveTls } from "../lib/world.mjs";
import { call, freePort, makeWorld, until } from "./helpers.mjs";

const AS = "https://www.w3.org/ns/activitystreams";
let world, stub, stubServer, origin, fedify;
const url = (host, path = "") => `https://${host}:${world.port}${path}`;
const receivedByFedify = async () => (await call(fedify.control, "GET /received")).body;
const json = { accept: "application/activity+json" };

before(async () => {
  world = await makeWorld({ "oak.example": "127.0.9.1", "elm.example": "127.0.9.2", "fedify.example": "127.0.9.3", "tags.oak.example": "127.0.9.4" });
  const opened = openWorld(world);
  [origin, fedify, stub] = await Promise.all([
    world.start("origin.mjs", "--domain", "oak.example", "--domain", "elm.example", "--node", url("fedify.example")),
    world.start("fedify.mjs", "--node", url("tags.oak.example")),
    Origin.open({ base: url("tags.oak.example"), authors: ["caturday"], node: null, dir: join(world.run, "stub") }),
  ]);
  stubServer = await serveTls(opened, "tags.oak.example", world.port, originHandler(stub));
});

after(async () => {
  stubServer?.close();
  stubServer?.closeAllConnections();
  await world?.close();
});

describe("an origin", () => {
  it("delivers posts, edits and deletions that Fedify verifies", async () => {
    const { status, body } = await call(origin.control, "POST /post", { author: "bob", text: "Hello #caturday and #猫" });
    assert.equal(status, 200);
    assert.deepEqual([body.status, body.tags], [202, ["#caturday", "#猫"]]);
    assert.equal((await call(origin.control, "POST /edit", { id: body.id, text: "Hello #dogs" })).body.status, 202);
    const note = await (await fetch(body.id, { headers: json })).json();
    assert.deepEqual(note.tag.map(({ name }) => name), ["#dogs"]);
    assert.ok(note.updated);
    assert.equal((await call(origin.control, "POST /delete", { id: body.id })).body.status, 202);
    assert.equal((await fetch(body.id, { headers: json })).status, 410);
    assert.equal((await fetch(`${body.id}0`, { headers: json })).status, 404);
    const seen = await until("three activities", async () => {
      const { creates, updates, deletes } = await receivedByFedify();
      return creates.length && updates.length && deletes.length && { creates, updates, deletes };
    });
    assert.equal(seen.creates[0].object, body.id);
    assert.equal(seen.deletes[0].actor, url("oak.example", "/users/bob"));
  });

  it("serves notes and actors with the media type of ActivityPub, and pages to people", async () => {
    const { body } = await call(origin.control, "POST /post", { domain: "elm.example", text: "<script> #art" });
    for (const address of [body.id, url("elm.example", "/users/alice"), url("elm.example", "/actor")]) {
      const response = await fetch(address, { headers: json });
      assert.equal(response.headers.get("content-type"), "application/activity+json");
      assert.equal((await response.json()).id, address);
    }
    const page = await (await fetch(body.id.replace("/users/", "/@").replace("/statuses", ""))).text();
    assert.match(page, /&lt;script&gt;/);
    const finger = await fetch(url("elm.example", `/.well-known/webfinger?resource=acct:alice@elm.example:${world.port}`));
    assert.equal((await finger.json()).links[0].href, url("elm.example", "/users/alice"));
  });

  it("refuses deliveries that are unsigned, altered, or signed by somebody else", async () => {
    const inbox = url("oak.example", "/inbox");
    const { key, id } = stub.actor("caturday");
    const follow = { "@context": AS, id: `${id}#1`, type: "Follow", actor: id, object: url("oak.example", "/users/alice") };
    const body = JSON.stringify(follow);
    const send = async (headers, bytes) => (await fetch(inbox, { method: "POST", headers, body: bytes })).status;
    const { Host, ...headers } = await signedHeaders(key, inbox, body);
    assert.equal(await send({}, body), 401);
    assert.equal(await send(headers, body.replace("#1", "#2")), 401);
    assert.equal(await send({ ...headers, Signature: headers.Signature.replace(/signature="..../, 'signature="AAAA') }, body), 401);
    const others = JSON.stringify({ ...follow, actor: url("oak.example", "/users/bob") });
    const { Host: _, ...borrowed } = await signedHeaders(key, inbox, others);
    assert.equal(await send(borrowed, others), 401);
    assert.deepEqual((await call(origin.control, "GET /received")).body, []);
    assert.equal(await send(headers, body), 202);
    assert.equal((await call(origin.control, "GET /received")).body[0].signer, id);
  });

  it("publishes a load and the real posts, and tells what was acknowledged", async () => {
    const load = (await call(origin.control, "POST /load", { count: 60, seed: 3 })).body;
    const feed = (await call(origin.control, "POST /feed", { count: 20 })).body;
    assert.deepEqual([load.sent, load.acknowledged, load.failures], [60, 60, []]);
    assert.deepEqual([feed.sent, feed.acknowledged, feed.failures], [20, 20, []]);
    for (const { id, tags } of [...load.posts.slice(0, 5), ...feed.posts.slice(0, 5)]) {
      const note = await (await fetch(id, { headers: json })).json();
      assert.deepEqual(note.tag.map(({ name }) => name), tags.map((tag) => `#${tag}`));
    }
    const wanted = [...load.posts, ...feed.posts].map(({ id }) => id);
    await until("all of them at Fedify", async () => {
      const seen = new Set((await receivedByFedify()).creates.map(({ object }) => object));
      return wanted.every((id) => seen.has(id));
    });
  });

  it("splits one plan over several processes", async () => {
    const ask = { count: 40, seed: 9, origins: 4 };
    const parts = [await call(origin.control, "POST /load", { ...ask, first: 0 }), await call(origin.control, "POST /load", { ...ask, first: 2 })];
    assert.equal(parts[0].body.sent + parts[1].body.sent, 40);
  });

  it("remembers its posts over a restart", async () => {
    const dir = join(world.run, "memory");
    const base = "https://pine.example";
    const first = await Origin.open({ base, authors: ["alice"], node: "https://nobody.example", dir });
    const kept = first.write("alice", "#one").id;
    const gone = first.write("alice", "#two").id;
    assert.equal((await first.delete(gone, 0)).status, 0);
    const second = await Origin.open({ base, authors: ["alice"], node: null, dir });
    assert.equal(second.livePost(kept).id, kept);
    assert.throws(() => second.livePost(gone), /there is no post/);
    await assert.rejects(second.delete(kept, 0), /has no node/);
    assert.equal(second.livePost(kept).id, kept);
    assert.equal(first.actor("alice").publicKey, second.actor("alice").publicKey);
  });

  it("tries again on 503 and 429 and connection loss, but not on 403", async () => {
    const answers = [503, 429, "reset", 202, 403];
    const busy = await serveTls(openWorld(world), "tags.oak.example", await freePort(), (req, res) => {
      const answer = answers.shift();
      if (answer === "reset") req.socket.destroy();
      else req.resume().on("end", () => res.writeHead(answer).end("busy"));
    });
    const target = `https://tags.oak.example:${busy.address().port}/inbox`;
    const send = async () => await stub.send("caturday", { id: "https://x.example/1" }, 5, target);
    assert.deepEqual(await send(), { status: 202, attempts: 4 });
    assert.deepEqual(await send(), { status: 403, attempts: 1, error: "busy" });
    busy.close();
    busy.closeAllConnections();
  });

  it("says status 0 when nobody answers, after the retries it was told to make", async () => {
    const lonely = await world.start("origin.mjs", "--domain", "oak.example", "--port", String(await freePort()), "--node", "https://nobody.example");
    const { body } = await call(lonely.control, "POST /post", { text: "#x1", retries: 1 });
    assert.deepEqual([body.status, body.attempts], [0, 2]);
    assert.match(body.error, /ENOTFOUND|not in/);
  });
});

describe("the Fedify instance", () => {
  it("follows a hashtag actor by handle; the follow, its acceptance, a boost and their undoing pass both ways", async () => {
    const handle = `@caturday@tags.oak.example:${world.port}`;
    const tag = url("tags.oak.example", "/users/caturday");
    const { body } = await call(fedify.control, "POST /follow", { handle });
    assert.deepEqual([body.actor, body.delivered], [tag, true]);
    const { activity: follow, signer } = await until("the Follow", () => stub.received.find(({ activity }) => activity.type === "Follow"));
    assert.deepEqual([follow.object, signer], [tag, url("fedify.example", "/users/alice")]);

    const inbox = url("fedify.example", "/users/alice/inbox");
    const activity = (type, object) => ({ "@context": AS, id: `${tag}#${type}`, type, actor: tag, object });
    const note = (await call(origin.control, "POST /post", { text: "Look, a #caturday" })).body.id;
    assert.equal((await stub.send("caturday", activity("Accept", follow), 0, inbox)).status, 202);
    assert.equal((await stub.send("caturday", activity("Announce", note), 0, inbox)).status, 202);
    assert.equal((await stub.send("caturday", activity("Undo", activity("Announce", note)), 0, inbox)).status, 202);
    const seen = await until("all three", async () => {
      const { accepts, announces, undos } = await receivedByFedify();
      return accepts.length && announces[0]?.fetched && undos.length && { accepts, announces, undos };
    });
    assert.equal(seen.accepts[0].object, follow.id);
    assert.deepEqual([seen.announces[0].object, seen.announces[0].title], [note, "Look, a #caturday"]);

    assert.equal((await call(fedify.control, "POST /unfollow", { actor: tag })).body.delivered, true);
    const undo = await until("the Undo", () => stub.received.find((entry) => entry.activity.type === "Undo"));
    assert.equal(undo.activity.object.id ?? undo.activity.object, follow.id);
  });

  it("publishes to its node, subscribes to it, and deletes", async () => {
    const post = (await call(fedify.control, "POST /post", { text: "By Fedify #haiku #俳句" })).body;
    assert.equal(post.delivered, true);
    const { activity } = stub.received.find((entry) => entry.activity.type === "Create");
    assert.equal(activity.object.id, post.id);
    assert.deepEqual(activity.object.tag.map(({ name }) => name), ["#haiku", "#俳句"]);
    assert.equal((await fetch(post.id, { headers: json })).status, 200);
    assert.equal((await call(fedify.control, "POST /delete", { id: post.id })).body.delivered, true);
    assert.ok(stub.received.some((entry) => entry.activity.type === "Delete"));
    assert.notEqual((await fetch(post.id, { headers: json })).status, 200);
    assert.equal((await call(fedify.control, "POST /subscribe")).body.delivered, true);
    assert.equal(stub.received.at(-1).signer, url("fedify.example", "/users/instance"));
  });

  it("records nothing that is not well signed", async () => {
    const inbox = url("fedify.example", "/inbox");
    const { key, id } = stub.actor("caturday");
    const body = JSON.stringify({ "@context": AS, id: `${id}#forged`, type: "Announce", actor: id, object: url("oak.example", "/x") });
    const { Host, ...headers } = await signedHeaders(key, inbox, body);
    const response = await fetch(inbox, { method: "POST", headers, body: body.replace("/x", "/y") });
    assert.equal(response.status, 401);
    assert.ok(!(await receivedByFedify()).announces.some((entry) => entry.id.endsWith("#forged")));
  });
});

describe("both", () => {
  it("answer bad control requests with 400 or 404 and an error", async () => {
    const wrong = [
      [origin, "POST /post", {}, 400], [origin, "POST /post", "{", 400], [origin, "POST /post", "[]", 400],
      [origin, "POST /post", { text: "a", author: "nobody" }, 400], [origin, "POST /post", { text: "a", domain: "x" }, 400],
      [origin, "POST /load", { count: -1 }, 400], [origin, "POST /load", { count: "many" }, 400],
      [origin, "POST /edit", { id: "https://elsewhere.example/1", text: "a" }, 404], [origin, "POST /delete", {}, 400],
      [origin, "GET /nothing", undefined, 404], [origin, "POST /follow", { actor: "https://nobody.example/x" }, 400],
      [fedify, "POST /follow", {}, 400], [fedify, "POST /follow", { handle: "@no@nobody.example" }, 400],
      [fedify, "POST /post", { text: 7 }, 400], [fedify, "POST /delete", { id: "https://x.example/1" }, 404],
      [fedify, "POST /unfollow", { actor: url("oak.example", "/users/bob") }, 400],
    ];
    for (const [server, request, body, status] of wrong) {
      const answer = await call(server.control, request, body);
      assert.equal(answer.status, status, `${request} ${JSON.stringify(body)}`);
      assert.equal(typeof answer.body.error, "string");
    }
  });

  it("end on SIGTERM, with code 0", async () => {
    for (const { child } of [origin, fedify]) {
      child.kill("SIGTERM");
      const [code] = await once(child, "exit", { signal: AbortSignal.timeout(60_000) });
      assert.equal(code, 0);
    }
  });
});
