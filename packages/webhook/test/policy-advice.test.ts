import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { validate } from "../src/admission/validate.ts";
import { adviceOn } from "@lameduck/inject";
import { apiVersion } from "@lameduck/protocol";

const policy = (spec: object): object => ({
  apiVersion,
  kind: "DrainPolicy",
  metadata: { name: "default", namespace: "shop" },
  spec,
});

describe("a policy that is valid and hardly meant", () => {
  for (const [what, spec, cluster, expected] of [
    ["no field", {}, undefined, []],
    ["a cap", { capSeconds: 60 }, undefined, []],
    ["a floor below its cap", { floorSeconds: 5 }, undefined, []],
    [
      "a floor that is all of the hold",
      { floorSeconds: 40 },
      undefined,
      [/floor of 40 s is all of the longest hold, 40 s/],
    ],
    [
      "a floor above the cap of the cluster",
      { floorSeconds: 30 },
      { capSeconds: 20 },
      [/is above the longest hold, 20 s/],
    ],
    [
      "a grace period that leaves 5 s for the shutdown",
      { gracePeriodSeconds: 30 },
      undefined,
      [/cap of 25 s leaves 5 s of the 30 s/],
    ],
    [
      "a reserve that leaves 5 s for the shutdown",
      { reserveSeconds: 5 },
      undefined,
      [/leaves 5 s of the 30 s/],
    ],
    ["enough time for the shutdown", { gracePeriodSeconds: 45 }, undefined, []],
  ] as const)
    it(`a policy with ${what} gets ${expected.length === 0 ? "no warning" : "a warning"}`, () => {
      const advice = adviceOn(policy(spec), cluster && policy(cluster));
      assert.equal(advice.length, expected.length, advice.join());
      for (const [at, words] of expected.entries()) assert.match(advice[at] ?? "", words);
    });

  it("a policy that is valid and hardly meant is admitted with a warning", () => {
    const object = policy({ gracePeriodSeconds: 30 });
    const request = { uid: "u", group: "lameduck.dev", kind: "DrainPolicy", operation: "CREATE", object };
    const answer = validate(request as unknown as Parameters<typeof validate>[0]);
    assert.equal(answer.allowed, true);
    assert.match(answer.warnings?.join() ?? "", /^lameduck: a hold to its cap of 25 s leaves 5 s/);
  });
});
