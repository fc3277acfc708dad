import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  Conditions,
  Drain,
  DrainError,
  parseConfig,
  type DrainConfig,
  type DrainOptions,
  type Observation,
} from "@lameduck/drain";
import { runVector } from "../../drain/test/vectors.ts";
import { nativeProgram } from "./compiled.ts";

/** One hold to be decided in both languages. */
export interface Case {
  readonly config: DrainOptions;
  /** Observations in order of time. */
  readonly observations: readonly Observation[];
}

const plainNumbers: ReadonlySet<string> = new Set(["lossBudget", "maxSenders"]);

/** Numbers in code are milliseconds; texts have a unit. */
function textOf(name: string, value: unknown): string {
  return typeof value === "number" && !plainNumbers.has(name) ? `${value}ms` : String(value);
}

export function linesOf({ config, observations }: Case): string {
  const options = Object.entries(config).map(([name, value]) => `option ${name} ${textOf(name, value)}`);
  return [...options, ...observations.map(lineOf), "end", ""].join("\n");
}

function lineOf(seen: Observation): string {
  switch (seen.type) {
    case "arrival":
      return `see ${seen.kind} ${seen.at} ${seen.sender} ${seen.old ? "old" : (seen.earlier ?? "-")}`;
    case "in-flight":
      return `see in-flight ${seen.at} - ${seen.change}`;
    case "released":
      return `see released ${seen.at} ${seen.last ?? "-"} -`;
    case "unreleased":
      return `see unreleased ${seen.at} ${seen.assumed ?? "-"} ${seen.local ? 1 : 0}`;
    default:
      return `see ${seen.type} ${seen.at} - -`;
  }
}

/** The answers of the C core, a line for each vector. */
export function answers(input: string): string[] {
  const { stdout, stderr, status } = spawnSync(nativeProgram("vectors"), {
    input,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split("\n");
}

interface Answer {
  readonly stop: number;
  readonly reason: string;
  /** The expected loss at the stop. */
  readonly expectedLoss: number;
  readonly unmet: string;
}

function answerIn(line: string): Answer | string {
  if (line.startsWith("error")) return line;
  const [stop, reason = "", expectedLoss, unmet = "-"] = line.split(" ");
  return { stop: Number(stop), reason, expectedLoss: Number(expectedLoss), unmet: sorted(unmet.split("+")) };
}

function answerOf({ config, observations }: Case): Answer | string {
  let checked: DrainConfig;
  try {
    checked = parseConfig(config);
  } catch (error) {
    if (error instanceof DrainError) return `error ${error.code} ${error.place}`;
    throw error;
  }
  const drain = new Drain(checked);
  const conditions = new Conditions(drain, 0);
  const vector = { name: "", why: "", config, observations, expect: { stop: 0, reason: "cap" } } as const;
  const { stop, reason } = runVector(vector, drain, (now, decision) => conditions.decided(now, decision));
  const { expectedLoss } = drain.explain(stop);
  return { stop, reason, expectedLoss, unmet: sorted(conditions.timeline(stop).unmet) };
}

function sorted(unmet: readonly string[]): string {
  return [...unmet].sort().join("+") || "-";
}

/** Asserts that C and TypeScript stop at the same time, for the same reason and with the same expected loss. */
export function decidedAlike(cases: readonly Case[]): void {
  const inC = answers(cases.map(linesOf).join(""));
  assert.equal(inC.length, cases.length);
  for (const [index, one] of cases.entries()) {
    const want = answerOf(one);
    const got = answerIn(inC[index] ?? "");
    const about = `${JSON.stringify(one)}: C says ${inC[index]}, TypeScript ${JSON.stringify(want)}`;
    if (typeof want === "string" || typeof got === "string") assert.equal(got, want, about);
    else {
      assert.equal(got.reason, want.reason, about);
      assert.ok(Math.abs(got.stop - want.stop) <= 1, about);
      assert.ok(Math.abs(got.expectedLoss - want.expectedLoss) <= 1e-9 + 1e-6 * want.expectedLoss, about);
      assert.equal(got.unmet, want.unmet, about);
    }
  }
}
