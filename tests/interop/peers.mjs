// Other implementations of HTTP signatures behind one face each:
//   verify(message, key)        true if it accepts the request that the daemon signed
//   sign: [[name, sign(message, key)]]  each returns the headers of a request for the daemon
// A message is {method, url, headers, body}; a key is {id, privatePem, publicPem, ed25519}.

import { createHash, createPrivateKey, createPublicKey, verify as verifyRaw, webcrypto } from "node:crypto";
import { signRequest, verifyRequest } from "@fedify/fedify";
import {
  RFC9421SignatureBaseFactory, genRFC3230DigestHeader, parseRequestSignature, signAsDraftToRequest, verifyDraftSignature,
  verifyRFC3230DigestHeader, verifyRFC9530DigestHeader,
} from "@misskey-dev/node-http-message-signatures";
import peertube from "@peertube/http-signature";
import { cavage, createSigner, createVerifier, httpbis } from "http-message-signatures";

const sha = (algorithm, body) => createHash(algorithm).update(body).digest("base64");
const lower = (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
const target = (url) => url.pathname + url.search;
const algorithmOf = (key) => (key.ed25519 ? "ed25519" : "rsa-v1_5-sha256");
const cryptoKey = (pem, ed25519) => {
  const der = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
  const algorithm = ed25519 ? "Ed25519" : { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  return webcrypto.subtle.importKey("pkcs8", der, algorithm, true, ["sign"]);
};

/** What a server puts into a request before it signs. */
function dressed({ method, url, headers, body }, digests = {}) {
  return {
    method,
    url: url.href,
    headers: { Host: url.host, Date: new Date().toUTCString(), ...headers, ...(body ? digests : {}) },
  };
}
const rfc3230 = (body) => ({ Digest: `SHA-256=${sha("sha256", body)}` });
const rfc9530 = (body, algorithm = "sha256") => ({ "Content-Digest": `${algorithm.replace("sha", "sha-")}=:${sha(algorithm, body)}:` });
const COVERED = ["(request-target)", "host", "date"];
const covered = (body) => (body ? [...COVERED, "digest", "content-type"] : COVERED);

/** For the libraries that leave the digest to their caller. */
const digestFits = ({ headers, body }, digest) => !body || Object.entries(digest(body)).every(([name, value]) => headers[name] === value);

// --- draft-cavage ------------------------------------------------------------------------------------------

const incoming = ({ method, url, headers }) => ({ method, url: target(url), headers: lower(headers), httpVersion: "1.1" });

export const misskey = {
  name: "Misskey (node-http-message-signatures)", software: "node-http-message-signatures", npm: "@misskey-dev/node-http-message-signatures",
  async verify({ body, ...message }, key) {
    const request = incoming(message);
    if (body && !(await verifyRFC3230DigestHeader(request, body, true))) return false;
    const clockSkew = { now: new Date(), forward: 300_000, delay: 300_000 };
    const required = ["(request-target)", "host", "date", ...(body ? ["digest"] : [])];
    const parsed = parseRequestSignature(request, { requiredComponents: { draft: required }, clockSkew });
    return parsed.version === "draft" && (await verifyDraftSignature(parsed.value, key.publicPem));
  },
  sign: [
    ["cavage", async (message, key) => {
      const request = dressed(message);
      if (message.body) request.headers.Digest = await genRFC3230DigestHeader(message.body, "SHA-256");
      await signAsDraftToRequest(request, { keyId: key.id, privateKey: await cryptoKey(key.privatePem, key.ed25519) }, covered(message.body));
      return request.headers;
    }],
  ],
};

export const peertubeLibrary = {
  name: "PeerTube (http-signature)", software: "http-signature of PeerTube", npm: "@peertube/http-signature",
  verify: async (message, key) => {
    if (!digestFits(message, rfc3230)) return false;
    const parsed = peertube.parseRequest(incoming(message), { headers: covered(message.body), clockSkew: 300 });
    return peertube.verifySignature(parsed, key.publicPem);
  },
  sign: ["rsa-sha256", undefined].map((algorithm) => [
    algorithm ? "cavage" : "cavage as hs2019",
    async (message, key) => {
      const { headers } = dressed(message, rfc3230(message.body));
      const request = {
        method: message.method,
        path: target(message.url),
        getHeader: (name) => lower(headers)[name.toLowerCase()],
        setHeader: (name, value) => (headers[name] = value),
      };
      const options = { keyId: key.id, key: key.privatePem, headers: covered(message.body), authorizationHeaderName: "Signature" };
      peertube.signRequest(request, { ...options, ...(algorithm ? { algorithm } : { hideAlgorithm: true }) });
      headers.Signature = headers.Signature.replace(/^Signature /, "");
      return headers;
    },
  ]),
};

export const pythonHttpsig = (filter) => ({
  name: "python3-httpsig", software: "python3-httpsig",
  verify: async (message, key) => {
    const { method, url, headers, body } = message;
    const question = { op: "verify", method, target: target(url), headers, required: covered(body), key: key.publicPem };
    return digestFits(message, rfc3230) && (await filter.ask(question)).genuine;
  },
  sign: [
    ["cavage", async (message, key) => {
      const { headers } = dressed(message, rfc3230(message.body));
      const ask = { op: "sign", method: message.method, target: target(message.url), headers, covered: covered(message.body) };
      const { signature } = await filter.ask({ ...ask, key: key.privatePem, key_id: key.id });
      return { ...headers, Signature: signature.replace(/^Signature /, "") };
    }],
  ],
});

export const httpMessageSignaturesCavage = {
  name: "http-message-signatures (cavage)", software: "http-message-signatures", npm: "http-message-signatures",
  verify: async (message, key) =>
    digestFits(message, rfc3230) &&
    (await cavage.verifyMessage(
      { keyLookup: async () => ({ algs: [algorithmOf(key), "hs2019"], verify: createVerifier(key.publicPem, algorithmOf(key)) }) },
      { ...message, url: message.url.href },
    )),
  sign: [
    ["cavage with created and expires", async (message, key) => {
      const request = dressed(message, rfc3230(message.body));
      const fields = ["@request-target", "@created", "@expires", "host", ...(message.body ? ["digest"] : [])];
      const signer = { ...createSigner(key.privatePem, algorithmOf(key), key.id), alg: "hs2019" };
      return (await cavage.signMessage({ key: signer, fields, params: ["created", "expires", "keyid", "alg"] }, request)).headers;
    }],
  ],
};

// --- RFC 9421 ----------------------------------------------------------------------------------------------

const LISTS = {
  "as Mastodon": ["@method", "@target-uri"],
  "by parts": ["@method", "@scheme", "@authority", "@path", "@query", "content-type"],
  "by request target": ["host", "@request-target", "@method", "date"],
};

const signRfc9421 = (fields, alg, algorithm) => async (message, key) => {
  const request = dressed(message, rfc9530(message.body, algorithm));
  const list = [...fields, ...(message.body ? ["content-digest"] : [])].filter((name) => name !== "content-type" || message.headers["Content-Type"]);
  const signer = createSigner(key.privatePem, alg ?? algorithmOf(key), key.id);
  const options = { key: signer, fields: list, name: "sig1", params: ["keyid", "created", "expires", ...(alg ? ["alg"] : [])] };
  return (await httpbis.signMessage(options, request)).headers;
};

export const httpMessageSignatures = {
  name: "http-message-signatures (RFC 9421)", software: "http-message-signatures", npm: "http-message-signatures",
  verify: async (message, key) => {
    const { body } = message;
    if (!digestFits(message, rfc9530)) return false;
    const required = ["@method", "@target-uri", ...(body ? ["content-digest"] : [])];
    const keyLookup = async () => ({ id: key.id, algs: [algorithmOf(key)], verify: createVerifier(key.publicPem, algorithmOf(key)) });
    const options = { keyLookup, requiredFields: required, requiredParams: ["created", "keyid"], tolerance: 5, maxAge: 300 };
    return await httpbis.verifyMessage(options, { ...message, url: message.url.href });
  },
  sign: Object.entries(LISTS).map(([name, fields]) => [`RFC 9421 ${name}`, signRfc9421(fields)]),
};
export const named = (alg) => [`RFC 9421, ${alg} named, sha-512`, signRfc9421(LISTS["as Mastodon"], alg, "sha512")];

/** Misskey's library makes the text to sign and checks digests; the signature itself is then node:crypto's to check. */
export const misskeyBase = {
  name: "Misskey (RFC 9421 base)", software: "node-http-message-signatures", npm: "@misskey-dev/node-http-message-signatures",
  verify: async ({ body, ...message }, key) => {
    const request = { ...incoming(message), url: target(message.url) };
    if (body && !(await verifyRFC9530DigestHeader(request, body, { failOnNoDigest: true }))) return false;
    const base = new RFC9421SignatureBaseFactory(request, "https").generate("sig1");
    const signature = Buffer.from(message.headers.Signature.match(/^sig1=:(.*):$/)[1], "base64");
    return verifyRaw(key.ed25519 ? null : "sha256", Buffer.from(base), createPublicKey(key.publicPem), signature);
  },
  sign: [],
};

// --- Fedify, both schemes ----------------------------------------------------------------------------------

const DRAFT = "draft-cavage-http-signatures-12";

function fedifyLoader(key) {
  const owner = key.id.split("#")[0];
  const context = ["https://www.w3.org/ns/activitystreams", "https://w3id.org/security/v1"];
  const publicKey = { id: key.id, type: "CryptographicKey", owner, publicKeyPem: key.publicPem };
  const actor = { "@context": context, id: owner, type: "Person", inbox: `${owner}/inbox`, preferredUsername: "a", publicKey };
  return async (url) => {
    if (url.split("#")[0] !== owner) throw new Error(`there is no ${url}`);
    return { contextUrl: null, documentUrl: owner, document: actor };
  };
}

const fedify = (spec) => ({
  name: `Fedify (${spec === DRAFT ? "cavage" : "RFC 9421"})`, software: "Fedify", npm: "@fedify/fedify",
  async verify({ method, url, headers, body }, key) {
    const request = new Request(url, { method, headers, body: body || undefined });
    return (await verifyRequest(request, { documentLoader: fedifyLoader(key), spec })) !== null;
  },
  sign: [
    [spec === DRAFT ? "cavage" : "RFC 9421", async ({ method, url, headers, body }, key) => {
      const request = new Request(url, { method, headers, body: body || undefined });
      const signed = await signRequest(request, await cryptoKey(key.privatePem, false), new URL(key.id), { spec });
      return Object.fromEntries(signed.headers);
    }],
  ],
});
export const fedifyCavage = fedify(DRAFT);
export const fedifyRfc9421 = fedify("rfc9421");
