// The parts of the administrator's page, one per tab.

import type { NodeStatus } from "./admin_api.ts";
import { age } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";
import { Figure, field, number, octets, Problem, submit, Table, Tag } from "./parts.tsx";

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
          <Figure key={name} head={head} value={number.format(Number(status[name] ?? 0))}>
            {meaning}
          </Figure>
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
  reason?: string;
  failing_since?: string;
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
            { head: "The last because of", cell: (row) => <bdi class="words">{row.reason}</bdi> },
            { head: "Since", cell: (row) => row.failing_since && age(new Date(row.failing_since)) },
          ]}
        />
      )}
    </>
  );
}

interface Storage {
  hashtags: number;
  entries: number;
  octets: number;
  history: { octets: number; octets_max: number; keep_days: number; let_go: number };
  receipts: { batches: number; octets: number };
}

export function StoragePanel({ status }: { status: NodeStatus | undefined }) {
  const { data, problem } = useAsk<Storage>("/storage", 10);
  if (!data || !status) return <Problem text={problem} />;
  const { history, receipts, octets: database } = data;
  return (
    <>
      <Problem text={problem} />
      <dl class="figures">
        <Figure head="Histories" value={number.format(data.hashtags)}>
          hashtags kept here
        </Figure>
        <Figure head="Entries" value={number.format(data.entries)}>
          of posts, deleted ones included
        </Figure>
        <Figure head="Database" value={octets(database)}>
          everything that the node keeps
        </Figure>
      </dl>
      <h2>Retention</h2>
      <dl class="figures">
        <Figure head="Of history" value={octets(history.octets)}>
          the entries, about
        </Figure>
        <Figure head="Limit" value={octets(history.octets_max)}>
          <code>storage.max_octets</code>
        </Figure>
        <Figure head="Kept if possible" value={`${number.format(history.keep_days)} days`}>
          younger posts go only if nothing else makes room; <code>storage.keep_days</code>
        </Figure>
        <Figure head="Let go" value={number.format(history.let_go)}>
          posts, to make room; {number.format(status.retention.let_go_early)} early since the start
        </Figure>
      </dl>
      <p>
        Histories are kept for ever, up to the limit; beyond it the oldest posts go first. What followers have not fetched is kept for 24 hours to 7 days; that a post is known, for 30 days.
      </p>
      <h2>Receipts</h2>
      <dl class="figures">
        <Figure head="Held" value={number.format(receipts.batches)}>
          signed by owners for what this node sent them
        </Figure>
        <Figure head="Size" value={octets(receipts.octets)}>
          kept for 90 days, at most 256 MiB
        </Figure>
        <Figure head="Issued" value={number.format(status.receipts.issued)}>
          by this node as an owner
        </Figure>
        <Figure head="Absent" value={<span class={status.receipts.absent > 0 ? "warn" : ""}>{number.format(status.receipts.absent)}</span>}>
          batches for which an owner gave none
        </Figure>
        <Figure head="Bad" value={<span class={status.receipts.bad > 0 ? "bad" : ""}>{number.format(status.receipts.bad)}</span>}>
          not for what was sent, or not signed by the owner
        </Figure>
      </dl>
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
