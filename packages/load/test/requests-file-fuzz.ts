import { readFileSync } from "node:fs";

import { random, type Random } from "@lameduck/accounting";
import { BadLine } from "../src/requests-file/errors.ts";
import { detect, formats } from "../src/requests-file/detect.ts";
import { classify } from "../src/requests-file/failure.ts";
import { golden } from "./requests-file-helpers.ts";

const seeds = [
  ...["vegeta.jsonl", "k6.jsonl"].map((name) => readFileSync(golden(name), "utf8")),
  '{"time":"2026-01-31T12:00:00.123456789+02:00","status":503,"latency":12.5}\n{"time":"2026-01-31T12:00:00Z","error":"ECONNRESET","connection":"new"}\n',
];
const dictionary = [
  '"',
  ",",
  "{",
  "}",
  "\n",
  "\r\n",
  "null",
  "-1",
  "1e400",
  "\u0000",
  '"http_reqs"',
  "NaN",
  "\\u",
  "9".repeat(40),
  "[]",
  "é\u{1f600}",
];

/** Feeds changed golden files to the parsers: each either reads them or names the line. @returns how often they did which */
export function fuzz(seed: number, until: (runs: number) => boolean): { read: number; refused: number } {
  const chance = random(seed, "requests-file");
  const counts = { read: 0, refused: 0 };
  for (let runs = 0; !until(runs); runs++) {
    const text = mutate(part(chance.pick(seeds), chance), chance);
    try {
      parse(text);
      counts.read++;
    } catch (error) {
      if (!(error instanceof BadLine))
        throw new Error(`seed ${seed}, run ${runs}: ${JSON.stringify(text)}`, { cause: error });
      counts.refused++;
    }
  }
  return counts;
}

function parse(text: string): void {
  const lines = text.split("\n");
  const format = detect(lines.find((line) => line.trim() !== "") ?? "");
  if (!format) return;
  const parser = formats[format]({
    coarse: (milliseconds) => check(milliseconds > 0, "grain"),
    emit: (request) => {
      check(Number.isFinite(request.begun) && Number.isFinite(request.finished), "times");
      check(request.finished >= request.begun, "order");
      classify(request.error ?? "", request.status ?? 0);
    },
  });
  for (const [index, line] of lines.entries()) parser.line(line, index + 1);
  parser.end();
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`wrong ${what}`);
}

/** Header and a few lines: what is short is changed where it matters. */
function part(text: string, chance: Random): string {
  const lines = text.split("\n");
  const from = 1 + Math.floor(chance.next() * lines.length);
  return [lines[0], ...lines.slice(from, from + 12)].join("\n");
}

function mutate(text: string, chance: Random): string {
  let result = text;
  for (let times = Math.floor(chance.next() * 4); times > 0; times--) {
    const at = Math.floor(chance.next() * result.length);
    const length = Math.floor(chance.exponential(4));
    const inserted = chance.next() < 0.5 ? chance.pick(dictionary) : result.slice(at, at + length);
    result = result.slice(0, at) + inserted + result.slice(at + (chance.next() < 0.7 ? length : 0));
  }
  return result;
}
