// A closed world in a temporary directory, and processes in it.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const demo = fileURLToPath(new URL("..", import.meta.url));

export async function freePort() {
  const server = createServer().listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** `hosts`: {name: address}. What start() started is stopped, and the directory removed, by close(). */
export async function makeWorld(hosts) {
  const dir = mkdtempSync(join(tmpdir(), "demo-"));
  const files = { hosts: join(dir, "hosts.json"), certs: join(dir, "certs"), run: dir };
  writeFileSync(files.hosts, JSON.stringify(hosts));
  execFileSync(join(demo, "ca.sh"), [files.certs, ...Object.keys(hosts)]);
  const port = await freePort();
  const children = [];

  async function start(script, ...args) {
    const common = Object.entries({ ...files, port, control: 0 }).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = spawn(process.execPath, [join(demo, script), ...common, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    let log = "";
    child.stderr.on("data", (chunk) => (log += chunk));
    const lines = createInterface({ input: child.stdout });
    const first = await Promise.race([once(lines, "line"), once(child, "exit").then(() => null)]);
    if (!first) throw new Error(`${script} ended: ${log}`);
    return { child, ...JSON.parse(first[0]) };
  }

  async function close() {
    const running = children.filter((child) => child.exitCode === null && child.signalCode === null);
    await Promise.all(running.map((child) => {
      child.kill("SIGKILL");
      return once(child, "exit");
    }));
    rmSync(dir, { recursive: true });
  }

  return { ...files, port, start, close };
}

/** A request to a control port: {status, body}. */
export async function call(control, request, body) {
  const [method, path] = request.split(" ");
  const raw = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(control + path, { method, body: method === "POST" ? raw ?? "{}" : undefined });
  return { status: response.status, body: await response.json() };
}

/** Waits until `probe` returns something true, and returns it. */
export async function until(what, probe) {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(30)) {
    const value = await probe();
    if (value) return value;
  }
  throw new Error(`waited in vain for ${what}`);
}
