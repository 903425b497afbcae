// A program that answers one line of JSON with another.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export function startFilter(command, ...args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = [];
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.resolve(JSON.parse(line)));
  const lost = (why) => waiting.splice(0).forEach(({ reject }) => reject(new Error(`${command}: ${why}`)));
  child.on("error", (error) => lost(error.message));
  child.on("exit", (code) => lost(`ended with ${code}`));
  const ask = (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      child.stdin.write(`${JSON.stringify(question)}\n`);
    }).then((answer) => {
      if (answer.error) throw new Error(answer.error);
      return answer;
    });
  return { ask, end: () => child.stdin.end() };
}
