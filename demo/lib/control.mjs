// The plain-HTTP control port on 127.0.0.1 of a server, for people with curl and for scripts.

import { createServer } from "node:http";
import { BadRequest, guarded, listen, parseObject, readBody, sendJson } from "./world.mjs";

/** `routes`: {"POST /post": async (body) => answer, ...}. A GET gets its query parameters as body. */
export function serveControl(port, routes) {
  const handler = async (req, res) => {
    const url = new URL(req.url, "http://127.0.0.1");
    const route = routes[`${req.method} ${url.pathname}`];
    if (!route) throw new BadRequest(`no such request; there are: ${Object.keys(routes).join(", ")}`, 404);
    let body = Object.fromEntries(url.searchParams);
    if (req.method === "POST") {
      const bytes = await readBody(req);
      body = bytes.length === 0 ? {} : parseObject(bytes);
    }
    sendJson(res, 200, await route(body));
  };
  return listen(createServer(guarded(handler)), port, "127.0.0.1");
}

/** A required or optional string of a control request. */
export function text(body, name, fallback) {
  const value = body[name] ?? fallback;
  if (typeof value !== "string" || value === "") throw new BadRequest(`"${name}" must be a string that is not empty`);
  return value;
}

/** An integer of a control request, within bounds. */
export function integer(body, name, fallback, least, most) {
  const value = body[name] ?? fallback;
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new BadRequest(`"${name}" must be an integer from ${least} to ${most}`);
  }
  return value;
}

/** Tells the parent process that everything listens, and ends at once when told to. */
export function announceReady(facts) {
  console.log(JSON.stringify({ ready: true, ...facts }));
}

export function endOnSignal() {
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
}
