// What an origin shows to the fediverse over HTTPS.

import { INSTANCE, QUIET } from "./origin.mjs";
import { escapeHtml, withContext } from "./note.mjs";
import { verify } from "./signature.mjs";
import { ACTIVITY_JSON, BadRequest, parseObject, readBody, sendJson } from "./world.mjs";

const ACTOR_CONTEXT = [
  "https://www.w3.org/ns/activitystreams",
  "https://w3id.org/security/v1",
  { toot: "http://joinmastodon.org/ns#", discoverable: "toot:discoverable", indexable: "toot:indexable" },
];

function actorDocument(origin, { name, id, publicKey }) {
  const quiet = name === QUIET;
  return {
    "@context": ACTOR_CONTEXT,
    id,
    type: name === INSTANCE ? "Application" : "Person",
    preferredUsername: name,
    name,
    summary: quiet ? "<p>Please leave my posts alone. #nobots</p>" : `<p>An author of ${new URL(origin.base).host}.</p>`,
    url: name === INSTANCE ? `${origin.base}/` : `${origin.base}/@${name}`,
    inbox: `${id}/inbox`,
    outbox: `${id}/outbox`,
    followers: `${id}/followers`,
    following: `${id}/following`,
    endpoints: { sharedInbox: `${origin.base}/inbox` },
    discoverable: !quiet,
    indexable: !quiet,
    publicKey: { id: `${id}#main-key`, owner: id, publicKeyPem: publicKey },
  };
}

function webFinger(origin, resource) {
  const host = new URL(origin.base).host;
  const actor = [...origin.actors.values()].find((a) => [`acct:${a.name}@${host}`, a.id].includes(resource));
  if (!actor) throw new BadRequest("no such resource", 404);
  return {
    subject: `acct:${actor.name}@${host}`,
    aliases: [actor.id],
    links: [{ rel: "self", type: ACTIVITY_JSON, href: actor.id }],
  };
}

function nodeInfo(origin) {
  const live = [...origin.posts.values()].filter((post) => !post.deleted).length;
  return {
    version: "2.0",
    software: { name: "demo-origin", version: "0.1.0" },
    protocols: ["activitypub"],
    services: { inbound: [], outbound: [] },
    usage: { users: { total: origin.authors.length }, localPosts: live },
    openRegistrations: false,
    metadata: {},
  };
}

function sendNote(origin, req, res, id, asActivityPub) {
  const post = origin.posts.get(id);
  if (!post) throw new BadRequest("no such post", 404);
  if (post.deleted) throw new BadRequest("the post is deleted", 410);
  if (asActivityPub || /json/.test(req.headers.accept ?? "")) return sendJson(res, 200, withContext(post.note), ACTIVITY_JSON);
  const { note } = post;
  const page = `<!doctype html><meta charset="utf-8"><title>${escapeHtml(origin.authorOf(note))}</title><article>${note.content}` +
    `<time>${escapeHtml(note.published)}</time></article>`;
  res.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" });
  res.end(page);
}

function sendCollection(origin, res, actor, name) {
  const own = [...origin.posts.values()].filter((post) => !post.deleted && post.note.attributedTo === actor.id);
  const collection = { id: `${actor.id}/${name}`, type: "OrderedCollection", totalItems: name === "outbox" ? own.length : 0 };
  sendJson(res, 200, withContext(collection), ACTIVITY_JSON);
}

/** Keeps what came in if the signature is good, and says 401 if not. */
async function receive(origin, req, res, path) {
  const body = await readBody(req);
  const activity = parseObject(body);
  const entry = { at: new Date().toISOString(), path, activity };
  try {
    entry.signer = await verify(req, body);
  } catch (error) {
    console.error(`${origin.base}: refused: ${error.message}`);
    throw new BadRequest(error.message, 401);
  }
  if (entry.signer !== activity.actor) throw new BadRequest(`signed by ${entry.signer}, not by the actor`, 401);
  origin.keepReceived(entry);
  res.writeHead(202).end();
}

function get(origin, req, res, url) {
  const parts = url.pathname.split("/").slice(1).map(decodeURIComponent);
  const fixed = {
    "/.well-known/webfinger": () => sendJson(res, 200, webFinger(origin, url.searchParams.get("resource")), "application/jrd+json"),
    "/.well-known/nodeinfo": () => sendJson(res, 200, {
      links: [{ rel: "http://nodeinfo.diaspora.software/ns/schema/2.0", href: `${origin.base}/nodeinfo/2.0` }],
    }),
    "/nodeinfo/2.0": () => sendJson(res, 200, nodeInfo(origin)),
  }[url.pathname];
  if (fixed) return fixed();
  if (parts.length === 2 && parts[0].startsWith("@")) {
    return sendNote(origin, req, res, `${origin.base}/users/${parts[0].slice(1)}/statuses/${parts[1]}`, false);
  }
  const [name, rest] = parts[0] === "actor" ? [INSTANCE, parts.slice(1)] : [parts[1], parts.slice(2)];
  const actor = parts[0] === "actor" || (parts[0] === "users" && name !== INSTANCE) ? origin.actors.get(name) : undefined;
  if (!actor) throw new BadRequest("not found", 404);
  if (rest.length === 0) return sendJson(res, 200, actorDocument(origin, actor), ACTIVITY_JSON);
  if (rest.length === 2 && rest[0] === "statuses") return sendNote(origin, req, res, `${actor.id}/statuses/${rest[1]}`, true);
  if (rest.length === 1 && ["outbox", "followers", "following"].includes(rest[0])) return sendCollection(origin, res, actor, rest[0]);
  throw new BadRequest("not found", 404);
}

export function originHandler(origin) {
  return async (req, res) => {
    let url;
    try {
      url = new URL(req.url, origin.base);
      decodeURIComponent(url.pathname);
    } catch {
      throw new BadRequest("bad request target");
    }
    if (req.method === "GET" || req.method === "HEAD") return get(origin, req, res, url);
    if (req.method === "POST" && url.pathname.endsWith("/inbox")) return await receive(origin, req, res, url.pathname);
    throw new BadRequest("method not allowed", 405);
  };
}

