// The start page: what is used now, and what has just arrived under it.

import { useEffect, useState } from "preact/hooks";
import { getJson, getPage, type Status, type TagHistory } from "./api.ts";
import { Bars } from "./chart.tsx";
import { Post } from "./post.tsx";
import { recall } from "./settings.ts";

const EVERY = 8_000;
const SHOWN = 6;
const FOLLOWED = 4; // hashtags whose posts are shown; the most that one request combines

const number = new Intl.NumberFormat("en");

function Trend({ tag }: { tag: TagHistory }) {
  const days = tag.history
    .map((day) => ({ day: new Date(Number(day.day) * 1000).toISOString().slice(0, 10), posts: Number(day.uses) }))
    .sort((a, b) => a.day.localeCompare(b.day));
  const total = days.reduce((sum, day) => sum + day.posts, 0);
  return (
    <li>
      <a class="tag" href={`/tags/${encodeURIComponent(tag.name)}`}>
        <bdi>#{tag.name}</bdi>
      </a>
      <span class="muted">{total === 1 ? "1 post" : `${number.format(total)} posts`} in 7 days</span>
      <Bars days={days} />
    </li>
  );
}

function useArrivals(tags: TagHistory[]): Status[] {
  const [posts, setPosts] = useState<Status[]>([]);
  const names = tags
    .slice(0, FOLLOWED + 1)
    .map((tag) => tag.name)
    .join(" ");
  useEffect(() => {
    const [first, ...others] = names.split(" ");
    if (!first) return;
    const query = new URLSearchParams({ limit: String(SHOWN) });
    for (const name of others) query.append("any[]", name);
    const load = async () => {
      if (document.hidden) return;
      const page = await getPage(`/api/v1/timelines/tag/${encodeURIComponent(first)}?${query}`).catch(() => null);
      if (page) setPosts(page.posts.slice(0, SHOWN));
    };
    void load();
    const timer = setInterval(() => void load(), EVERY);
    return () => clearInterval(timer);
  }, [names]);
  return posts;
}

/** `address` is where the node's API has the trends. */
export function Home({ address, trends: initial }: { address: string; trends: TagHistory[] }) {
  const [trends, setTrends] = useState(initial);
  const posts = useArrivals(trends);
  useEffect(() => {
    const load = async () => {
      const fresh = document.hidden ? null : await getJson<TagHistory[]>(address).catch(() => null);
      if (fresh) setTrends(fresh);
    };
    const timer = setInterval(() => void load(), 6 * EVERY);
    return () => clearInterval(timer);
  }, [address]);
  return (
    <>
      <h1>Hashtags of the fediverse</h1>
      <p class="lead">Every public post under a hashtag, from every server that takes part: read it here, or follow it from your own server.</p>
      {trends.length > 0 ? (
        <>
          <h2>Active in the last 24 hours</h2>
          <ul class="tag-list">
            {trends.map((tag) => (
              <Trend key={tag.name} tag={tag} />
            ))}
          </ul>
        </>
      ) : (
        <p class="notice">No hashtag was used here in the last 24 hours. Search for one above.</p>
      )}
      {posts.length > 0 && (
        <>
          <h2>Just arrived</h2>
          <section aria-label="Just arrived" class="feed">
            {posts.map((status, i) => (
              <Post key={status.uri} status={status} images={recall("images") === "on"} position={i + 1} />
            ))}
          </section>
        </>
      )}
    </>
  );
}
