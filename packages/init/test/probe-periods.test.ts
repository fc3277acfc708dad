/** With configured periods the second probe is recognised, and traffic is not taken for probes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { withoutCompiler } from "./compiled.ts";
import { node, poisson, taken, type Connection } from "./noted.ts";

const before = (...times: readonly number[]): Connection[] => times.map((at) => ({ peer: node, at }));
const inHold = (...times: readonly number[]): Connection[] =>
  times.map((at) => ({ peer: node, at, size: 111 }));

describe("configured periods", { skip: withoutCompiler }, () => {
  test("two connections a configured period apart are probes, where one comes before the hold and one in it", () => {
    assert.deepEqual(taken([...before(0), ...inHold(10_060)]), [false, false]);
    assert.deepEqual(taken([...before(0), ...inHold(10_060)], [10_000]), [false, true]);
    assert.deepEqual(taken([...before(0, 9_990), ...inHold(20_010)], [10_000]), [false, true, true]);
    assert.deepEqual(taken([...before(0), ...inHold(9_700)], [10_000]), [false, false]);
  });

  test("three connections at the kubelet's default period are probes where no period is configured", () => {
    assert.deepEqual(taken(before(0, 10_020, 20_010), ["assumed"]), [false, false, true]);
    assert.deepEqual(taken([...before(0, 10_020), ...inHold(20_010)], ["assumed"]), [false, false, true]);
    assert.deepEqual(taken(before(0, 12_020, 24_010), ["assumed"]), [false, false, false]);
  });

  test("the shorter the configured period, the more connections it takes to show probes", () => {
    assert.deepEqual(taken(before(0, 5_020, 10_010), [5_000]), [false, false, true]);
    assert.deepEqual(taken(before(0, 1_020, 2_010), [1_000]), [false, false, false]);
  });

  test("a prober that is known may be late", () => {
    const late = [10_000, 20_430, 30_010, 40_350].map((at) => at + 5);
    assert.deepEqual(taken(inHold(0, ...late), [10_000]), [false, true, true, true, true]);
  });

  test("readiness and liveness probes are recognised at one time, and each at its own", () => {
    assert.deepEqual(taken([...before(0, 3), ...inHold(10_010, 10_014)], [10_000, 10_000]), [
      false,
      false,
      true,
      true,
    ]);
    const apart = taken(before(0, 3_300, 10_010, 13_310), [10_000, 10_000]);
    assert.deepEqual(apart, [false, false, false, true]);
  });

  test("a prober that comes once more between two probes is no prober any more", () => {
    assert.deepEqual(taken(inHold(0, 10_020, 14_000), [10_000]), [false, true, false]);
    // But where traffic comes from the address of the node its size distinguishes it.
    const traffic = { peer: node, at: 14_000, size: 87 };
    const answers = taken([...inHold(0, 10_020, 20_010), traffic], [10_000]);
    assert.deepEqual(answers, [false, true, false, true]);
  });

  test("random traffic is hardly ever taken for probes because of configured periods", () => {
    for (const mean of [300, 1_000, 2_000, 5_000, 10_000, 20_000]) {
      const pods = Array.from({ length: 25 }, (_, seed) => young(mean, seed + 1));
      const without = shareOf(pods, []);
      for (const told of [["assumed"], [10_000], [10_000, 10_000], [5_000, 10_000], [1_000]] as const) {
        const more = shareOf(pods, told) - without;
        assert.ok(more < 0.01, `${more} of one each ${mean} ms are taken for probes of ${told.join()} ms`);
      }
    }
  });
});

/** Traffic at random from many addresses: of 25 s before the hold, and 15 s in it. */
function young(mean: number, seed: number): Connection[] {
  return Array.from({ length: 10 }, (_, sender) =>
    poisson(mean, 1_000 * seed + sender, 87, `198.18.3.${sender + 1}`)
      .filter(({ at }) => at < 40_000)
      .map((connection) => (connection.at < 25_000 ? { ...connection, size: -1 } : connection)),
  ).flat();
}

function shareOf(pods: readonly Connection[][], told: readonly (number | "assumed")[]): number {
  const answers = pods.flatMap((connections) => taken(connections, told));
  return answers.filter(Boolean).length / answers.length;
}
