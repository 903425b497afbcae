// What people of other servers complain of.

import { age } from "./age.ts";
import { useAsk, useChange } from "./hooks.ts";
import { actionColumn, Listing } from "./parts.tsx";

interface Report {
  id: number;
  at: string;
  from: string;
  comment: string;
  about: string[];
  forwarded: string[];
  open: boolean;
}

const isOwn = (uri: string) => uri.startsWith(`${location.origin}/`);

function About({ report }: { report: Report }) {
  return (
    <ul>
      {report.about.map((uri) => (
        <li key={uri}>
          <a href={uri} rel="noreferrer nofollow" class="words">
            {uri}
          </a>
          {report.forwarded.includes(uri) && " (its server was told)"}
        </li>
      ))}
    </ul>
  );
}

export function ReportsPanel() {
  const { data, problem, again } = useAsk<{ reports: Report[] }>("/reports", 10);
  const [failed, change] = useChange(again);
  return (
    <>
      <p class="lead">
        Reports reach a node when somebody complains about one of its hashtags. A post is taken out of what this node shows on the tab Audit, its author or their
        server is kept away on the tab Blocks, and their own moderators can be told from here: they do not learn who complained.
      </p>
      <Listing
        problem={failed || problem}
        label="Reports"
        rows={data?.reports}
        empty="Nobody has complained."
        columns={[
          { head: "Since", cell: (row) => age(new Date(row.at)) },
          { head: "From", cell: (row) => <bdi class="words">{row.from}</bdi> },
          { head: "Comment", cell: (row) => <bdi>{row.comment}</bdi> },
          { head: "About", cell: (row) => <About report={row} /> },
          actionColumn<Report>(
            "Tell its server",
            (row) => `of what report ${row.id} is about`,
            (row) => change("/reports/forward", { id: row.id }),
            (row) => row.open && row.about.some((uri) => !isOwn(uri) && !row.forwarded.includes(uri)),
          ),
          actionColumn<Report>(
            "Close",
            (row) => `report ${row.id}`,
            (row) => change("/reports/close", { id: row.id }),
            (row) => row.open,
          ),
        ]}
      />
    </>
  );
}
