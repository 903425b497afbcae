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

/** Does what changes something; what went wrong is shown, and `after` follows in any case. */
export function useChange(after: () => void): [string, (path: string, body: object) => Promise<boolean>] {
  const [problem, setProblem] = useState("");
  const change = async (path: string, body: object) => {
    setProblem("");
    try {
      await ask(path, body);
      return true;
    } catch (error) {
      if (error instanceof LoggedOut) dispatchEvent(new Event("logged-out"));
      setProblem((error as Error).message);
      return false;
    } finally {
      after();
    }
  };
  return [problem, change];
}
