import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Drain, learn, type Learnt, parseConfig } from "../src/index.ts";
import { type DecisionVector, runVector } from "./vectors.ts";

type Seen = DecisionVector["observations"];

const page = readFileSync(new URL("../../../docs/reference/library.md", import.meta.url), "utf8");

/** The figure that stands there in the paragraph on lessons, in seconds. */
function said(pattern: RegExp): number {
  const [, paragraph = ""] = /\*\*Lessons\.\*\*([^]*?)\n\n/.exec(page) ?? [];
  const [, figure] = pattern.exec(paragraph.replaceAll(/\s+/g, " ")) ?? [];
  assert.ok(figure, `${pattern} is not in ${paragraph}`);
  return Number(figure);
}

/** Seconds, and what it taught. */
function held(observations: Seen, learnt?: Learnt): { hold: number; learnt: Learnt } {
  const config = { ...(learnt && { learnt }) };
  const drain = new Drain(parseConfig(config));
  const expect = { stop: 0, reason: "quiet" } as const;
  const { stop } = runVector({ name: "", why: "", config, observations, expect }, drain);
  return { hold: stop / 1_000, learnt: learn(learnt, drain.priorUpdate(stop) ?? []) };
}

/** A pod that was watched for so many seconds, and was asked once. */
function askedOnce(watched: number): Seen {
  const at = -1_000 * watched;
  return [
    { type: "watching", at },
    { type: "arrival", at: at / 2, sender: "198.18.0.14", kind: "connection" },
    { type: "termination", at: 0 },
  ];
}

/** Five senders of four a second that let go 100 ms after the deletion. */
const busy: Seen = [
  { type: "watching", at: -60_000 },
  { type: "arrival", at: -60_000, sender: "198.18.0.", kind: "connection", every: 50, to: 100, senders: 5 },
  { type: "termination", at: 0 },
];

const young = 0.5;

function close(hold: number, figure: number): void {
  assert.ok(Math.abs(hold - figure) <= 0.1, `${hold}, not ${figure}`);
}

test("docs/reference/library.md says how long a pod holds that was asked once, by its age", () => {
  close(held(askedOnce(young)).hold, said(/holds for ([\d.]+) s\./));
  close(held(askedOnce(10)).hold, said(/ten seconds before SIGTERM holds for ([\d.]+) s/));
  close(held(askedOnce(300)).hold, said(/After five minutes it holds for ([\d.]+) s/));
  assert.match(page, /after an hour for the floor only/);
  assert.equal(held(askedOnce(3_600)).hold, 1);
});

test("docs/reference/library.md says by how much learning from terminations shortens a hold", () => {
  const after = new Map<number, number>();
  let learnt: Learnt | undefined;
  for (let count = 1; count <= 50; count++) {
    ({ learnt } = held(busy, learnt));
    after.set(count, held(askedOnce(young), learnt).hold);
  }
  close(after.get(25)!, said(/to ([\d.]+) s after 25/));
  close(after.get(50)!, said(/to ([\d.]+) s after fifty/));
});
