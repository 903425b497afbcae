// Most tabs of the administrator's page; the others have files of their own.

import type { NodeStatus } from "./admin_api.ts";
import { age } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";
import { actionColumn, Figure, field, hashtagColumn, Listing, number, octets, Problem, submit } from "./parts.tsx";

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

/** What "tagring status" begins with: why the node is not ready, and what else its doctor found. */
function Condition({ status }: { status: NodeStatus }) {
  const { ready, because, problems, restart_for, looked } = status;
  return (
    <section class="condition" aria-label="Condition" role="status">
      {because.map((reason) => (
        <p class="notice" key={reason}>
          <span class="bad">Not ready:</span> {reason}
        </p>
      ))}
      {problems.map(({ name, detail, what_to_do }) => (
        <div class="notice" key={name}>
          <p>
            <span class="bad">{name}:</span> <bdi>{detail}</bdi>
          </p>
          <p>
            → <bdi>{what_to_do}</bdi>
          </p>
        </div>
      ))}
      {restart_for.map((key) => (
        <p class="notice" key={key}>
          <span class="warn">Restart:</span> <code>{key}</code> has changed in the file and needs a restart to count.
        </p>
      ))}
      {ready && problems.length === 0 && (
        <p>
          {looked ? (
            <>
              <span class="good">All is well</span>, as far as was looked.
            </>
          ) : (
            "Ready. What else there is to see is looked at half a minute after the start."
          )}{" "}
          <code>tagring doctor</code> looks at once.
        </p>
      )}
    </section>
  );
}

export function OverviewPanel({ status }: { status: NodeStatus | undefined }) {
  if (!status) return <p class="muted">Asking the node …</p>;
  return (
    <>
      <Condition status={status} />
      {status.moved && (
        <p class="notice">
          This node has moved to <a href={status.moved.to}>{status.moved.to}</a>.{" "}
          {status.moved.on_rings ? `It goes on for who stays until ${new Date(status.moved.until).toLocaleDateString()}.` : "It has left the rings."} Relays do
          not move: <code>tagring move</code> says whose administrators have to add the new one.
        </p>
      )}
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
      <Listing
        problem={failed || problem}
        label="Subscriptions"
        rows={data?.hashtags}
        empty="This node subscribes to nothing yet."
        columns={[
          hashtagColumn,
          { head: `Posts in ${data?.hours} h`, cell: (row) => (data?.complete ? "" : "≥ ") + number.format(row.posts), right: true },
          { head: "Latest", cell: (row) => (row.latest ? age(new Date(row.latest)) : "–") },
          { head: "Followed at", cell: (row) => row.owners.map((owner) => new URL(owner).host).join(", ") || "nobody yet" },
          actionColumn<Subscriptions["hashtags"][number]>("Unsubscribe", (row) => `#${row.tag}`, (row) => change("/unsubscribe", { tags: [row.tag] })),
        ]}
      />
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
    <Listing
      problem={problem}
      label="Followers"
      rows={data?.hashtags}
      empty="Nobody follows a hashtag here yet."
      columns={[
        hashtagColumn,
        { head: "People", cell: (row) => number.format(row.boosts), right: true },
        { head: "Nodes", cell: (row) => number.format(row.nodes), right: true },
        { head: "Instances", cell: (row) => number.format(row.relays), right: true },
        { head: "FASP", cell: (row) => number.format(row.fasps), right: true },
      ]}
    />
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

const KINDS: Record<string, string> = { owner: "posts to owners", "look-ups": "posts whose owners are looked for", fetches: "posts that FASP servers tell of" };

export function QueuesPanel() {
  const { data, problem } = useAsk<{ queues: Queue[] }>("/queues", 3);
  return (
    <>
      <p class="lead">What is on its way. A host that fails is tried again, less and less often, for seven days.</p>
      <Listing
        problem={problem}
        label="Queues"
        rows={data?.queues}
        empty="Nothing waits, and no host fails."
        columns={[
          { head: "What", cell: (row) => KINDS[row.kind] ?? row.kind },
          { head: "Where", cell: (row) => (row.kind === "look-ups" ? `part ${row.destination} of the ring` : row.destination) },
          { head: "Waiting", cell: (row) => number.format(row.waiting), right: true },
          { head: "Failures in a row", cell: (row) => <span class={row.failures > 0 ? "bad" : ""}>{row.failures}</span>, right: true },
          { head: "The last because of", cell: (row) => <bdi class="words">{row.reason}</bdi> },
          { head: "Since", cell: (row) => row.failing_since && age(new Date(row.failing_since)) },
        ]}
      />
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
      {status.forecast && <p>{status.forecast.text}</p>}
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
  at_once: boolean;
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
      <p class="lead">They stand in the node's configuration file, which <code>tagring reload</code> has it read again.</p>
      <Problem text={problem} />
      <dl class="settings">
        {data?.settings.map((setting) => (
          <div key={setting.key}>
            <dt>
              <code>{setting.key}</code>
            </dt>
            <dd class="value">{show(setting.value)}</dd>
            <dd class="muted">
              <Meaning text={setting.meaning} /> Default: {setting.default}. {!setting.at_once && "Needs a restart."}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
