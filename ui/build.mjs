// Builds dist/, which is compiled into the daemon (src/web/assets.cpp). Three programs, one file each: what a reader loads
// has nothing of what only administrators need. `--out DIR` writes elsewhere, for the test that compares.

import { cp, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { build } from "vite";

const root = import.meta.dirname;
const { values } = parseArgs({ options: { out: { type: "string", default: path.join(root, "dist") } } });
const out = path.resolve(values.out);

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const source of ["page.tsx", "early.ts", "admin.tsx"]) {
  const { name } = path.parse(source);
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: out,
      emptyOutDir: false,
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      rolldownOptions: {
        input: path.join(root, "src", source),
        output: { entryFileNames: `${name}.js`, assetFileNames: `${name}[extname]`, codeSplitting: false },
      },
    },
  });
}
await cp(path.join(root, "src", "icon.svg"), path.join(out, "icon.svg"));
