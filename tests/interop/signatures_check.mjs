// The daemon's HTTP signatures against other implementations, both ways: what the daemon signs they must verify,
// what they sign the daemon must verify, and neither what was changed on the way. Ends with "N passed, N failed".
//
//     node tests/interop/signatures_check.mjs [build folder]

import { createPublicKey, generateKeyPairSync, webcrypto } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportMultibaseKey } from "@fedify/vocab-runtime";
import { startFilter } from "./filter.mjs";
import * as peers from "./peers.mjs";
import { debianVersion, note, npmVersion } from "./tally.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const build = process.argv[2] ?? join(here, "..", "..", "build", "release");
const daemon = startFilter(join(build, "tests", "sign_verify"));
const python = startFilter("/usr/bin/python3", join(here, "python_httpsig.py")); // Debian's, which has httpsig

function makeKey(type, options) {
  const { privateKey, publicKey } = generateKeyPairSync(type, options);
  const id = "https://peer.example/users/alice#main-key";
  const privatePem = privateKey.export({ type: "pkcs8", format: "pem" });
  return { id, privatePem, publicPem: publicKey.export({ type: "spki", format: "pem" }), ed25519: type === "ed25519" };
}
const rsa = makeKey("rsa", { modulusLength: 2048 });
const ed25519 = makeKey("ed25519");

const json = { "Content-Type": "application/activity+json" };
const sync = { "Collection-Synchronization": 'collectionId="https://peer.example/f", url="https://peer.example/s", digest="00"' };
const body = JSON.stringify({ type: "Create", content: "Grüße an #猫" });
const MESSAGES = {
  "a fetch": { method: "GET", url: new URL("https://tags.example/tag/%E7%8C%AB"), headers: {}, body: "" },
  "a query": { method: "GET", url: new URL("https://tags.example/tag/cats?page=2&a=%20b"), headers: { Accept: json["Content-Type"] }, body: "" },
  "a delivery": { method: "POST", url: new URL("https://tags.example/inbox"), headers: json, body },
  "a delivery to a port": { method: "POST", url: new URL("https://tags.example:8443/inbox"), headers: json, body },
  "a delivery with Collection-Synchronization": { method: "POST", url: new URL("https://tags.example/inbox"), headers: { ...json, ...sync }, body },
};

let passed = 0;
let failed = 0;
async function check(name, wanted, run) {
  let result;
  try {
    result = await run();
  } catch (error) {
    result = error.message;
  }
  const fine = wanted === "refused" ? result !== true && result !== "genuine" : result === wanted;
  fine ? passed++ : failed++;
  if (!fine) console.log(`BAD  ${name}: ${JSON.stringify(result)}, not ${JSON.stringify(wanted)}`);
}

const seen = new Map();
/** What `run` checks is one thing that was seen with a peer, or was not. */
async function about(peer, what, run) {
  const before = failed;
  await run();
  const { software, npm } = peer;
  const version = npm ? npmVersion(npm) : debianVersion(software);
  const key = `${software}: ${what}`;
  seen.set(key, { software, version, what, ok: failed === before && (seen.get(key)?.ok ?? true) });
}

/** The same request with one thing changed, as somebody on the way might. */
function changes(message) {
  const elsewhere = new URL(message.url);
  elsewhere.pathname += "x";
  return [
    { ...message, url: elsewhere },
    { ...message, method: message.method === "GET" ? "DELETE" : "PUT" },
    ...(message.body ? [{ ...message, body: message.body.replace("Create", "Delete") }] : []),
  ];
}

// --- the daemon signs --------------------------------------------------------------------------------------

async function signedByDaemon(message, form, key) {
  const { headers } = await daemon.ask({
    op: "sign", form, method: message.method, url: message.url.href, headers: message.headers, body: message.body,
    key: key.privatePem, key_id: key.id, now: Math.floor(Date.now() / 1000),
  });
  return { ...message, headers };
}

function theyVerify(peer, form, key, options) {
  return about(peer, `verifies what the node signs (${form})`, () => checkOurs(peer, form, key, options));
}

async function checkOurs(peer, form, key, { quirk } = {}) {
  for (const [name, message] of Object.entries(MESSAGES)) {
    const title = `${peer.name} verifies ${name}, ${form}, ${key.ed25519 ? "Ed25519" : "RSA"}`;
    const signed = await signedByDaemon(message, form, key);
    await check(title, quirk?.(message) ? "refused" : true, () => peer.verify(signed, key));
    for (const changed of changes(signed)) await check(`${title}, changed`, "refused", () => peer.verify(changed, key));
  }
}

// --- they sign ---------------------------------------------------------------------------------------------

async function daemonVerifies(message, headers, key) {
  const { method, url, body } = message;
  const question = { op: "verify", method, target: url.pathname + url.search, headers, body, authority: url.host };
  return (await daemon.ask({ ...question, key, now: Math.floor(Date.now() / 1000) })).result;
}

function weVerify(peer, key, list = peer.sign) {
  return about(peer, "signs what the node verifies", () => checkTheirs(peer, key, list));
}

async function checkTheirs(peer, key, list) {
  for (const [how, sign] of list) {
    for (const [name, message] of Object.entries(MESSAGES)) {
      const title = `the daemon verifies ${name} by ${peer.name}, ${how}, ${key.ed25519 ? "Ed25519" : "RSA"}`;
      let headers;
      try {
        headers = await sign(message, key);
      } catch (error) {
        await check(title, "a signature", () => error.message);
        continue;
      }
      if (!headers.host && !headers.Host) headers.Host = message.url.host;
      await check(title, "genuine", () => daemonVerifies(message, headers, key.publicPem));
      for (const changed of changes(message)) await check(`${title}, changed`, "refused", () => daemonVerifies(changed, headers, key.publicPem));
    }
  }
}

// --- all of it ---------------------------------------------------------------------------------------------

const httpsig = peers.pythonHttpsig(python);
for (const peer of [peers.misskey, peers.peertubeLibrary, httpsig, peers.httpMessageSignaturesCavage]) {
  await theyVerify(peer, "cavage", rsa);
  await weVerify(peer, rsa);
}
await theyVerify(peers.misskey, "cavage", ed25519);
await weVerify(peers.misskey, ed25519);

// Fedify verifies the path without its query, whatever was signed.
await theyVerify(peers.fedifyCavage, "cavage", rsa, { quirk: ({ url }) => url.search !== "" });
await theyVerify(peers.fedifyCavage, "path only", rsa);
await weVerify(peers.fedifyCavage, rsa);

for (const peer of [peers.httpMessageSignatures, peers.misskeyBase]) {
  for (const key of [rsa, ed25519]) {
    await theyVerify(peer, "message", key);
    await weVerify(peer, key);
  }
}
await weVerify(peers.httpMessageSignatures, rsa, [peers.named("rsa-v1_5-sha256"), peers.named("rsa-pss-sha512")]);
await weVerify(peers.httpMessageSignatures, ed25519, [peers.named("ed25519")]);
await theyVerify(peers.fedifyRfc9421, "message", rsa);
await weVerify(peers.fedifyRfc9421, rsa);

for (const key of [rsa, ed25519]) {
  const der = createPublicKey(key.publicPem).export({ type: "spki", format: "der" });
  const algorithm = key.ed25519 ? "Ed25519" : { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const multibase = await exportMultibaseKey(await webcrypto.subtle.importKey("spki", der, algorithm, true, ["verify"]));
  const message = MESSAGES["a delivery"];
  const [, sign] = peers.misskey.sign[0];
  await check(`the daemon reads Fedify's Multikey, ${key.ed25519 ? "Ed25519" : "RSA"}`, "genuine", async () =>
    daemonVerifies(message, await sign(message, key), multibase));
}

daemon.end();
python.end();
note([...seen.values()]);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
