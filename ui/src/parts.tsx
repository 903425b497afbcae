// What the tabs of the administrator's page have in common.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export const number = new Intl.NumberFormat("en");

interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
}

interface TableProps<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  empty: string;
}

/** What a row is about, in the spelling of a link to its timeline. */
export const hashtagColumn: Column<{ tag: string }> = { head: "Hashtag", cell: (row) => <Tag name={row.tag} /> };

/** A button that cannot be pressed again while what it has begun is under way. */
export function Action({ act, quiet = false, children }: { act: () => unknown; quiet?: boolean; children: ComponentChildren }) {
  const [running, setRunning] = useState(false);
  const press = async () => {
    setRunning(true);
    await act();
    setRunning(false);
  };
  return (
    <button type="button" class={quiet ? "quiet" : "danger"} disabled={running} onClick={() => void press()}>
      {children}
    </button>
  );
}

/** A button at the end of a row; `about` completes its name for who does not see the row. */
export const actionColumn = <T,>(words: string, about: (row: T) => string, act: (row: T) => unknown, offered: (row: T) => boolean = () => true): Column<T> => ({
  head: "",
  cell: (row) =>
    offered(row) && (
      <Action act={() => act(row)}>
        {words}
        <span class="hidden"> {about(row)}</span>
      </Action>
    ),
});

/** A table of what the node was asked for: what went wrong, and the rows once they are there. */
export function Listing<T>({ problem, rows, ...table }: { problem: string; rows: T[] | undefined } & Omit<TableProps<T>, "rows">) {
  return (
    <>
      <Problem text={problem} />
      {rows && <Table rows={rows} {...table} />}
    </>
  );
}

export function Table<T>({ label, rows, columns, empty }: TableProps<T>) {
  if (rows.length === 0) return <p class="notice">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head, right }) => (
              <th scope="col" class={right ? "right" : ""}>
                {head || <span class="hidden">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(({ cell, right }) => (
                <td class={right ? "right" : ""}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Problem({ text }: { text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

/** What the node says beside its answer, of what is to be known or done. */
export function Notes({ texts }: { texts: string[] }) {
  return (
    <div role="status">
      {texts.map((text) => (
        <p class="notice words" key={text}>
          {text}
        </p>
      ))}
    </div>
  );
}

export const everyServerOf = (ending: string) => `Every server of this ending falls under it: ${ending}`;

export const Tag = ({ name }: { name: string }) => (
  <a class="tag" href={`/tags/${encodeURIComponent(name)}`}>
    <bdi>#{name}</bdi>
  </a>
);

export const field = (form: HTMLFormElement, name: string) => String(new FormData(form).get(name) ?? "").trim();

const sending = new WeakSet<HTMLFormElement>();

/** Calls `send` with the form, and empties it when that gave something; not again before. */
export function submit(send: (form: HTMLFormElement) => Promise<unknown>) {
  return async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (sending.has(form)) return;
    sending.add(form);
    if (await send(form)) form.reset();
    sending.delete(form);
  };
}

interface ConfirmProps {
  question: string;
  yes: string;
  onYes: () => unknown;
  onNo: () => void;
  children: ComponentChildren;
}

/** Asks once more before what is not easily taken back. */
export function Confirm({ question, yes, onYes, onNo, children }: ConfirmProps) {
  return (
    <dialog aria-labelledby="confirm" onClose={onNo} ref={(box) => void (box?.open || box?.showModal())}>
      <h2 id="confirm">{question}</h2>
      <p>{children}</p>
      <div class="row">
        <Action act={onYes}>{yes}</Action>
        <button type="button" class="quiet" onClick={onNo}>
          Leave it
        </button>
      </div>
    </dialog>
  );
}

/** "1.5 kB" */
export function octets(count: number): string {
  const unit = count >= 1e9 ? 3 : count >= 1e6 ? 2 : count >= 1e3 ? 1 : 0;
  return `${(count / 1000 ** unit).toFixed(unit && 1)} ${["B", "kB", "MB", "GB"][unit]}`;
}

/** One number of a list of figures. */
export function Figure({ head, value, children }: { head: string; value: ComponentChildren; children: ComponentChildren }) {
  return (
    <div>
      <dt>{head}</dt>
      <dd>{value}</dd>
      <dd class="muted">{children}</dd>
    </div>
  );
}
