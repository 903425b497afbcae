// What is kept away: blocks, lists of them, and instances that are kept apart.

import { useState } from "preact/hooks";
import { ask } from "./admin_api.ts";
import { age } from "./age.ts";
import { type Change, useAsk, useChange } from "./hooks.ts";
import { Action, actionColumn, everyServerOf, field, Listing, Notes, number, Problem, submit } from "./parts.tsx";

interface Block {
  kind: string;
  what: string;
  reason: string;
  source: string;
  since: string;
}

interface Separation {
  host: string;
  other: string;
  direction: string;
}

interface Blocks {
  blocks: Block[];
  separations: Separation[];
}

/** What a list does, or would do. */
interface Effect {
  fresh: number;
  known: number;
  lifted: string[];
  followers: string[];
  instances: string[];
  skipped: string[];
  suffixes: string[]; // blocked domains that are endings of other servers' names
  own?: string[]; // what is hit of the node's own
}

function Names({ head, names }: { head: string; names: string[] }) {
  if (names.length === 0) return null;
  return (
    <details class="report">
      <summary>
        {head}: {number.format(names.length)}
      </summary>
      <ul>
        {names.slice(0, 500).map((name) => (
          <li key={name}>
            <bdi class="words">{name}</bdi>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface Draft {
  source: string;
  text: string;
  effect: Effect;
}

function Import({ change }: { change: Change }) {
  const [draft, setDraft] = useState<Draft>();
  const [failed, setFailed] = useState("");
  const preview = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const file = new FormData(form).get("list");
    if (!(file instanceof File)) return;
    setFailed("");
    setDraft(undefined);
    try {
      const list = { source: field(form, "source"), text: await file.text() };
      setDraft({ ...list, effect: await ask<Effect>("/blocks/import", { ...list, preview: true }) });
    } catch (error) {
      setFailed((error as Error).message);
    }
  };
  const confirmed = async () => {
    if (draft && (await change("/blocks/import", { source: draft.source, text: draft.text }))) setDraft(undefined);
  };
  return (
    <>
      <h2>Import a list</h2>
      <form class="row" onSubmit={preview}>
        <label>
          File (CSV of Mastodon)
          <input type="file" name="list" accept=".csv,.json,.txt,text/csv,text/plain" onChange={() => setDraft(undefined)} required />
        </label>
        <label>
          Name of the list
          <input name="source" maxLength={100} onInput={() => setDraft(undefined)} required />
        </label>
        <button>Preview</button>
      </form>
      <Problem text={failed} />
      {draft && (
        <section class="notice" aria-label="Preview">
          <p>
            <bdi>{draft.source}</bdi> would block {number.format(draft.effect.fresh)} more domains; {number.format(draft.effect.known)} are blocked already.
          </p>
          <Names head="Blocks of an earlier list of that name that would be lifted" names={draft.effect.lifted} />
          <Names head="Instances whose use of this node would end" names={draft.effect.instances} />
          <Names head="Followers that would be removed" names={draft.effect.followers} />
          <Names head="Left out of it" names={draft.effect.skipped} />
          <Names head="Endings under which every server would fall" names={draft.effect.suffixes} />
          <div class="row">
            <Action act={confirmed}>Import</Action>
            <button type="button" class="quiet" onClick={() => setDraft(undefined)}>
              Leave it
            </button>
          </div>
        </section>
      )}
    </>
  );
}

function Separations({ rows, change }: { rows: Separation[] | undefined; change: Change }) {
  const add = submit((form) => change("/separations/add", { host: field(form, "host"), direction: field(form, "direction"), other: field(form, "other") }));
  return (
    <>
      <h2>Kept apart</h2>
      <form class="row" onSubmit={add}>
        <label>
          Instance
          <input name="host" autocapitalize="none" required />
        </label>
        <label>
          Never
          <select name="direction">
            <option value="receive">gets posts of</option>
            <option value="send">sends posts to</option>
          </select>
        </label>
        <label>
          Other instance
          <input name="other" autocapitalize="none" required />
        </label>
        <button>Keep apart</button>
      </form>
      <Listing
        problem=""
        label="Instances that are kept apart"
        rows={rows}
        empty="No instances are kept apart."
        columns={[
          { head: "Instance", cell: (row) => row.host },
          { head: "Never", cell: (row) => (row.direction === "receive" ? "gets posts of" : "sends posts to") },
          { head: "Other", cell: (row) => row.other },
          actionColumn<Separation>(
            "Lift",
            (row) => `what keeps ${row.host} and ${row.other} apart`,
            (row) => change("/separations/remove", row),
          ),
        ]}
      />
    </>
  );
}

export function BlocksPanel() {
  const { data, problem, again } = useAsk<Blocks>("/blocks", 10);
  const [failed, change] = useChange(again);
  const [notes, setNotes] = useState<string[]>([]);
  const add = submit(async (form) => {
    const effect = await change<Effect>("/blocks/add", { kind: field(form, "kind"), what: field(form, "what"), reason: field(form, "reason") });
    setNotes(effect ? [...effect.suffixes.map(everyServerOf), ...(effect.own ?? []).map((own) => `Warning: ${own}`)] : []);
    return effect;
  });
  return (
    <>
      <form class="row" onSubmit={add}>
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
      <Notes texts={notes} />
      <Listing
        problem={failed || problem}
        label="Blocks"
        rows={data?.blocks}
        empty="Nothing is blocked."
        columns={[
          { head: "Kind", cell: (row) => row.kind },
          { head: "Name", cell: (row) => <bdi>{row.what}</bdi> },
          { head: "Reason", cell: (row) => <bdi>{row.reason}</bdi> },
          { head: "From", cell: (row) => row.source },
          { head: "Since", cell: (row) => age(new Date(row.since)) },
          actionColumn<Block>(
            "Lift",
            (row) => `the block of ${row.what}`,
            (row) => change("/blocks/remove", { kind: row.kind, what: row.what }),
          ),
        ]}
      />
      <Import change={change} />
      <Separations rows={data?.separations} change={change} />
    </>
  );
}
