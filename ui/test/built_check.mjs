// ui/dist is what ui/src gives, and its types hold. Ends with "N passed, N failed".

import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const run = (...args) => spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
let passed = 0;
let failed = 0;
const check = (ok, name, detail = "") => {
  if (ok) ++passed;
  else ++failed;
  if (!ok) console.log(`FAIL ${name}\n${detail}`);
};

const types = run("node_modules/typescript/bin/tsc", "--noEmit");
check(types.status === 0, "types", types.stdout);

const out = await mkdtemp(path.join(tmpdir(), "tagring-ui-"));
try {
  const built = run("build.mjs", "--out", out);
  check(built.status === 0, "build", built.stderr);
  const files = new Set([...(await readdir(out)), ...(await readdir(path.join(root, "dist")))]);
  for (const file of files) {
    const read = (directory) => readFile(path.join(directory, file)).catch(() => Buffer.alloc(0));
    const [fresh, kept] = await Promise.all([read(out), read(path.join(root, "dist"))]);
    check(fresh.equals(kept), `dist/${file} is not what the sources give: run make page`);
  }
} finally {
  await rm(out, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
