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
