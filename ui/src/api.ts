// What the page asks its node: Mastodon's API, as far as it is used here.

export interface Account {
  acct: string;
  username: string;
  display_name: string;
  url: string;
  avatar?: string;
}

export interface Media {
  id: string;
  type: string;
  url: string | null;
  preview_url?: string | null;
  description?: string | null;
  meta?: { original?: { width?: number; height?: number } } | null;
}

export interface Status {
  id: string;
  uri: string;
  url: string | null;
  created_at: string;
  edited_at?: string | null;
  account: Account;
  content: string;
  spoiler_text: string;
  sensitive: boolean;
  language: string | null;
  media_attachments: Media[];
  tags: { name: string }[];
  poll?: { options: { title: string }[] } | null;
}

export interface TagHistory {
  name: string;
  history: { day: string; uses: string; accounts: string }[];
}

export interface Day {
  day: string;
  posts: number;
}

export interface Page {
  posts: Status[];
  older: string | null;
  reached: string | null; // the id up to which there is nothing more: where to go on to newer ones
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly answer: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

export async function request(target: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(target, { credentials: "omit", redirect: "error", ...init });
  if (response.ok) return response;
  const body = ((await response.json().catch(() => null)) ?? {}) as Record<string, unknown>;
  const { message, error } = body;
  const reason = typeof message === "string" ? message : typeof error === "string" ? error : `status ${response.status}`;
  throw new Refused(response.status, reason, body);
}

export async function getJson<T>(target: string, init?: RequestInit): Promise<T> {
  const response = await request(target, init);
  return (await response.json()) as T;
}

/** The address with that relation in a Link header; only on this node. */
function linked(header: string | null, relation: "next" | "prev"): URL | null {
  const found = new RegExp(`<([^>]+)>\\s*;\\s*rel="?${relation}"?`).exec(header ?? "");
  if (!found?.[1]) return null;
  const url = new URL(found[1], location.origin);
  return url.pathname.startsWith("/api/") ? url : null;
}

export async function getPage(target: string, init?: RequestInit): Promise<Page> {
  const response = await request(target, init);
  const posts = (await response.json()) as Status[];
  const link = response.headers.get("Link");
  const older = linked(link, "next");
  // The target does not say `until`, of which a page of older posts has no need.
  const reached = linked(link, "prev")?.searchParams.get("min_id") ?? null;
  return { posts, older: older && older.pathname + older.search, reached };
}

/** What a hashtag's page shows: hashtags in the one spelling that the node has for each, as those of posts are. */
export class View {
  readonly any: string[];
  readonly all: string[];
  readonly none: string[];
  readonly until: string;
  readonly isOld: boolean; // a page of older posts than the newest

  constructor(
    readonly tag: string,
    words: DOMStringMap,
    search: string,
  ) {
    const query = new URLSearchParams(search);
    const list = (name: string) => (words[name] ?? "").split(" ").filter((word) => word !== "");
    this.any = list("any");
    this.all = list("all");
    this.none = list("none");
    const until = (query.get("until") ?? "").slice(0, 10);
    this.isOld = query.has("max_id") || query.has("min_id");
    this.until = /^\d{4}-\d\d-\d\d$/.test(until) ? until : "";
  }

  get isCombined(): boolean {
    return this.any.length + this.all.length + this.none.length > 0;
  }

  get words(): string[] {
    return [this.tag, ...this.any, ...this.all, ...this.none];
  }

  /** Whether a post belongs here, by the hashtags that it has. */
  shows(has: (word: string) => boolean): boolean {
    return [this.tag, ...this.any].some(has) && this.all.every(has) && !this.none.some(has);
  }

  timeline(more: Record<string, string>): string {
    const query = new URLSearchParams();
    for (const name of ["any", "all", "none"] as const) for (const word of this[name]) query.append(`${name}[]`, word);
    if (this.until) query.set("until", `${this.until}T23:59:59.999Z`);
    for (const [name, value] of Object.entries(more)) query.set(name, value);
    return `/api/v1/timelines/tag/${encodeURIComponent(this.tag)}?${query}`;
  }

  /** The same page, to be read from another day on. */
  page(until: string): string {
    const query = new URLSearchParams(location.search);
    for (const name of ["max_id", "min_id"]) query.delete(name);
    query.set("until", until);
    return `/tags/${encodeURIComponent(this.tag)}?${query}`;
  }
}
