import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Observation } from "@lameduck/drain";
import { defaultEndpoints, type Scenario } from "../src/model/scenario.ts";
import type { Forwarder } from "../src/model/forwarder.ts";
import type { Outcome } from "../src/model/termination.ts";
import type { Contender } from "../src/policies/stopper.ts";
import type { Run } from "../src/run.ts";

/** A scenario of k equal senders in front of one pod, nothing else in the way. */
export function equalSenders(
  count: number,
  perPod: number,
  forwarder: Forwarder,
  change: Partial<Scenario> = {},
): Scenario {
  return {
    name: "equal senders",
    summary: "",
    replicas: 1,
    terminations: 400,
    rollout: { kind: "isolated" },
    endpoints: { ...defaultEndpoints, latency: 0, cacheLag: 0 },
    senders: [{ name: "senders", count, forwarder, share: 1 }],
    traffic: { perPod, arrivals: { kind: "poisson" }, identity: { kind: "sender" }, service: 0 },
    pod: { watched: 120_000, reaction: 0, grace: 120_000, prestop: 0, reserve: 0 },
    ...change,
  };
}

export function exponential(mean: number): Forwarder {
  return { kind: "delay", delay: { exponential: mean } };
}

export function meanOfAll(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Fails unless the mean of the values is within four standard errors of what theory says. */
export function assertMean(values: readonly number[], expected: number, what: string): void {
  const mean = meanOfAll(values);
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const error = Math.sqrt(variance / values.length);
  assert.ok(
    Math.abs(mean - expected) <= 4 * error + 1e-9,
    `${what}: ${mean.toPrecision(4)} +- ${error.toPrecision(2)}, theory says ${expected.toPrecision(4)}`,
  );
}

/** What the first contender came to. */
export function outcomesOf(played: Run, contender = 0): readonly Outcome[] {
  return played.outcomes.at(contender) ?? [];
}

/** Writes a file that goes with the test. @returns its path. */
export function file(context: TestContext, name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-simulator-"));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** The same contender, and what it is told. */
export function recorded(contender: Contender): { contender: Contender; seen: readonly Observation[] } {
  const seen: Observation[] = [];
  const start: Contender["start"] = (facts) => {
    const stopper = contender.start(facts);
    return {
      observe: (observation) => {
        seen.push(observation);
        stopper.observe(observation);
      },
      decide: (now) => stopper.decide(now),
    };
  };
  return { contender: { ...contender, start }, seen };
}
