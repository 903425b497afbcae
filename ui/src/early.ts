// Runs before anything is drawn: what this browser remembers makes some things larger than the node draws them, and
// they have their room from the start.

import { recall } from "./settings.ts";

const { classList } = document.documentElement;
if (recall("account")) classList.add("known");
if (recall("images") === "on") classList.add("images");
