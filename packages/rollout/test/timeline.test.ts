import assert from "node:assert/strict";
import { test } from "node:test";
import { podLives } from "@lameduck/accounting";
import {
  type Change,
  type Condition,
  type Container,
  type Event,
  type Pod,
  ServerClock,
} from "@lameduck/kube";
import { podTimeline, type Hints } from "../src/following/pod-timeline.ts";
import { PodHistory } from "../src/following/pods.ts";
import { waitingReasons } from "../src/progress.ts";

/** The moment at which the test's pod is deleted, by this machine's clock; a full second. */
const deletion = Date.parse("2026-01-01T00:01:00Z");
const stamp = (milliseconds: number): string =>
  new Date(Math.floor((deletion + milliseconds) / 1_000) * 1_000).toISOString().replace(".000Z", "Z");

interface Look {
  readonly ready?: boolean;
  readonly deleted?: boolean;
  readonly ended?: { readonly at: number; readonly code: number; readonly reason?: string };
}

function pod({ ready = true, deleted = false, ended }: Look): Pod {
  return {
    metadata: {
      name: "web-1",
      uid: "u1",
      creationTimestamp: stamp(-60_000),
      ...(deleted ? { deletionTimestamp: stamp(30_000), deletionGracePeriodSeconds: 30 } : {}),
    },
    spec: { containers: [{ name: "server" }], nodeName: "node2" },
    status: {
      phase: "Running",
      podIP: "10.1.0.1",
      conditions: [
        {
          type: "Ready",
          status: ready ? "True" : "False",
          lastTransitionTime: stamp(ready ? -50_000 : 2_000),
        },
      ],
      containerStatuses: [
        {
          name: "server",
          state: ended
            ? {
                terminated: {
                  exitCode: ended.code,
                  reason: ended.reason ?? (ended.code === 0 ? "Completed" : "Error"),
                  finishedAt: stamp(ended.at),
                },
              }
            : { running: { startedAt: stamp(-55_000) } },
        },
      ],
    },
  };
}

class Story {
  readonly history: PodHistory;

  constructor() {
    const clock = new ServerClock();
    // The clocks agree.
    clock.note({ server: deletion, sent: deletion + 999, received: deletion + 1_000 });
    clock.note({ server: deletion, sent: deletion, received: deletion + 1 });
    this.history = new PodHistory(clock);
    this.sees(-10_000, pod({}), { live: false });
    this.history.begin(deletion - 10_000);
  }

  sees(at: number, object: Pod, more: Partial<Change<Pod>> = {}): this {
    const when = deletion + at;
    this.history.takePod({ type: "there", object, at: when, live: true, since: when, ...more });
    return this;
  }

  hears(at: number, reason: string, message: string): this {
    const object: Event = {
      metadata: { name: "e", uid: `e${at}` },
      involvedObject: { uid: "u1" },
      reason,
      message,
      lastTimestamp: stamp(at),
    };
    const when = deletion + at;
    this.history.takeEvent({ type: "there", object, at: when, live: true, since: when });
    return this;
  }

  /** Types and times after the deletion, without what lies before. */
  events(container: Partial<Container> = {}, hints?: Hints): (readonly [string, number])[] {
    const [facts] = this.history.facts;
    assert.ok(facts);
    return podTimeline(facts, {
      spec: { containers: [{ name: "server", ...container }] },
      why: "restart",
      time: (epoch) => epoch - deletion,
      ...(hints === undefined ? {} : { hints }),
    })
      .filter(({ at }) => at > -1_000)
      .map(({ type, at }) => [type, Math.round(at)] as const);
  }
}

test("the timeline of an ordinary end has the deletion, the signal, the exit in the second that the kubelet tells, and the removal", () => {
  const story = new Story()
    .sees(20, pod({ deleted: true }))
    .hears(45, "Killing", "Stopping container server")
    .sees(3_400, pod({ deleted: true, ready: false, ended: { at: 2_200, code: 0 } }))
    .sees(3_500, pod({ deleted: true, ready: false, ended: { at: 2_200, code: 0 } }), { type: "gone" });
  assert.deepEqual(story.events(), [
    ["deleted", 20],
    ["signalled", 45],
    ["exited", 2_500],
    ["gone", 2_800],
    ["unready", 3_400],
  ]);
});

test("a hook that failed before the run, or in another container, is not in the timeline of a termination", () => {
  const failed = (at: number, container: string): Event => ({
    metadata: { name: "e", uid: `e${at}` },
    involvedObject: { uid: "u1", fieldPath: `spec.containers{${container}}` },
    reason: "FailedPreStopHook",
    message: "PreStopHook failed",
    lastTimestamp: stamp(at),
  });
  const story = new Story()
    .sees(20, pod({ deleted: true }))
    .hears(45, "Killing", "Stopping container server");
  const hook = { lifecycle: { preStop: { exec: { command: ["hook"] } } } };
  for (const [object, live] of [
    [failed(-600_000, "server"), false],
    [failed(1_000, "sidecar"), true],
  ] as const)
    story.history.takeEvent({ type: "there", object, at: deletion + 1_000, live, since: deletion });
  assert.deepEqual(story.events(hook), [
    ["deleted", 20],
    ["pre-stop-begun", 45],
  ]);
  const object = failed(1_000, "server");
  story.history.takeEvent({ type: "there", object, at: deletion + 1_000, live: true, since: deletion });
  assert.deepEqual(story.events(hook).slice(2), [
    ["pre-stop-ended", 1_000],
    ["signalled", 1_000],
  ]);
});

test("the answers and cut connections of the load tell at which moment of its last second a pod ended", () => {
  const story = new Story()
    .sees(20, pod({ deleted: true }))
    .sees(3_400, pod({ deleted: true, ended: { at: 2_200, code: 0 } }));
  const exitWith = (hints: Hints): number | undefined =>
    story.events({}, hints).find(([type]) => type === "exited")?.[1];
  assert.equal(exitWith({ cuts: [2_310, 2_311] }), 2_310);
  assert.equal(exitWith({ lastAnswer: 2_800 }), 2_900);
  assert.equal(exitWith({ cuts: [400] }), 2_500, "evidence of another second is none");
  assert.equal(exitWith({ nobody: [400, 2_200, 2_300] }), 2_200, "its network was taken down by then");
  assert.equal(exitWith({ nobody: [2_900] }), 2_500);
});

test("a preStop sleep is known from the pod's own specification, and SIGTERM follows it", () => {
  const story = new Story()
    .sees(20, pod({ deleted: true }))
    .hears(40, "Killing", "Stopping container server")
    .sees(7_000, pod({ deleted: true, ended: { at: 6_000, code: 0 } }));
  const types = story.events({ lifecycle: { preStop: { sleep: { seconds: 5 } } } });
  assert.deepEqual(types.slice(0, 4), [
    ["deleted", 20],
    ["pre-stop-begun", 40],
    ["pre-stop-ended", 5_040],
    ["signalled", 5_040],
  ]);
});

test("only the beginning of an exec hook is known, or that it failed", () => {
  const story = new Story()
    .sees(20, pod({ deleted: true }))
    .hears(40, "Killing", "Stopping container server");
  const hook = { lifecycle: { preStop: { exec: { command: ["sleep", "5"] } } } };
  assert.deepEqual(story.events(hook), [
    ["deleted", 20],
    ["pre-stop-begun", 40],
  ]);
  story.hears(900, "FailedPreStopHook", "PreStopHook failed");
  assert.deepEqual(story.events(hook).slice(2), [
    ["pre-stop-ended", 900],
    ["signalled", 900],
  ]);
});

test("exit code 137 is a kill at the end of the grace period, and the pod's own exit before it", () => {
  const ended = (at: number): string[] =>
    new Story()
      .sees(20, pod({ deleted: true }))
      .sees(at + 500, pod({ deleted: true, ended: { at, code: 137 } }))
      .events()
      .map(([type]) => type);
  assert.deepEqual(ended(30_000), ["deleted", "killed", "exited"]);
  assert.deepEqual(ended(8_000), ["deleted", "exited"]);
});

test("a SIGKILL before the end of the grace period is told with the kubelet's reason", () => {
  const why = (reason: string): unknown => {
    const [facts] = new Story()
      .sees(20, pod({ deleted: true }))
      .sees(8_500, pod({ deleted: true, ended: { at: 8_000, code: 137, reason } })).history.facts;
    assert.ok(facts);
    const spec = { containers: [{ name: "server" }] };
    const events = podTimeline(facts, { spec, why: "test", time: (epoch) => epoch - deletion });
    return events.find(({ type }) => type === "exited");
  };
  assert.partialDeepStrictEqual(why("OOMKilled"), { signal: "SIGKILL", detail: "OOMKilled" });
  assert.equal("detail" in (why("Error") as object), false);
});

test("a container that ends without a deletion has crashed, and its pod stays", () => {
  const story = new Story().sees(
    2_500,
    pod({ ready: false, ended: { at: 2_200, code: 1, reason: "OOMKilled" } }),
  );
  const types = story.events().map(([type]) => type);
  assert.deepEqual(types, ["crashed", "unready"]);
});

test("a deletion during an interrupted watch is dated by its own timestamp", () => {
  const story = new Story().sees(9_000, pod({ deleted: true }), { live: false, since: deletion - 2_000 });
  const [first] = story.events();
  assert.deepEqual(first, ["deleted", 1_000]);
});

test("a forced deletion has a grace period of 0", () => {
  const story = new Story().sees(100, pod({}), { type: "gone" });
  assert.deepEqual(story.events(), [
    ["deleted", 100],
    ["gone", 100],
  ]);
});

test("a pod name that returns within the second is another pod, which begins when the former was gone", () => {
  const history = new PodHistory(new ServerClock());
  const see = (at: number, object: Pod, type: Change<Pod>["type"] = "there"): void =>
    history.takePod({ type, object, at: deletion + at, live: true, since: deletion + at });
  see(-1_000, pod({}));
  history.begin();
  see(100, pod({ deleted: true }));
  see(2_700, pod({ deleted: true, ended: { at: 2_000, code: 0 } }));
  see(2_800, pod({ deleted: true, ended: { at: 2_000, code: 0 } }), "gone");
  const next = pod({ ready: false });
  see(2_850, { ...next, metadata: { ...next.metadata, uid: "u2", creationTimestamp: stamp(2_000) } });
  const [first, second] = history.facts.flatMap((facts) => {
    const time = (at: number): number => at - deletion;
    return podLives(podTimeline(facts, { spec: { containers: [{ name: "server" }] }, why: "restart", time }));
  });
  const lives = podLives([...(first?.events ?? []), ...(second?.events ?? [])]);
  assert.deepEqual(
    lives.map(({ events }) => events.map(({ type }) => type)),
    [first, second].map((life) => life?.events.map(({ type }) => type)),
  );
  assert.ok(lives[0]?.gone !== undefined && lives[0].exits.length === 1);
});

test("pods that were terminating before a run are known as such, and are no terminations of it", () => {
  const history = new PodHistory(new ServerClock());
  const at = deletion;
  history.takePod({ type: "there", object: pod({ deleted: true }), at, live: false, since: at });
  history.begin();
  assert.deepEqual([history.facts.map(({ isLeftover }) => isLeftover), history.terminating], [[true], 0]);
  const [address = ""] = history.facts[0]?.addresses ?? [];
  assert.equal(history.podAt(address, at), history.facts[0]?.name);
});

test("the reasons why pods wait are told in the kubelet's and the scheduler's words", () => {
  const waiting = pod({ ready: false });
  const image: Pod = {
    ...waiting,
    status: {
      containerStatuses: [
        { name: "server", state: { waiting: { reason: "ErrImagePull", message: "no such host" } } },
      ],
    },
  };
  const nowhere: Pod = {
    ...waiting,
    status: {
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          reason: "Unschedulable",
          message: "0/3 nodes are available",
        },
      ],
    },
  };
  const gated = (...conditions: readonly Condition[]): Pod => ({
    ...waiting,
    spec: { ...waiting.spec, readinessGates: [{ conditionType: "a/lb" }, { conditionType: "b/mesh" }] },
    status: { conditions: [{ type: "Ready", status: "False" }, ...conditions] },
  });
  const ready = { type: "ContainersReady", status: "True" };
  assert.deepEqual(
    waitingReasons([
      image,
      nowhere,
      gated(ready, { type: "a/lb", status: "True" }),
      gated(
        ready,
        { type: "b/mesh", status: "True" },
        { type: "a/lb", status: "False", reason: "Initial", message: "target is being registered" },
      ),
      // The gates are not what it waits for yet.
      gated({ type: "ContainersReady", status: "False" }),
      gated(),
    ]),
    [
      "web-1 server: ErrImagePull: no such host",
      "web-1 Unschedulable: 0/3 nodes are available",
      "web-1 its containers are ready, and readiness gate b/mesh has not passed: nothing has set it",
      "web-1 its containers are ready, and readiness gate a/lb has not passed: Initial: target is being registered",
    ],
  );
});
