// What a FASP and a server sign to each other, against another implementation of RFC 9421, both ways: requests and
// answers, genuine and changed on the way. Ends with "N passed, N failed".
//
//     node tests/interop/fasp_check.mjs [build folder]

import { createHash, generateKeyPairSync } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSigner, createVerifier, httpbis } from "http-message-signatures";
import { startFilter } from "./filter.mjs";
import { note, npmVersion } from "./tally.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const build = process.argv[2] ?? join(here, "..", "..", "build", "release");
const daemon = startFilter(join(build, "tests", "sign_verify"));
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const privatePem = privateKey.export({ type: "pkcs8", format: "pem" });
const publicPem = publicKey.export({ type: "spki", format: "pem" });
const keyId = "b2ks6vm8p23w";
const now = () => Math.floor(Date.now() / 1000);
const digest = (body) => `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;

const body = JSON.stringify({ category: "content", objectUris: ["https://fedi.example/猫"] });
const MESSAGES = {
  "an announcement": { method: "POST", url: new URL("https://tags.example/fasp/data_sharing/v0/announcements"), body },
  "a question": { method: "GET", url: new URL("https://tags.example/fasp/provider_info"), body: "" },
  "a query": { method: "GET", url: new URL("https://tags.example:8443/fasp/x/%E7%8C%AB?limit=2&before=a%20b"), body: "" },
  "an end": { method: "DELETE", url: new URL("https://tags.example/fasp/capabilities/trends/1/activation"), body: "" },
  "an answer": { status: 200, body },
  "an empty answer": { status: 204, body: "" },
};
const fieldsOf = (message) => (message.status ? ["@status", "content-digest"] : ["@method", "@target-uri", "content-digest"]);

let passed = 0;
let failed = 0;
async function check(name, wanted, run) {
  const result = await Promise.resolve().then(run).catch((error) => error.message);
  const fine = wanted ? result === true || result === "genuine" : result !== true && result !== "genuine";
  fine ? passed++ : failed++;
  if (!fine) console.log(`BAD  ${name}: ${JSON.stringify(result)}`);
}

/** The same with one thing changed. */
function changes(message) {
  const changed = [{ ...message, body: message.body + " " }];
  if (message.status) return [...changed, { ...message, status: message.status + 1 }];
  const url = new URL(message.url);
  url.pathname += "x";
  return [...changed, { ...message, url }, { ...message, method: message.method === "POST" ? "DELETE" : "POST" }];
}

const asked = ({ status, method, url, body }) =>
  status ? { status, body } : { method, url: url.href, target: url.pathname + url.search, authority: url.host, body };

async function theyVerify(message, headers) {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (lower["content-digest"] !== digest(message.body)) return false;
  const keyLookup = async ({ keyid }) => keyid === keyId ? { id: keyId, algs: ["ed25519"], verify: createVerifier(publicPem, "ed25519") } : null;
  const options = { keyLookup, requiredFields: fieldsOf(message), requiredParams: ["created", "keyid"], tolerance: 5, maxAge: 300 };
  return httpbis.verifyMessage(options, message.status ? { status: message.status, headers: lower } : { method: message.method, url: message.url.href, headers: lower });
}

async function theySign(message, params) {
  const headers = { "Content-Digest": digest(message.body), ...(message.url ? { Host: message.url.host } : {}) };
  const options = { key: createSigner(privatePem, "ed25519", keyId), fields: fieldsOf(message), name: "sig1", params };
  const draft = message.status ? { status: message.status, headers } : { method: message.method, url: message.url.href, headers };
  return (await httpbis.signMessage(options, draft)).headers;
}

const weVerify = async (message, headers) =>
  (await daemon.ask({ op: "fasp verify", ...asked(message), headers, key: publicPem, now: now() })).result;

for (const [name, message] of Object.entries(MESSAGES)) {
  const { headers } = await daemon.ask({ op: "fasp sign", ...asked(message), key: privatePem, key_id: keyId, now: now() });
  await check(`http-message-signatures verifies ${name}`, true, () => theyVerify(message, headers));
  for (const changed of changes(message)) await check(`http-message-signatures verifies ${name}, changed`, false, () => theyVerify(changed, headers));

  const theirs = await theySign(message, ["created", "keyid"]);
  await check(`the daemon verifies ${name}`, true, () => weVerify(message, theirs));
  for (const changed of changes(message)) await check(`the daemon verifies ${name}, changed`, false, () => weVerify(changed, theirs));
  // Mastodon's answers have no keyid; its requests do.
  const nameless = await theySign(message, ["created"]);
  await check(`the daemon verifies ${name} without a keyid`, Boolean(message.status), () => weVerify(message, nameless));
  const timeless = await theySign(message, ["keyid"]);
  await check(`the daemon verifies ${name} without a time`, false, () => weVerify(message, timeless));
}

daemon.end();
const software = "http-message-signatures";
note([{ software, version: npmVersion(software), what: "signs and verifies what a FASP and a server say", ok: failed === 0 }]);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
