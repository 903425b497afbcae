// What the tabs of the administrator's page have in common.

import type { ComponentChildren } from "preact";

export const number = new Intl.NumberFormat("en");

interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
}

export function Table<T>({ label, rows, columns, empty }: { label: string; rows: T[]; columns: Column<T>[]; empty: string }) {
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

export const Tag = ({ name }: { name: string }) => (
  <a class="tag" href={`/tags/${encodeURIComponent(name)}`}>
    <bdi>#{name}</bdi>
  </a>
);

export const field = (form: HTMLFormElement, name: string) => String(new FormData(form).get(name) ?? "").trim();

/** Calls `send` with the form, and empties it when that went well. */
export function submit(send: (form: HTMLFormElement) => Promise<boolean>) {
  return async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (await send(form)) form.reset();
  };
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
