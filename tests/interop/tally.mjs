// Notes in build/interop.json what suites in JavaScript saw (tally.py).

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

export function npmVersion(software) {
  return JSON.parse(readFileSync(join(here, "node_modules", software, "package.json"), "utf8")).version;
}

export function debianVersion(software) {
  return execFileSync("dpkg-query", ["-W", "-f=${Version}", software], { encoding: "utf8" });
}

/** [{software, version, what, ok}] */
export function note(seen) {
  execFileSync("python3", [join(here, "tally.py")], { input: JSON.stringify(seen) });
}
