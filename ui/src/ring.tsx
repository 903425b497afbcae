// The rings as a picture: where this node's vservers stand, what they serve, and whom they know beside them.

import type { Contact, RingStatus, Rings, Vserver } from "./admin_api.ts";
import { useAsk } from "./hooks.ts";
import { octets } from "./parts.tsx";

const SIZE = 360;
const MIDDLE = SIZE / 2;
const RADIUS = 128;
const NAME = 16;
const LINE = 15;
const LETTER = 7;

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

const label = (contact: Contact) => `${contact.host}/${contact.vserver}`;
const short = (host: string) => host.replace(/^tags\./, "").split(".")[0] ?? host;

interface Name {
  text: string;
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

function overlap(a: Name, b: Name): boolean {
  const left = ({ text, x, anchor }: Name) => x - (anchor === "start" ? 0 : text.length * LETTER * (anchor === "end" ? 1 : 0.5));
  const apart = Math.abs(a.y - b.y) >= LINE || left(a) + a.text.length * LETTER <= left(b) || left(b) + b.text.length * LETTER <= left(a);
  return !apart;
}

/** Where the names of neighbours stand: outside of the ring, further out where they would cover another. */
function names(contacts: Contact[]): Name[] {
  const placed: Name[] = [];
  for (const contact of contacts) {
    const text = short(contact.host);
    const at = (distance: number): Name => {
      const [x, y] = place(fraction(contact.id), RADIUS + distance);
      return { text, x, y: y + 4, anchor: Math.abs(x - MIDDLE) < 30 ? "middle" : x > MIDDLE ? "start" : "end" };
    };
    const free = [NAME, NAME + LINE, NAME + 2 * LINE].map(at).find((name) => !placed.some((other) => overlap(name, other)));
    placed.push(free ?? at(NAME));
  }
  return placed;
}

/** What the node bears on a ring, of what it can. */
function load(name: string, { load: bears, capacity }: RingStatus): string {
  const per = name === "relay" ? "/s" : "";
  const what = name === "relay" ? "sends" : "stores";
  return `${what} ${octets(bears)}${per} of ${octets(capacity)}${per}`;
}

function Picture({ name, vservers, status }: { name: string; vservers: Vserver[]; status: RingStatus | undefined }) {
  const others = neighbours(vservers);
  const places = names(others);
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
          const [x, y] = place(fraction(contact.id), RADIUS);
          const name = places[i]!;
          return (
            <g key={contact.id}>
              <circle class="other" cx={x} cy={y} r={5} />
              <text x={name.x} y={name.y} text-anchor={name.anchor}>
                {name.text}
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
          about {status ? Math.round(status.estimated_vservers) : "?"} vservers, {others.length} known here
        </span>
        {status && (
          <>
            <br />
            <span class={status.load > status.capacity ? "warn" : "muted"}>{load(name, status)}</span>
          </>
        )}
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
