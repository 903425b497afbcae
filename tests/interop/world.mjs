// With --import, before a program that knows nothing of it: names and certificates of the network in $WORLD.

import { join } from "node:path";
import { openWorld } from "../../demo/lib/world.mjs";

openWorld({ hosts: join(process.env.WORLD, "hosts.json"), certs: join(process.env.WORLD, "certs") });
