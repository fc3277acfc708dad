import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  account,
  mergeRuns,
  type PodEvent,
  type SenderEvent,
  type RequestRecord,
  outcomes,
  type RunRecording,
} from "../src/index.ts";

const meta = { description: "anything", seed: 7 };
const pods = ["web-1", "web-2", "web-3"];
const senders = ["node-1", "ingress-1"];
/** Whole milliseconds: adding to fractions rounds, and a shifted run could differ by that. */
const time = fc.integer({ min: 0, max: 60_000 });

const podFact = fc.oneof(
  ...(["created", "ready", "unready", "gone"] as const).map((type) => fc.constant({ type })),
  fc.record({
    type: fc.constant("deleted" as const),
    grace: fc.integer({ min: 0, max: 30_000 }),
    why: fc.constant("rollout"),
  }),
  ...(["listener-opened", "listener-closed"] as const).map((type) => fc.constant({ type, port: 8080 })),
  fc.constant({ type: "signalled" as const, container: "app", signal: "SIGTERM" }),
  fc.constant({ type: "phase" as const, phase: "closing" as const, reason: "quiet" as const }),
  fc.constant({ type: "killed" as const, container: "app" }),
  fc.constant({ type: "exited" as const, container: "app", code: 0 }),
  fc.constant({ type: "crashed" as const, container: "app", detail: "SIGSEGV" }),
);
const podEvent: fc.Arbitrary<PodEvent> = fc
  .tuple(time, fc.constantFrom(...pods), podFact)
  .map(([at, pod, fact]) => ({ at, pod, ...fact }));

const senderEvent: fc.Arbitrary<SenderEvent> = fc
  .tuple(
    time,
    fc.constantFrom(...senders),
    fc.constantFrom(...pods),
    fc.constantFrom("added", "converged", "severed", "empty", "filled", "reloaded"),
  )
  .map(([at, sender, pod, type]) => ({ at, sender, pod, type, connections: 3 }));

const request: fc.Arbitrary<RequestRecord> = fc
  .record({
    intended: time,
    lag: fc.integer({ min: 0, max: 200 }),
    took: fc.integer({ min: 0, max: 6_000 }),
    pod: fc.constantFrom(...pods, "stranger", undefined),
    sender: fc.constantFrom(...senders, "stranger"),
    mode: fc.constantFrom("new" as const, "pooled" as const),
    kind: fc.constantFrom("quick" as const, "slow" as const, "large" as const),
    reused: fc.boolean(),
    outcome: fc.constantFrom(...outcomes),
    status: fc.constantFrom(500, 502, 503, 504),
    error: fc.constantFrom("", "ECONNREFUSED", "ECONNRESET", "EMFILE", "ETIMEDOUT"),
    written: fc.boolean(),
    over: fc.boolean(),
    endedBySender: fc.boolean(),
  })
  .map(({ intended, lag, took, pod, written, over, ...rest }) => ({
    id: 0,
    intended,
    ...(written ? { sent: intended + lag, connected: intended + lag } : {}),
    ...(over ? { finished: intended + lag + took } : {}),
    ...(pod === undefined ? {} : { pod }),
    received: 0,
    ...rest,
  }));

const recording: fc.Arbitrary<RunRecording> = fc
  .record({
    remedy: fc.constant("any"),
    records: fc.array(request, { maxLength: 40 }),
    podEvents: fc.array(podEvent, { maxLength: 40 }),
    senderEvents: fc.array(senderEvent, { maxLength: 20 }),
    countedFrom: fc.integer({ min: 0, max: 20_000 }),
    scheduled: fc.nat({ max: 60 }),
    ended: fc.constant(70_000),
  })
  .map((run) => ({ ...run, records: run.records.map((record, id) => ({ ...record, id })) }));

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, n) => sum + n, 0);

test("every lost request has exactly one cause and a sentence, and all sums agree", () => {
  fc.assert(
    fc.property(recording, (run) => {
      const result = account(run, meta);
      const counted = run.records.filter((record) => record.intended >= run.countedFrom);
      const failed = counted.filter((record) => record.outcome !== "ok" || record.error === "EMFILE");
      const unsent = counted.filter((record) => record.outcome === "not-sent" || record.error === "EMFILE");
      assert.equal(result.lost, failed.length - unsent.length);
      assert.equal(result.sent, counted.length - unsent.length);
      assert.equal(result.lostRequests.length, result.lost);
      assert.equal(new Set(result.lostRequests.map((lost) => lost.id)).size, result.lost);
      assert.equal(total(result.lostByCause), result.lost);
      assert.equal(total(result.lostByOutcome), result.lost);
      assert.equal(result.lostNew + result.lostPooled, result.lost);
      assert.equal(result.each.reduce((sum, one) => sum + one.lost, 0) + result.lostOutside, result.lost);
      for (const one of result.each) assert.equal(total(one.lostByCause), one.lost);
      assert.equal(total(result.notSentBecause), result.notSent);
      assert.ok(result.lostRequests.every((lost) => lost.sentence.length > 10 && lost.cause !== "C10"));
    }),
    { numRuns: 500 },
  );
});

test("no number is NaN or infinite, no duration is negative, and no sentence has a gap", () => {
  fc.assert(
    fc.property(recording, (run) => {
      const result = account(run, { ...meta, timeline: false });
      JSON.stringify(result, (key, value: unknown) => {
        if (typeof value === "number") assert.ok(Number.isFinite(value) && value >= 0, `${key}: ${value}`);
        if (typeof value === "string") assert.doesNotMatch(value, /undefined|NaN|Infinity|null/);
        return value;
      });
    }),
    { numRuns: 500 },
  );
});

test("moving a run in time moves its moments and changes nothing else", () => {
  const shift = (run: RunRecording, by: number): RunRecording => ({
    ...run,
    records: run.records.map((record) => ({
      ...record,
      intended: record.intended + by,
      ...(record.sent === undefined ? {} : { sent: record.sent + by }),
      ...(record.connected === undefined ? {} : { connected: record.connected + by }),
      ...(record.finished === undefined ? {} : { finished: record.finished + by }),
    })),
    podEvents: run.podEvents.map((event) => ({ ...event, at: event.at + by })),
    senderEvents: run.senderEvents.map((event) => ({ ...event, at: event.at + by })),
    countedFrom: run.countedFrom + by,
    ended: run.ended + by,
  });
  fc.assert(
    fc.property(recording, fc.integer({ min: 1, max: 1_000_000 }), (run, by) => {
      const plain = account(run, { ...meta, timeline: false });
      const moved = account(shift(run, by), { ...meta, timeline: false });
      assert.deepEqual(
        {
          ...moved,
          each: moved.each.map((one) => ({ ...one, deletedAt: one.deletedAt - by })),
          lostRequests: moved.lostRequests.map((lost) => ({ ...lost, at: lost.at - by })),
          newPods: moved.newPods?.map(({ readyAt, ...pod }) => ({
            ...pod,
            createdAt: pod.createdAt - by,
            ...(readyAt === undefined ? {} : { readyAt: readyAt - by }),
          })),
        },
        plain,
      );
    }),
    { numRuns: 300 },
  );
});

test("the order in which events were written down does not change any cause", () => {
  fc.assert(
    fc.property(recording, (run) => {
      // Events of one moment have no order but that in which they were written.
      const distinct = new Set([...run.podEvents, ...run.senderEvents].map((event) => event.at));
      fc.pre(distinct.size === run.podEvents.length + run.senderEvents.length);
      const turned = {
        ...run,
        records: run.records.toReversed(),
        podEvents: run.podEvents.toReversed(),
        senderEvents: run.senderEvents.toReversed(),
      };
      const causes = (one: RunRecording) =>
        new Map(
          account(one, meta)
            .lostRequests.map((lost) => [lost.id, lost.cause] as const)
            .sort((a, b) => a[0] - b[0]),
        );
      assert.deepEqual(causes(turned), causes(run));
    }),
    { numRuns: 200 },
  );
});

test("merged runs add up, and keep their pictures apart and their requests unique", () => {
  fc.assert(
    fc.property(fc.array(recording, { minLength: 1, maxLength: 4 }), (runs) => {
      const results = runs.map((run) => account(run, meta));
      const merged = mergeRuns(results, 1);
      const add = (pick: (one: (typeof results)[number]) => number): number =>
        results.reduce((sum, one) => sum + pick(one), 0);
      for (const field of [
        "terminations",
        "sent",
        "notSent",
        "lost",
        "slow",
        "killed",
        "lostOutside",
        "duration",
      ] as const)
        assert.equal(
          merged[field],
          add((one) => one[field]),
          field,
        );
      assert.equal(total(merged.lostByCause), merged.lost);
      assert.equal(new Set(merged.lostRequests.map((lost) => lost.id)).size, merged.lost);
      for (const lost of merged.lostRequests) {
        const own = lost.termination === undefined ? undefined : merged.each[lost.termination];
        if (own && lost.pod === own.pod) assert.ok(lost.at >= own.deletedAt - 100);
      }
      assert.equal(
        merged.timeline?.pods.length,
        add((one) => one.timeline!.pods.length),
      );
    }),
    { numRuns: 60 },
  );
});
