// Who changed what at this node.

import { age } from "./age.ts";
import { useAsk } from "./hooks.ts";
import { Listing } from "./parts.tsx";

interface Change {
  at: string;
  who: string;
  does: string;
  about: string;
  outcome: string;
}

export function ChangesPanel() {
  const { data, problem } = useAsk<{ changes: Change[] }>("/changes", 5);
  return (
    <>
      <p class="lead">
        What administrators did, the latest first. Who is at the machine itself is <i>local socket</i>, unless they logged in here with a name.
      </p>
      <Listing
        problem={problem}
        label="Changes"
        rows={data?.changes}
        empty="Nothing has been changed yet."
        columns={[
          { head: "When", cell: (row) => <time dateTime={row.at}>{age(new Date(row.at))}</time> },
          { head: "Who", cell: (row) => row.who },
          { head: "What", cell: (row) => row.does.slice(1) },
          { head: "About", cell: (row) => <bdi class="words">{row.about}</bdi> },
          { head: "Outcome", cell: (row) => <bdi class={/^(done|begun)/.test(row.outcome) ? "words" : "words bad"}>{row.outcome}</bdi> },
        ]}
      />
    </>
  );
}
