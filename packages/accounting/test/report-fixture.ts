import {
  account,
  skippedRemedy,
  random,
  type PodEvent,
  type SenderEvent,
  type RemedyResult,
  type Results,
  type RunRecording,
  type RequestRecord,
} from "../src/index.ts";
import { podEvents, refused, request, reset } from "./accounting-recording.ts";

interface Shape {
  readonly remedy: string;
  readonly description: string;
  /** From deletion to the listener's closing. */
  readonly hold: (draw: () => number) => number;
  readonly preStop?: number;
  readonly adaptive?: boolean;
  readonly killed?: boolean;
}

const senders = ["node-1", "node-2", "ingress-1", "lb-1"];

/** A rollout of a few pods under load, made up but consistent: what a sender does after its pod closed is lost. */
export function madeUp(shape: Shape, seed = 1, pods = 8): RunRecording {
  const source = random(seed);
  const draw = (): number => source.next();
  const pod: PodEvent[] = [];
  const sender: SenderEvent[] = [];
  const records: RequestRecord[] = [];
  // A pod that stays keeps the load going, whoever else ends.
  for (const one of senders)
    for (let at = 2_000; at < 60_000; at += 500) records.push(request(at, { pod: "web-0", sender: one }));
  for (let n = 0; n < pods; n++) {
    const name = `web-${n + 1}`;
    const deleted = 6_000 + n * 2_500;
    const hold = shape.hold(draw);
    const closed = deleted + hold;
    const exited = closed + 150 + draw() * 400;
    const term = deleted + (shape.preStop ?? 5);
    pod.push(
      ...podEvents(name, [
        [0, { type: "created" }],
        [300, { type: "started", container: "app" }],
        [600, { type: "listener-opened", port: 8080 }],
        [1_000, { type: "ready" }],
        [deleted, { type: "deleted", grace: 30_000, why: "rollout" }],
        ...(shape.preStop
          ? ([
              [deleted + 4, { type: "pre-stop-begun", container: "app" }],
              [term - 2, { type: "pre-stop-ended", container: "app", result: "done" }],
            ] as const)
          : []),
        [term, { type: "signalled", container: "app", signal: "SIGTERM" }],
        ...(shape.adaptive
          ? ([
              [term + 10, { type: "phase", phase: "lame-duck" }],
              [closed - 1, { type: "phase", phase: "closing", reason: "quiet" }],
              [exited - 1, { type: "phase", phase: "closed" }],
            ] as const)
          : []),
        [closed, { type: "listener-closed", port: 8080 }],
        ...(shape.killed ? ([[exited, { type: "killed", container: "app" }]] as const) : []),
        [
          exited + 1,
          { type: "exited", container: "app", ...(shape.killed ? { signal: "SIGKILL" } : { code: 0 }) },
        ],
        [exited + 300, { type: "gone" }],
      ]),
    );
    for (const [i, one] of senders.entries()) {
      const left = deleted + 200 + -Math.log(1 - draw()) * 900 * (i + 1);
      const capped = Math.min(left, deleted + 6_000);
      sender.push(
        { at: 1_050 + i * 40, sender: one, type: "added", pod: name },
        { at: capped, sender: one, type: "converged", pod: name },
      );
      for (let at = 2_000 + draw() * 50; at < capped; at += -Math.log(1 - draw()) * 60) {
        const pooled = draw() < 0.5;
        const rest = { pod: name, sender: one, mode: pooled ? "pooled" : "new", reused: pooled } as const;
        if (at < closed - 12) records.push(request(at, rest));
        else if (at < closed)
          records.push(pooled ? reset(at, { ...rest, finished: closed + 1 }) : request(at, rest));
        else if (one === "ingress-1")
          records.push(
            request(at, {
              ...rest,
              outcome: "bad-status",
              status: 502,
              error: "ECONNREFUSED",
              podKnownBy: "proxy",
            }),
          );
        else records.push(refused(at, rest));
      }
    }
  }
  return {
    remedy: shape.remedy,
    records: records.map((record, id) => ({ ...record, id })),
    podEvents: pod,
    senderEvents: sender,
    countedFrom: 2_000,
    scheduled: records.length,
    ended: 60_000,
  };
}

export const shapes: readonly Shape[] = [
  { remedy: "nothing", description: "The process is ended by SIGTERM.", hold: () => 5 },
  { remedy: "sleep-2", description: "A preStop sleep of 2 s.", hold: () => 2_010, preStop: 2_000 },
  { remedy: "sleep-5", description: "A preStop sleep of 5 s.", hold: () => 5_010, preStop: 5_000 },
  { remedy: "sleep-15", description: "A preStop sleep of 15 s.", hold: () => 15_010, preStop: 15_000 },
  {
    remedy: "sleep-over-grace",
    description: "A preStop sleep beyond the grace period.",
    hold: () => 29_800,
    preStop: 29_700,
    killed: true,
  },
  {
    remedy: "adaptive",
    description: "Lameduck's library with the adaptive policy.",
    hold: (draw) => 6_050 + draw() * 900,
    adaptive: true,
  },
];

export function madeUpComparison(): Results {
  const remedies: RemedyResult[] = shapes.map((shape, i) =>
    account(madeUp(shape, 11 + i), { description: shape.description, seed: 1 }),
  );
  return {
    schema: "lameduck.results/v1",
    tool: "lab",
    version: "0.1.0",
    startedAt: "2026-01-01T12:00:00.000Z",
    seed: 1,
    settings: {
      replicas: 8,
      rps: 500,
      senders: ["l4", "l4", "l7", "health-checked"],
      propagation: "busy-iptables",
    },
    remedies: [
      ...remedies,
      skippedRemedy("init", "lameduck-init as PID 1.", "there is no lameduck-init for this machine"),
    ],
  };
}
