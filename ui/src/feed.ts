// The posts that a page shows: pages of older ones behind it, new ones before it.

import { getPage, type Status, type View } from "./api.ts";

const PAGE = 40;
const POLL = 20_000;
// To catch up, one after the other. Who has missed more begins anew.
const PAGES = 10;
// The node asks a server that has not answered again after 30 seconds.
const DOUBT = 35_000;

/** Whether an id is of a later post. Ids are numbers, too large for JavaScript's. */
const isLater = (id: string, than: string) => (id.length === than.length ? id > than : id.length > than.length);

export interface FeedState {
  /** In pieces as they came, newest first, so that a piece once drawn stays as it is. */
  pieces: Status[][];
  waiting: Status[]; // arrived, and not shown yet; newest first
  older: string | null; // where to go on
  loading: boolean;
  problem: string;
  arrived: number; // since the page was opened
}

export class Feed {
  state: FeedState = { pieces: [], waiting: [], older: null, loading: false, problem: "", arrived: 0 };
  #known = new Set<string>();
  #lost = new Map<string, Set<string>>(); // by id: the hashtags that a post here has not any more
  #stream: EventSource | WebSocket | null = null;
  #poll: ReturnType<typeof setInterval> | undefined;
  #isDeaf = false; // posts may have gone without its being heard
  #reached = ""; // by its id, the post up to which none is missing
  #isBehind = false; // there may be more after it than was heard
  #caughtUp = Promise.resolve();

  #changed: (state: FeedState) => void = () => {};

  constructor(private readonly view: View) {}

  onChange(changed: (state: FeedState) => void): void {
    this.#changed = changed;
    changed(this.state);
  }

  async start(): Promise<void> {
    await this.#begin();
    document.addEventListener("visibilitychange", this.#listen);
    this.#listen();
  }

  /** With the newest page, whatever was there before. */
  async #begin(): Promise<void> {
    this.#known.clear();
    this.#reached = "";
    this.#set({ pieces: [], waiting: [], older: this.view.timeline({ limit: String(PAGE) }), loading: false });
    await this.more();
  }

  async more(): Promise<void> {
    const { older, loading } = this.state;
    if (older && !loading) await this.#load(older);
  }

  /** What waits, all together: what is older than some of it may be on its way still. */
  async show(): Promise<void> {
    await this.#caughtUp;
    this.#reveal();
  }

  #reveal(): void {
    const { pieces, waiting } = this.state;
    if (waiting.length > 0) this.#set({ pieces: [waiting, ...pieces], waiting: [] });
  }

  #set(part: Partial<FeedState>): void {
    this.state = { ...this.state, ...part };
    this.#changed(this.state);
  }

  #news(posts: Status[]): Status[] {
    // By URI: two posts of one second may share an id.
    // What went while it was on its way is none.
    const news = posts.filter((post) => !this.#known.has(post.uri) && (!this.#lost.has(post.id) || this.#belongs(post)));
    for (const post of news) this.#known.add(post.uri);
    return news;
  }

  async #load(target: string): Promise<void> {
    this.#set({ loading: true, problem: "" });
    try {
      const { posts, older, reached } = await getPage(target);
      if (this.state.older !== target) return; // begun anew meanwhile
      this.#reached ||= posts[0]?.id ?? reached ?? "";
      const news = this.#news(posts);
      const pieces = news.length > 0 ? [...this.state.pieces, news] : this.state.pieces;
      this.#set({ pieces, older: older === target ? null : older, loading: false });
    } catch (error) {
      if (this.state.older === target) this.#set({ loading: false, problem: (error as Error).message });
    }
  }

  // A connection for every hidden tab would use up those that a browser makes to one server.
  #listen = (): void => {
    this.#silence();
    if (document.hidden) return;
    if (this.view.isCombined) this.#listenToAll();
    else this.#listenToOne();
  };

  #listenToOne(): void {
    const { tag } = this.view;
    const stream = new EventSource(`/api/v1/streaming/hashtag?tag=${encodeURIComponent(tag)}`);
    this.#stream = stream;
    stream.onopen = () => this.#hearAgain();
    stream.onerror = () => {
      this.#isDeaf = true;
      if (stream.readyState === EventSource.CLOSED) this.#pollOn();
    };
    for (const name of ["update", "status.update", "delete"]) {
      stream.addEventListener(name, (event: MessageEvent<string>) => this.#hear(tag, name, event.data));
    }
  }

  // One connection for all hashtags. It tells of each by itself, so what a combination shows is asked as well.
  #listenToAll(): void {
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api/v1/streaming`);
    this.#stream = socket;
    socket.onopen = () => {
      for (const tag of this.view.words) socket.send(JSON.stringify({ type: "subscribe", stream: "hashtag", tag }));
      this.#hearAgain();
    };
    socket.onmessage = ({ data }) => {
      const { stream, event, payload } = JSON.parse(data) as { stream?: string[]; event?: string; payload?: string };
      if (stream?.[1] && event && payload) this.#hear(stream[1], event, payload);
    };
    // Unlike an EventSource it does not connect again by itself.
    socket.onclose = () => {
      this.#isDeaf = true;
      if (this.#stream === socket) setTimeout(() => this.#stream === socket && this.#listen(), POLL);
    };
    this.#pollOn();
  }

  #pollOn(): void {
    this.#poll ??= setInterval(this.#look, POLL);
    this.#look();
  }

  #hearAgain(): void {
    this.#look();
    this.#isDeaf = false;
  }

  #look = (): void => {
    // One after the other; where one breaks off, the next goes on.
    this.#caughtUp = this.#caughtUp.then(() => this.#catchUp()).catch(() => {
      if (this.#stream) this.#poll ??= setInterval(this.#look, POLL);
    });
    if (this.#isDeaf) void this.#lookOver();
  };

  /**
   * What went while nobody listened, among the newest. A post that is missing once may only be late. And what came, but was
   * published before others that are here: its server was slow.
   */
  async #lookOver(doubted?: Set<string>): Promise<void> {
    const page = await getPage(this.view.timeline({ limit: String(PAGE) })).catch(() => null);
    // A page that nothing is behind tells of all posts.
    const oldest = page?.older ? page.posts.at(-1)?.created_at : "";
    if (!page || oldest === undefined) return;
    await this.#caughtUp;
    const last = this.state.pieces.at(-1)?.at(-1);
    if (last && !this.#isBehind) this.#arrive(page.posts.filter((post) => isLater(post.id, last.id)));
    const there = new Set(page.posts.map((post) => post.uri));
    const isMissing = (post: Status) => post.created_at >= oldest && !there.has(post.uri);
    const missing = [...this.state.pieces, this.state.waiting].flat().filter(isMissing);
    if (doubted) for (const { id, uri } of missing) this.#edit(id, (post) => (post.uri === uri && doubted.has(uri) ? null : post));
    else if (missing.length > 0) setTimeout(() => void this.#lookOver(new Set(missing.map((post) => post.uri))), DOUBT);
  }

  #silence(): void {
    const stream = this.#stream;
    this.#stream = null;
    if (stream) this.#isDeaf = true;
    stream?.close();
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #hear(tag: string, event: string, payload: string): void {
    if (event === "delete") {
      // Under one of its hashtags only: it may have been edited, and stay for another.
      if (!this.#isBehind && ![...this.state.pieces, this.state.waiting].some((list) => list.some((post) => post.id === payload))) return;
      this.#lost.set(payload, (this.#lost.get(payload) ?? new Set()).add(tag));
      this.#edit(payload, (post) => (this.#belongs(post) ? post : null));
    } else if (event === "update" || event === "status.update") {
      const status = JSON.parse(payload) as Status;
      this.#lost.get(status.id)?.delete(tag);
      const now = this.#belongs(status, tag) ? status : null;
      if (this.#isHere(status.uri)) {
        this.#edit(status.id, (post) => (post.uri === status.uri ? now : post));
        if (!now) this.#known.add(status.uri); // what is on its way is as it was before
      } else if (now && event === "update") {
        this.#known.delete(status.uri);
        this.#arrive([now]);
      }
      // Combined hashtags are asked for all the time: nothing says when each of them has begun to be heard.
      if (event === "update" && !this.#isBehind && !this.view.isCombined && isLater(status.id, this.#reached)) this.#reached = status.id;
    }
  }

  #isHere(uri: string): boolean {
    return [...this.state.pieces, this.state.waiting].some((list) => list.some((post) => post.uri === uri));
  }

  #belongs({ id, tags }: Status, surely?: string): boolean {
    const lost = this.#lost.get(id);
    const names = new Set(tags.map(({ name }) => name).filter((name) => !lost?.has(name)));
    return this.view.shows((word) => names.has(word) || word === surely);
  }

  /** What came while nobody listened: the oldest first, so that it goes on where it broke off. */
  async #catchUp(): Promise<void> {
    this.#isBehind = true;
    for (let pages = 0; pages < PAGES; ++pages) {
      const from = this.#reached;
      const target = this.view.timeline({ limit: String(PAGE), ...(from && { min_id: from }) });
      const { posts, older, reached } = await getPage(target, { signal: AbortSignal.timeout(POLL) });
      if (!from && older) break; // there was nothing before, and is more than a page now
      this.#arrive(posts);
      this.#reached = reached ?? from;
      // A page without posts is not the last one as long as it says where to go on.
      this.#isBehind = reached !== null && reached !== from;
      if (!this.#isBehind) return;
    }
    await this.#begin();
    this.#isBehind = this.state.problem !== "";
  }

  #arrive(posts: Status[]): void {
    const { until } = this.view;
    const news = this.#news(until ? posts.filter((post) => post.created_at.slice(0, 10) <= until) : posts);
    if (news.length === 0) return;
    const waiting = [...news, ...this.state.waiting].sort((a, b) => b.created_at.localeCompare(a.created_at));
    this.#set({ waiting, arrived: this.state.arrived + news.length });
    if (this.state.pieces.length === 0) this.#reveal();
  }

  /** Changes the posts with that id, and takes out those that become null, which may come again. */
  #edit(id: string, change: (post: Status) => Status | null): void {
    const changed = (post: Status) => {
      const now = change(post);
      if (!now) this.#known.delete(post.uri);
      return now ?? [];
    };
    const edited = (list: Status[]) => (list.some((post) => post.id === id) ? list.flatMap((post) => (post.id === id ? changed(post) : post)) : list);
    this.#set({ pieces: this.state.pieces.map(edited), waiting: edited(this.state.waiting) });
  }
}
