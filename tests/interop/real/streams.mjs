// activitystrea.ms 3.1 with what activitypub-bot needs of version 4: contexts that can be registered, for reading and for writing;
// documents written with the context that they were read with; what is an activity. To be imported before it.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const ACTIVITY = "https://www.w3.org/ns/activitystreams#Activity";

const Loader = require("activitystrea.ms/src/contextloader.js");
const contexts = Loader.defaultInstance;
const { makeDocLoader } = Loader.prototype;
Loader.prototype.makeDocLoader = () => makeDocLoader.call(contexts);

const streams = require("activitystrea.ms");
streams.registerContext = (url, context) => contexts.register(url, context);

const Environment = require("activitystrea.ms/src/environment.js");
Object.defineProperty(Environment.prototype, "origContext", { get() { return this.originalContext; } });

const reasoner = require("activitystrea.ms/src/reasoner.js");
streams.models.Base.prototype.isActivity = function isActivity() {
  return [this.type ?? []].flat().some((type) => reasoner.node(type).is(ACTIVITY));
};
