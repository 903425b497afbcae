// The closed world the demonstration lives in: names come from a file, not from DNS, and one private CA is trusted.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { Agent, setGlobalDispatcher } from "undici";

export const AS_PUBLIC = "https://www.w3.org/ns/activitystreams#Public";
export const ACTIVITY_JSON = "application/activity+json";
const ACCEPT = `${ACTIVITY_JSON}, application/ld+json; profile="https://www.w3.org/ns/activitystreams"`;
const MAX_BODY = 1 << 20;

/** A request that is wrong; its message is meant for the one who sent it. */
export class BadRequest extends Error {
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}

/** Names, certificates and the HTTP client of this world. `hosts`: a JSON file {name: address}; `requests`: so many a connection, 0 for any number. */
export function openWorld({ hosts, certs, requests = 0 }) {
  const addresses = JSON.parse(readFileSync(hosts, "utf8"));
  const ca = readFileSync(join(certs, "ca.pem"), "utf8");
  const lookup = (name, options, done) => {
    const address = addresses[name.toLowerCase()];
    if (!address) return done(Object.assign(new Error(`${name} is not in ${hosts}`), { code: "ENOTFOUND" }));
    const family = address.includes(":") ? 6 : 4;
    if (options.all) done(null, [{ address, family }]);
    else done(null, address, family);
  };
  const agent = new Agent({
    connect: { ca, lookup, timeout: 5000 }, connections: 64, headersTimeout: 30000, bodyTimeout: 30000, maxRequestsPerClient: Number(requests),
  });
  // Libraries that call fetch() live in this world too.
  setGlobalDispatcher(agent);
  return { addresses, certs, agent };
}

export function addressOf(world, domain) {
  const address = world.addresses[domain];
  if (!address) throw new Error(`${domain} has no address in the hosts file`);
  return address;
}

/** Serves `handler(req, res)` under `domain` with its certificate; resolves when it listens. */
export async function serveTls(world, domain, port, handler) {
  const [cert, key] = await Promise.all(["pem", "key"].map((end) => readFile(join(world.certs, `${domain}.${end}`))));
  return await listen(createServer({ cert, key, minVersion: "TLSv1.2" }, guarded(handler)), port, addressOf(world, domain));
}

export function listen(server, port, address) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => resolve(server));
  });
}

/** Turns what a handler throws into an answer: BadRequest into its status, anything else into 500. */
export function guarded(handler) {
  return async (req, res) => {
    try {
      await handler(req, res);
    } catch (error) {
      const status = error instanceof BadRequest ? error.status : 500;
      if (status === 500) console.error(error);
      if (res.headersSent) res.destroy();
      else sendJson(res, status, { error: error instanceof BadRequest ? error.message : "internal error" });
    }
  };
}

/** The whole body; more than a MiB is refused. */
export async function readBody(req) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > MAX_BODY) throw new BadRequest("the body is larger than 1 MiB", 413);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function parseObject(bytes) {
  let value;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new BadRequest("the body is not JSON");
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new BadRequest("the body is not a JSON object");
  return value;
}

export function sendJson(res, status, value, type = "application/json") {
  const body = JSON.stringify(value);
  res.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  res.end(body);
}

/** Fetches an ActivityPub document, unsigned. */
export async function fetchDocument(url) {
  const response = await fetch(url, { headers: { accept: ACCEPT }, signal: AbortSignal.timeout(10000) });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  return await response.json();
}
