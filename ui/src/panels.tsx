// The parts of the administrator's page, one per tab.

import type { ComponentChildren } from "preact";
import type { NodeStatus } from "./admin_api.ts";
import { age } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";

const number = new Intl.NumberFormat("en");

interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
}

function Table<T>({ label, rows, columns, empty }: { label: string; rows: T[]; columns: Column<T>[]; empty: string }) {
  if (rows.length === 0) return <p class="notice">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head, right }) => (
              <th scope="col" class={right ? "right" : ""}>
                {head || <span class="hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(({ cell, right }) => (
                <td class={right ? "right" : ""}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Problem({ text }: { text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

const Tag = ({ name }: { name: string }) => (
  <a class="tag" href={`/tags/${encodeURIComponent(name)}`}>
    <bdi>#{name}</bdi>
  </a>
);

const field = (form: HTMLFormElement, name: string) => String(new FormData(form).get(name) ?? "").trim();

/** Calls `send` with the form, and empties it when that went well. */
function submit(send: (form: HTMLFormElement) => Promise<boolean>) {
  return async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (await send(form)) form.reset();
  };
}

// --- overview ----------------------------------------------------------------------------------------------

const FIGURES: [string, string, string][] = [
  ["published", "Published", "posts of this node's instances"],
  ["relayed", "Relayed", "posts passed on as an owner"],
  ["archived", "Archived", "posts taken into histories"],
  ["received", "Received", "posts under subscribed hashtags"],
  ["announced", "Announced", "deliveries to followers"],
  ["followers", "Followers", "of hashtags, here"],
  ["wanted", "Subscribed", "hashtags that this node wants"],
  ["owed", "Owed", "posts that owners have not acknowledged"],
];

export function OverviewPanel({ status }: { status: NodeStatus | undefined }) {
  if (!status) return <p class="muted">Asking the node …</p>;
  return (
    <>
      <dl class="figures">
        {FIGURES.map(([name, head, meaning]) => (
          <div key={name}>
            <dt>{head}</dt>
            <dd>{number.format(Number(status[name] ?? 0))}</dd>
            <dd class="muted">{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        {status.origin}, tagring {status.version}. Counted since the node was started.
      </p>
    </>
  );
}

// --- subscriptions -----------------------------------------------------------------------------------------

interface Subscriptions {
  hours: number;
  complete: boolean;
  hashtags: { tag: string; posts: number; latest?: string; owners: string[] }[];
}

export function SubscriptionsPanel() {
  const { data, problem, again } = useAsk<Subscriptions>("/subscriptions", 10);
  const [failed, change] = useChange(again);
  return (
    <>
      <form class="row" onSubmit={submit((form) => change("/subscribe", { tags: field(form, "tags").split(/[\s,]+/) }))}>
        <label>
          Hashtags
          <input name="tags" placeholder="caturday 猫" dir="auto" autocapitalize="none" required />
        </label>
        <button>Subscribe</button>
      </form>
      <Problem text={failed || problem} />
      {data && (
        <Table
          label="Subscriptions"
          rows={data.hashtags}
          empty="This node subscribes to nothing yet."
          columns={[
            { head: "Hashtag", cell: (row) => <Tag name={row.tag} /> },
            { head: `Posts in ${data.hours} h`, cell: (row) => (data.complete ? "" : "≥ ") + number.format(row.posts), right: true },
            { head: "Latest", cell: (row) => (row.latest ? age(new Date(row.latest)) : "–") },
            { head: "Followed at", cell: (row) => row.owners.map((owner) => new URL(owner).host).join(", ") || "nobody yet" },
            {
              head: "",
              cell: (row) => (
                <button type="button" class="danger" onClick={() => change("/unsubscribe", { tags: [row.tag] })}>
                  Unsubscribe<span class="hidden"> #{row.tag}</span>
                </button>
              ),
            },
          ]}
        />
      )}
    </>
  );
}

// --- instances ---------------------------------------------------------------------------------------------

interface Instance {
  host: string;
  publishes: boolean;
  receives: boolean;
  decided: boolean;
  links: { style: string; accepted: boolean }[];
  hashtags: number;
}

export function InstancesPanel() {
  const { data, problem, again } = useAsk<{ instances: Instance[] }>("/instances", 10);
  const [failed, change] = useChange(again);
  const permit = (host: string, publishes: boolean, receives: boolean) => change("/instances/permit", { host, publishes, receives });
  return (
    <>
      <form class="row" onSubmit={submit((form) => permit(field(form, "host"), true, true))}>
        <label>
          Instance
          <input name="host" placeholder="social.example" autocapitalize="none" required />
        </label>
        <button>Allow</button>
      </form>
      <Problem text={failed || problem} />
      {data && (
        <Table
          label="Instances"
          rows={data.instances}
          empty="No instance uses this node as a relay yet."
          columns={[
            { head: "Instance", cell: (row) => row.host },
            { head: "Connected", cell: (row) => row.links.map((link) => link.style + (link.accepted ? "" : " (waits)")).join(", ") || "not yet" },
            { head: "Hashtags", cell: (row) => number.format(row.hashtags), right: true },
            {
              head: "Publishes",
              cell: (row) => (
                <input type="checkbox" aria-label={`${row.host} may publish`} checked={row.publishes} onChange={(e) => permit(row.host, e.currentTarget.checked, row.receives)} />
              ),
            },
            {
              head: "Receives",
              cell: (row) => (
                <input type="checkbox" aria-label={`${row.host} may receive`} checked={row.receives} onChange={(e) => permit(row.host, row.publishes, e.currentTarget.checked)} />
              ),
            },
            { head: "State", cell: (row) => <span class={row.decided ? "good" : "warn"}>{row.decided ? "decided" : "waits for you"}</span> },
          ]}
        />
      )}
    </>
  );
}

// --- followers ---------------------------------------------------------------------------------------------

interface Followers {
  followers: number;
  hashtags: { tag: string; boosts: number; nodes: number; relays: number; fasps: number }[];
}

export function FollowersPanel() {
  const { data, problem } = useAsk<Followers>("/followers", 10);
  return (
    <>
      <Problem text={problem} />
      {data && (
        <Table
          label="Followers"
          rows={data.hashtags}
          empty="Nobody follows a hashtag here yet."
          columns={[
            { head: "Hashtag", cell: (row) => <Tag name={row.tag} /> },
            { head: "People", cell: (row) => number.format(row.boosts), right: true },
            { head: "Nodes", cell: (row) => number.format(row.nodes), right: true },
            { head: "Instances", cell: (row) => number.format(row.relays), right: true },
            { head: "FASP", cell: (row) => number.format(row.fasps), right: true },
          ]}
        />
      )}
    </>
  );
}

// --- blocks ------------------------------------------------------------------------------------------------

interface Blocks {
  blocks: { kind: string; what: string; reason: string; source: string; since: string }[];
  separations: { host: string; other: string; direction: string }[];
}

export function BlocksPanel() {
  const { data, problem, again } = useAsk<Blocks>("/blocks", 10);
  const [failed, change] = useChange(again);
  const importList = submit(async (form) => {
    const file = new FormData(form).get("list");
    return file instanceof File && change("/blocks/import", { source: field(form, "source"), text: await file.text() });
  });
  return (
    <>
      <form class="row" onSubmit={submit((form) => change("/blocks/add", { kind: field(form, "kind"), what: field(form, "what"), reason: field(form, "reason") }))}>
        <label>
          What
          <select name="kind">
            <option value="domain">Domain</option>
            <option value="author">Author (URL)</option>
            <option value="tag">Hashtag</option>
          </select>
        </label>
        <label>
          Name
          <input name="what" autocapitalize="none" dir="auto" required />
        </label>
        <label>
          Reason
          <input name="reason" dir="auto" />
        </label>
        <button>Block</button>
      </form>
      <Problem text={failed || problem} />
      {data && (
        <Table
          label="Blocks"
          rows={data.blocks}
          empty="Nothing is blocked."
          columns={[
            { head: "Kind", cell: (row) => row.kind },
            { head: "Name", cell: (row) => <bdi>{row.what}</bdi> },
            { head: "Reason", cell: (row) => <bdi>{row.reason}</bdi> },
            { head: "From", cell: (row) => row.source },
            { head: "Since", cell: (row) => age(new Date(row.since)) },
            {
              head: "",
              cell: (row) => (
                <button type="button" class="danger" onClick={() => change("/blocks/remove", { kind: row.kind, what: row.what })}>
                  Lift<span class="hidden"> the block of {row.what}</span>
                </button>
              ),
            },
          ]}
        />
      )}
      <h2>Import a list</h2>
      <form class="row" onSubmit={importList}>
        <label>
          File (CSV of Mastodon)
          <input type="file" name="list" accept=".csv,text/csv,text/plain" required />
        </label>
        <label>
          Name of the list
          <input name="source" maxLength={100} required />
        </label>
        <button>Import</button>
      </form>
      {data && data.separations.length > 0 && (
        <>
          <h2>Kept apart</h2>
          <Table
            label="Instances that are kept apart"
            rows={data.separations}
            empty=""
            columns={[
              { head: "Instance", cell: (row) => row.host },
              { head: "", cell: (row) => (row.direction === "receive" ? "gets nothing of" : "sends nothing to") },
              { head: "Other", cell: (row) => row.other },
            ]}
          />
        </>
      )}
    </>
  );
}

// --- queues, storage, settings -----------------------------------------------------------------------------

interface Queue {
  kind: string;
  destination: string;
  waiting: number;
  failures: number;
}

export function QueuesPanel() {
  const { data, problem } = useAsk<{ queues: Queue[] }>("/queues", 3);
  return (
    <>
      <p class="lead">What is on its way. A host that fails is tried again, less and less often, for seven days.</p>
      <Problem text={problem} />
      {data && (
        <Table
          label="Queues"
          rows={data.queues}
          empty="Nothing waits, and no host fails."
          columns={[
            { head: "What", cell: (row) => (row.kind === "owner" ? "posts to owners" : row.kind) },
            { head: "Where", cell: (row) => row.destination },
            { head: "Waiting", cell: (row) => number.format(row.waiting), right: true },
            { head: "Failures in a row", cell: (row) => <span class={row.failures > 0 ? "bad" : ""}>{row.failures}</span>, right: true },
          ]}
        />
      )}
    </>
  );
}

export function StoragePanel() {
  const { data, problem } = useAsk<{ hashtags: number; entries: number; octets: number }>("/storage", 10);
  return (
    <>
      <Problem text={problem} />
      {data && (
        <dl class="figures">
          <div>
            <dt>Histories</dt>
            <dd>{number.format(data.hashtags)}</dd>
            <dd class="muted">hashtags kept here</dd>
          </div>
          <div>
            <dt>Entries</dt>
            <dd>{number.format(data.entries)}</dd>
            <dd class="muted">of posts, deleted ones included</dd>
          </div>
          <div>
            <dt>Database</dt>
            <dd>{number.format(Math.ceil(data.octets / 1024))} KiB</dd>
            <dd class="muted">everything that the node keeps</dd>
          </div>
        </dl>
      )}
      <p>Histories are kept for ever; what followers have not fetched, for 24 hours to 7 days; that a post is known, for 30 days.</p>
    </>
  );
}

interface Setting {
  key: string;
  value: unknown;
  default: string;
  meaning: string;
}

/** `code` in Markdown. */
function Meaning({ text }: { text: string }) {
  return <>{text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").split("`").map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part))}</>;
}

function show(value: unknown): string {
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.join(", ") || "none";
  if (typeof value === "object" && value !== null) return `${Object.keys(value).length} entries`;
  return String(value) || "none";
}

export function SettingsPanel() {
  const { data, problem } = useAsk<{ settings: Setting[] }>("/settings", 60);
  return (
    <>
      <p class="lead">They stand in the node's configuration file, and change when it is started again.</p>
      <Problem text={problem} />
      <dl class="settings">
        {data?.settings.map((setting) => (
          <div key={setting.key}>
            <dt>
              <code>{setting.key}</code>
            </dt>
            <dd class="value">{show(setting.value)}</dd>
            <dd class="muted">
              <Meaning text={setting.meaning} /> Default: {setting.default}.
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
