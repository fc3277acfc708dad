import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  Conditions,
  Drain,
  type DrainOptions,
  type Observation,
  parseConfig,
  timelineText,
} from "../src/index.ts";
import { runVector } from "./vectors.ts";

const termination: Observation = { type: "termination", at: 0 };

function connection(at: number, sender = "a"): Observation {
  return { type: "arrival", at, sender, kind: "connection" };
}

function outcomeOf(config: DrainOptions, seen: readonly Observation[]) {
  return runVector({ name: "", why: "", config, observations: seen, expect: { stop: 0, reason: "cap" } });
}

const time = fc.integer({ min: -20_000, max: 30_000 });
const sender = fc.constantFrom("a", "b", "c");
const arrivals = fc.array(fc.record({ at: time, sender }), { maxLength: 40 });
const oldConnections: fc.Arbitrary<Observation> = fc.oneof(
  fc.record({
    type: fc.constant("arrival" as const),
    at: time,
    sender,
    kind: fc.constant("request" as const),
  }),
  fc.record({ type: fc.constant("in-flight" as const), at: time, change: fc.constantFrom(-1, 1) }),
);
const said: fc.Arbitrary<Observation> = fc.oneof(
  fc.record({ type: fc.constant("released" as const), at: time }),
  fc.record({ type: fc.constant("unreleased" as const), at: time, local: fc.boolean() }),
);
const settle = fc.integer({ min: 0, max: 3_000 });

test("a hold that hears the cluster is never longer than one that does not", () => {
  fc.assert(
    fc.property(arrivals, fc.array(said, { maxLength: 4 }), settle, (seen, words, settles) => {
      const traffic = [termination, ...seen.map(({ at, sender: from }) => connection(at, from))];
      const without = outcomeOf({}, traffic).stop;
      const heard = outcomeOf({ settle: settles }, [...traffic, ...words]);
      assert.ok(heard.stop <= without, `${heard.stop} instead of ${without}`);
    }),
    { numRuns: 1_000 },
  );
});

// How often evidence is weighed hangs on when it was asked for, and old connections may be waited for without it: hence the small share more.
test("a hold with requests on old connections is never longer because of the cluster, except by the grid of the weighing", () => {
  fc.assert(
    fc.property(
      arrivals,
      fc.array(oldConnections, { maxLength: 20 }),
      fc.array(said, { maxLength: 4 }),
      (seen, old, words) => {
        const traffic = [termination, ...seen.map(({ at, sender: from }) => connection(at, from)), ...old];
        const without = outcomeOf({}, traffic).stop;
        const heard = outcomeOf({}, [...traffic, ...words]).stop;
        assert.ok(heard <= without * (1 + 7 / 64), `${heard} instead of ${without}`);
      },
    ),
    { numRuns: 1_000 },
  );
});

test("a release ends no hold before it has settled, and none in which a connection came after it", () => {
  fc.assert(
    fc.property(arrivals, time, settle, fc.boolean(), (seen, at, settles, acknowledged) => {
      const connections = seen.map((one) => connection(one.at, one.sender));
      const policy: DrainOptions = acknowledged ? { policy: "acknowledged" } : {};
      const all = [...connections, termination, { type: "released", at } as const];
      const { stop, reason } = outcomeOf({ ...policy, settle: settles }, all);
      if (reason !== "acknowledged") return;
      const latest = Math.max(at, ...seen.map((one) => one.at).filter((one) => one <= stop));
      assert.ok(stop >= latest + settles, `${stop} with ${latest}`);
      assert.ok(latest <= at + 100, `${latest} after ${at}`);
    }),
    { numRuns: 1_000 },
  );
});

test("a connection after the release overrules it, also where the release is told late", () => {
  const drain = new Drain(parseConfig());
  for (const seen of [termination, connection(3_600), { type: "released", at: 3_400 } as const])
    drain.observe(seen);
  assert.deepEqual(drain.release.overruled, { at: 3_600, sender: "a" });
  assert.equal(drain.release.active, undefined);
});

/** The timeline of a hold that decides each 10 ms. */
function timelineOf(config: DrainOptions, seen: readonly Observation[]): string {
  const drain = new Drain(parseConfig(config));
  const conditions = new Conditions(drain, 0);
  const inOrder = seen.toSorted((a, b) => a.at - b.at);
  for (let now = -30_000; ; now += 10) {
    for (const each of inOrder) if (each.at <= now && each.at > now - 10) drain.observe(each);
    const decision = drain.decide(now);
    conditions.decided(now, decision);
    if (decision.stop) return timelineText(conditions.timeline(now));
  }
}

const traffic = [
  ...Array.from({ length: 20 }, (_, index) => connection(-20_500 + index * 1_000)),
  termination,
  connection(500),
  connection(1_500),
];

test("the timeline says which consumer let go when, and what the hold waited for after that", () => {
  const released: Observation = { type: "released", at: 5_100, consumers: "5/5", last: "kube-proxy/node5" };
  const by = "released by 5 of 5 senders at 5.1 (kube-proxy/node5 last)";
  assert.equal(timelineOf({}, [...traffic, released]), `floor 1.0, ${by}`);
  assert.equal(timelineOf({ policy: "acknowledged" }, [...traffic, released]), `floor 1.0, ${by}`);
  const old: Observation = { type: "arrival", at: 5_500, sender: "a", kind: "request" };
  assert.equal(
    timelineOf({}, [...traffic, released, old]),
    `floor 1.0, ${by}, requests on older connections until 6.0`,
  );
  assert.equal(timelineOf({}, [...traffic, { type: "released", at: 5_100 }]), "floor 1.0, released at 5.1");
});

test("the timeline names the sender that showed a release to be wrong", () => {
  const timeline = timelineOf({}, [...traffic, { type: "released", at: 2_000 }, connection(2_400, "b")]);
  assert.match(timeline, /^floor 1\.0, .+ until \d+\.\d, release overruled by b at 2\.4$/);
});
