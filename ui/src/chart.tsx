// Posts per day. A day's bar leads to the posts of that day.

import { useEffect, useState } from "preact/hooks";
import { type Day, getJson, type View } from "./api.ts";

const HEIGHT = 48;
const DAY = 86_400_000;
const LEAST = 7; // bars: fewer would be as broad as posters
const SPANS = [
  [30, "in 30 days"],
  [90, "in 90 days"],
  [365, "in a year"],
] as const;

const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);
const readable = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const number = new Intl.NumberFormat("en");

/** One value for each of the `span` days until today. */
export function fill(days: Day[], span: number, today: number): Day[] {
  const known = new Map(days.map((entry) => [entry.day.slice(0, 10), entry.posts]));
  return Array.from({ length: span }, (_, i) => {
    const day = isoDay(today - (span - 1 - i) * DAY);
    return { day, posts: known.get(day) ?? 0 };
  });
}

/** From the day of the first post on: before that there was no quiet time, but nothing. */
function fromFirst(days: Day[]): Day[] {
  const first = days.findIndex(({ posts }) => posts > 0);
  return days.slice(Math.min(first < 0 ? days.length : first, Math.max(0, days.length - LEAST)));
}

export function Bars({ days, href }: { days: Day[]; href?: (day: string) => string }) {
  const most = days.reduce((a, b) => (b.posts > a.posts ? b : a), days[0] ?? { day: "", posts: 0 });
  const total = days.reduce((sum, entry) => sum + entry.posts, 0);
  const summary =
    total === 0
      ? "No posts in this time"
      : `${number.format(total)} posts in ${days.length} days; most on ${readable.format(new Date(most.day))}: ${number.format(most.posts)}`;
  const open = (event: MouseEvent) => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const entry = days[Math.floor(((event.clientX - box.left) / box.width) * days.length)];
    if (entry && href) location.assign(href(entry.day));
  };
  return (
    <svg class="bars" viewBox={`0 0 ${days.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary} onClick={href && open}>
      {days.map(({ day, posts }, i) => {
        const height = posts === 0 ? 0.6 : Math.max(2, (posts / most.posts) * HEIGHT);
        return (
          <g key={day}>
            <rect class="hit" x={i} y={0} width={1} height={HEIGHT} />
            <rect class={posts === 0 ? "none" : "bar"} x={i + 0.12} y={HEIGHT - height} width={0.76} height={height} />
            <title>{`${readable.format(new Date(day))}: ${number.format(posts)}`}</title>
          </g>
        );
      })}
    </svg>
  );
}

/**
 * `arrived`: posts of today that the node had not counted when the page was opened. It has its room from the start, so
 * that nothing below moves when the figures come.
 */
export function Chart({ view, arrived }: { view: View; arrived: number }) {
  const [span, setSpan] = useState(30);
  const [days, setDays] = useState<Day[] | null>(null);
  const [failed, setFailed] = useState(false);
  const tag = encodeURIComponent(view.tag);
  useEffect(() => {
    const stop = new AbortController();
    const today = Date.now();
    const query = `from=${isoDay(today - (span - 1) * DAY)}&to=${isoDay(today)}`;
    getJson<Day[]>(`/api/tagring/tags/${tag}/days?${query}`, { signal: stop.signal })
      .then((answer) => setDays(fill(answer, span, today)))
      .catch(() => setFailed(!stop.signal.aborted));
    return () => stop.abort();
  }, [tag, span]);
  const known = days ? fromFirst(days) : fill([], span, Date.now());
  const shown = known.map((entry, i) => (i === known.length - 1 ? { ...entry, posts: entry.posts + arrived } : entry));
  const total = shown.reduce((sum, entry) => sum + entry.posts, 0);
  const count = total === 1 ? "1 post" : `${number.format(total)} posts`;
  return (
    <section class="chart" aria-label="Posts per day">
      <div class="chart-head">
        <p class="muted">{days ? count : failed ? "How many is not known now" : "Posts"}</p>
        <label class="inline">
          <span class="hidden">Time shown</span>
          <select value={span} onChange={(event) => setSpan(Number(event.currentTarget.value))}>
            {SPANS.map(([value, label]) => (
              <option value={value}>{label}</option>
            ))}
          </select>
        </label>
      </div>
      <Bars days={shown} href={(day) => view.page(day)} />
      <p class="axis muted" aria-hidden="true">
        <span>{readable.format(new Date(shown[0]?.day ?? ""))}</span>
        <span>today</span>
      </p>
    </section>
  );
}
