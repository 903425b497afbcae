// What people see of a node. Started by tests/page/page_test.py, which brings up the nodes and writes the posts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { launch, open, shoot } from "./browser.mjs";

const world = JSON.parse(process.env.PAGE_WORLD);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TABS = ["Overview", "Ring", "Subscriptions", "Instances", "FASP", "Followers", "Reports", "Blocks", "Queues", "Storage", "Audit", "Changes", "Settings"];
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

let browser;
before(async () => {
  browser = await launch(world.hosts);
});
after(() => browser.close());

const tagPage = (tag) => `/tags/${encodeURIComponent(tag)}`;
const posts = (page) => page.locator("article.post");
const picture = (page, name, options) => shoot(page, world.screenshots, name, options);

async function control(route, body) {
  const response = await fetch(world.origins + route, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}

/** `use(page)` on a fresh page, which must have had no errors and must have asked nobody but the node. */
async function visit({ node = world.node, ...options }, use) {
  const page = await open(browser, node, options);
  await use(page);
  assert.deepEqual(page.problems, []);
  assert.deepEqual([...page.foreign], []);
  await page.context().close();
}

async function live(page, tag) {
  await page.goto(tagPage(tag));
  await page.getByRole("feed").waitFor();
}

/** Until all the posts are in the timeline of the hashtag, or none of them is. */
async function told(page, tag, uris, present) {
  const read = async (target) => (await (await fetch(target)).json()).map(({ uri }) => uri);
  for (const end = Date.now() + 90_000; Date.now() < end; ) {
    const there = await page.evaluate(read, `/api/v1/timelines/tag/${tag}`);
    if (uris.every((uri) => there.includes(uri) === present)) return;
    await page.waitForTimeout(100);
  }
  assert.fail(`${present ? "not" : "still"} under #${tag} after 90 seconds: ${uris}`);
}

/** Until the posts are there. Ends on the page that everything begins with. */
async function arrived(page, tag, uris) {
  await page.goto("/");
  await told(page, tag, uris, true);
}

const tell = (who, ...command) => execFileSync(who.login[0], [...command, "--config", who.login.at(-1)], { encoding: "utf8" });

/** Until the node is subscribed for who reads these hashtags: what is published before does not come by a stream. */
async function subscribed(page, tags) {
  for (const end = Date.now() + 90_000; Date.now() < end; await page.waitForTimeout(100)) {
    const wanted = JSON.parse(tell(world, "show", "subscriptions", "--json")).hashtags.map(({ tag }) => tag);
    if (tags.every((tag) => wanted.includes(tag)) && JSON.parse(tell(world, "status", "--json")).subscriptions_settled) return;
  }
  assert.fail(`not subscribed to ${tags} after 90 seconds`);
}

/** Until nothing more is asked for. */
async function loaded(page) {
  for (let quiet = 0; quiet < 4; ) {
    await page.waitForTimeout(100);
    quiet = page.asking.size > 0 ? 0 : quiet + 1;
  }
}

/** What axe finds, over everything that it can decide by itself. */
async function violations(page) {
  // Not subject to the page's policy, which permits no script but its own.
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`).join(" | ")}`);
}

function loginAddress({ login } = world, ...options) {
  return JSON.parse(execFileSync(login[0], [...login.slice(1), ...options], { encoding: "utf8" })).url;
}

async function administer(page, tab, who) {
  await page.goto(loginAddress(who));
  await page.getByRole("link", { name: tab, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: tab }).waitFor();
}

async function fits(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${content} px of content in a window of ${window} px`);
}

test("a reader sees posts of five servers, newest first", () =>
  visit({ viewport: { width: 1100, height: 1200 } }, async (page) => {
    await live(page, "caturday");
    const times = await posts(page).locator("time").evaluateAll((list) => list.map((time) => time.dateTime));
    assert.ok(times.length >= 20);
    assert.deepEqual(times, times.toSorted().reverse());
    const servers = await posts(page).evaluateAll((list) => list.map((post) => new URL(post.dataset.uri).hostname));
    assert.equal(new Set(servers).size, 5);
    await page.locator(".bars .bar").last().waitFor();
    await picture(page, "tag");
    await page.emulateMedia({ colorScheme: "dark" });
    await picture(page, "tag-dark");
  }));

const drawing = (width, height) => `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%"/></svg>`;

/** How far what is shown moved by itself, as browsers count it: 0.1 is bad. What is drawn anew they do not count. */
const moved = (page) => page.evaluate(() => globalThis.shift);

const countMoves = (page) =>
  page.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });

/** What is in a window as high as most are, from where to where. */
const boxes = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".lead, .tag-list > li, .follow, .address, .chart, .tools, .switch, article.post")]
      .map((element) => ({ what: element.classList[0] ?? element.tagName, box: element.getBoundingClientRect() }))
      .map(({ what, box: { top, bottom } }) => ({ what, top, bottom }))
      .filter(({ top }) => top < 900),
  );

for (const [where, options] of [["a desk", { viewport: { width: 1100, height: 900 } }], ["a phone", PHONE]]) {
  for (const [what, settings] of Object.entries({ nothing: {}, "an account": { account: "https://oak.example/@me" }, pictures: { images: "on" } })) {
    test(`all is where it was when the script takes over, on ${where}, with ${what} remembered`, async () => {
      const page = await open(browser, world.node, options);
      await page.addInitScript((values) => Object.assign(localStorage, values), settings);
      await page.route(/^https:..\w+\.example/, (route) => route.fulfill({ contentType: "image/svg+xml", body: drawing(300, 900) }));
      for (const [target, last] of [
        [tagPage("caturday"), page.locator(".bars .bar").first()],
        [tagPage("silentsunday"), page.locator(".bars .bar").first()],
        ["/", page.getByText("Just arrived")],
      ]) {
        let answer;
        const asked = new Promise((resolve) => (answer = resolve));
        await page.route("**/api/**", async (route) => {
          await asked;
          await route.continue();
        });
        await page.goto(target);
        assert.equal(await page.locator(".bars").count(), 0);
        const before = await boxes(page);
        answer();
        await last.waitFor();
        await loaded(page);
        const now = await boxes(page);
        assert.ok(before.some(({ what }) => what === (target === "/" ? "LI" : "post")));
        before.forEach(({ what, top, bottom }, i) => {
          assert.equal(now[i]?.what, what);
          for (const [was, is] of [[top, now[i].top], [bottom, now[i].bottom]])
            assert.ok(Math.abs(is - was) <= 8, `${target}: ${what} ${i}: ${was} to ${is}`);
        });
        await page.unroute("**/api/**");
      }
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });
  }

  test(`nothing moves while a page loads slowly, on ${where}`, () =>
    visit(options, async (page) => {
      await countMoves(page);
      // Each a little later than the one before, so that whatever comes by itself is painted by itself.
      let wait = 200;
      await page.route("**/api/**", async (route) => {
        await new Promise((resolve) => setTimeout(resolve, (wait += 150)));
        await route.continue();
      });
      for (const [target, last] of [
        [tagPage("caturday"), page.locator(".bars .bar").first()],
        ["/", page.getByText("Just arrived")],
      ]) {
        await page.goto(target);
        await last.waitFor();
        await loaded(page);
        const shift = await moved(page);
        assert.ok(shift <= 0.05, `${target}: ${shift}`);
      }
    }));
}

test("nothing moves when pictures come", async () => {
  const page = await open(browser, world.node, { viewport: { width: 1100, height: 900 } });
  await countMoves(page);
  await page.addInitScript(() => localStorage.setItem("images", "on"));
  await page.goto("/");
  const [status] = await page.evaluate(async (target) => (await fetch(target)).json(), "/api/v1/timelines/tag/caturday?limit=1");
  const shapes = [[600, 600], [900, 300], [300, 900]];
  const statuses = [true, false].flatMap((isTold) =>
    shapes.map(([width, height]) => {
      const url = `https://yew.example/${width}/${height}/${isTold}.svg`;
      const media = { id: url, type: "image", url, preview_url: url, description: "A cat", meta: isTold ? { original: { width, height } } : null };
      return { ...status, id: url, uri: url, media_attachments: [media] };
    }),
  );
  await page.route("**/api/v1/timelines/tag/**", (route) => route.fulfill({ json: statuses }));
  await page.route("https://yew.example/**", async (route) => {
    const [, width, height] = new URL(route.request().url()).pathname.split("/");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.fulfill({ contentType: "image/svg+xml", body: drawing(width, height) });
  });
  await live(page, "caturday");
  const pictures = await page.locator(".media img").all();
  assert.equal(pictures.length, statuses.length);
  for (const picture of pictures) {
    await picture.scrollIntoViewIfNeeded();
    await picture.evaluate((image) => image.complete || new Promise((resolve) => (image.onload = resolve)));
  }
  const shift = await moved(page);
  assert.ok(shift <= 0.05, String(shift));
  await page.context().close();
});

test("who has an account elsewhere follows in one step, and opens posts there", () =>
  visit({}, async (page) => {
    await page.addInitScript(() => localStorage.setItem("account", "https://oak.example/@me"));
    await live(page, "caturday");
    await page.getByRole("button", { name: "Follow as https://oak.example/@me" }).waitFor();
    const uri = await posts(page).first().getAttribute("data-uri");
    const there = posts(page).first().getByRole("link", { name: "Open at oak.example" });
    assert.equal(await there.getAttribute("href"), `https://oak.example/authorize_interaction?uri=${encodeURIComponent(uri)}`);
  }));

test("who has an account on a server of another name opens posts at that server, where it wants its people", () =>
  visit({}, async (page) => {
    const template = "https://oak.example/ostatus_subscribe?acct={uri}"; // Pleroma's
    await page.route("**/follow?account=*", (route) => route.fulfill({ json: { url: template.replace("{uri}", "x"), template, guessed: true } }));
    await live(page, "caturday");
    await page.locator(".follow summary").click();
    await page.locator(".follow input").fill("@me@family.example");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("link", { name: "go on at oak.example" }).waitFor();
    await live(page, "caturday");
    await page.getByRole("button", { name: "Follow as @me@family.example" }).waitFor();
    const uri = await posts(page).first().getAttribute("data-uri");
    const there = posts(page).first().getByRole("link", { name: "Open at oak.example" });
    assert.equal(await there.getAttribute("href"), template.replace("{uri}", encodeURIComponent(uri)));
    // One that is no address takes no more away than the link.
    await page.evaluate(() => localStorage.setItem("template", "https://{uri}/"));
    await live(page, "caturday");
    assert.equal(await page.getByRole("link", { name: /^Open at/ }).count(), 0);
  }));

test("who is not let follow is told to search for the address only if the node says that it helps", () =>
  visit({}, async (page) => {
    let answer;
    await page.route("**/follow?account=*", (route) => route.fulfill({ status: 422, json: answer }));
    await live(page, "caturday");
    await page.locator(".follow summary").click();
    await page.locator(".follow input").fill("@me@oak.example");
    for (const [error, by_hand, advice] of [
      ["oak.example has no page for that", true, " Copy the address instead, and search for it at your server: what is found can be followed."],
      ["people at oak.example can follow communities only", false, ""],
      ["so it is", undefined, ""],
    ]) {
      answer = { error, by_hand };
      await page.getByRole("button", { name: "Continue" }).click();
      const said = page.locator(".follow [role=status]", { hasText: error });
      await said.waitFor();
      assert.equal(await said.textContent(), `${error}.${advice}`);
    }
  }));

for (const [first, bars] of [[29, 30], [9, 10], [0, 7]]) {
  test(`a chart whose first post is ${first} days old has ${bars} days`, () =>
    visit({}, async (page) => {
      const day = new Date(Date.now() - first * 86_400_000).toISOString().slice(0, 10);
      await page.route("**/api/tagring/tags/**", (route) => route.fulfill({ json: [{ day, posts: 3, authors: 2 }] }));
      await live(page, "caturday");
      await page.getByText("3 posts").first().waitFor();
      assert.equal(await page.locator(".bars g").count(), bars);
    }));
}

test("a hashtag without posts shows neither chart nor filters", () =>
  visit({}, async (page) => {
    await page.goto(tagPage("nobodyhasusedthis"));
    await page.getByText("No posts yet. New ones will appear here.").waitFor();
    assert.equal(await page.locator(".chart, .filters").count(), 0);
  }));

test("what the node has drawn stays while the timeline cannot be read", () =>
  visit({}, async (page) => {
    await page.clock.install();
    let asked = 0;
    await page.route(/api\/v1\/timelines/, (route) => (++asked < 3 ? route.abort() : route.continue()));
    await page.goto(tagPage("caturday"));
    const drawn = await posts(page).count();
    assert.ok(drawn > 0);
    await loaded(page);
    assert.equal(await page.getByRole("feed").count(), 0);
    assert.equal(await posts(page).count(), drawn);
    for (let i = 0; i < 2; ++i) {
      await page.clock.fastForward(20_000);
      await loaded(page);
    }
    await page.getByRole("feed").waitFor();
  }));

test("as many hashtags are active when the script has taken over as the node has drawn", () =>
  visit({}, async (page) => {
    const tags = Array.from({ length: 15 }, (_, i) => `active${i}`);
    tell(world, "subscribe", ...tags);
    await page.goto("/");
    await subscribed(page, tags);
    await control("/post", { domain: "oak.example", text: tags.map((tag) => `#${tag}`).join(" ") });
    const count = () =>
      page.evaluate(async () => (await (await fetch("/api/v1/trends/tags?limit=20")).json()).length);
    for (const end = Date.now() + 90_000; Date.now() < end; await page.waitForTimeout(100))
      if ((await count()) >= tags.length) break;
    // Posts of other tests may still arrive: looked at again until no hashtag has become active meanwhile.
    for (let left = 10, isSame = false; !isSame; --left) {
      assert.ok(left > 0, "the hashtags that are active never rest");
      const before = await count();
      let answer;
      const asked = new Promise((resolve) => (answer = resolve));
      await page.route(/api\/v1\/trends/, async (route) => {
        await asked;
        await route.continue();
      });
      await page.goto("/");
      const drawn = await page.locator(".tag-list > li").count();
      assert.ok(drawn >= tags.length, `${drawn} hashtags`);
      answer();
      await page.locator(".bars").first().waitFor();
      const shown = await page.locator(".tag-list > li").count();
      await page.unroute(/api\/v1\/trends/);
      isSame = before === (await count());
      if (isSame) assert.equal(shown, drawn);
    }
  }));

test("the hashtags that the node has drawn stay while it answers nothing else", () =>
  visit({}, async (page) => {
    await page.clock.install();
    let asked = 0;
    await page.route(/api\/v1\/trends/, (route) => (++asked < 3 ? route.fulfill({ status: 429, json: { error: "later" } }) : route.continue()));
    await page.goto("/");
    const active = page.locator(".tag-list > li");
    const drawn = await active.count();
    assert.ok(drawn > 0);
    await loaded(page);
    assert.equal(await active.count(), drawn);
    assert.equal(await page.locator(".bars").count(), 0);
    for (let i = 0; i < 2; ++i) {
      await page.clock.fastForward(20_000);
      await loaded(page);
    }
    await page.locator(".bars").first().waitFor();
  }));

test("after a day without posts the start page says so", () =>
  visit({}, async (page) => {
    await page.route(/api\/v1\/trends/, (route) => route.fulfill({ json: [] }));
    await page.goto("/");
    await page.getByText("No hashtag was used here in the last 24 hours. Search for one above.").waitFor();
    assert.equal(await page.getByRole("heading", { name: /^Active/ }).count(), 0);
    await page.unroute(/api\/v1\/trends/);
    await page.goto("/");
    await page.locator(".bars").first().waitFor();
    assert.equal(await page.getByRole("heading", { name: "Active in the last 24 hours" }).count(), 1);
  }));

test("who is writing when the script is ready loses nothing of it", () =>
  visit({}, async (page) => {
    let answer;
    const asked = new Promise((resolve) => {
      page.route(/api\/v1\/timelines/, (route) => {
        answer = () => route.continue();
        resolve();
      });
    });
    await page.goto(tagPage("caturday"));
    await page.getByText("Follow", { exact: true }).click();
    const field = page.locator("input[name=account]");
    await field.fill("@me@social.ex");
    await asked;
    await answer();
    await loaded(page);
    assert.equal(await field.inputValue(), "@me@social.ex");
    await field.blur();
    await page.getByRole("feed").waitFor();
    assert.ok(await page.locator(".follow details[open]").count());
    assert.equal(await field.inputValue(), "@me@social.ex");
  }));

test("a page of older posts shows these", () =>
  visit({}, async (page) => {
    await page.goto(tagPage("caturday"));
    const older = page.locator("a[rel=next]");
    await page.route(/api\/v1\/timelines/, (route) => route.abort());
    await page.goto(tagPage("caturday"));
    await page.goto(await older.getAttribute("href"));
    const drawn = await posts(page).evaluateAll((list) => list.map((post) => post.dataset.uri));
    await loaded(page);
    assert.deepEqual(await posts(page).evaluateAll((list) => list.map((post) => post.dataset.uri)), drawn);
    assert.equal(await page.getByRole("link", { name: "Newest" }).count(), 1);
  }));

test("scrolling goes on to the oldest post", () =>
  visit({}, async (page) => {
    await live(page, "caturday");
    const seen = new Set();
    const end = page.getByText("That is all there is");
    for (const patience = Date.now() + 90_000; Date.now() < patience && !(await end.isVisible()); ) {
      for (const uri of await posts(page).evaluateAll((list) => list.map((post) => post.dataset.uri))) seen.add(uri);
      await page.mouse.wheel(0, 3000);
      await page.waitForTimeout(100);
    }
    for (const uri of await posts(page).evaluateAll((list) => list.map((post) => post.dataset.uri))) seen.add(uri);
    assert.ok(await end.isVisible());
    assert.ok(seen.size >= world.posts, `${seen.size} of ${world.posts} posts`);
    await page.keyboard.press("Home");
  }));

test("posts that arrive are offered, and shown when wished", () =>
  visit({}, async (page) => {
    await live(page, "caturday");
    const before = await posts(page).first().getAttribute("data-uri");
    const text = `Fresh from the mat ${Date.now()}`;
    await control("/post", { domain: "ash.example", text: `${text} #caturday` });
    const button = page.getByRole("button", { name: "1 new post" });
    await button.waitFor();
    assert.equal(await posts(page).first().getAttribute("data-uri"), before);
    await picture(page, "new-posts");
    await button.click();
    await posts(page).first().getByText(text).waitFor();
  }));

for (const [script, tag, text] of [
  ["Latin", "caturday", "cat on a mat"],
  ["Chinese characters", "猫", "とても眠そう"],
  ["Arabic", "قطط", "قطتي الجميلة"],
]) {
  test(`search finds a hashtag in ${script}`, () =>
    visit({}, async (page) => {
      await page.goto("/");
      await page.getByRole("searchbox").fill(`#${tag}`);
      await page.getByRole("searchbox").press("Enter");
      await page.locator("main").getByRole("link", { name: `#${tag}` }).first().click();
      await page.getByRole("heading", { level: 1, name: `#${tag}` }).waitFor();
      await page.getByText(text).first().waitFor();
      await picture(page, `search-${script.split(" ")[0].toLowerCase()}`);
    }));
}

test("hashtags are combined, and the timeline begins at a day", () =>
  visit({}, async (page) => {
    await live(page, "silentsunday");
    await page.getByText("Combine hashtags").click();
    await page.getByLabel("Must have").fill("bird");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByRole("feed").waitFor();
    await page.getByText("last summer").waitFor();
    assert.equal(await posts(page).count(), 1);
    await page.goto(`${tagPage("silentsunday")}?none=bird&until=2026-07-31`);
    await page.getByRole("feed").waitFor();
    await page.getByText("last spring").waitFor();
    assert.equal(await posts(page).count(), 1);
  }));

test("combined hashtags are live: posts come, stay as long as one hashtag does, and go", () =>
  visit({}, async (page) => {
    const write = async (text) => (await control("/post", { domain: "elm.example", text: `${text} ${Date.now()}` })).id;
    const first = await write("Asleep in the sun #lion #savanna");
    await arrived(page, "lion", [first]);
    // What comes must come by the stream, not because the page asks again.
    await page.addInitScript(() => (window.setInterval = () => 0));
    await page.goto(`${tagPage("lion")}?any=tiger&none=zoo`);
    await page.getByRole("feed").waitFor();
    const shown = (uri) => page.locator(`article.post[data-uri="${uri}"]`);
    await shown(first).waitFor();
    await subscribed(page, ["lion", "tiger"]);
    const both = await write("Who is stronger? #lion #tiger");
    const zoo = await write("Behind bars #tiger #zoo");
    const news = page.getByRole("button", { name: "1 new post" });
    await news.waitFor();
    await news.click();
    await shown(both).waitFor();
    await control("/edit", { id: both, text: "Who is stronger? #tiger" });
    await control("/delete", { id: first });
    await shown(first).waitFor({ state: "detached" });
    assert.equal(await shown(both).count(), 1);
    assert.equal(await shown(zoo).count(), 0);
    await control("/delete", { id: both });
    await shown(both).waitFor({ state: "detached" });
  }));

test("what comes live is filtered as the node does it, in any script", () =>
  visit({}, async (page) => {
    await page.addInitScript(() => (window.setInterval = () => 0));
    await page.goto(`${tagPage("lynx")}?any=${encodeURIComponent("Łódź")}&none=${encodeURIComponent("ハス")}`);
    await page.getByRole("feed").waitFor({ state: "attached" }); // without a post it has no height
    await subscribed(page, ["lynx", "lodz"]);
    await control("/post", { domain: "elm.example", text: `By bus #lynx #バス ${Date.now()}` });
    await posts(page).getByText("By bus").waitFor();
    await control("/post", { domain: "elm.example", text: `At home #Łódź ${Date.now()}` });
    await page.getByRole("button", { name: "1 new post" }).waitFor();
  }));

test("what an author edits is shown as it is now, and what was not shown is no news", () =>
  visit({}, async (page) => {
    await page.goto("/");
    const [first] = await page.evaluate(async (target) => (await fetch(target)).json(), "/api/v1/timelines/tag/caturday?limit=1");
    const statuses = [{ ...first, id: "1", uri: `${first.uri}/old` }, { ...first, content: "<p>Never mind the cat</p>" }];
    const events = statuses.map((status) => `event: status.update\ndata: ${JSON.stringify(status)}\n\n`);
    await page.route("**/api/v1/streaming/**", (route) => route.fulfill({ contentType: "text/event-stream", body: events.join("") }));
    await live(page, "caturday");
    await page.locator(`article.post[data-uri="${first.uri}"]`).getByText("Never mind the cat").waitFor();
    assert.equal(await page.getByRole("button", { name: "1 new post" }).count(), 0);
  }));

test("a post that leaves the page and comes back is shown again", () =>
  visit({}, async (page) => {
    const write = async (text) => (await control("/post", { domain: "elm.example", text: `${text} #colocolo ${Date.now()}` })).id;
    const uris = [await write("It stays"), await write("To and fro")];
    await arrived(page, "colocolo", uris);
    const statuses = await page.evaluate(async (target) => (await fetch(target)).json(), "/api/v1/timelines/tag/colocolo");
    const status = statuses.find(({ uri }) => uri === uris[1]);
    const events = [["delete", status.id], ["update", JSON.stringify({ ...status, content: "<p>Here again</p>" })]];
    const body = events.map(([event, data]) => `event: ${event}\ndata: ${data}\n\n`).join("");
    await page.route("**/api/v1/streaming/**", (route) => route.fulfill({ contentType: "text/event-stream", body }), { times: 1 });
    await live(page, "colocolo");
    await page.getByRole("button", { name: "1 new post" }).click();
    await posts(page).getByText("Here again").waitFor();
  }));

/** Hides the tab, or shows it. */
const turn = (page, hidden) =>
  page.evaluate((is) => {
    Object.defineProperty(document, "hidden", { value: is, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

/** `count` posts with the text, the first of them so many seconds ago, the others one second apart. */
async function writeMany(count, text, ago) {
  const start = Date.now() - ago * 1000;
  const published = (i) => new Date(start + i * 1000).toISOString();
  for (let i = 0; i < count; ++i) await control("/post", { domain: "elm.example", text: `${i} ${text}`, published: published(i) });
}

/** Until the timeline of the hashtag, read to its end, has `count` posts: their URIs, newest first. */
async function listed(page, tag, count) {
  const readAll = async (target) => {
    const uris = [];
    while (target) {
      const response = await fetch(target);
      uris.push(...(await response.json()).map(({ uri }) => uri));
      target = /<([^>]+)>; rel="next"/.exec(response.headers.get("Link"))?.[1];
    }
    return uris;
  };
  for (const end = Date.now() + 90_000; Date.now() < end; await page.waitForTimeout(100)) {
    const uris = await page.evaluate(readAll, `/api/v1/timelines/tag/${tag}?limit=40`);
    if (uris.length === count) return uris;
  }
  assert.fail(`not ${count} posts under #${tag} after 90 seconds`);
}

/** Opens the page of a hashtag that has one post, and waits until it listens. */
async function openLive(page, tag) {
  await writeMany(1, `First #${tag}`, 900);
  await page.goto("/");
  const [first] = await listed(page, tag, 1);
  const listens = page.waitForRequest(/streaming/);
  await live(page, tag);
  await listens;
  await subscribed(page, [tag]);
  return first;
}

const shownFirst = (page) => page.locator(".piece").first().locator("article.post").evaluateAll((list) => list.map((post) => post.dataset.uri));

for (const [what, broken] of [["", 0], [", also if that breaks off", 2]]) {
  test(`who comes back to the tab after a hundred posts has them all, in order${what}`, () =>
    visit({}, async (page) => {
      const tag = `puma${broken}`;
      await page.clock.install();
      await openLive(page, tag);
      let asked = 0;
      await page.route(/timelines.*min_id=/, (route) => (++asked === broken ? route.abort() : route.continue()));
      await turn(page, true);
      await writeMany(100, `Unseen #${tag}`, 600);
      await listed(page, tag, 101);
      await turn(page, false);
      await writeMany(1, `Seen #${tag}`, 0);
      const all = await listed(page, tag, 102);
      await page.getByRole("button", { name: "new post" }).waitFor();
      await loaded(page);
      await page.clock.fastForward(20_000);
      await page.getByRole("button", { name: "101 new posts" }).click();
      await posts(page).nth(100).waitFor();
      assert.deepEqual(await shownFirst(page), all.slice(0, 101));
    }));
}

test("who shows new posts while older ones are on their way gets them together", () =>
  visit({}, async (page) => {
    await openLive(page, "margay");
    let answer;
    const asked = new Promise((resolve) => (answer = resolve));
    await page.route(/timelines.*min_id=/, async (route) => {
      await asked;
      await route.continue();
    });
    await turn(page, true);
    await writeMany(50, "Unseen #margay", 600);
    await listed(page, "margay", 51);
    const listens = page.waitForRequest(/timelines.*min_id=/);
    await turn(page, false);
    await listens;
    await writeMany(1, "Seen #margay", 0);
    await page.getByRole("button", { name: "1 new post" }).click();
    answer();
    const all = await listed(page, "margay", 52);
    await posts(page).nth(50).waitFor();
    assert.deepEqual(await shownFirst(page), all.slice(0, 51));
  }));

test("who comes back to the tab has also what was delivered late", () =>
  visit({}, async (page) => {
    await openLive(page, "kodkod");
    const news = page.getByRole("button", { name: "1 new post" });
    await writeMany(1, "In time #kodkod", 100);
    await news.click();
    await turn(page, true);
    await writeMany(1, "Late #kodkod", 500);
    await listed(page, "kodkod", 3);
    await turn(page, false);
    await news.click();
    await posts(page).first().getByText("Late").waitFor();
  }));

test("what is deleted while the page catches up does not appear", () =>
  visit({}, async (page) => {
    const first = await openLive(page, "ocelot");
    await turn(page, true);
    await writeMany(1, "Gone soon #ocelot", 600);
    await listed(page, "ocelot", 2);
    const [gone] = await page.evaluate(async (target) => (await fetch(target)).json(), "/api/v1/timelines/tag/ocelot?limit=1");
    let answer;
    const asked = new Promise((resolve) => (answer = resolve));
    await page.route(/timelines.*min_id=/, async (route) => {
      await asked;
      await route.fulfill({ json: [gone] });
    });
    const asks = page.waitForRequest(/timelines.*min_id=/);
    await turn(page, false);
    await asks;
    await control("/delete", { id: gone.uri });
    await writeMany(1, "Here to stay #ocelot", 0);
    // The stream has told of the deletion before this post.
    const news = page.getByRole("button", { name: "1 new post" });
    await news.waitFor();
    answer();
    await loaded(page);
    await news.click();
    await posts(page).nth(1).waitFor();
    const [stays, ...others] = await posts(page).evaluateAll((list) => list.map((post) => post.dataset.uri));
    assert.notEqual(stays, gone.uri);
    assert.deepEqual(others, [first]);
  }));

test("who has missed more than can be caught up with begins with the newest posts", () =>
  visit({}, async (page) => {
    const first = await openLive(page, "caracal");
    await turn(page, true);
    await writeMany(1, "Unseen #caracal", 600);
    const all = await listed(page, "caracal", 2);
    let asked = 0;
    await page.route(/timelines.*min_id=/, (route) => {
      const next = BigInt(new URL(route.request().url()).searchParams.get("min_id")) + 1n;
      ++asked;
      return route.fulfill({ json: [], headers: { Link: `<${world.node}/api/v1/timelines/tag/caracal?min_id=${next}>; rel="prev"` } });
    });
    await turn(page, false);
    await page.locator(`article.post[data-uri="${all[0]}"]`).waitFor();
    assert.deepEqual(await posts(page).evaluateAll((list) => list.map((post) => post.dataset.uri)), [all[0], first]);
    assert.equal(asked, 10);
    await writeMany(1, "Seen #caracal", 0);
    await page.getByRole("button", { name: "1 new post" }).waitFor();
  }));

test("combined hashtags are caught up with through hundreds of posts that do not match, without a stream", () =>
  visit({}, async (page) => {
    await page.routeWebSocket(/streaming/, (socket) => socket.close());
    await page.clock.install();
    await writeMany(1, "First #serval #night", 900);
    await page.goto("/");
    await listed(page, "serval", 1);
    await page.goto(`${tagPage("serval")}?all=night`);
    await posts(page).first().waitFor();
    await loaded(page);
    await writeMany(300, "By day #serval", 800);
    await writeMany(1, "By night #serval #night", 400);
    await listed(page, "serval", 302);
    await page.clock.fastForward(20_000);
    await page.getByRole("button", { name: "1 new post" }).click();
    await posts(page).nth(1).waitFor();
  }));

for (const query of ["", "?any=leopard"]) {
  test(`what is deleted while nobody looks at the tab is gone later (/tags/panther${query})`, () =>
    visit({}, async (page) => {
      const write = async (text, minutes) => {
        const published = new Date(Date.now() - minutes * 60_000).toISOString();
        return (await control("/post", { domain: "elm.example", text: `${text} ${Date.now()} #panther`, published })).id;
      };
      const [oldest, gone, newest] = [await write("One", 3), await write("Two", 2), await write("Three", 1)];
      await arrived(page, "panther", [oldest, gone, newest]);
      await page.clock.install();
      const listens = query ? page.waitForEvent("websocket") : page.waitForRequest(/streaming/);
      await page.goto(`${tagPage("panther")}${query}`);
      const shown = (uri) => page.locator(`article.post[data-uri="${uri}"]`);
      for (const uri of [oldest, gone, newest]) await shown(uri).waitFor();
      await listens;
      await turn(page, true);
      for (const uri of [oldest, gone]) await control("/delete", { id: uri });
      await told(page, "panther", [oldest, gone], false);
      const checked = page.waitForResponse((response) => /timelines.*limit=40$/.test(response.url()));
      await turn(page, false);
      await (await checked).finished();
      await page.clock.fastForward(40_000);
      for (const uri of [oldest, gone]) await shown(uri).waitFor({ state: "detached" });
      assert.equal(await shown(newest).count(), 1);
      await control("/delete", { id: newest });
    }));
}

test("warnings hide posts, and images come only when wished", async () => {
  const page = await open(browser, world.node);
  await live(page, "silentsunday");
  const hidden = page.getByText("What I found under the bed");
  assert.equal(await hidden.isVisible(), false);
  await page.getByText("Spiders").click();
  assert.equal(await hidden.isVisible(), true);
  assert.deepEqual([...page.foreign], []);
  await picture(page, "warning-and-image");
  const asked = page.waitForRequest((request) => request.resourceType() === "image");
  await page.getByRole("button", { name: "Show image: A black cat" }).click();
  await asked;
  assert.deepEqual([...page.foreign], [`yew.example:${new URL(world.node).port}`]);
  await page.context().close();
});

test("a warning that looks like markup hides the post", () =>
  visit({}, async (page) => {
    await page.goto("/");
    const [first] = await page.evaluate(async (target) => (await fetch(target)).json(), "/api/v1/timelines/tag/caturday?limit=1");
    await page.route("**/api/v1/timelines/tag/**", (route) => route.fulfill({ json: [{ ...first, spoiler_text: "<Dune>" }] }));
    await live(page, "caturday");
    await posts(page).getByText("<Dune>").waitFor();
    assert.equal(await posts(page).locator(".content").isVisible(), false);
  }));

test("what a post smuggles in does not get into the page", async () => {
  const page = await open(browser, world.node);
  const content =
    '<p>safe<script>window.hacked = 1</script><img src="https://evil.example/x.png" onerror="window.hacked = 1">' +
    '<a href="javascript:window.hacked = 1">link</a><b style="position:fixed">bold</b><iframe src="https://evil.example"></iframe></p>';
  const account = { acct: "mallory@evil.example", username: "mallory", display_name: "<b>Mallory", url: "javascript:window.hacked = 1" };
  const status = { id: "1", uri: "https://evil.example/1", url: "javascript:window.hacked = 1", created_at: "2026-11-21T02:24:00Z", account, content };
  const rest = { spoiler_text: "", sensitive: false, language: null, media_attachments: [], tags: [] };
  await page.route("**/api/v1/timelines/tag/**", (route) => route.fulfill({ json: [{ ...status, ...rest }] }));
  await live(page, "caturday");
  const shown = posts(page).first().locator(".content");
  assert.equal(await shown.getAttribute("lang"), "", "not that of the page");
  assert.equal(await shown.innerHTML(), '<p>safe<a rel="nofollow noopener noreferrer">link</a><b>bold</b></p>');
  for (const link of await posts(page).getByRole("link").all()) assert.doesNotMatch((await link.getAttribute("href")) ?? "", /^javascript/);
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.deepEqual([...page.foreign], []);
  await page.context().close();
});

test("without JavaScript, pages follow one another", () =>
  visit({ javaScriptEnabled: false, viewport: { width: 800, height: 1000 } }, async (page) => {
    const texts = async () => (await posts(page).allInnerTexts()).map((text) => text.replace(/^.* ago$/m, ""));
    await page.goto(tagPage("caturday"));
    const first = await texts();
    assert.equal(first.length, 20);
    for (const label of ["Copy", "Load images"]) assert.equal(await page.getByText(label, { exact: true }).isVisible(), false, label);
    await picture(page, "no-javascript");
    await page.getByRole("link", { name: "Older posts" }).click();
    const second = await texts();
    assert.equal(second.length, 20);
    assert.equal(new Set([...first, ...second]).size, 40);
    await page.getByRole("link", { name: "Newer posts" }).click();
    assert.deepEqual((await texts())[0], first[0]);
    await page.goto(tagPage("قطط"));
    await page.getByText("قطتي الجميلة").waitFor();
  }));

test("a phone of 320 pixels has room for everything", async () => {
  await visit(PHONE, async (page) => {
    await live(page, "قطط");
    await fits(page);
    await picture(page, "phone-rtl");
    await live(page, "caturday");
    await page.locator(".bars").first().waitFor();
    await fits(page);
    await picture(page, "phone");
    await page.goto("/");
    await page.getByText("Just arrived").waitFor();
    await fits(page);
    await picture(page, "phone-home");
    await page.goto(loginAddress());
    for (const tab of TABS) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: tab }).waitFor();
      await loaded(page);
      await fits(page);
      await picture(page, `phone-admin-${tab.toLowerCase()}`, { fullPage: tab !== "Settings" });
    }
  });
  await visit({ ...PHONE, javaScriptEnabled: false }, async (page) => {
    await page.goto(tagPage("caturday"));
    await fits(page);
  });
});

for (const account of ["", "@me@oak.example"]) {
  test(`what is pressed with a finger is 44 pixels high, ${account ? "for who has an account" : "for who has none"}`, () =>
    visit(PHONE, async (page) => {
      await page.addInitScript((value) => localStorage.setItem("account", value), account);
      for (const [target, last] of [
        [tagPage("silentsunday"), page.locator(".chart .bars .bar").first()],
        ["/", page.getByText("Just arrived")],
      ]) {
        await page.goto(target);
        await last.waitFor();
        assert.ok(await page.evaluate(() => matchMedia("(pointer: coarse)").matches));
        const low = await page.evaluate(() => {
          for (const details of document.querySelectorAll("details")) details.open = true;
          // Not links within sentences; a box to tick is pressed by its label; the first link is for the keyboard.
          return [...document.querySelectorAll("a[href], button, summary, select, input, .switch, .chart .bars")]
            .filter((element) => !element.closest(".content, .foot, .skip, [type=checkbox]"))
            .map((element) => [element.outerHTML.slice(0, 120), element.getBoundingClientRect().height])
            .filter(([, height]) => Math.round(height) < 44);
        });
        assert.deepEqual(low, [], target);
      }
    }));
}

test("the keyboard goes from post to post", () =>
  visit({}, async (page) => {
    await live(page, "caturday");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-posinset")), "2");
    await page.keyboard.press("k");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-posinset")), "1");
  }));

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing wrong (${colorScheme})`, () =>
    visit({ colorScheme, viewport: { width: 1000, height: 900 } }, async (page) => {
      await page.goto("/");
      await page.getByText("Just arrived").waitFor();
      await picture(page, `home-${colorScheme}`);
      assert.deepEqual(await violations(page), []);
      for (const tag of ["caturday", "قطط", "猫"]) {
        await live(page, tag);
        assert.deepEqual(await violations(page), [], tag);
      }
      await page.goto(`${tagPage("silentsunday")}?none=bird`);
      await page.getByRole("feed").waitFor();
      assert.deepEqual(await violations(page), []);
      await page.goto("/search?q=cat");
      assert.deepEqual(await violations(page), []);
      await page.goto("/admin");
      await page.getByLabel("Secret").waitFor();
      assert.deepEqual(await violations(page), []);
      await page.goto(loginAddress());
      for (const tab of TABS) {
        await page.getByRole("link", { name: tab, exact: true }).click();
        await page.getByRole("heading", { level: 1, name: tab }).waitFor();
        await loaded(page);
        await picture(page, `admin-${tab.toLowerCase()}${colorScheme === "dark" ? "-dark" : ""}`, { fullPage: tab !== "Settings" });
        assert.deepEqual(await violations(page), [], tab);
      }
    }));
}

test("without JavaScript, axe finds nothing wrong either", async () => {
  const page = await open(browser, world.node);
  await page.route("**/assets/*.js*", (route) => route.abort());
  await page.goto(tagPage("caturday"));
  assert.deepEqual(await violations(page), []);
  await page.context().close();
});

test("who is not logged in administers nothing", () =>
  visit({}, async (page) => {
    await page.goto("/admin");
    await page.getByLabel("Secret").fill("0".repeat(64));
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("not known here").waitFor();
    assert.equal(await page.getByRole("navigation").count(), 0);
  }));

test("administrators are named with what they change, and may do what their role says", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    await page.goto(loginAddress(world, "--name", "mo", "--role", "moderate"));
    await page.getByText("mo: may moderate").waitFor();
    await page.getByRole("link", { name: "Blocks" }).click();
    await page.getByLabel("Name", { exact: true }).fill("noisy.example");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByRole("button", { name: "Lift the block of noisy.example" }).click();
    await page.getByText("Nothing is blocked.").waitFor();
    await page.getByRole("link", { name: "Subscriptions" }).click();
    await page.getByLabel("Hashtags").fill("unheardof");
    await page.getByRole("button", { name: "Subscribe", exact: true }).click();
    await page.getByText("the role of mo is 'moderate', and this needs 'all'").waitFor();
    await page.getByRole("link", { name: "Changes" }).click();
    const row = page.getByRole("row", { name: /mo blocks\/remove .*noisy\.example.* done/ });
    await row.waitFor();
    await picture(page, "admin-changed");
  }));

test("a hashtag that the administrator blocks is not shown any more", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const reader = await open(browser, world.node);
    assert.equal((await reader.goto(tagPage("silentsunday"))).status(), 200);
    const address = loginAddress();
    await page.goto(address);
    await page.getByRole("link", { name: "Blocks" }).click();
    assert.ok(!page.url().includes(new URL(address).hash));
    await page.getByLabel("What").selectOption("tag");
    await page.getByLabel("Name", { exact: true }).fill("#SilentSunday");
    await page.getByLabel("Reason").fill("a test");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByRole("cell", { name: "silentsunday", exact: true }).waitFor();
    await picture(page, "admin-block");
    const blocked = await reader.goto(tagPage("silentsunday"));
    assert.equal(blocked.status(), 404);
    assert.equal(await posts(reader).count(), 0);
    await page.getByRole("button", { name: "Lift the block of silentsunday" }).click();
    await page.getByText("Nothing is blocked.").waitFor();
    assert.equal((await reader.goto(tagPage("silentsunday"))).status(), 200);
    await reader.context().close();
  }));

test("who blocks more than was meant is told so", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const effect = { fresh: 1, known: 0, lifted: [], followers: [], instances: [], skipped: [], suffixes: ["example"], own: ["oak.example is an instance of this node's own"] };
    await page.route("**/admin/blocks/add", (route) => route.fulfill({ json: effect }));
    await administer(page, "Blocks", world);
    await page.getByLabel("Name", { exact: true }).fill("example");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByText("Every server of this ending falls under it: example").waitFor();
    await page.getByText("Warning: oak.example is an instance").waitFor();
  }));

test("a list says what it would do before it is imported, and instances are kept apart", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    await administer(page, "Blocks", world);
    const preview = async (text) => {
      await page.getByLabel("File").setInputFiles({ name: "list.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
      await page.getByLabel("Name of the list").fill("tier0");
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByRole("region", { name: "Preview" }).waitFor();
    };
    await preview("#domain,#severity\nspam.example,suspend\nscam.example,suspend\nloud.example,silence\n");
    await page.getByText("would block 2 more domains").waitFor();
    await page.getByText("Left out of it: 1").click();
    await page.getByText("severity is silence").waitFor();
    assert.ok(await page.getByText("Nothing is blocked.").isVisible());
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-preview", { fullPage: true });
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("cell", { name: "spam.example", exact: true }).waitFor();
    await preview("scam.example\n");
    await page.getByText("would be lifted: 1").waitFor();
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("cell", { name: "spam.example", exact: true }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Lift the block of scam.example" }).click();
    await page.getByText("Nothing is blocked.").waitFor();
    await page.getByLabel("Instance", { exact: true }).fill("oak.example");
    await page.getByLabel("Never").selectOption("send");
    await page.getByLabel("Other instance").fill("far.example");
    await page.getByRole("button", { name: "Keep apart" }).click();
    await page.getByRole("row", { name: /oak\.example sends posts to far\.example/ }).waitFor();
    await page.getByRole("button", { name: "Lift what keeps oak.example and far.example apart" }).click();
    await page.getByText("No instances are kept apart.").waitFor();
  }));

test("instances show how they are connected, and only who waits for the administrator is said to", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const row = { publishes: false, receives: false, decided: false, links: [], hashtags: 0, blocked: false, refuses: false, follows: 0 };
    const link = { actor: "https://elm.example/actor", relay: `${world.node}/actor`, style: "mastodon", accepted: true };
    const instances = [
      { ...row, host: "ash.example", follows: 3, refuses: true },
      { ...row, host: "elm.example", links: [{ ...link, accepted: false }] },
      { ...row, host: "fir.example", decided: true, blocked: true, links: [{ ...link, relay: `${world.node}/tag/cats` }] },
      { ...row, host: "yew.example", decided: true, links: [{ ...link, actor: "https://yew.example/@me", style: "person", followed_back: "waits" }] },
      { ...row, host: "oak.example", decided: true, links: [{ ...link, untaken: "HTTP status 500" }, { ...link, relay: `${world.node}/tag/cats`, untaken: "" }], fails: "timed out" },
    ];
    await page.route("**/admin/instances", (route) => route.fulfill({ json: { instances } }));
    await page.route("**/admin/instances/permit", (route) => route.fulfill({ json: { host: "example", added: false, suffix: true } }));
    await administer(page, "Instances", world);
    await page.getByRole("row", { name: /ash\.example not as a relay, 3 follows of hashtags, refuses what this node sends 0.*not asked/ }).waitFor();
    await page.getByRole("row", { name: /elm\.example mastodon \(waits for you\) 0.*waits for you/ }).waitFor();
    await page.getByRole("row", { name: /fir\.example blocked, mastodon #cats 0.*decided/ }).waitFor();
    await page.getByRole("row", { name: /yew\.example person https:\/\/yew\.example\/@me \(waits for them to accept\) 0.*decided/ }).waitFor();
    await page.getByRole("row", { name: /oak\.example mastodon \(has not taken the Accept: HTTP status 500\), mastodon #cats \(is being told so\), takes nothing now: timed out 0.*decided/ }).waitFor();
    assert.equal(await page.getByRole("cell", { name: "waits for you", exact: true }).count(), 1);
    assert.deepEqual(await violations(page), []);
    await page.getByLabel("Instance", { exact: true }).fill("example");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Every server of this ending falls under it: example").waitFor();
    await page.getByText("example does not use this node as a relay now").waitFor();
  }));

test("histories under way show how far they are, and can be cancelled", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const replay = { host: "oak.example", tag: "caturday", order: "newest_first", sent: 30, skipped: 10, estimated: 100, per_minute: 60, authors_per_day: 4, started: new Date().toISOString() };
    const replays = [
      { ...replay, state: "sending", failing_since: new Date(Date.now() - 3_600_000).toISOString() },
      { ...replay, host: "yew.example", state: "sending", authors_per_day: 0, waits_until: "2026-11-25T00:00:00Z", waits_for: "#caturday has 5 authors a day by itself here" },
      { ...replay, host: "elm.example", state: "failed", reason: "nothing could be sent for 7 days" },
    ];
    const asked = [];
    await page.route("**/admin/instances/replays", (route) => route.fulfill({ json: { replays } }));
    await page.route("**/admin/instances/cancel-replay", (route) => {
      asked.push(route.request().postDataJSON());
      return route.fulfill({ json: {} });
    });
    await administer(page, "Instances", world);
    const bar = page.getByRole("progressbar", { name: "#caturday to oak.example" });
    assert.deepEqual([await bar.getAttribute("value"), await bar.getAttribute("max")], ["40", "100"]);
    await page.getByRole("row", { name: /oak\.example.*30 of about 90 posts, 10 left out; 60 a minute, of at most 4 authors a day.*fails since 1h ago/ }).waitFor();
    await page.getByRole("row", { name: /yew\.example.*of any number of authors a day.*waits until .*2026.*: #caturday has 5 authors a day by itself here/ }).waitFor();
    await page.getByRole("row", { name: /elm\.example.*failed.*nothing could be sent for 7 days/ }).waitFor();
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-replays", { fullPage: true });
    const cancelled = page.waitForResponse("**/admin/instances/cancel-replay");
    await page.getByRole("button", { name: "Cancel #caturday to oak.example" }).click();
    await cancelled;
    assert.deepEqual(asked, [{ host: "oak.example", tag: "caturday" }]);
    // The node itself answers this one.
    await page.getByLabel("To the instance").fill("far.example");
    await page.getByLabel("History of").fill("caturday");
    await page.getByLabel("It keeps posts of others").fill("14");
    const begun = page.waitForRequest("**/admin/instances/replay");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    assert.equal((await begun).postDataJSON().max_age_s, 14 * 86_400);
    await page.getByText("far.example is not subscribed to #caturday").waitFor();
  }));

test("reports show what they are about, are told to the author's server, and closed", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const post = "https://oak.example/notes/1";
    const reports = [
      { id: 7, at: new Date(Date.now() - 3_600_000).toISOString(), from: "https://elm.example/actor", comment: "<b>spam</b>", about: [`${world.node}/tag/cats`, post], forwarded: [], open: true },
      { id: 6, at: "2026-11-01T00:00:00Z", from: "https://elm.example/actor", comment: "", about: [post], forwarded: [post], open: false },
    ];
    const asked = [];
    await page.route("**/admin/reports", (route) => route.fulfill({ json: { reports } }));
    await page.route("**/admin/reports/*", (route) => {
      asked.push([new URL(route.request().url()).pathname, route.request().postDataJSON()]);
      return route.fulfill({ json: {} });
    });
    await administer(page, "Reports", world);
    await page.getByRole("row", { name: /1h ago.*elm\.example.*<b>spam<\/b>.*oak\.example\/notes\/1/ }).waitFor();
    await page.getByText("(its server was told)").waitFor();
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-reports-rows");
    for (const name of ["Tell its server of what report 7 is about", "Close report 7"]) {
      const answered = page.waitForResponse("**/admin/reports/*");
      await page.getByRole("button", { name }).click();
      await answered;
    }
    assert.deepEqual(asked, [["/admin/reports/forward", { id: 7 }], ["/admin/reports/close", { id: 7 }]]);
    assert.equal(await page.getByRole("button", { name: /report 6/ }).count(), 0);
  }));

test("what a click has begun is not begun again while it is under way", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const report = { id: 7, at: new Date().toISOString(), from: "https://elm.example/actor", comment: "", about: ["https://oak.example/notes/1"], forwarded: [], open: true };
    await page.route("**/admin/reports", (route) => route.fulfill({ json: { reports: [report] } }));
    let asked = 0;
    let begin;
    const begun = new Promise((resolve) => (begin = resolve));
    await page.route("**/admin/reports/forward", (route) => {
      asked += 1;
      begin(route);
    });
    await administer(page, "Reports", world);
    const button = page.getByRole("button", { name: "Tell its server of what report 7 is about" });
    await button.click();
    const route = await begun;
    await page.locator("td button:disabled").waitFor();
    await button.click({ force: true });
    await page.waitForTimeout(200);
    assert.equal(asked, 1);
    await route.fulfill({ json: {} });
    await page.locator("td button:disabled").waitFor({ state: "detached" });
  }));

test("servers that use the node as a FASP show what they have activated, and go after a question", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const server = { fingerprint: "rAnDoM+fingerprint/of=44+letters0123456789abc", since: new Date().toISOString(), hashtags: [], capabilities: [] };
    const servers = [
      { ...server, host: "oak.example", completion_url: "https://oak.example/admin/fasp" },
      { ...server, host: "elm.example", completion_url: "", capabilities: ["data_sharing"], hashtags: ["cats"], backfill: { wanted: 1000, received: 200, done: false } },
      { ...server, host: "yew.example", completion_url: "javascript:1", capabilities: ["data_sharing"], refused: true },
    ];
    const asked = [];
    await page.route("**/admin/fasp", (route) => route.fulfill({ json: { servers } }));
    await page.route("**/admin/fasp/*", (route) => {
      asked.push([new URL(route.request().url()).pathname, route.request().postDataJSON()]);
      return route.fulfill({ json: { host: "ash.example", had_it_before: true, told: false } });
    });
    await administer(page, "FASP", world);
    await page.getByRole("row", { name: /yew\.example does not know this node any more/ }).waitFor();
    assert.equal(await page.getByRole("link", { name: "go on there" }).getAttribute("href"), "https://oak.example/admin/fasp");
    await page.getByRole("row", { name: /elm\.example data sharing 1 200 of 1,000/ }).waitFor();
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-fasp-servers");
    await page.getByRole("button", { name: "Ask for 1,000 old posts of yew.example" }).click();
    await page.getByRole("button", { name: "Remove oak.example" }).click();
    await page.getByRole("dialog", { name: "End all dealings with oak.example?" }).waitFor();
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual(asked, [["/admin/fasp/backfill", { host: "yew.example", count: 1000 }], ["/admin/fasp/remove", { host: "oak.example" }]]);
    await page.getByText("oak.example could not be told, and goes on sending.").waitFor();
    await page.getByLabel("Server", { exact: true }).fill("ash.example");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByText("ash.example has this node of before still").waitFor();
    assert.equal(await page.getByText("could not be told").count(), 0);
  }));

test("the ring shows this node among its neighbours", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    await page.goto(loginAddress());
    await page.getByRole("link", { name: "Ring", exact: true }).click();
    for (const name of ["relay", "storage"]) {
      const ring = page.getByRole("img", { name: new RegExp(`^The ${name} ring: 2 vservers`) });
      await ring.waitFor();
      assert.equal(await ring.locator(".serving").count(), 2);
      assert.ok((await ring.locator(".other").count()) >= 4);
    }
  }));

test("the overview begins with what is not well, and what to do about it", () =>
  visit(PHONE, async (page) => {
    const status = { version: "0.1.0", origin: world.node, ready: true, because: [], problems: [], restart_for: [], looked: true };
    const ill = {
      ready: false,
      because: ["not a member of the storage ring"],
      problems: [{ name: "instance oak.example", ok: false, detail: "waits to be allowed", what_to_do: "tagring instance allow oak.example" }],
      restart_for: ["node.host"],
    };
    let said = status;
    await page.route("**/admin/status", (route) => route.fulfill({ json: said }));
    await administer(page, "Overview", world);
    const condition = page.getByRole("status", { name: "Condition" });
    await condition.getByText("All is well, as far as was looked.").waitFor();
    said = { ...status, ...ill };
    await condition.getByText("Not ready: not a member of the storage ring").waitFor();
    await condition.getByText("instance oak.example: waits to be allowed").waitFor();
    await condition.getByText("→ tagring instance allow oak.example").waitFor();
    await condition.getByText("node.host has changed in the file").waitFor();
    assert.equal(await condition.getByText("All is well").count(), 0);
    await fits(page);
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-problems", { fullPage: true });
  }));

test("queues tell why a host fails, and since when", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    const queue = { kind: "letters", destination: "https://gone.example/inbox", waiting: 2, failures: 7 };
    const why = { reason: "gone.example: Name or service not known", failing_since: new Date(Date.now() - 3 * 3_600_000).toISOString() };
    await page.route("**/admin/queues", (route) => route.fulfill({ json: { queues: [{ ...queue, ...why }, { ...queue, destination: "https://good.example/inbox", failures: 0 }] } }));
    await administer(page, "Queues", world);
    await page.getByRole("row", { name: /gone\.example.* 7 gone\.example: Name or service not known 3h ago/ }).waitFor();
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-failing");
  }));

test("storage shows what is kept, the limits, and receipts", () =>
  visit({}, async (page) => {
    await administer(page, "Storage", world);
    const figure = (name) => page.locator("dt", { hasText: name }).locator("+ dd");
    assert.ok(Number((await figure("Histories").textContent()).replace(",", "")) > 0);
    assert.match(await figure("Kept if possible").textContent(), /365 days/);
    assert.match(await figure("Limit").textContent(), /B$/);
    assert.ok(Number((await figure("Held").textContent()).replace(",", "")) > 0);
    assert.equal(await figure("Bad").textContent(), "0");
  }));

test("the latest receipts name post, hashtag and owner", () =>
  visit({}, async (page) => {
    await administer(page, "Audit", world);
    const rows = page.getByRole("region", { name: "Latest receipts" }).getByRole("row");
    await rows.nth(1).waitFor();
    const [tag, post, owner, which, what] = await rows.nth(1).getByRole("cell").allTextContents();
    assert.match(tag, /^#/);
    assert.match(post, /^https:\/\//);
    assert.match(owner, /^[a-z0-9.:-]+$/);
    assert.match(which, /^(relays|stores) it$/);
    assert.match(what, /^(added|removed)$/);
    assert.equal(await rows.count(), 11);
    await page.getByRole("button", { name: /^Show \d+ more$/ }).click();
    await rows.nth(11).waitFor();
    assert.deepEqual(await violations(page), []);
  }));

test("an audit that is run from the page shows that nothing is missing", () =>
  visit({ viewport: { width: 1000, height: 900 } }, async (page) => {
    await administer(page, "Audit", world);
    await page.getByText("No audit was made").waitFor();
    await page.getByLabel("Hashtag", { exact: true }).fill("#Caturday");
    await page.getByRole("button", { name: "Audit now" }).click();
    await page.getByText("nothing is missing").waitFor();
    const owners = page.getByRole("region", { name: "Owners of #caturday" }).getByRole("row");
    assert.ok((await owners.count()) > 1);
    for (const owner of (await owners.all()).slice(1)) {
      const [, asked, there, , , answer] = await owner.getByRole("cell").allTextContents();
      assert.ok(Number(asked) > 0);
      assert.deepEqual([there, answer], [asked, "signed"]);
    }
    await picture(page, "admin-audited", { fullPage: true });
    assert.deepEqual(await violations(page), []);
  }));

test("a post that the administrator takes down vanishes, and audits by others show why", async () => {
  const { owner, auditor, taken_down: tag } = world;
  const text = "Buy it now!";
  await visit({ node: owner.node }, async (reader) => {
    await live(reader, tag);
    const post = posts(reader).filter({ hasText: text });
    const uri = await post.getAttribute("data-uri");
    await visit({ node: owner.node, viewport: { width: 1000, height: 900 } }, async (page) => {
      await administer(page, "Audit", owner);
      const fill = async () => {
        await page.getByLabel("Under the hashtag").fill(`#${tag}`);
        await page.getByLabel("Address of the post").fill(uri);
        await page.getByLabel("Reason").fill("an order of the court of Ghent");
        await page.getByRole("button", { name: "Take down …" }).click();
        await page.getByRole("dialog", { name: "Take this post down?" }).waitFor();
      };
      await fill();
      await picture(page, "admin-take-down");
      assert.deepEqual(await violations(page), []);
      await page.getByRole("button", { name: "Leave it" }).click();
      await page.getByText("No post was taken down.").waitFor();
      assert.equal(await post.count(), 1);
      await page.keyboard.press("Escape");
      await fill();
      await page.getByRole("button", { name: "Take it down" }).click();
      await page.getByRole("region", { name: "Take-downs" }).getByRole("cell", { name: uri, exact: true }).waitFor();
      assert.equal(await page.getByLabel("Reason").inputValue(), "");
      await picture(page, "admin-taken-down");
    });
    await post.waitFor({ state: "detached" }); // who is reading need not load the page again
    assert.equal(await posts(reader).count(), 1);
    await live(reader, tag);
    assert.equal(await posts(reader).count(), 1);
  });
  await visit({ node: auditor.node, colorScheme: "dark", viewport: { width: 1000, height: 900 } }, async (page) => {
    await administer(page, "Audit", auditor);
    await page.getByLabel("Hashtag", { exact: true }).fill(tag);
    await page.getByRole("button", { name: "Audit now" }).click();
    await page.getByText("1 finding").waitFor();
    const row = page.getByRole("region", { name: "Owners of #unwanted" }).getByRole("row", { name: new URL(owner.node).host });
    assert.deepEqual((await row.getByRole("cell").allTextContents()).slice(1), ["2", "1", "0", "1", "signed"]);
    await page.getByText(/took .* down from #unwanted at .*: an order of the court of Ghent/).waitFor();
    assert.deepEqual(await violations(page), []);
    await picture(page, "admin-finding-dark", { fullPage: true });
    await page.setViewportSize(PHONE.viewport);
    await fits(page);
    await picture(page, "phone-admin-finding", { fullPage: true });
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the notice" }).click();
    const notice = JSON.parse(readFileSync(await (await saved).path(), "utf8"));
    assert.equal(notice.reason, "an order of the court of Ghent");
  });
});

test("the command line tells the same as the administrator's page", async () => {
  const secret = new URL(loginAddress()).hash.slice(1);
  const page = await open(browser, world.node);
  await page.goto("/");
  const ask = ([path, headers]) => fetch(path, { headers }).then((response) => response.json());
  for (const list of ["subscriptions", "followers", "queues", "storage", "receipts", "settings", "takedowns"]) {
    const shown = await page.evaluate(ask, [`/admin/${list}`, { Authorization: `Bearer ${secret}` }]);
    assert.deepEqual(Object.keys(JSON.parse(tell(world, "show", list, "--json"))), Object.keys(shown), list);
  }
  await page.context().close();
  assert.match(tell(world, "show", "storage"), /^hashtags: \d+\n/);
  assert.match(tell(world, "show", "subscriptions"), /^caturday +\d+ /m);
  assert.match(tell(world.owner, "show", "takedowns"), /an order of the court of Ghent/);
  assert.match(tell(world, "audit", "--last"), /#caturday: \d+ posts, \d+ receipts of owners/);
  assert.match(tell(world.auditor, "audit", "--last"), /taken_down\n/);
});

test("a post that was taken down is shown again when the administrator wishes", () =>
  visit({ node: world.owner.node, viewport: { width: 1000, height: 900 } }, async (page) => {
    const { owner, taken_down: tag } = world;
    await live(page, tag);
    assert.equal(await posts(page).count(), 1);
    await administer(page, "Audit", owner);
    await page.getByRole("button", { name: /^Show again https/ }).click();
    await page.getByText("No post was taken down.").waitFor();
    await live(page, tag);
    assert.equal(await posts(page).count(), 2);
  }));
