import { useCallback, useEffect, useState } from "preact/hooks";
import { ask, LoggedOut } from "./admin_api.ts";

export interface Asked<T> {
  data: T | undefined;
  problem: string;
  again: () => void;
}

/** Asks now, every `seconds` while the page is seen, and when told to. */
export function useAsk<T>(path: string, seconds: number): Asked<T> {
  const [data, setData] = useState<T>();
  const [problem, setProblem] = useState("");
  const load = useCallback(async () => {
    try {
      setData(await ask<T>(path));
      setProblem("");
    } catch (error) {
      if (error instanceof LoggedOut) dispatchEvent(new Event("logged-out"));
      else setProblem((error as Error).message);
    }
  }, [path]);
  useEffect(() => {
    void load();
    const timer = setInterval(() => document.hidden || void load(), seconds * 1000);
    return () => clearInterval(timer);
  }, [load, seconds]);
  return { data, problem, again: () => void load() };
}

/** Gives the answer; nothing if it was refused. */
export type Change = <T extends object>(path: string, body: object) => Promise<T | undefined>;

/** Does what changes something; what went wrong is shown, and `after` follows in any case. */
export function useChange(after: () => void): [string, Change] {
  const [problem, setProblem] = useState("");
  const change = async <T extends object>(path: string, body: object) => {
    setProblem("");
    try {
      return await ask<T>(path, body);
    } catch (error) {
      if (error instanceof LoggedOut) dispatchEvent(new Event("logged-out"));
      setProblem((error as Error).message);
      return undefined;
    } finally {
      after();
    }
  };
  return [problem, change];
}
