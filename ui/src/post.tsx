// One post. src/web/posts.cpp draws the same for readers without JavaScript.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { age, moment } from "./age.ts";
import type { Media, Status } from "./api.ts";
import { plain, sanitise } from "./sanitise.ts";
import { atOwnServer } from "./settings.ts";

function Content({ html, lang }: { html: string; lang: string }) {
  const box = useRef<HTMLDivElement>(null);
  // Before it is painted, or all that is below would move.
  useLayoutEffect(() => box.current?.replaceChildren(sanitise(html)), [html]);
  return <div class="content" dir="auto" lang={lang} ref={box} />;
}

/** What may be clicked: nothing that would run here. */
const link = (url: string): { href?: string } => (/^https?:\/\//.test(url) ? { href: url } : {});

function Picture({ media, shown }: { media: Media; shown: boolean }) {
  const [wished, wish] = useState(false);
  const label = media.description ?? "";
  const source = media.type === "image" ? (media.preview_url ?? media.url) : media.preview_url;
  const size = media.meta?.original; // without it pictures have the same shape
  const kind = media.type === "unknown" ? "attachment" : media.type;
  if (!media.url?.startsWith("https://")) return null;
  if (!source?.startsWith("https://") || kind === "audio") {
    return (
      <a class="media-link" href={media.url} rel="nofollow noopener noreferrer" dir="auto">
        <b>{kind}:</b> {label || "without a description"}
      </a>
    );
  }
  if (!shown && !wished) {
    return (
      <button type="button" class="media-button" onClick={() => wish(true)} dir="auto">
        <b>Show {kind}:</b> {label || "without a description"}
      </button>
    );
  }
  return (
    <a class="media" href={media.url} rel="nofollow noopener noreferrer">
      <img src={source} alt={label || `${kind} without a description`} width={size?.width} height={size?.height} loading="lazy" decoding="async" referrerpolicy="no-referrer" />
      {kind !== "image" && <span class="badge">{kind}</span>}
    </a>
  );
}

/** The first letter, on a colour that stays the same for an author. */
function Avatar({ status, images }: { status: Status; images: boolean }) {
  const { acct, avatar, display_name, username } = status.account;
  const [failed, fail] = useState(false);
  if (images && !failed && avatar?.startsWith("https://")) {
    return <img class="avatar" src={avatar} alt="" width={44} height={44} loading="lazy" referrerpolicy="no-referrer" onError={() => fail(true)} />;
  }
  let hash = 0;
  for (let i = 0; i < acct.length; ++i) hash = (hash * 31 + acct.charCodeAt(i)) | 0;
  const letter = [...(plain(display_name) || username)].find((c) => /[\p{L}\p{N}]/u.test(c)) ?? "·";
  return (
    <span class={`avatar hue${Math.abs(hash) % 6}`} aria-hidden="true">
      {letter.toUpperCase()}
    </span>
  );
}

export interface PostProps {
  status: Status;
  images: boolean;
  position: number;
  main?: string;
}

export function Post({ status, images, position, main }: PostProps) {
  const id = useId();
  const created = new Date(status.created_at);
  const warning = status.spoiler_text; // plain text
  const lang = status.language ?? ""; // unknown, and not that of the page
  // Where this reader has an account, and can answer.
  const there = atOwnServer(status.uri);
  const media = status.media_attachments.slice(0, 16);
  // Those that the text does not show already; servers put some of them beside it.
  const text = status.content.replace(/<[^>]*>/g, "").toLowerCase();
  const tags = status.tags.filter(({ name }) => name !== main && !text.includes(`#${name}`)).slice(0, 64);
  const body = (
    <>
      <Content html={status.content} lang={lang} />
      {status.poll && (
        <ul class="poll" lang={lang}>
          {status.poll.options.map((option) => (
            <li dir="auto">{option.title}</li>
          ))}
        </ul>
      )}
      {media.length > 0 && (
        <div class={`media-grid n${Math.min(media.length, 4)}`}>
          {media.map((item) => (
            <Picture key={item.id} media={item} shown={images && !status.sensitive} />
          ))}
        </div>
      )}
    </>
  );
  return (
    <article class="post" tabIndex={0} aria-labelledby={id} aria-posinset={position} aria-setsize={-1} data-uri={status.uri}>
      <header>
        <Avatar status={status} images={images} />
        <a class="author" id={id} {...link(status.account.url)} rel="nofollow noopener noreferrer">
          <bdi class="name">{plain(status.account.display_name) || status.account.username}</bdi> <span class="acct">@{status.account.acct}</span>
        </a>
        <a class="when" {...link(status.url ?? status.uri)} rel="nofollow noopener noreferrer">
          <time dateTime={status.created_at} title={moment(created)}>
            {age(created)}
          </time>
          {status.edited_at && <span title="edited"> *</span>}
        </a>
      </header>
      {warning ? (
        <details class="warning">
          <summary dir="auto" lang={lang}>{warning}</summary>
          {body}
        </details>
      ) : (
        body
      )}
      {tags.length > 0 && (
        <ul class="tags" aria-label="Hashtags">
          {tags.map((tag) => (
            <li key={tag.name}>
              <a class="tag" href={`/tags/${encodeURIComponent(tag.name)}`}>
                <bdi>#{tag.name}</bdi>
              </a>
            </li>
          ))}
        </ul>
      )}
      {there && (
        <p class="elsewhere">
          <a class="muted" href={there.href} rel="nofollow noreferrer">
            Open at {there.host}
          </a>
        </p>
      )}
    </article>
  );
}
