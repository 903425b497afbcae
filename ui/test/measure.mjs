// Figures of the page, as one line of JSON: what a first visit transfers and how soon it shows something, and what the
// page holds in memory when all posts were scrolled through. Started by tools/bench_page.py.

import { readFileSync } from "node:fs";
import { launch, open } from "./browser.mjs";

const VISITS = 5;

const world = JSON.parse(process.env.PAGE_WORLD);
const browser = await launch(world.hosts);
const target = `/tags/${encodeURIComponent(world.tag)}`;

async function firstVisit() {
  const page = await open(browser, world.node);
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send("Network.enable");
  await page.goto(target);
  await page.getByRole("feed").waitFor();
  await page.locator(".bars").waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  await page.context().close();
  return { bytes, paint };
}

/** Memory of the page's process that is not shared with others, in MB. */
async function memory(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1]) / 1024);
  return Math.max(...sizes);
}

async function scrollThrough() {
  const page = await open(browser, world.node);
  await page.goto(target);
  await page.getByRole("feed").waitFor();
  const before = await memory(page);
  const end = page.getByText("That is all there is");
  const deadline = Date.now() + 300_000;
  while (!(await end.isVisible()) && Date.now() < deadline) {
    await page.mouse.wheel(0, 6000);
    await page.waitForTimeout(30);
  }
  if (!(await end.isVisible())) throw new Error("did not come to the end");
  const shown = await page.locator("article.post").last().getAttribute("aria-posinset");
  const after = await memory(page);
  await page.context().close();
  return { before, after, posts: Number(shown) };
}

const visits = [];
for (let i = 0; i < VISITS; ++i) visits.push(await firstVisit());
visits.sort((a, b) => a.paint - b.paint);
const { before, after, posts } = await scrollThrough();
await browser.close();
console.log(JSON.stringify({ bytes: Math.max(...visits.map(({ bytes }) => bytes)), paint: visits[VISITS >> 1].paint, before, after, posts }));
