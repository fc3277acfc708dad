/** What `probes_note` makes of connections, and connections of probers and of traffic. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { nativeProgram } from "./compiled.ts";

export const node = "198.18.0.2";

export interface Connection {
  readonly peer: string;
  readonly at: number;
  /** Bytes that it brought; unknown where only that it was is known. */
  readonly size?: number;
}

/** Which of the connections, in order of time, were taken for probes; `told`: periods, ms. */
export function taken(
  connections: readonly Connection[],
  told: readonly (number | "assumed")[] = [],
): boolean[] {
  const sorted = [...connections].sort((a, b) => a.at - b.at);
  const input = sorted.map(({ peer, at, size = -1 }) => `${peer} ${at} ${size}\n`).join("");
  const { stdout, status } = spawnSync(nativeProgram("probes"), told.map(String), {
    input,
    encoding: "utf8",
  });
  assert.equal(status, 0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line === "1");
}

/** A repeatable sequence of numbers in [0, 1). */
export function* chance(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state / 2_147_483_648;
  }
}

export function every(period: number, count: number, from = 0, jitter = 0): { peer: string; at: number }[] {
  const random = chance(7);
  return Array.from({ length: count }, (_, index) => ({
    peer: node,
    at: from + index * period + jitter * random.next().value,
  }));
}

/** Traffic at random, 60 connections. */
export function poisson(mean: number, seed: number, size?: number, peer = node): Connection[] {
  const random = chance(seed);
  let at = 0;
  return Array.from({ length: 60 }, () => ({
    peer,
    at: (at += -Math.log(1 - random.next().value) * mean),
    ...(size === undefined ? {} : { size }),
  }));
}
