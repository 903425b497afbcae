// The rings as a picture: where this node's vservers stand, what they serve, and whom they know beside them.

import type { Contact, RingStatus, Rings, Vserver } from "./admin_api.ts";
import { useAsk } from "./hooks.ts";

const SIZE = 360;
const MIDDLE = SIZE / 2;
const RADIUS = 128;
const NAME = 16;
const CLOSE = 0.04; // of the circle

/** Of the circle, clockwise from the top. */
function fraction(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16) / 16 ** 12;
}

function place(at: number, radius: number): [number, number] {
  const angle = 2 * Math.PI * at;
  return [MIDDLE + radius * Math.sin(angle), MIDDLE - radius * Math.cos(angle)];
}

/** The arc from after `from` to `to`, clockwise; the whole circle if they are the same. */
function arc(from: number, to: number, radius: number): string {
  const length = from === to ? 0.99999 : (to - from + 1) % 1;
  const [x1, y1] = place(from, radius);
  const [x2, y2] = place(from + length, radius);
  return `M${x1.toFixed(2)} ${y1.toFixed(2)}A${radius} ${radius} 0 ${length > 0.5 ? 1 : 0} 1 ${x2.toFixed(2)} ${y2.toFixed(2)}`;
}

const same = (a: Contact, b: Contact) => a.id === b.id;

function neighbours(vservers: Vserver[]): Contact[] {
  const found = new Map<string, Contact>();
  for (const { predecessor, successors } of vservers) for (const contact of [...(predecessor ? [predecessor] : []), ...successors]) found.set(contact.id, contact);
  return [...found.values()].filter((contact) => !vservers.some(({ self }) => same(self, contact))).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** How far outside of the ring each name stands, so that those of close neighbours do not cover each other. */
function distances(contacts: Contact[]): number[] {
  const out: number[] = [];
  contacts.forEach((contact, i) => {
    const before = contacts[i - 1];
    const close = before && fraction(contact.id) - fraction(before.id) < CLOSE;
    out.push(close && out[i - 1] === NAME ? NAME + 16 : NAME);
  });
  return out;
}

const label = (contact: Contact) => `${contact.host}/${contact.vserver}`;
const short = (host: string) => host.replace(/^tags\./, "").split(".")[0] ?? host;

function Picture({ name, vservers, status }: { name: string; vservers: Vserver[]; status: RingStatus | undefined }) {
  const others = neighbours(vservers);
  const names = distances(others);
  const share = ((status?.share ?? 0) * 100).toFixed(1);
  const healthy = vservers.every((vserver) => vserver.member && vserver.serving);
  const summary = `The ${name} ring: ${vservers.length} vservers of this node serve ${share} % of it; ${others.length} neighbours are known`;
  return (
    <figure class="ring">
      <svg viewBox={`0 0 ${SIZE} ${SIZE}`} role="img" aria-label={summary}>
        <circle class="track" cx={MIDDLE} cy={MIDDLE} r={RADIUS} />
        {vservers.map(({ self, owned, serving }) => (
          <g key={self.id}>
            {owned && <path class="owned" d={arc(fraction(owned.from), fraction(owned.to), RADIUS)} />}
            {serving && <path class="serving" d={arc(fraction(serving.from), fraction(serving.to), RADIUS)} />}
          </g>
        ))}
        {others.map((contact, i) => {
          const at = fraction(contact.id);
          const [x, y] = place(at, RADIUS);
          const [tx, ty] = place(at, RADIUS + (names[i] ?? NAME));
          return (
            <g key={contact.id}>
              <circle class="other" cx={x} cy={y} r={5} />
              <text x={tx} y={ty + 4} text-anchor={Math.abs(tx - MIDDLE) < 30 ? "middle" : tx > MIDDLE ? "start" : "end"}>
                {short(contact.host)}
              </text>
              <title>{label(contact)}</title>
            </g>
          );
        })}
        {vservers.map(({ self, member }) => {
          const [x, y] = place(fraction(self.id), RADIUS);
          return (
            <g key={self.id}>
              <circle class={member ? "own" : "own out"} cx={x} cy={y} r={9} />
              <title>{label(self)}</title>
            </g>
          );
        })}
        <text class="share" x={MIDDLE} y={MIDDLE + 4} text-anchor="middle">
          {share} %
        </text>
        <text class="caption" x={MIDDLE} y={MIDDLE + 26} text-anchor="middle">
          {healthy ? "served from here" : "joining"}
        </text>
      </svg>
      <figcaption>
        <b>{name} ring</b>
        <br />
        <span class="muted">
          about {status?.estimated_vservers ?? "?"} vservers, {others.length} known here
        </span>
      </figcaption>
    </figure>
  );
}

export function RingPanel({ status }: { status: Record<"relay" | "storage", RingStatus> | undefined }) {
  const { data, problem } = useAsk<Rings>("/ring", 2);
  if (!data) return <p class="muted">{problem || "Asking the node …"}</p>;
  const rows = (["relay", "storage"] as const).flatMap((name) => data[name].map((vserver) => ({ name, vserver })));
  return (
    <>
      <p class="lead">
        Who is responsible for a hashtag stands on a ring: its key is a place on it, and the next vserver clockwise owns it. New posts pass through the relay ring, histories are kept on the storage ring.
      </p>
      <div class="rings">
        {(["relay", "storage"] as const).map((name) => (
          <Picture key={name} name={name} vservers={data[name]} status={status?.[name]} />
        ))}
      </div>
      <p class="legend muted">
        <span class="dot own" /> this node <span class="dot other" /> neighbours <span class="dot serving" /> keys served here
      </p>
      <h2>Vservers</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Vservers">
        <table>
          <thead>
            <tr>
              <th scope="col">Ring</th>
              <th scope="col">Place</th>
              <th scope="col">After</th>
              <th scope="col">Before</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, vserver }) => (
              <tr key={name + vserver.self.id}>
                <td>{name}</td>
                <td>
                  <code>{vserver.self.id.slice(0, 8)}</code>
                </td>
                <td>{vserver.predecessor ? label(vserver.predecessor) : "nobody"}</td>
                <td>{vserver.successors[0] ? label(vserver.successors[0]) : "nobody"}</td>
                <td class={vserver.serving ? "good" : "warn"}>{vserver.serving ? "serves" : vserver.member ? "fetches its data" : "joins"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
