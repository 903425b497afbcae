// Following from elsewhere: the address to copy, and the way through the reader's own server.

import { useState } from "preact/hooks";
import { getJson, Refused } from "./api.ts";
import { recall, remember } from "./settings.ts";

const BY_HAND = " Copy the address instead, and search for it at your server: what is found can be followed.";

export function Follow({ tag, address }: { tag: string; address: string }) {
  const [copied, setCopied] = useState(false);
  const [problem, setProblem] = useState("");
  const [guess, setGuess] = useState("");
  const copy = async () => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
    setTimeout(() => setCopied(false), 3000);
  };
  const known = recall("account");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void go(String(new FormData(event.currentTarget as HTMLFormElement).get("account")));
  };
  const go = async (account: string) => {
    setProblem("");
    setGuess("");
    try {
      const target = `/tags/${encodeURIComponent(tag)}/follow?account=${encodeURIComponent(account)}`;
      const { url, template, guessed } = await getJson<{ url: string; template: string; guessed: boolean }>(target, { headers: { Accept: "application/json" } });
      if (!url.startsWith("https://")) return;
      remember("account", account);
      remember("template", template); // of a server that is not always the one that stands in the account
      if (guessed) setGuess(url);
      else location.assign(url);
    } catch (error) {
      const isByHand = error instanceof Refused && error.answer["by_hand"] === true;
      setProblem(`${(error as Error).message}.${isByHand ? BY_HAND : ""}`);
    }
  };
  return (
    <section class="follow" aria-label="Follow">
      {known && (
        <button type="button" onClick={() => void go(known)}>
          Follow as {known}
        </button>
      )}
      <details>
        <summary class={known ? "muted" : "button"}>{known ? "As somebody else" : "Follow"}</summary>
        <form action={`/tags/${encodeURIComponent(tag)}/follow`} onSubmit={submit}>
          <label>
            Your server or account
            <input name="account" placeholder="@me@social.example" defaultValue={known} autocapitalize="none" autocomplete="off" maxLength={300} required />
          </label>
          <button>Continue</button>
        </form>
      </details>
      <p>
        or search for <code class="address">{address}</code>{" "}
        <button type="button" class="quiet" onClick={copy}>
          {copied ? "Copied" : "Copy"}
        </button>{" "}
        <a class="muted" href={`/tags/${encodeURIComponent(tag)}.rss`}>
          RSS
        </a>
      </p>
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
