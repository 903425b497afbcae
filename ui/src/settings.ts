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

/** The server of an account as people write it: "@me@social.example", "social.example", the address of a profile. */
export function serverOf(account: string): string {
  const text = account.trim().replace(/^https?:\/\//, "");
  const place = text.split("/")[0] ?? "";
  const host = place.slice(place.lastIndexOf("@") + 1).toLowerCase();
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?$/.test(host) ? host : "";
}
