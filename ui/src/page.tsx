// Brings the pages for readers to life. They are whole without it: the node has drawn them already, and what it
// has drawn stays until the same can be drawn here.

import "./style.css";
import { render } from "preact";
import { getJson, type TagHistory, View } from "./api.ts";
import { Feed } from "./feed.ts";
import { Home, TRENDS } from "./home.tsx";
import { Timeline } from "./timeline.tsx";

const app = document.getElementById("app");

async function showTag(box: HTMLElement, tag: string): Promise<void> {
  const view = new View(tag, location.search);
  const feed = new Feed(view);
  const address = document.querySelector(".address")?.textContent ?? "";
  await feed.start();
  box.replaceChildren();
  render(<Timeline view={view} address={address} feed={feed} />, box);
}

async function showHome(box: HTMLElement): Promise<void> {
  const trends = await getJson<TagHistory[]>(TRENDS).catch(() => []);
  box.replaceChildren();
  render(<Home trends={trends} />, box);
}

if (app?.dataset["tag"]) void showTag(app, app.dataset["tag"]);
if (app?.dataset["home"] !== undefined) void showHome(app);
