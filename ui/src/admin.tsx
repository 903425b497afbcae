// The administrator's page. Everything on it is also a request of the control socket and a subcommand.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { forgetSecret, type NodeStatus, setSecret, takeSecret } from "./admin_api.ts";
import { AuditPanel } from "./audit.tsx";
import { BlocksPanel } from "./blocks.tsx";
import { ChangesPanel } from "./changes.tsx";
import { FaspPanel } from "./fasp.tsx";
import { useAsk } from "./hooks.ts";
import { InstancesPanel } from "./instances.tsx";
import { FollowersPanel, OverviewPanel, QueuesPanel, SettingsPanel, StoragePanel, SubscriptionsPanel } from "./panels.tsx";
import { ReportsPanel } from "./reports.tsx";
import { RingPanel } from "./ring.tsx";

function Login({ onSecret }: { onSecret: () => void }) {
  const [tried, setTried] = useState(false);
  const enter = (event: SubmitEvent) => {
    event.preventDefault();
    setSecret(String(new FormData(event.currentTarget as HTMLFormElement).get("secret")).trim());
    setTried(true);
    onSecret();
  };
  return (
    <>
      <h1>Administration</h1>
      <p class="lead">
        On the machine of the node, <code>tagring login</code> prints an address that opens this page. Elsewhere, enter a secret of <code>node.admin_token_file</code>.
      </p>
      <form class="row" onSubmit={enter}>
        <label>
          Secret
          <input name="secret" type="password" autocomplete="current-password" required />
        </label>
        <button>Log in</button>
      </form>
      <p class="problem" role="alert">
        {tried && "That secret is not known here, or has expired."}
      </p>
    </>
  );
}

const TABS = ["Overview", "Ring", "Subscriptions", "Instances", "FASP", "Followers", "Reports", "Blocks", "Queues", "Storage", "Audit", "Changes", "Settings"] as const;
type Tab = (typeof TABS)[number];

const tabOf = (hash: string): Tab => TABS.find((tab) => `#${tab.toLowerCase()}` === hash) ?? "Overview";

function Panel({ tab, status }: { tab: Tab; status: NodeStatus | undefined }) {
  switch (tab) {
    case "Overview":
      return <OverviewPanel status={status} />;
    case "Ring":
      return <RingPanel status={status?.rings} />;
    case "Subscriptions":
      return <SubscriptionsPanel />;
    case "Instances":
      return <InstancesPanel />;
    case "FASP":
      return <FaspPanel />;
    case "Followers":
      return <FollowersPanel />;
    case "Reports":
      return <ReportsPanel />;
    case "Blocks":
      return <BlocksPanel />;
    case "Queues":
      return <QueuesPanel />;
    case "Storage":
      return <StoragePanel status={status} />;
    case "Audit":
      return <AuditPanel />;
    case "Changes":
      return <ChangesPanel />;
    case "Settings":
      return <SettingsPanel />;
  }
}

const ROLES: Record<string, string> = { look: "may look", moderate: "may moderate", all: "may do everything" };

function Admin() {
  const [tab, setTab] = useState<Tab>(tabOf(location.hash));
  const { data: status, problem } = useAsk<NodeStatus>("/status", 2);
  const { data: self } = useAsk<{ name: string; role: string }>("/self", 60);
  useEffect(() => {
    const follow = () => setTab(tabOf(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const leave = () => {
    forgetSecret();
    location.reload();
  };
  return (
    <>
      <div class="admin-head">
        <h1>{tab}</h1>
        <span class="muted">{self && `${self.name}: ${ROLES[self.role] ?? self.role}`}</span>
        <button type="button" class="quiet" onClick={leave}>
          Log out
        </button>
      </div>
      <nav class="tabs" aria-label="Parts">
        {TABS.map((name) => (
          <a key={name} href={`#${name.toLowerCase()}`} aria-current={name === tab ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <p class="problem" role="alert">
        {problem}
      </p>
      <Panel key={tab} tab={tab} status={status} />
    </>
  );
}

function Page() {
  const [known, setKnown] = useState(true);
  const [round, setRound] = useState(0);
  const again = () => {
    setKnown(true);
    setRound((count) => count + 1);
  };
  useEffect(() => {
    const out = () => setKnown(false);
    // The address of a login, opened where the page is open already.
    const follow = () => takeSecret() && again();
    addEventListener("logged-out", out);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("logged-out", out);
      removeEventListener("hashchange", follow);
    };
  }, []);
  return (
    <>
      <div hidden={known}>
        <Login onSecret={again} />
      </div>
      {known && <Admin key={round} />}
    </>
  );
}

takeSecret();
const app = document.getElementById("app");
if (app) {
  app.replaceChildren();
  render(<Page />, app);
}
