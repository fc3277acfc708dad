import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { TerminationConsumer, TerminationNews, TerminationView } from "../src/termination-view.ts";
import { eventOf } from "../src/records/event-of.ts";
import { describeTermination } from "../src/records/report/describe.ts";
import { FollowedTerminations, type Followed } from "../src/records/report/followed.ts";
import { consumer, deletedAt, released, termination } from "./terminations.ts";

const whole: Followed = { isWhole: true, origin: deletedAt, began: deletedAt };

describe("a record of a termination", () => {
  it("a record of a termination says hold, release, reason, what was at risk and how the termination ended", () => {
    const { summary, moments, hold, program, consumers, unknown, metadata } = describeTermination(
      released(),
      {
        ...whole,
        lameDuckAt: deletedAt + 20,
        closingAt: deletedAt + 5_620,
      },
    );
    assert.equal(metadata.name, "web-7d9c-abcde-0f5c7a12");
    assert.deepEqual(summary, {
      hold: "5.6s",
      released: "5.1s",
      reason: "acknowledged",
      atRisk: "1660 req",
      killed: "no",
      text: "web-7d9c-abcde of deployment/web; held 5.6s (acknowledged); released by 5 of 5 senders after 5.1s (kube-proxy/node5 last)",
    });
    assert.deepEqual(moments, {
      withdrawn: 100,
      released: 5_100,
      lameDuck: 20,
      closing: 5_620,
      exited: 6_000,
      gone: 6_500,
    });
    assert.deepEqual([hold.ms, hold.floorMs, hold.lastArrivalMs, program], [5_600, 1_000, 700, "library"]);
    assert.deepEqual(consumers[0], {
      name: "kube-proxy/node5",
      kind: "kube-proxy",
      basis: "rules",
      state: "applied",
      appliedMs: 5_100,
    });
    assert.deepEqual(unknown, []);
  });

  it("a record of a termination names the facts that nobody told, and counts no such fact as passed", () => {
    const consumers = new Map([["kube-proxy/node1", consumer({ isMissing: true })]]);
    const { summary, unknown, program, killed } = describeTermination(termination({ consumers }), {
      ...whole,
      isWhole: false,
    });
    assert.deepEqual(
      [summary.hold, summary.released, summary.reason, summary.atRisk, killed, program],
      ["unknown", "unknown", "unknown", "unknown", "unknown", "unknown"],
    );
    assert.deepEqual(
      unknown.map((line) => line.split(":")[0]),
      ["before", "withdrawn", "released", "hold", "atRisk", "containers"],
    );
  });

  it("a record tells a pod without Lameduck from one that could not be heard", () => {
    assert.equal(describeTermination(termination(), whole).program, "none");
    assert.equal(describeTermination(termination(), { ...whole, isWhole: false }).program, "unknown");
  });

  it("a record names consumers that were behind, silent or missing, and consumers that an arrival overruled", () => {
    const consumers = new Map<string, TerminationConsumer>([
      ["kube-proxy/node1", consumer({ appliedAt: deletedAt + 1_000 })],
      ["kube-proxy/node2", consumer({ basis: "syncs", reason: "not reloaded" })],
      ["kube-proxy/node3", consumer({ isSilent: true })],
    ]);
    const reported = { ...released().reported, overruled: "10.244.2.9\u001b[31m", reason: "cap" };
    const report = describeTermination(
      termination({ consumers, reported, sequence: 17, withdrawnAt: deletedAt + 50 }),
      whole,
    );
    assert.deepEqual(
      report.consumers.map(({ name, state }) => `${name} ${state}`),
      ["kube-proxy/node2 behind", "kube-proxy/node3 silent", "kube-proxy/node1 applied"],
    );
    assert.equal(report.consumers[0]?.reason, "not reloaded");
    assert.equal(report.summary.released, "no");
    assert.equal(report.overruledBy, "10.244.2.931m");
    assert.equal(report.falseAcknowledgers, undefined);
    assert.match(
      report.summary.text,
      /kube-proxy\/node2 and 1 more had not stopped sending \(not reloaded\); overruled by a connection/,
    );
  });

  it("a record says that no sender was asked, and calls none behind", () => {
    const consumers = new Map([["kube-proxy/node1", consumer()]]);
    const young = termination({ consumers, withdrawnAt: deletedAt + 50, goneAt: deletedAt + 4_000 });
    const report = describeTermination(young, whole);
    assert.deepEqual([report.summary.released, report.consumers], ["unknown", []]);
    assert.match(report.summary.text, /no sender was asked/);
    assert.ok(report.unknown.includes("released: no sender was asked"));
    assert.deepEqual(eventOf(report), []);
  });

  const exit = (exitCode: number, after: number, reason?: string): TerminationView["exits"][number] => ({
    container: "app",
    exitCode,
    finishedAt: deletedAt + after,
    ...(reason === undefined ? {} : { reason }),
  });
  for (const { name, exits, killed } of [
    { name: "exit 137 at the end of the grace period", exits: [exit(137, 60_000)], killed: "yes" },
    { name: "exit 137 long before the end of the grace period", exits: [exit(137, 9_000)], killed: "no" },
    { name: "exit 137 for want of memory", exits: [exit(137, 60_000, "OOMKilled")], killed: "no" },
    { name: "an orderly exit at the last moment", exits: [exit(0, 59_900)], killed: "no" },
    { name: "exit 137 of one of two containers", exits: [exit(0, 9_000), exit(137, 60_900)], killed: "yes" },
    { name: "no exit that was seen", exits: [], killed: "unknown" },
  ] as const)
    it(`a pod with ${name} was killed: ${killed}`, () => {
      assert.equal(describeTermination(termination({ exits }), whole).killed, killed);
    });
});

it("a record says why a pod was not released although everybody had let go", () => {
  const unread = released({ releasedAt: undefined, because: "unread" });
  const { summary, unknown } = describeTermination(unread, whole);
  assert.equal(summary.released, "unknown");
  assert.ok(
    unknown.some((one) => one.startsWith("released: not all that may lead to it can be read")),
    unknown.join(),
  );
});

it("a record keeps the names of consumers that the coordinator has forgotten since the pod left the endpoints", () => {
  const followed = new FollowedTerminations(
    () => deletedAt,
    () => deletedAt,
  );
  const gone = termination({ withdrawnAt: deletedAt + 100, sequence: 17 });
  followed.hear(gone, "numbered");
  followed.hear(Object.assign(gone, released()), "released");
  Object.assign(gone, { consumers: new Map() });
  const { consumers, summary } = describeTermination(gone, followed.hear(gone, "ended"));
  assert.equal(consumers.length, 5);
  assert.match(summary.text, /released by 5 of 5 senders/);
});

it("a record forgets what consumers said of a withdrawal that was taken back", () => {
  const followed = new FollowedTerminations(
    () => deletedAt,
    () => deletedAt,
  );
  const last = released();
  followed.hear(last, "released");
  const isBehind = new Map([["kube-proxy/node1", consumer()]]);
  followed.hear(Object.assign(last, termination({ consumers: isBehind })), "published");
  Object.assign(last, { consumers: new Map() });
  const { consumers } = describeTermination(last, followed.hear(last, "ended"));
  assert.deepEqual(
    consumers.map(({ name, state }) => `${name} ${state}`),
    ["kube-proxy/node1 behind"],
  );
});

/** Any history of one pod: what the coordinator learns of it, in any order, with gaps. */
const step = fc.oneof(
  fc.record({ withdrawnAt: fc.integer({ min: 0, max: 60_000 }) }),
  fc.record({ releasedAt: fc.option(fc.integer({ min: 0, max: 60_000 }), { nil: undefined }) }),
  fc.record({ phase: fc.constantFrom("lame-duck", "closing", "closed", "resting", "") }),
  fc.record({ held: fc.constantFrom("5600", "-1", "soon", "1e9", "99999999999999999999", "") }),
  fc.record({
    consumer: fc.constantFrom("a", "b"),
    appliedAt: fc.option(fc.integer({ min: 0, max: 60_000 })),
  }),
  fc.record({ wait: fc.integer({ min: 0, max: 9_000 }) }),
);

it("a record has no release and no hold that was not told, in any sequence of events", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let now = deletedAt;
      const seen = termination();
      const told = { hold: false, held: undefined as number | undefined, phases: new Set<string>() };
      const followed = new FollowedTerminations(
        () => now,
        () => now,
      );
      const change = (what: TerminationNews, fields: Partial<TerminationView>): void => {
        Object.assign(seen, fields);
        followed.hear(seen, what);
      };
      for (const one of steps) {
        if ("wait" in one) now += one.wait;
        else if ("withdrawnAt" in one) change("withdrawn", { withdrawnAt: deletedAt + one.withdrawnAt });
        else if ("releasedAt" in one) {
          const { releasedAt } = one;
          change(releasedAt === undefined ? "published" : "released", {
            releasedAt: releasedAt === undefined ? undefined : deletedAt + releasedAt,
          });
        } else if ("phase" in one) {
          told.phases.add(one.phase);
          change("reported", { reported: { ...seen.reported, phase: one.phase } });
        } else if ("held" in one) change("reported", { reported: { ...seen.reported, "held-ms": one.held } });
        else
          change("numbered", {
            consumers: new Map(seen.consumers).set(
              one.consumer,
              consumer({ appliedAt: one.appliedAt === null ? undefined : deletedAt + one.appliedAt }),
            ),
          });
      }
      const { summary, moments, hold } = describeTermination(seen, followed.hear(seen, "ended"));
      assert.equal(moments.released !== undefined, seen.releasedAt !== undefined);
      assert.equal(/\d/.test(summary.released), seen.releasedAt !== undefined);
      if (seen.releasedAt === undefined) assert.doesNotMatch(summary.text, /released by/);
      assert.equal(hold.ms !== undefined, seen.reported["held-ms"] === "5600");
      const isBounded = told.phases.has("lame-duck") && told.phases.has("closing");
      if (hold.ms === undefined && !isBounded) assert.equal(summary.hold, "unknown");
      assert.match(summary.hold, /^(?:unknown|\d+\.\ds)$/);
      assert.equal(summary.reason, "unknown");
    }),
    { numRuns: 2_000 },
  );
});

describe("a hold in place of a sleep", () => {
  it("a record has the sleep that was there, whether the pod has reported its hold or not", () => {
    const injected = {
      version: "0.1.0",
      what: "a preStop hook",
      isTold: true,
      formerSleepMs: 15_000,
    } as const;
    for (const reported of [released().reported, {}]) {
      const { hold } = describeTermination(released({ injected, reported }), whole);
      assert.equal(hold.formerSleepMs, 15_000);
    }
    assert.equal(describeTermination(released(), whole).hold.formerSleepMs, undefined);
  });
});

describe("what an Event says", () => {
  const told = (fields: Partial<TerminationView>, more: Partial<Followed> = {}): string =>
    eventOf(describeTermination(released(fields), { ...whole, ...more }))
      .map(({ reason, message }) => `${reason}: ${message}`)
      .join("\n");
  const capped = { ...released().reported, reason: "cap", "held-ms": "25000" };
  const end = (seconds: number): TerminationView["exits"] => [
    { container: "app", exitCode: 0, finishedAt: deletedAt + seconds * 1_000 },
  ];
  const injected = { version: "0.1.0", what: "a preStop hook", isTold: true } as const;
  const behind = { releasedAt: undefined, consumers: new Map([["kube-proxy/node5", consumer()]]) };

  for (const [what, fields, expected, more] of [
    [
      "a hold to its cap while traffic came",
      { reported: capped, releasedAt: undefined },
      /DrainCapped: .*, before the traffic was seen to have gone/,
    ],
    [
      "a floor that leaves no time",
      { reported: { ...capped, "floor-ms": "25000" } },
      /DrainCapped: .*: its floor of 25\.0s leaves no time before the cap/,
    ],
    [
      "a release before the cap",
      { reported: { ...capped, "oldest-wait": "2 requests in flight" } },
      /DrainCapped: .*although every sender had stopped sending after 5\.1s: something .* \(2 requests in flight\)/,
    ],
    [
      "a connection after the release, to the cap",
      { reported: capped, overruledBy: "10.244.2.9" },
      /DrainCapped: .*although every sender had stopped sending after 5\.1s: a new connection came after that/,
    ],
    [
      "a connection after the release from the pod's own node, to the cap",
      { reported: capped, overruledBy: "10.244.1.1", mayBeProbe: true },
      /DrainCapped: .*a new connection came after that/,
    ],
    [
      "a policy that holds to the cap",
      { reported: { ...capped, policy: "until-deadline" } },
      /DrainCapped: .*at its cap: its policy until-deadline always does$/m,
    ],
    ["a hook that hung", { reported: {}, exits: end(60) }, /DrainLate: .*60 s: a preStop hook hung/],
    [
      "a program that hung after its hold",
      { exits: end(59) },
      /DrainLate: .*its hold had ended after 5\.6s/,
      { closingAt: deletedAt + 5_600 },
    ],
    ["a program that ended in time", { exits: end(30) }, /^DrainReleased/],
    ["the pod's own evidence while a proxy was behind", { ...behind, reported: { reason: "quiet" } }, /^$/],
    [
      "a pod without evidence while a proxy was behind",
      { ...behind, reported: {} },
      /^DrainConsumerBehind: .*node5/,
    ],
    [
      "an injected pod that could not report",
      { injected, reported: {} },
      /a preStop hook was injected, and could not report: .*8070/,
    ],
    [
      "an injected pod that could not report, while a proxy was behind",
      { ...behind, injected, reported: {} },
      /^DrainConsumerBehind: .*node5 had not stopped sending; a preStop hook was injected, and could not report: .*8070/,
    ],
    [
      "a pod with a Lameduck of its own that could not report",
      { injected: { ...injected, what: "nothing that holds" }, reported: {} },
      /its own Lameduck could not report: .*8070/,
    ],
    [
      "a pod that was injected before acknowledgements were on",
      { injected: { ...injected, isTold: false }, reported: {} },
      /knew no coordinator: it was made before acknowledgements were on, restart/,
    ],
    [
      "a pod with the kubelet's sleep",
      { injected: { ...injected, what: "the kubelet's sleep" }, reported: {} },
      /the kubelet's sleep was injected, which reports nothing/,
    ],
    [
      "an injected pod that was not watched from the beginning",
      { injected, reported: {} },
      /was injected; whether it has reported is not known/,
      { isWhole: false },
    ],
    ["a pod that was not injected", { reported: {} }, /no Lameduck in it/],
    [
      "a probe of the kubelet",
      { overruledBy: "10.244.1.1", mayBeProbe: true },
      /^DrainReleased: (?!.*overruled)/,
    ],
  ] as const satisfies readonly (readonly [string, Partial<TerminationView>, RegExp, Partial<Followed>?])[])
    it(`an Event, or its silence, tells of ${what}`, () => assert.match(told(fields, more), expected));
});
