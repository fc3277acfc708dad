import assert from "node:assert/strict";
import test from "node:test";
import { slimPod, type SlimPod } from "@lameduck/cluster";
import fc from "fast-check";
import { type Termination, terminationOf, type Transition } from "../src/state/termination.ts";
import { Withdrawals } from "../src/state/withdrawals.ts";

interface Facts {
  readonly isDeleted: boolean;
  readonly address: string;
  readonly exits: number;
  readonly isFinished: boolean;
  readonly isHostNetwork: boolean;
}

const names = ["app", "log", "proxy"];

function podOf({ isDeleted, address, exits, isFinished, isHostNetwork }: Facts): SlimPod {
  const ended = { terminated: { exitCode: 0, finishedAt: "2026-11-25T12:00:00Z" } };
  return slimPod({
    metadata: {
      name: "web-1",
      uid: "web-1",
      namespace: "shop",
      ...(isDeleted ? { deletionTimestamp: "2026-11-25T12:00:30Z", deletionGracePeriodSeconds: 30 } : {}),
    },
    spec: { nodeName: "node1", containers: names.map((name) => ({ name })), hostNetwork: isHostNetwork },
    status: {
      phase: isFinished ? "Succeeded" : "Running",
      podIPs: [{ ip: address }],
      containerStatuses: names.slice(0, exits).map((name) => ({ name, state: ended })),
    },
  });
}

const rarely = fc.oneof(
  { arbitrary: fc.constant(false), weight: 15 },
  { arbitrary: fc.constant(true), weight: 1 },
);

type Step = (termination: Termination, now: number) => readonly Transition[];

const weights: Readonly<Record<string, number>> = { withdraw: 8, number: 8, released: 8, remove: 1 };

/** A call, in any order: also such as `Terminations` never makes. */
const step: fc.Arbitrary<{ readonly name: string; readonly run: Step }> = fc.oneof(
  ...Object.entries<Step>({
    withdraw: (one, now) => one.withdraw(now),
    publish: (one) => one.publish(),
    number: (one, now) => one.number(now),
    unnumber: (one) => one.unnumber(),
    linger: (one, now) => one.linger(now),
    remove: (one, now) => one.remove(now),
    ...Object.fromEntries(
      (["waiting", "released", "incomplete", "unknown"] as const).map((state): [string, Step] => [
        state,
        (one, now) => one.settle({ state }, now),
      ]),
    ),
    overruled: (one) =>
      one.report({ overruled: "10.0.0.9" }, ["node1"], {
        falseAcknowledgers: [],
        overruler: undefined,
        mayBeProbe: false,
      }),
  })
    // Those that bring it further are frequent, and an end is rare.
    .map(([name, run]) => ({ arbitrary: fc.constant({ name, run }), weight: weights[name] ?? 3 })),
  {
    weight: 4,
    arbitrary: fc
      .record({
        isDeleted: fc.constant(true),
        address: fc.constantFrom("10.0.0.1", "10.0.0.2"),
        exits: fc.nat({ max: 2 }),
        isFinished: rarely,
        isHostNetwork: fc.constant(false),
      })
      .map((facts) => ({
        name: `update ${JSON.stringify(facts)}`,
        run: (one: Termination, now: number) => one.update(podOf(facts), now),
      })),
  },
);

test("a termination is released only by consumers that were asked about its last withdrawal, whatever happens to it", () => {
  let releases = 0;
  fc.assert(
    fc.property(
      fc.record({ isDeleted: fc.boolean(), isHostNetwork: rarely }),
      fc.array(fc.tuple(step, fc.constantFrom(0, 100, 11_000)), { maxLength: 40, size: "max" }),
      ({ isDeleted, isHostNetwork }, steps) => {
        const withdrawals = new Withdrawals();
        let now = 1_000_000;
        const pod = podOf({ isDeleted, isHostNetwork, address: "10.0.0.1", exits: 0, isFinished: false });
        const one = terminationOf(pod, {
          withdrawals,
          consumersOf: () => new Map(),
          onEnd: ({ sequence }) => sequence !== undefined && withdrawals.drop(sequence),
          now,
        });
        const past: Transition[] = [];
        const must = (holds: boolean, what: string): void => assert.ok(holds, `${what}: ${past.join()}`);
        let asked = 0;
        for (const [{ run }, passes] of steps) {
          now += passes;
          const [wasReleased, wasWithdrawn, sequenceBefore] = [
            one.state === "released",
            one.withdrawnAt !== undefined,
            one.sequence,
          ];
          const hadEnded = past.includes("ended") || one.goneAt !== undefined;
          const happened = run(one, now);
          past.push(...happened);
          const { state, sequence, isHeldOnly } = one;
          const isReleased = state === "released";
          const isWithdrawn = one.withdrawnAt !== undefined;
          const isOver = one.isFinished || one.goneAt !== undefined;

          must(!(isReleased && one.isPending), "a released pod is never pending");
          must(
            isReleased === (one.releasedAt !== undefined),
            "a released pod, and no other, has a time of it",
          );
          must(!isReleased || sequence !== undefined, "a pod is released only where consumers were asked");
          must(isWithdrawn || sequence === undefined, "a published pod has no number");
          must(!isHostNetwork || sequence === undefined, "a node's own address has no number");
          must(!one.isMeasured || (sequence !== undefined && !isHeldOnly), "no other pod is measured");
          if (sequence !== undefined && sequence !== sequenceBefore) {
            must(sequence > asked, "a number is never given twice");
            must(!isOver, "a pod that has ended gets no number");
            asked = sequence;
          }
          assert.deepEqual(
            Array.from(withdrawals.after(0), (there) => there.sequence),
            sequence === undefined || isOver ? [] : [sequence],
            "consumers look for what they are asked about, and for nothing else",
          );
          if (hadEnded) {
            must(
              happened.every((what) => what === "gone"),
              "nothing is told after the end",
            );
            continue;
          }
          must(happened.includes("withdrawn") === (isWithdrawn && !wasWithdrawn), "a withdrawal is told");
          if (wasReleased && !isReleased)
            must(happened.includes("published"), "a release is taken back by a publication alone");
          if (isReleased && !wasReleased) {
            releases++;
            const since = past.slice(past.lastIndexOf("published") + 1);
            const isAsked = since.lastIndexOf("numbered") > since.lastIndexOf("unnumbered");
            must(
              since.includes("withdrawn") && isAsked,
              "what is taken back is withdrawn anew before a release",
            );
          }
          const news = happened.filter((what) => one.isNews(what) && what !== "reported");
          must(!isHeldOnly || news.length === 0, "a pod that is only asked about is no news");
        }
        for (const once of ["began", "overruled", "ended", "gone"] as const)
          must(past.indexOf(once) === past.lastIndexOf(once), `${once} is told once`);
      },
    ),
    { numRuns: 3_000 },
  );
  assert.ok(releases > 300, `only ${releases} releases were looked at`);
});
