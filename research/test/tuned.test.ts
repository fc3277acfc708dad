import assert from "node:assert/strict";
import { test } from "node:test";
import { gridGrace, scenarioOf, type Cell } from "../grid/cells.ts";
import { bounded } from "../grid/tuned.ts";
import { drained } from "../../packages/simulator/src/policies/drained.ts";
import { run } from "../../packages/simulator/src/run.ts";

test("a hold with a floor and a cap is the hold without them, cut or made longer", () => {
  const cell = { preset: "busy-iptables", traffic: "poisson", senders: 3, rate: 30 } satisfies Cell;
  const [floor, cap] = [5_000, 9_000];
  const free = { grace: gridGrace, reserve: 0, floor: 0 };
  const played = run(
    scenarioOf(cell, 60),
    [drained("free", free), drained("bounded", { ...free, floor, cap })],
    { seed: 3 },
  );
  const [unbounded = [], real = []] = played.outcomes;
  const computed = unbounded.map(bounded(played, cell, floor, cap));
  assert.ok(new Set(computed.map(({ hold }) => hold)).size > 10, "some lie between the two");
  assert.ok(unbounded.some(({ hold }) => hold > cap) && unbounded.some(({ hold }) => hold < floor));
  // Evidence is weighed at moments that are up to six sixty-fourths of the hold apart, and the first of them is at the floor: so much may lie between.
  const equal = real.filter(({ hold }, index) => Math.abs((computed[index]?.hold ?? 0) / hold - 1) < 6 / 64);
  assert.ok(equal.length > 0.8 * real.length, `${equal.length} of ${real.length}`);
  const sumOf = (outcomes: readonly (typeof computed)[number][], key: "hold" | "expectedLost"): number =>
    outcomes.reduce((sum, outcome) => sum + outcome[key], 0);
  for (const key of ["hold", "expectedLost"] as const)
    assert.ok(Math.abs(sumOf(computed, key) / sumOf(real, key) - 1) < 0.02, key);
});
