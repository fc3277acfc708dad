import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "node:test";
import type { CountOrShare } from "@lameduck/manifests";
import { orderedStep, type OrdinalView } from "../src/deployment/ordered.ts";
import { recreateStep, rollingStep, type PodView } from "../src/deployment/rolling.ts";
import { resolveBounds } from "../src/deployment/rounding.ts";

const rounding: readonly (readonly [CountOrShare, CountOrShare, number, number, number])[] = [
  ["25%", "25%", 4, 1, 1],
  ["25%", "25%", 3, 1, 0],
  ["25%", "25%", 1, 1, 0],
  ["10%", "10%", 20, 2, 2],
  ["10%", "10%", 25, 3, 2],
  [0, "10%", 5, 0, 1],
  [2, 0, 5, 2, 0],
  [0, 9, 5, 0, 5],
  ["150%", "0%", 2, 3, 0],
];
for (const [surge, unavailable, replicas, maxSurge, maxUnavailable] of rounding)
  test(`a rolling update with surge ${surge} and unavailable ${unavailable} of ${replicas} pods has the bounds ${maxSurge} and ${maxUnavailable}`, () => {
    assert.deepEqual(resolveBounds(surge, unavailable, replicas), { maxSurge, maxUnavailable });
  });

test("bounds of a rolling update that allow no progress, or are invalid, are refused", () => {
  const bad: [CountOrShare, CountOrShare][] = [
    [0, 0],
    ["0%", 0],
    [0, "0%"],
    [-1, 1],
    [1, 1.5],
    [1, "101%"],
  ];
  for (const [surge, unavailable] of bad)
    assert.throws(() => resolveBounds(surge, unavailable, 4), { code: "LAMEDUCK_BAD_STRATEGY" });
});

type Mutable = { -readonly [Key in keyof PodView]: PodView[Key] };

function pod(number: number, revision: number, available: boolean): Mutable {
  return {
    name: `p${number}`,
    revision,
    createdAt: number,
    ready: available,
    available,
    readySince: number,
    restarts: 0,
  };
}

test("a rollout keeps its bounds and ends, whatever the bounds and the order in which pods become ready", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 0, max: 150 }),
      fc.integer({ min: 0, max: 100 }),
      fc.infiniteStream(fc.nat()),
      (replicas, surge, unavailable, choices) => {
        fc.pre(surge > 0 || unavailable > 0);
        const bounds = resolveBounds(`${surge}%`, `${unavailable}%`, replicas);
        let pods = Array.from({ length: replicas }, (_, index) => pod(index, 1, true));
        let made = replicas;
        for (let look = 0; look < 200; look++) {
          const { create, remove } = rollingStep(pods, { replicas, revision: 2, bounds });
          pods = pods.filter(({ name }) => !remove.includes(name));
          for (let count = 0; count < create; count++) pods.push(pod(made++, 2, false));
          assert.ok(pods.length <= replicas + bounds.maxSurge, "too many pods");
          assert.ok(
            pods.filter(({ available }) => available).length >= replicas - bounds.maxUnavailable,
            "too few available",
          );
          if (create > 0 || remove.length > 0) continue;
          const waiting = pods.filter(({ available }) => !available);
          const next = waiting[choices.next().value % waiting.length];
          if (!next) break;
          next.available = next.ready = true;
        }
        assert.deepEqual([...new Set(pods.map(({ revision }) => revision))], [2]);
        assert.equal(pods.length, replicas);
      },
    ),
  );
});

test("an old pod that is not available is the first to go", () => {
  const pods = [pod(1, 1, true), pod(2, 1, false), pod(3, 1, true), pod(4, 2, true)];
  const { remove } = rollingStep(pods, {
    replicas: 3,
    revision: 2,
    bounds: { maxSurge: 1, maxUnavailable: 0 },
  });
  assert.deepEqual(remove, ["p2"]);
});

test("the strategy Recreate waits for the last old pod", () => {
  const wish = { replicas: 2, revision: 2, bounds: { maxSurge: 0, maxUnavailable: 2 } };
  assert.deepEqual(recreateStep([pod(1, 1, true), pod(2, 1, true)], 0, wish), {
    create: 0,
    remove: ["p1", "p2"],
  });
  assert.deepEqual(recreateStep([], 1, wish), { create: 0, remove: [] });
  assert.deepEqual(recreateStep([], 0, wish), { create: 2, remove: [] });
});

const ordinal = (number: number, revision: number, available: boolean): OrdinalView => ({
  ...pod(number, revision, available),
  ordinal: number,
});

test("a StatefulSet fills from the bottom and updates from the top, one at a time", () => {
  const wish = { replicas: 3, revision: 2, partition: 0, startTogether: false };
  const none = new Set<number>();
  assert.deepEqual(orderedStep([], none, wish).create, [0]);
  assert.deepEqual(orderedStep([ordinal(0, 2, false)], none, wish).create, [], "0 is not available yet");
  assert.deepEqual(orderedStep([ordinal(0, 2, true)], none, wish).create, [1]);
  const old = [ordinal(0, 1, true), ordinal(1, 1, true), ordinal(2, 1, true)];
  assert.deepEqual(orderedStep(old, none, wish), { create: [], remove: ["p2"] });
  assert.deepEqual(
    orderedStep(old.slice(0, 2), new Set([2]), wish),
    { create: [], remove: [] },
    "2 is not gone yet",
  );
  assert.deepEqual(orderedStep(old.slice(0, 2), none, wish).create, [2]);
  assert.deepEqual(orderedStep([...old.slice(0, 2), ordinal(2, 2, false)], none, wish).remove, []);
  assert.deepEqual(orderedStep([...old.slice(0, 2), ordinal(2, 2, true)], none, wish).remove, ["p1"]);
  assert.deepEqual(
    orderedStep([...old.slice(0, 2), ordinal(2, 2, true)], none, { ...wish, partition: 2 }).remove,
    [],
  );
  assert.deepEqual(orderedStep([], none, { ...wish, startTogether: true }).create, [0, 1, 2]);
  assert.deepEqual(orderedStep(old, none, { ...wish, replicas: 1, revision: 1 }).remove, ["p2"]);
});
