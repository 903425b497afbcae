// The posts that a page shows: pages of older ones behind it, new ones before it.

import { getPage, type Status, type View } from "./api.ts";

const PAGE = 40;
const POLL = 20_000;

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
  #stream: EventSource | null = null;
  #poll: ReturnType<typeof setInterval> | undefined;

  #changed: (state: FeedState) => void = () => {};

  constructor(private readonly view: View) {}

  onChange(changed: (state: FeedState) => void): void {
    this.#changed = changed;
    changed(this.state);
  }

  async start(): Promise<void> {
    await this.#load(this.view.timeline({ limit: String(PAGE) }));
    if (this.view.until) return;
    document.addEventListener("visibilitychange", this.#listen);
    this.#listen();
  }

  async more(): Promise<void> {
    if (this.state.older && !this.state.loading) await this.#load(this.state.older);
  }

  show(): void {
    const { pieces, waiting } = this.state;
    if (waiting.length > 0) this.#set({ pieces: [waiting, ...pieces], waiting: [] });
  }

  #set(part: Partial<FeedState>): void {
    this.state = { ...this.state, ...part };
    this.#changed(this.state);
  }

  #news(posts: Status[]): Status[] {
    // By URI: two posts of one second may share an id.
    const news = posts.filter((post) => !this.#known.has(post.uri));
    for (const post of news) this.#known.add(post.uri);
    return news;
  }

  async #load(target: string): Promise<void> {
    this.#set({ loading: true, problem: "" });
    try {
      const { posts, older } = await getPage(target);
      const news = this.#news(posts);
      const pieces = news.length > 0 ? [...this.state.pieces, news] : this.state.pieces;
      this.#set({ pieces, older: older === target ? null : older, loading: false });
    } catch (error) {
      this.#set({ loading: false, problem: (error as Error).message });
    }
  }

  // A connection for every hidden tab would use up those that a browser makes to one server.
  #listen = (): void => {
    this.#silence();
    if (document.hidden) return;
    // The stream is of one hashtag; what a combination shows, the node must say.
    if (this.view.isCombined) {
      this.#poll = setInterval(() => void this.#catchUp(), POLL);
      void this.#catchUp();
      return;
    }
    const stream = new EventSource(`/api/v1/streaming/hashtag?tag=${encodeURIComponent(this.view.tag)}`);
    this.#stream = stream;
    stream.onopen = () => void this.#catchUp();
    stream.onerror = () => {
      if (stream.readyState === EventSource.CLOSED) this.#poll ??= setInterval(() => void this.#catchUp(), POLL);
    };
    stream.addEventListener("update", (event) => this.#arrive([JSON.parse(event.data) as Status]));
    stream.addEventListener("status.update", (event) => this.#replace(JSON.parse(event.data) as Status));
    stream.addEventListener("delete", (event) => this.#remove(String(event.data)));
  };

  #silence(): void {
    this.#stream?.close();
    this.#stream = null;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #newest(): string | undefined {
    return this.state.waiting[0]?.id ?? this.state.pieces[0]?.[0]?.id;
  }

  /** What came while nobody listened. */
  async #catchUp(): Promise<void> {
    const newest = this.#newest();
    const target = this.view.timeline({ limit: String(PAGE), ...(newest && { min_id: newest }) });
    const page = await getPage(target).catch(() => null); // the next time then
    if (page) this.#arrive(page.posts);
  }

  #arrive(posts: Status[]): void {
    const news = this.#news(posts);
    if (news.length === 0) return;
    const waiting = [...news, ...this.state.waiting].sort((a, b) => b.created_at.localeCompare(a.created_at));
    this.#set({ waiting, arrived: this.state.arrived + news.length });
    if (this.state.pieces.length === 0) this.show();
  }

  #edit(change: (list: Status[]) => Status[]): void {
    this.#set({ pieces: this.state.pieces.map(change), waiting: change(this.state.waiting) });
  }

  #replace(status: Status): void {
    this.#edit((list) => (list.some((post) => post.uri === status.uri) ? list.map((post) => (post.uri === status.uri ? status : post)) : list));
  }

  #remove(id: string): void {
    this.#edit((list) => (list.some((post) => post.id === id) ? list.filter((post) => post.id !== id) : list));
  }
}
