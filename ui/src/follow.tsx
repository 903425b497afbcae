// Following from elsewhere: the address to copy, and the way through the reader's own server.

import { useState } from "preact/hooks";
import { getJson } from "./api.ts";
import { recall, remember } from "./settings.ts";

export function Follow({ tag, address }: { tag: string; address: string }) {
  const [copied, setCopied] = useState(false);
  const [problem, setProblem] = useState("");
  const [guess, setGuess] = useState("");
  const copy = async () => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
    setTimeout(() => setCopied(false), 3000);
  };
  const go = async (event: SubmitEvent) => {
    event.preventDefault();
    const account = String(new FormData(event.currentTarget as HTMLFormElement).get("account"));
    setProblem("");
    setGuess("");
    try {
      const target = `/tags/${encodeURIComponent(tag)}/follow?account=${encodeURIComponent(account)}`;
      const { url, guessed } = await getJson<{ url: string; guessed: boolean }>(target, { headers: { Accept: "application/json" } });
      remember("account", account);
      if (!url.startsWith("https://")) return;
      if (guessed) setGuess(url);
      else location.assign(url);
    } catch (error) {
      setProblem(`${(error as Error).message}. Copy the address instead, and search for it at your server: what is found can be followed.`);
    }
  };
  return (
    <section class="follow" aria-label="Follow">
      <p>
        Follow <code class="address">{address}</code>{" "}
        <button type="button" class="quiet" onClick={copy}>
          {copied ? "Copied" : "Copy"}
        </button>{" "}
        <a class="muted" href={`/tags/${encodeURIComponent(tag)}.rss`}>
          RSS
        </a>
      </p>
      <details>
        <summary>Follow from your server</summary>
      <form action={`/tags/${encodeURIComponent(tag)}/follow`} onSubmit={go}>
        <label>
          Your account
          <input name="account" placeholder="@me@social.example" defaultValue={recall("account")} autocapitalize="none" autocomplete="off" maxLength={300} required />
        </label>
        <button>Go on</button>
      </form>
      </details>
      <p class={guess ? "" : "problem"} role="status">
        {problem}
        {guess && (
          <>
            {new URL(guess).host} does not say how to follow from there; many servers do it so:{" "}
            <a href={guess} rel="nofollow noreferrer">
              go on at {new URL(guess).host}
            </a>
            . If that page does not know it, copy the address and search for it there.
          </>
        )}
      </p>
    </section>
  );
}
