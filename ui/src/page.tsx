// Brings the pages for readers to life. They are whole without it: the node has drawn them already.

import "./style.css";
import { render } from "preact";
import { View } from "./api.ts";
import { Feed } from "./feed.ts";
import { Timeline } from "./timeline.tsx";

const app = document.getElementById("app");
const tag = app?.dataset["tag"];
if (app && tag) {
  const view = new View(tag, location.search);
  const feed = new Feed(view);
  const address = document.querySelector(".address")?.textContent ?? "";
  // What the node has drawn stays until the same can be drawn here.
  await feed.start();
  app.replaceChildren();
  render(<Timeline view={view} address={address} feed={feed} />, app);
}
