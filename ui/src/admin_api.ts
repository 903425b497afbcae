// The node's control requests (src/admin/control.hpp), as who is logged in.

export class LoggedOut extends Error {}

const KEY = "session";

/** The secret in the address, once; it does not stay there. */
export function takeSecret(): boolean {
  const given = location.hash.slice(1);
  if (!/^[0-9a-f]{64}$/.test(given)) return false;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname);
  return true;
}

export function setSecret(secret: string): void {
  sessionStorage.setItem(KEY, secret);
}

export function forgetSecret(): void {
  sessionStorage.removeItem(KEY);
}

export async function ask<T>(path: string, body?: object): Promise<T> {
  const response = await fetch(`/admin${path}`, {
    method: body ? "POST" : "GET",
    credentials: "omit",
    redirect: "error",
    headers: { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (response.status === 401) throw new LoggedOut();
  const answer = (await response.json()) as T & { message?: string };
  if (!response.ok) throw new Error(answer.message ?? `status ${response.status}`);
  return answer;
}

export interface Contact {
  id: string;
  host: string;
  port: number;
  vserver: number;
}

export interface Vserver {
  self: Contact;
  member: boolean;
  predecessor?: Contact;
  successors: Contact[];
  owned?: { from: string; to: string };
  serving?: { from: string; to: string };
  estimated_size: number;
}

export type Rings = Record<"relay" | "storage", Vserver[]>;

export interface RingStatus {
  member: boolean;
  serving: boolean;
  share: number;
  estimated_vservers: number;
  load: number;
  capacity: number;
}

/** Of "tagring doctor" (src/health/check.hpp). */
export interface Check {
  name: string;
  detail: string;
  what_to_do: string;
}

export interface NodeStatus {
  version: string;
  origin: string;
  rings: Record<"relay" | "storage", RingStatus>;
  forecast?: { text: string };
  moved?: { to: string; until: string; on_rings: boolean };
  retention: { let_go_early: number };
  receipts: Record<"issued" | "kept" | "absent" | "bad", number>;
  ready: boolean;
  because: string[];
  problems: Check[];
  restart_for: string[];
  looked: boolean;
  [name: string]: unknown;
}
