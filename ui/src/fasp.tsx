// Servers that use the node as a FASP (docs/fasp.md).

import { useState } from "preact/hooks";
import { age } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";
import { Action, actionColumn, Confirm, field, Listing, Notes, number, submit } from "./parts.tsx";

interface Server {
  host: string;
  fingerprint: string;
  completion_url: string;
  since: string;
  capabilities: string[];
  backfill?: { wanted: number; received: number; done: boolean };
  hashtags: string[];
  refused: boolean; // it does not know this node any more
}

const deleteThere = "Delete this node from its list of FASPs there, or others after it may hear nothing.";

function OldPosts({ server, ask }: { server: Server; ask: (count: number) => unknown }) {
  const { backfill, host, capabilities } = server;
  if (backfill) return <>{`${number.format(backfill.received)} of ${number.format(backfill.wanted)}${backfill.done ? ", done" : ""}`}</>;
  if (!capabilities.includes("data_sharing")) return <>none</>;
  return (
    <Action quiet act={() => ask(1000)}>
      Ask for 1,000<span class="hidden"> old posts of {host}</span>
    </Action>
  );
}

export function FaspPanel() {
  const { data, problem, again } = useAsk<{ servers: Server[] }>("/fasp", 5);
  const [failed, change] = useChange(again);
  const [leaving, setLeaving] = useState<string>();
  const [notes, setNotes] = useState<string[]>([]);
  const register = submit(async (form) => {
    const answer = await change<{ host: string; had_it_before: boolean }>("/fasp/register", { server: field(form, "server") });
    setNotes(answer?.had_it_before ? [`${answer.host} has this node of before still, and goes on telling that one. ${deleteThere}`] : []);
    return answer;
  });
  const remove = async () => {
    const answer = leaving && (await change<{ told: boolean }>("/fasp/remove", { host: leaving }));
    setNotes(answer && !answer.told ? [`${leaving} could not be told, and goes on sending. ${deleteThere}`] : []);
    setLeaving(undefined);
  };
  return (
    <>
      <p class="lead">
        A server can tell this node of its posts, and be told of others, as a Fediverse Auxiliary Service Provider. Ask it here; then its administrator compares the fingerprint and accepts.
      </p>
      <form class="row" onSubmit={register}>
        <label>
          Server
          <input name="server" placeholder="social.example" autocapitalize="none" required />
        </label>
        <button>Register</button>
      </form>
      <Notes texts={notes} />
      {leaving && (
        <Confirm question={`End all dealings with ${leaving}?`} yes="Remove it" onNo={() => setLeaving(undefined)} onYes={remove}>
          Subscriptions and keys are forgotten; what was published stays. To come back, it must be registered and accepted again.
        </Confirm>
      )}
      <Listing
        problem={failed || problem}
        label="FASP servers"
        rows={data?.servers}
        empty="No server uses this node as a FASP."
        columns={[
          {
            head: "Server",
            cell: (row) => (
              <>
                {row.host}
                {row.refused && <span class="bad words"> does not know this node any more: remove it, and register it again</span>}
              </>
            ),
          },
          {
            head: "Has activated",
            cell: (row) =>
              row.capabilities.join(", ").replaceAll("_", " ") || (
                <span class="warn">
                  nothing yet
                  {row.completion_url.startsWith("https://") && (
                    <>
                      :{" "}
                      <a href={row.completion_url} rel="noreferrer">
                        go on there
                      </a>
                    </>
                  )}
                </span>
              ),
          },
          { head: "Hashtags", cell: (row) => number.format(row.hashtags.length), right: true },
          { head: "Old posts", cell: (row) => <OldPosts server={row} ask={(count) => change("/fasp/backfill", { host: row.host, count })} /> },
          { head: "Fingerprint", cell: (row) => <code class="words">{row.fingerprint}</code> },
          { head: "Since", cell: (row) => age(new Date(row.since)) },
          actionColumn<Server>(
            "Remove",
            (row) => row.host,
            (row) => setLeaving(row.host),
          ),
        ]}
      />
    </>
  );
}
