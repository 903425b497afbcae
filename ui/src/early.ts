// Runs before anything is drawn: what this browser remembers makes some things larger than the node draws them, and
// they have their room from the start.

import { recall } from "./settings.ts";

if (recall("account")) document.documentElement.classList.add("known");
