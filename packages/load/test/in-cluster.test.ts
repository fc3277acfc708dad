import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import * as fc from "fast-check";

import { ClockBounds, LoadPod } from "../src/in-cluster/load-pod.ts";

import type { PodPlan } from "../src/in-cluster/plan.ts";
import { loadProgram } from "../src/in-cluster/program.ts";
import { longestLineBytes, readLine, writeLine, type PodMessage } from "../src/in-cluster/transport/line.ts";
import { pack, unpack, type Numbered } from "../src/in-cluster/transport/pack.ts";
import { Receiver } from "../src/in-cluster/transport/receiver.ts";
import { runClock, outcomes } from "@lameduck/accounting";
import { serveLog, startPod } from "./in-cluster-logs.ts";
import { answerOk, serve, until } from "./servers.ts";

const time = fc.integer({ min: 0, max: 1e9 }).map((units) => units / 100);
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const numbered: fc.Arbitrary<Numbered> = fc.record({
  row: fc.nat(),
  record: fc.record({
    intended: time,
    fired: maybe(time),
    sent: maybe(time),
    finished: maybe(time),
    connected: maybe(time),
    mode: fc.constantFrom("new" as const, "pooled" as const),
    kind: fc.constantFrom("quick" as const, "slow" as const, "large" as const),
    sender: fc.constant(0),
    pod: maybe(fc.string({ minLength: 1 })),
    podKnownBy: maybe(fc.constantFrom("header" as const, "proxy" as const)),
    connection: maybe(fc.integer({ min: 1 })),
    reused: fc.boolean(),
    outcome: fc.constantFrom(...outcomes),
    status: maybe(fc.integer({ min: 100, max: 599 })),
    error: maybe(fc.string({ minLength: 1 })),
    received: fc.nat(),
    retries: maybe(fc.nat()),
    endedBySender: fc.boolean(),
    late: fc.boolean(),
  }),
});

describe("transport of results", () => {
  it("the reader of a log unpacks what was packed, times to a hundredth of a millisecond", () => {
    const near = ({ row, record }: Numbered): unknown => ({
      row,
      ...Object.fromEntries(
        Object.entries(record).map(([name, value]) =>
          typeof value === "number" ? [name, Math.round(value * 100)] : [name, value],
        ),
      ),
    });
    fc.assert(
      fc.property(fc.array(numbered, { maxLength: 20 }), (records) => {
        assert.deepEqual(unpack(pack(records)).map(near), records.map(near));
      }),
    );
  });

  it("the receiver gives out every message once and in order, however the log is cut and read again", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(), { minLength: 1, maxLength: 30 }),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 10 }),
        (values, cuts) => {
          const log = values.map((due, sequence) => line(sequence, due)).join("some other words\n");
          const taken: PodMessage[] = [];
          const receiver = new Receiver((message) => taken.push(message));
          for (const [from, length] of cuts) {
            const start = log.lastIndexOf("\n", from % log.length) + 1;
            receiver.push(log.slice(start, start + (length % log.length)));
            receiver.cut();
          }
          for (let at = 0; at < log.length; at += 7) receiver.push(log.slice(at, at + 7));
          assert.deepEqual(
            taken.map((message) => (message.type === "progress" ? message.due : -1)),
            values,
          );
          assert.deepEqual([receiver.gap, receiver.skipped], [false, 0]);
        },
      ),
    );
  });

  it("the receiver waits behind a gap, and goes on behind it when it is told that nothing will fill it", () => {
    const taken: PodMessage[] = [];
    const receiver = new Receiver((message) => taken.push(message));
    receiver.push(line(0, 0) + line(3, 3) + line(4, 4));
    assert.deepEqual([taken.length, receiver.gap], [1, true]);
    receiver.skip();
    assert.deepEqual([taken.length, receiver.gap, receiver.skipped], [3, false, 2]);
  });

  it("the receiver takes no line that was damaged", () => {
    const whole = line(7, 1);
    for (let at = 0; at < whole.length - 1; at++) {
      const damaged = `${whole.slice(0, at)}${whole[at] === "1" ? "2" : "1"}${whole.slice(at + 1, -1)}`;
      assert.equal(readLine(damaged), undefined, damaged);
    }
    assert.equal(readLine(whole.trimEnd())?.sequence, 7);
  });
});

function line(sequence: number, due: number): string {
  return writeLine(sequence, {
    type: "progress",
    at: sequence,
    due,
    finished: 0,
    lost: 0,
    notSent: 0,
    trials: [],
  });
}

describe("a pod's clock", () => {
  it("a pod's clock is corrected by no more than causality demands, and never beyond the truth", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -100_000, max: 100_000 }),
        fc.array(fc.tuple(fc.nat(1_000_000), fc.nat(5_000), fc.boolean()), { minLength: 1 }),
        (difference, exchanges) => {
          const bounds = new ClockBounds();
          for (const [ours, delay, outward] of exchanges)
            if (outward) bounds.after(ours, ours + delay - difference);
            else bounds.before(ours + delay, ours - difference);
          const { correction, uncertainty } = bounds;
          assert.ok(Math.abs(correction) <= Math.abs(difference));
          assert.ok(Math.abs(difference - correction) <= uncertainty + 1e-6);
        },
      ),
    );
  });

  it("a pod's clock that is three seconds slow is set right to the delay of the way", () => {
    const bounds = new ClockBounds();
    bounds.after(10_000, 7_080);
    bounds.before(12_015, 9_000);
    assert.deepEqual([bounds.correction, bounds.uncertainty], [2_919, 97]);
  });
});

describe("the program of a pod", { concurrency: 3 }, () => {
  it("the program of a pod is one file that fits a ConfigMap", async () => {
    const text = await loadProgram();
    assert.ok(text.length > 10_000 && text.length < 500_000, `${text.length} bytes`);
    assert.doesNotMatch(text, /from\s*"(?!node:)/, "imports nothing but Node itself");
  });

  it(
    "the program of a pod sends the load, tells every request, and stays for its log to be read",
    { timeout: 200_000 },
    async (t) => {
      const { pod, child, clock, asked } = await follow(t, { cutAfter: Infinity });
      await until(() => (pod.progress?.finished ?? 0) > 300, "300 requests", 150_000);
      pod.endAsked();
      child.kill("SIGTERM");
      await pod.log.ended;
      assert.equal(pod.hello?.index, 3);
      assert.deepEqual(pod.hello.addresses, { web: "127.0.0.1" });
      const records = pod.records(100, 10);
      assert.deepEqual([pod.missing, pod.doubled, pod.log.skipped, pod.log.reconnects], [0, 0, 0, 0]);
      assert.equal(records.length, pod.end?.due[0]);
      // A machine without time leaves some out, and says so.
      const sent = records.filter(({ outcome }) => outcome !== "not-sent");
      assert.ok(sent.length > 0);
      const wrong = sent.filter(
        ({ outcome, sender, connection = 0 }) => outcome !== "ok" || sender !== "web" || connection <= 100,
      );
      assert.deepEqual(wrong, []);
      const now = clock.now() + 10;
      assert.ok(
        records.every(({ intended, finished = 0 }) => intended > asked && finished < now),
        "on the run's clock",
      );
      assert.equal(child.exitCode, null, "it lingers");
      // The same machine, the same clock: no more is corrected than is uncertain.
      const { correction, uncertainty } = pod.bounds;
      assert.ok(Math.abs(correction) <= uncertainty, `${correction} of ${uncertainty} ms`);
    },
  );

  it(
    "the program of a pod loses and doubles nothing when the log's stream is cut again and again",
    { timeout: 200_000 },
    async (t) => {
      const { pod, child, cuts } = await follow(t, { cutAfter: 6_000 });
      await until(() => cuts() >= 5, "five cuts", 150_000);
      child.kill("SIGTERM");
      await pod.log.ended;
      assert.deepEqual([pod.missing, pod.doubled, pod.log.skipped], [0, 0, 0]);
      assert.equal(pod.records(0, 0).length, pod.end?.due[0]);
      assert.ok(pod.log.reconnects >= 5, `${pod.log.reconnects}`);
    },
  );

  it(
    "the program of a pod says how many requests are not known when a part of the log was rotated away",
    { timeout: 200_000 },
    async (t) => {
      let forgotten = 0;
      const { pod, child } = await follow(t, {
        cutAfter: 20_000,
        forget: (text) => text.includes('"records"') && ++forgotten <= 4,
      });
      await until(() => (pod.progress?.finished ?? 0) > 400, "400 requests", 150_000);
      child.kill("SIGTERM");
      await pod.log.ended;
      const known = pod.records(0, 0).length;
      assert.equal(known + pod.missing, pod.end?.due[0]);
      assert.equal(pod.log.skipped, 4);
      assert.ok(pod.missing > 0);
    },
  );

  it("the program of a pod says which URL does not answer", { timeout: 200_000 }, async (t) => {
    const { pod } = await follow(t, { cutAfter: Infinity, url: "http://127.0.0.1:1/" });
    await pod.log.ended;
    assert.equal(pod.failed?.url, "http://127.0.0.1:1/");
    assert.match(pod.failed.problem, /ECONNREFUSED/);
  });

  it("the program of a pod keeps its lines short enough for container runtimes", () => {
    const many = fc.sample(numbered, 400).map((one, index) => ({ ...one, row: index }));
    const packed = pack(many);
    const text = writeLine(1, { type: "records", at: 0, route: 0, packed });
    // 400 of the wildest records may be too many for a line: they are halved then, as Output does; ordinary ones are not.
    const ordinary = many.map(({ row, record }) => ({
      row,
      record: {
        ...record,
        pod: "web-1",
        error: undefined,
        intended: row,
        sent: row + 1,
        fired: row,
        finished: row + 3,
        connected: row,
      },
    }));
    assert.ok(pack(ordinary).length < longestLineBytes, `${pack(ordinary).length}`);
    assert.ok(text.length > packed.length);
  });
});

async function follow(
  t: TestContext,
  { url, ...options }: { cutAfter: number; url?: string; forget?: (line: string) => boolean },
) {
  const { port } = await serve(t, (socket) => answerOk(socket, "x-lameduck-pod: web-1\r\n"));
  const plan: PodPlan = {
    routes: [{ name: "web", url: url ?? `http://127.0.0.1:${port}/`, protocol: "http" }],
    // No request is lost because the machine is busy.
    load: { rate: 200, pooledShare: 0.5, timeout: 60_000, maxDuration: 180_000, maxRequests: 40_000 },
    seed: 1,
    linger: 5_000,
  };
  const clock = runClock();
  const asked = clock.now();
  const child = await startPod(t, plan);
  const { client, cuts } = await serveLog(t, child, { seed: 1, ...options });
  const pod = new LoadPod({
    kube: client,
    name: "load-0",
    path: "/api/v1/namespaces/default/pods/load-0",
    clock,
    epoch: clock.fromEpoch(0),
    routes: ["web"],
    asked,
  });
  t.after(async () => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await pod.log.close();
    await exited;
  });
  return { pod, child, cuts, clock, asked };
}
