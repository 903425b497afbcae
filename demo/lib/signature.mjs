// HTTP signatures (draft-cavage-http-signatures-12, as the fediverse uses them), by Misskey's library.

import { createPrivateKey, webcrypto } from "node:crypto";
import {
  genRFC3230DigestHeader, parseRequestSignature, signAsDraftToRequest, verifyDraftSignature, verifyRFC3230DigestHeader,
} from "@misskey-dev/node-http-message-signatures";
import { ACTIVITY_JSON, fetchDocument } from "./world.mjs";

const SIGNED = ["(request-target)", "host", "date", "digest", "content-type"];

/** {keyId, privateKey} for sign(); importing once saves a parse per request. */
export async function importKey(keyId, pem) {
  const der = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  return { keyId, privateKey: await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]) };
}

/** The headers of a signed POST of `body` to `url`. */
export async function signedHeaders(key, url, body) {
  const target = new URL(url);
  const headers = {
    Host: target.host,
    Date: new Date().toUTCString(),
    Digest: await genRFC3230DigestHeader(body, "SHA-256"),
    "Content-Type": ACTIVITY_JSON,
  };
  const request = { method: "POST", url: target.href, headers };
  await signAsDraftToRequest(request, key, SIGNED);
  return request.headers;
}

/** Checks digest and signature of a request; returns the key document's owner, throws when anything is wrong. */
export async function verify(req, body) {
  let why = "";
  const note = (message) => (why = String(message));
  if (!(await verifyRFC3230DigestHeader(req, body, true, note))) throw new Error(`digest: ${why}`);
  const clockSkew = { now: new Date(), forward: 300_000, delay: 300_000 };
  const parsed = parseRequestSignature(req, { requiredComponents: { draft: ["(request-target)", "host", "date", "digest"] }, clockSkew });
  if (parsed?.version !== "draft") throw new Error("no draft-cavage signature");
  const { keyId } = parsed.value;
  const document = await fetchDocument(keyId.split("#")[0]);
  const key = document.publicKey ?? document;
  if (key.id !== keyId) throw new Error(`${keyId} is not the key of ${document.id}`);
  if (!(await verifyDraftSignature(parsed.value, key.publicKeyPem, note))) throw new Error(`signature: ${why || "does not match"}`);
  return key.owner;
}
