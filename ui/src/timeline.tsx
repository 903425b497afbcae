// The page of a hashtag.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Status, View } from "./api.ts";
import { Chart } from "./chart.tsx";
import { Feed, type FeedState } from "./feed.ts";
import { Follow } from "./follow.tsx";
import { memo } from "./memo.ts";
import { Post } from "./post.tsx";
import { recall, remember } from "./settings.ts";

// How far from the window posts are kept drawn.
const NEAR = "2000px 0px";

interface PieceProps {
  posts: Status[];
  first: number;
  images: boolean;
  tag: string;
}

/** Posts far away from the window are taken out of the document, and their room is kept: a year does not fit otherwise. */
const Piece = memo(({ posts, first, images, tag }: PieceProps) => {
  const box = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(true);
  const height = useRef(0);
  useEffect(() => {
    const watch = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1);
        if (!entry) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height;
        // Who reads with the keyboard or a screen reader must not lose the place.
        setNear(entry.isIntersecting || entry.target.contains(document.activeElement));
      },
      { rootMargin: NEAR },
    );
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (box.current) box.current.style.height = near ? "" : `${height.current}px`;
  }, [near]);
  return (
    <div class="piece" role="presentation" ref={box}>
      {near && posts.map((status, i) => <Post key={status.uri} status={status} images={images} position={first + i} main={tag} />)}
    </div>
  );
});

function Combine({ view }: { view: View }) {
  const field = (name: "any" | "all" | "none", label: string) => (
    <label>
      {label}
      <input name={name} defaultValue={view[name].join(" ")} dir="auto" autocapitalize="none" maxLength={200} />
    </label>
  );
  // Empty fields make no parameters.
  const tidy = (event: FormDataEvent) => {
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  };
  return (
    <details class="filters" open={view.isCombined || view.until !== ""}>
      <summary>Combine hashtags, or go to a date</summary>
      <form action={`/tags/${encodeURIComponent(view.tag)}`} ref={(form) => form?.addEventListener("formdata", tidy)}>
        {field("any", "Also show")}
        {field("all", "Must have")}
        {field("none", "Without")}
        <label>
          Up to the day
          <input type="date" name="until" defaultValue={view.until} />
        </label>
        <button>Show</button>
      </form>
    </details>
  );
}

/** j and k go from post to post, as at Mastodon; "." shows what is new. */
function useKeys(showNew: () => void) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea")) return;
      if (event.key === ".") return showNew();
      const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      if (step === 0) return;
      const posts = [...document.querySelectorAll<HTMLElement>("article.post")];
      const current = target.closest<HTMLElement>("article.post");
      const visible = posts.findIndex((post) => post.getBoundingClientRect().bottom > 80);
      const next = current ? posts.indexOf(current) + step : visible;
      posts[Math.max(0, Math.min(next, posts.length - 1))]?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [showNew]);
}

/** `feed` has its first page. */
export function Timeline({ view, address, feed }: { view: View; address: string; feed: Feed }) {
  const [state, setState] = useState<FeedState>(feed.state);
  const { pieces, waiting, older, loading, problem, arrived } = state;
  useEffect(() => feed.onChange(setState), [feed]);
  const [images, setImages] = useState(recall("images") === "on");
  const end = useRef<HTMLDivElement>(null);
  const showNew = useMemo(
    () => async () => {
      await feed.show();
      scrollTo({ top: 0 });
      requestAnimationFrame(() => document.querySelector<HTMLElement>("article.post")?.focus({ preventScroll: true }));
    },
    [feed],
  );
  useKeys(showNew);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && void feed.more(), { rootMargin: "1500px 0px" });
    if (end.current) watch.observe(end.current);
    return () => watch.disconnect();
    // Once more after each page: the end may still be near.
  }, [feed, older]);
  const toggle = (on: boolean) => {
    remember("images", on ? "on" : "");
    setImages(on);
  };
  // Of a hashtag that has nothing, there is nothing to choose from.
  const isEmpty = pieces.length === 0 && !older && !loading && !problem && !view.isCombined && view.until === "";
  let first = 1;
  return (
    <>
      <h1 class="tag-title">
        <bdi>#{view.tag}</bdi>
      </h1>
      <Follow tag={view.tag} address={address} />
      {!isEmpty && (
        <>
          <Chart view={view} arrived={arrived} />
          <div class="tools">
            <Combine view={view} />
            <label class="inline switch">
              <input type="checkbox" checked={images} onChange={(event) => toggle(event.currentTarget.checked)} /> Load images
            </label>
          </div>
        </>
      )}
      <div class="news" role="status">
        {waiting.length > 0 && (
          <button type="button" onClick={showNew}>
            {waiting.length === 1 ? "1 new post" : `${waiting.length} new posts`}
          </button>
        )}
      </div>
      <section class="feed" role="feed" aria-label="Posts" aria-busy={loading}>
        {pieces.map((posts) => {
          const piece = <Piece key={posts[0]?.uri} posts={posts} first={first} images={images} tag={view.tag} />;
          first += posts.length;
          return piece;
        })}
      </section>
      <div ref={end} class="end">
        {problem && (
          <p class="notice" role="alert">
            The posts cannot be shown: {problem}{" "}
            <button type="button" onClick={() => void (pieces.length > 0 ? feed.more() : feed.start())}>
              Try again
            </button>
          </p>
        )}
        {!problem && loading && <p class="muted">Fetching posts from their servers …</p>}
        {!problem && !loading && !older && <p class="muted">{pieces.length > 0 ? "That is all there is: older posts are kept only of authors who agree to it." : "No posts yet. New ones will appear here."}</p>}
      </div>
    </>
  );
}
