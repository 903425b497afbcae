// Chromium without a screen, in a world of hosts on loopback addresses.

import { mkdir } from "node:fs/promises";
import path from "node:path";
import { chromium } from "playwright-core";

export const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function launch(hosts) {
  const rules = Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`);
  return await chromium.launch({
    executablePath: EXECUTABLE,
    // As root there is no sandbox; nothing of the Internet is opened here.
    args: ["--no-sandbox", `--host-resolver-rules=${[...rules, "MAP * ~NOTFOUND"].join(", ")}`],
  });
}

/** A page in a context of its own; `page.foreign` is every host asked that is not the node, `page.asking` what is being fetched. */
export async function open(browser, node, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: node, locale: "en-GB", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(90_000); // machines may be busy
  page.foreign = new Set();
  page.problems = [];
  page.asking = new Set();
  // A stream never ends.
  page.on("request", (request) => request.resourceType() === "fetch" && page.asking.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => page.asking.delete(request));
  page.on("request", (request) => request.url().startsWith(`${node}/`) || page.foreign.add(new URL(request.url()).host));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (message) => message.text().includes("Content Security Policy") && page.problems.push(message.text()));
  return page;
}

export async function shoot(page, directory, name, options = {}) {
  await mkdir(directory, { recursive: true });
  await page.screenshot({ path: path.join(directory, `${name}.png`), ...options });
}
