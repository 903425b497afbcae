// Brings the pages for readers to life. They are whole without it: the node has drawn them already, and what it
// has drawn stays until the same can be drawn here.

import "./style.css";
import { render } from "preact";
import { getJson, type TagHistory, View } from "./api.ts";
import { Feed } from "./feed.ts";
import { Home } from "./home.tsx";
import { Timeline } from "./timeline.tsx";

const app = document.getElementById("app");
const AGAIN = 20_000;

const AFTER_CLICK = 500;

/** Nobody is writing into a form of it, or has just pressed its button. */
async function unused(box: HTMLElement): Promise<void> {
  for (let form; (form = document.activeElement?.closest("form")) && box.contains(form); ) {
    await new Promise((resolve) => form.addEventListener("focusout", resolve, { once: true }));
    await new Promise((resolve) => setTimeout(resolve, AFTER_CLICK));
  }
}

const fields = (box: HTMLElement) => [...box.querySelectorAll<HTMLInputElement>("form input[name]")];

async function showTag(box: HTMLElement, tag: string): Promise<void> {
  const view = new View(tag, box.dataset, location.search);
  if (view.isOld) return; // as it was drawn: there is nothing that comes to it
  const feed = new Feed(view);
  const address = document.querySelector(".address")?.textContent ?? "";
  await feed.start();
  while (feed.state.problem !== "" && box.querySelector("article")) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    await feed.more();
  }
  await unused(box);
  const opened = [...box.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent);
  const written = fields(box);
  box.replaceChildren();
  render(<Timeline view={view} address={address} feed={feed} />, box);
  for (const field of fields(box)) field.value = written.find(({ name }) => name === field.name)?.value || field.value;
  for (const summary of box.querySelectorAll("details > summary"))
    if (opened.includes(summary.textContent)) summary.parentElement?.setAttribute("open", "");
}

async function showHome(box: HTMLElement, address: string): Promise<void> {
  const load = () => getJson<TagHistory[]>(address).catch(() => null);
  let trends = await load();
  while (!trends) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    trends = await load();
  }
  box.replaceChildren();
  render(<Home address={address} trends={trends} />, box);
}

if (app?.dataset["tag"]) void showTag(app, app.dataset["tag"]);
if (app?.dataset["home"]) void showHome(app, app.dataset["home"]);
