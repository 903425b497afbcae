// The page of a node at an address that any browser opens: plain HTTP on 127.0.0.1, passed on to the node's TLS. The
// nodes of the demo have names that no DNS knows, and certificates that no browser trusts.
//
//   node page.mjs --to https://tags.yew.example:8443 --address 127.0.1.5 --listen 8800
//
// Prints {"ready": true, "page": "http://127.0.0.1:8800"}. Another free port is taken if that one is not.

import http from "node:http";
import https from "node:https";
import { parseArgs } from "node:util";
import { announceReady, endOnSignal } from "./lib/control.mjs";

const { values } = parseArgs({
  options: { to: { type: "string" }, address: { type: "string" }, listen: { type: "string", default: "8800" } },
});
const node = new URL(values.to);
const agent = new https.Agent({ keepAlive: true });

function passOn(incoming, outgoing) {
  const options = {
    agent,
    host: values.address,
    port: node.port || 443,
    servername: node.hostname,
    method: incoming.method,
    path: incoming.url,
    headers: { ...incoming.headers, host: node.host },
  };
  const request = https.request(options, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  request.on("error", (error) => {
    if (!outgoing.headersSent) outgoing.writeHead(502, { "content-type": "text/plain" });
    outgoing.end(`${values.to}: ${error.message}\n`);
  });
  outgoing.on("close", () => request.destroy());
  incoming.pipe(request);
}

const server = http.createServer(passOn);
server.on("error", (error) => {
  if (error.code !== "EADDRINUSE") throw error;
  server.listen(0, "127.0.0.1");
});
server.on("listening", () => announceReady({ page: `http://127.0.0.1:${server.address().port}` }));
server.listen(Number(values.listen), "127.0.0.1");
endOnSignal();
