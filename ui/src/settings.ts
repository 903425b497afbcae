// What this reader wishes, in this browser only.

export function recall(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return ""; // storage is switched off
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // then it holds for this page only
  }
}

/** Where this reader's own server shows what has that address: by the template that it gave to follow by, else where most do. */
export function atOwnServer(uri: string): URL | undefined {
  const server = serverOf(recall("server") || recall("account")); // "server": as earlier versions remembered it
  const template = recall("template") || (server && `https://${server}/authorize_interaction?uri={uri}`);
  if (!template) return undefined;
  try {
    const url = new URL(template.replace("{uri}", encodeURIComponent(uri)));
    return url.protocol === "https:" ? url : undefined;
  } catch {
    return undefined; // what servers of others write need be no address
  }
}

/** The server of an account as people write it: "@me@social.example", "social.example", the address of a profile. */
export function serverOf(account: string): string {
  const text = account.trim().replace(/^https?:\/\//, "");
  const place = text.split("/")[0] ?? "";
  const host = place.slice(place.lastIndexOf("@") + 1).toLowerCase();
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?$/.test(host) ? host : "";
}
