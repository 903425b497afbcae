// Times as people say them.

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const sameYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const otherYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", year: "numeric" });
const precise = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });

export const moment = (date: Date) => precise.format(date);

export function age(date: Date, now = new Date()): string {
  let count = (date.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(count) < size) return relative.format(Math.trunc(count), unit);
    count /= size;
  }
  return (date.getFullYear() === now.getFullYear() ? sameYear : otherYear).format(date);
}
