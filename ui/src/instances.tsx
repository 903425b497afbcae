// Servers that use the node as a relay, and the histories on their way to them.

import { useState } from "preact/hooks";
import { age, moment } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";
import { actionColumn, everyServerOf, field, hashtagColumn, Listing, Notes, number, submit } from "./parts.tsx";

interface Link {
  actor: string;
  relay: string;
  style: string;
  accepted: boolean;
  untaken?: string; // why the Accept has not arrived there; empty while it was not tried
  followed_back?: string;
}

interface Instance {
  host: string;
  publishes: boolean;
  receives: boolean;
  decided: boolean;
  links: Link[];
  hashtags: number;
  blocked: boolean;
  refuses: boolean; // what this node sends
  fails?: string; // why it takes nothing now
  follows: number; // of hashtags, by its people
}

/** As `tagring instance list` has it. */
function linkText({ actor, relay, style, accepted, untaken, followed_back: back }: Link): string {
  const tag = relay.split("/tag/")[1];
  const words = [
    style === "group" ? `followed: ${actor} by` : style,
    tag && `#${tag}`,
    style === "person" && actor,
    !accepted && "(waits for you)",
    accepted && back === "waits" && "(waits for them to accept)",
    accepted && back === "rejected" && "(does not let this node follow)",
    untaken === "" && "(is being told so)",
    untaken && `(has not taken the Accept: ${untaken})`,
  ];
  return words.filter(Boolean).join(" ");
}

function connections({ blocked, links, follows, refuses, fails }: Instance): string {
  const relays = [...(blocked ? ["blocked"] : []), ...links.map(linkText)];
  const others = [follows > 0 && `${number.format(follows)} follows of hashtags`, refuses && "refuses what this node sends", fails && `takes nothing now: ${fails}`];
  return [...(relays.length > 0 ? relays : ["not as a relay"]), ...others.filter(Boolean)].join(", ");
}

/** What the administrator has said, or is to say. */
function State({ row }: { row: Instance }) {
  if (row.links.some((link) => !link.accepted)) return <span class="warn">waits for you</span>;
  return row.decided ? <span class="good">decided</span> : <>not asked</>;
}

interface Replay {
  host: string;
  tag: string;
  order: string;
  state: string;
  reason?: string;
  sent: number;
  skipped: number;
  estimated: number;
  newest?: string;
  oldest?: string;
  per_minute: number;
  authors_per_day: number;
  waits_until?: string;
  waits_for?: string;
  started: string;
  failing_since?: string;
}

const isActive = ({ state }: Replay) => state === "reading" || state === "sending";

function Progress({ replay }: { replay: Replay }) {
  const { host, tag, sent, skipped, estimated, reason, failing_since: since, waits_until: waits, waits_for: what, authors_per_day: authors } = replay;
  const done = sent + skipped;
  return (
    <>
      {isActive(replay) && <progress aria-label={`#${tag} to ${host}`} value={done} max={Math.max(estimated, done, 1)} />}{" "}
      <span class="words">
        {number.format(sent)} of about {number.format(Math.max(estimated - skipped, sent))} posts{skipped > 0 && `, ${number.format(skipped)} left out`}
        {isActive(replay) &&
          `; ${number.format(replay.per_minute)} a minute, of ${authors > 0 ? `at most ${number.format(authors)}` : "any number of"} authors a day`}
      </span>
      {waits && (
        <span class="words">
          {" "}
          waits until {moment(new Date(waits))}
          {what && (
            <>
              : <bdi>{what}</bdi>
            </>
          )}
        </span>
      )}
      {since && <span class="bad words"> fails since {age(new Date(since))}</span>}
      {reason && <bdi class="words"> {reason}</bdi>}
    </>
  );
}

function Replays() {
  const { data, problem, again } = useAsk<{ replays: Replay[] }>("/instances/replays", 3);
  const [failed, change] = useChange(again);
  const begin = submit((form) =>
    change("/instances/replay", { host: field(form, "host"), tag: field(form, "tag"), order: field(form, "order"), max_age_s: Number(field(form, "days")) * 86_400 }),
  );
  return (
    <>
      <h2>Histories under way</h2>
      <p class="lead">
        An instance gets the posts that a hashtag had before it was subscribed, as slowly as it can bear. Say how long it keeps posts of others (Mastodon: Administration &gt;
        Server settings &gt; Content retention): older ones it would let go at once.
      </p>
      <form class="row" onSubmit={begin}>
        <label>
          To the instance
          <input name="host" autocapitalize="none" required />
        </label>
        <label>
          History of
          <input name="tag" dir="auto" autocapitalize="none" required />
        </label>
        <label>
          It keeps posts of others (days; 0: for ever)
          <input name="days" type="number" min="0" max="36500" required />
        </label>
        <label>
          Beginning with
          <select name="order">
            <option value="newest_first">the newest</option>
            <option value="oldest_first">the oldest</option>
          </select>
        </label>
        <button>Send</button>
      </form>
      <Listing
        problem={failed || problem}
        label="Histories under way"
        rows={data?.replays}
        empty="No history was sent to an instance yet."
        columns={[
          { head: "Instance", cell: (row) => row.host },
          hashtagColumn,
          { head: "State", cell: (row) => <span class={row.state === "failed" ? "bad" : isActive(row) ? "warn" : ""}>{row.state}</span> },
          { head: "Progress", cell: (row) => <Progress replay={row} /> },
          { head: "Reaches", cell: (row) => row.oldest && row.newest && `${row.oldest.slice(0, 10)} to ${row.newest.slice(0, 10)}` },
          { head: "Started", cell: (row) => age(new Date(row.started)) },
          actionColumn<Replay>(
            "Cancel",
            (row) => `#${row.tag} to ${row.host}`,
            (row) => change("/instances/cancel-replay", { host: row.host, tag: row.tag }),
            isActive,
          ),
        ]}
      />
    </>
  );
}

export function InstancesPanel() {
  const { data, problem, again } = useAsk<{ instances: Instance[] }>("/instances", 10);
  const [failed, change] = useChange(again);
  const [notes, setNotes] = useState<string[]>([]);
  const permit = async (host: string, publishes: boolean, receives: boolean) => {
    const answer = await change<{ host: string; added: boolean; suffix: boolean }>("/instances/permit", { host, publishes, receives });
    const texts = answer?.suffix ? [everyServerOf(answer.host)] : [];
    if (answer && !answer.added && (publishes || receives))
      texts.push(`${answer.host} does not use this node as a relay now: its administrator adds the relay, again if that was refused before.`);
    setNotes(texts);
    return answer;
  };
  return (
    <>
      <form class="row" onSubmit={submit((form) => permit(field(form, "host"), true, true))}>
        <label>
          Instance
          <input name="host" placeholder="social.example" autocapitalize="none" required />
        </label>
        <button>Allow</button>
      </form>
      <Notes texts={notes} />
      <Listing
        problem={failed || problem}
        label="Instances"
        rows={data?.instances}
        empty="No instance uses this node as a relay yet."
        columns={[
          { head: "Instance", cell: (row) => row.host },
          { head: "Connected", cell: (row) => <span class="words">{connections(row)}</span> },
          { head: "Hashtags", cell: (row) => number.format(row.hashtags), right: true },
          {
            head: "Publishes",
            cell: (row) => <input type="checkbox" aria-label={`${row.host} may publish`} checked={row.publishes} onChange={(e) => permit(row.host, e.currentTarget.checked, row.receives)} />,
          },
          {
            head: "Receives",
            cell: (row) => <input type="checkbox" aria-label={`${row.host} may receive`} checked={row.receives} onChange={(e) => permit(row.host, row.publishes, e.currentTarget.checked)} />,
          },
          { head: "State", cell: (row) => <State row={row} /> },
        ]}
      />
      <Replays />
    </>
  );
}
