import { parsePodReport } from "@lameduck/protocol";
import { parseReport } from "../src/protocol/consumer-requests.ts";

/** Numbers from 0 to below 1. */
export type Random = () => number;

const names = ["kube-proxy/node1", "node1", "haproxy/edge", "../x", "", "a/b/c", "\u0000", "kube-proxy/"];
const odd: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1,
  17,
  1.5,
  1e308,
  2 ** 53,
  "",
  "1",
  "node1",
  "rules",
  "kube-proxy",
  "haproxy",
  "x".repeat(3_000),
  "\u0000\n",
  "__proto__",
  [],
  {},
  [[1, 2]],
  [[18, 19]],
  [[2, 1]],
  ["node"],
  ["ingress-class/nginx"],
  Array.from({ length: 200 }, (_, at) => [at, at]),
];

/** One body of a consumer, or of a pod, from a good one by a few wrong turns. @returns what is wrong with how it was read. */
export function tryProtocols(random: Random): string | undefined {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  return random() < 0.5 ? tryReport(random, pick) : trySaid(random, pick);
}

function tryReport(random: Random, pick: <T>(from: readonly T[]) => T): string | undefined {
  const body: Record<string, unknown> = {
    version: 1,
    kind: "kube-proxy",
    node: "node1",
    basis: "rules",
    epoch: "ab12",
    applied: 17,
    known: 19,
    wait: 30_000,
  };
  for (let turns = Math.floor(random() * 4); turns > 0; turns--)
    body[pick([...Object.keys(body), "also", "serves", "problem", "__proto__", "more"])] = pick(odd);
  let text = JSON.stringify(body);
  if (random() < 0.2) text = text.slice(0, Math.floor(random() * text.length)) + String(pick(odd));
  const read = parseReport(text, pick(names));
  if (typeof read === "string") return read === "" ? "a refusal without a word" : undefined;
  if ("version" in read) return read.version === "" ? "a version without a word" : undefined;
  const { known, waitMs, epoch, applied, also, name, kind, node, serves, problem = "" } = read;
  const numbers = [applied, known, waitMs, ...also.flat()];
  if (!numbers.every((one) => Number.isSafeInteger(one) && one >= 0)) return `numbers: ${numbers.join()}`;
  if (waitMs > 30_000 || problem.length > 500 || serves.length > 32 || also.length > 100) return "too much";
  if (!/^[\w.:-]+$/.test(name) || !/^[a-z0-9-]+$/.test(kind)) return `a name that is none: ${kind}/${name}`;
  if (kind === "kube-proxy" && node !== name) return "a proxy that speaks for another node";
  if (epoch !== null && typeof epoch !== "string") return "an epoch that is none";
  return also.every(([from, to], at) => from <= to && from > (also[at - 1]?.[1] ?? applied))
    ? undefined
    : "ranges out of order";
}

function trySaid(random: Random, pick: <T>(from: readonly T[]) => T): string | undefined {
  const parts = ["phase", "held-ms", "overruled", ":", ": ", "\n", "\r\n", "\u0000", "\u001b[31m", " ", "="];
  parts.push("__proto__", "constructor", "10.0.0.1", "x".repeat(2_100), "phase: closed", "é");
  let text = "";
  for (let length = Math.floor(random() * 60); length > 0; length--) text += pick(parts);
  const fields = parsePodReport(text);
  if (Object.getPrototypeOf(fields) !== Object.prototype) return "another prototype";
  for (const [key, value] of Object.entries(fields)) {
    if (!["phase", "held-ms", "overruled"].includes(key)) return `a key that nobody asked for: ${key}`;
    if (value.length > 2_048) return "a value that is too long";
    for (const character of value)
      if (character < " " || character === "\u007f") return "a control character";
  }
  return undefined;
}
