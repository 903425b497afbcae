// Whether owners have what they signed that they took, and what this node's administrator took down.

import { useState } from "preact/hooks";
import { ask } from "./admin_api.ts";
import { age } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";
import { actionColumn, Confirm, field, hashtagColumn, Listing, number, Problem, submit, Table } from "./parts.tsx";

interface Finding {
  kind: string;
  owner: string;
  words: string;
  evidence?: object;
  receipt?: object;
  notice?: object;
}

interface Asked {
  owner: string;
  posts?: number;
  live?: number;
  removed?: number;
  taken_down?: number;
  error?: string;
}

interface Report {
  tag: string;
  at: string;
  posts: number;
  receipts: number;
  owners: Asked[];
  findings: Finding[];
}

interface TakeDown {
  tag: string;
  uri: string;
  reason: string;
  at: number;
}

const host = (origin: string) => new URL(origin).host;
const count = (value: number | undefined) => number.format(value ?? 0);

function save(name: string, content: object) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(content)], { type: "application/json" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** What a third party can check, if there is something. */
function Proof({ finding, tag }: { finding: Finding; tag: string }) {
  for (const kind of ["evidence", "receipt", "notice"] as const) {
    const content = finding[kind];
    if (content) {
      return (
        <button type="button" class="quiet" onClick={() => save(`${finding.kind}-${tag}-${host(finding.owner)}.json`, content)}>
          Save the {kind}
        </button>
      );
    }
  }
  return <>none</>;
}

function verdict({ findings, owners, receipts }: Report): [string, string] {
  if (findings.length > 0) return ["bad", findings.length === 1 ? "1 finding" : `${number.format(findings.length)} findings`];
  const silent = owners.filter(({ error }) => error).length;
  if (silent > 0) return ["warn", `${silent} of ${owners.length} owners did not answer`];
  if (owners.length === 0) return ["warn", "nobody else stores it"];
  return receipts > 0 ? ["good", "nothing is missing"] : ["warn", "no receipts to hold against it"];
}

function Audited({ report, open }: { report: Report; open: boolean }) {
  const [tone, words] = verdict(report);
  return (
    <details class="report" open={open}>
      <summary>
        <bdi>#{report.tag}</bdi>, {age(new Date(report.at))}: <span class={tone}>{words}</span>
      </summary>
      <p class="muted">
        {number.format(report.posts)} posts, {number.format(report.receipts)} receipts of owners
      </p>
      {report.findings.length > 0 && (
        <Table
          label={`Findings about #${report.tag}`}
          rows={report.findings}
          empty=""
          columns={[
            { head: "Finding", cell: (row) => <span class="bad">{row.kind.replaceAll("_", " ")}</span> },
            { head: "Owner", cell: (row) => host(row.owner) },
            { head: "In words", cell: (row) => <span class="words">{row.words}</span> },
            { head: "Proof", cell: (row) => <Proof finding={row} tag={report.tag} /> },
          ]}
        />
      )}
      <Table
        label={`Owners of #${report.tag}`}
        rows={report.owners}
        empty="No other node stores this hashtag."
        columns={[
          { head: "Owner", cell: (row) => host(row.owner) },
          { head: "Asked for", cell: (row) => count(row.posts), right: true },
          { head: "There", cell: (row) => count(row.live), right: true },
          { head: "Deleted", cell: (row) => count(row.removed), right: true },
          { head: "Taken down", cell: (row) => count(row.taken_down), right: true },
          { head: "Answer", cell: (row) => <span class={row.error ? "warn" : "good"}>{row.error ?? "signed"}</span> },
        ]}
      />
    </details>
  );
}

function Audits() {
  const { data, problem, again } = useAsk<{ audits: Report[] }>("/audits", 60);
  const [failed, setFailed] = useState("");
  const [running, setRunning] = useState("");
  const audit = submit(async (form) => {
    const tag = field(form, "tag");
    setRunning(tag);
    setFailed("");
    try {
      await ask(`/audit?tag=${encodeURIComponent(tag)}`);
      return true;
    } catch (error) {
      setFailed((error as Error).message);
      return false;
    } finally {
      setRunning("");
      again(); // also shows who is logged out
    }
  });
  return (
    <>
      <p class="lead">Owners sign what they take, and what they have. An audit holds one against the other: what is missing is found out, and often proved.</p>
      <form class="row" onSubmit={audit}>
        <label>
          Hashtag
          <input name="tag" placeholder="caturday" dir="auto" autocapitalize="none" required />
        </label>
        <button disabled={running !== ""}>Audit now</button>
      </form>
      <p class="muted" role="status">
        {running && `Asking the owners of ${running} …`}
      </p>
      <Problem text={failed || problem} />
      {data?.audits.length === 0 && <p class="notice">No audit was made yet.</p>}
      {data?.audits.map((report, i) => (
        <Audited key={report.tag + report.at} report={report} open={i === 0} />
      ))}
    </>
  );
}

interface Offender {
  owner: string;
  tag: string;
  post: string;
  absent_at: string;
  until: string;
  evidence: object;
}

function Offenders() {
  const { data, problem } = useAsk<{ offenders: Offender[] }>("/offenders", 60);
  return (
    <>
      <h2>Proved to have dropped posts</h2>
      <p class="lead">
        Nodes ask each other for some of their posts without being told to. Owners that signed that they took a post, and later that they do not have it, are read last for a
        day.
      </p>
      <Listing
        problem={problem}
        label="Proved to have dropped posts"
        rows={data?.offenders}
        empty="Nobody, as far as this node knows."
        columns={[
          { head: "Owner", cell: (row) => host(row.owner) },
          hashtagColumn,
          { head: "Post", cell: (row) => <bdi class="words">{row.post}</bdi> },
          { head: "Missing since", cell: (row) => age(new Date(row.absent_at)) },
          {
            head: "",
            cell: (row) => (
              <button type="button" class="quiet" onClick={() => save(`omitted-${row.tag}-${host(row.owner)}.json`, row.evidence)}>
                Save the evidence
              </button>
            ),
          },
        ]}
      />
    </>
  );
}

interface Receipt {
  at: string;
  owner: string;
  ring: string;
  op: string;
  tag: string;
  uri: string;
}

// Of the receipts, unless all are wished for.
const FIRST = 10;

const postColumn = { head: "Post", cell: (row: { uri: string }) => <bdi class="words">{row.uri}</bdi> };

function Receipts() {
  const { data, problem } = useAsk<{ receipts: Receipt[] }>("/receipts", 10);
  const [all, setAll] = useState(false);
  const rows = data?.receipts;
  return (
    <>
      <h2>Latest receipts</h2>
      <p class="lead">What owners have signed that they took of this node, the latest first. Audits hold these against what the owners have.</p>
      <Listing
        problem={problem}
        label="Latest receipts"
        rows={all ? rows : rows?.slice(0, FIRST)}
        empty="No owner has signed anything yet."
        columns={[
          hashtagColumn,
          postColumn,
          { head: "Owner", cell: (row) => host(row.owner) },
          { head: "Which", cell: (row) => (row.ring === "relay" ? "relays it" : "stores it") },
          { head: "What", cell: (row) => (row.op === "add" ? "added" : "removed") },
          { head: "Signed", cell: (row) => age(new Date(row.at)) },
        ]}
      />
      {!all && rows && rows.length > FIRST && (
        <p>
          <button type="button" class="quiet" onClick={() => setAll(true)}>
            Show {number.format(rows.length - FIRST)} more
          </button>
        </p>
      )}
    </>
  );
}

interface Wish {
  tag: string;
  uri: string;
  reason: string;
}

function TakeDowns() {
  const { data, problem, again } = useAsk<{ takedowns: TakeDown[] }>("/takedowns", 60);
  const [failed, change] = useChange(again);
  const [wish, setWish] = useState<Wish>();
  const [round, setRound] = useState(0); // empties the form
  const propose = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    setWish({ tag: field(form, "tag"), uri: field(form, "uri"), reason: field(form, "reason") });
  };
  const confirmed = async () => {
    const done = wish && (await change("/takedown", wish));
    setWish(undefined);
    if (done) setRound(round + 1);
  };
  return (
    <>
      <h2>Take-downs</h2>
      <form class="row" key={round} onSubmit={propose}>
        <label>
          Under the hashtag
          <input name="tag" dir="auto" autocapitalize="none" required />
        </label>
        <label>
          Address of the post
          <input name="uri" type="url" placeholder="https://social.example/@me/1" required />
        </label>
        <label>
          Reason (public)
          <input name="reason" dir="auto" maxLength={1000} required />
        </label>
        <button>Take down …</button>
      </form>
      {wish && (
        <Confirm question="Take this post down?" yes="Take it down" onNo={() => setWish(undefined)} onYes={confirmed}>
          <bdi>{wish.uri}</bdi> is shown here no more under <bdi>#{wish.tag.replace(/^#/, "")}</bdi>, until you show it again. Other owners keep it; whoever audits is shown the reason, signed by this node: “
          <bdi>{wish.reason}</bdi>”
        </Confirm>
      )}
      <Listing
        problem={failed || problem}
        label="Take-downs"
        rows={data?.takedowns}
        empty="No post was taken down."
        columns={[
          hashtagColumn,
          postColumn,
          { head: "Reason", cell: (row) => <bdi class="words">{row.reason}</bdi> },
          { head: "Since", cell: (row) => age(new Date(row.at)) },
          actionColumn<TakeDown>(
            "Show again",
            (row) => row.uri,
            (row) => change("/takedown/undo", { tag: row.tag, uri: row.uri }),
          ),
        ]}
      />
    </>
  );
}

export function AuditPanel() {
  return (
    <>
      <Audits />
      <Offenders />
      <TakeDowns />
      <Receipts />
    </>
  );
}
