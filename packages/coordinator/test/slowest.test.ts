import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { SlowestConsumers } from "../src/state/slowest.ts";

it("the slowest consumers are the same that sorting all of them finds, and equally slow ones stay in their order", () => {
  const times = fc.array(fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }), { maxLength: 60 });
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 8 }), (all, most) => {
      const slowest = new SlowestConsumers(most);
      for (const [at, appliedAt] of all.entries()) {
        if (slowest.isFinal) break;
        slowest.offer(appliedAt, () => [
          String(at),
          { kind: "kube-proxy", basis: "rules", appliedAt, isMissing: false, isSilent: false },
        ]);
      }
      const late = (at: number): number => all[at] ?? 1e9;
      const sorted = [...all.keys()].sort((a, b) => late(b) - late(a) || a - b);
      const { named } = slowest;
      assert.deepEqual([...named.keys()], sorted.slice(0, most).map(String));
    }),
  );
});
