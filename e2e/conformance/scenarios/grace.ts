import { execHook, type PodScenario } from "../scenario.ts";

export const graceScenarios: readonly PodScenario[] = [
  {
    name: "term-ignored",
    asks: "How long after SIGTERM comes SIGKILL?",
    pod: {
      graceSeconds: 4,
      containers: [
        { name: "ignores", onTerm: "ignore" },
        { name: "takes-2s", onTerm: 2 },
      ],
    },
  },
  {
    name: "fractions",
    asks: "How is the time that a hook took taken off the grace period: are fractions of seconds dropped?",
    pod: {
      graceSeconds: 6,
      containers: [
        // Far enough from the next whole second that a busy machine's delays do not reach it.
        { name: "hook-600ms", preStop: execHook(0.6), onTerm: "ignore" },
        { name: "hook-1500ms", preStop: execHook(1.5), onTerm: "ignore" },
        { name: "hook-2400ms", preStop: execHook(2.4), onTerm: "ignore" },
        { name: "no-hook", onTerm: "ignore" },
      ],
    },
  },
  {
    name: "grace-1",
    asks: "What is left of a grace period of 1 s?",
    deleteGraceSeconds: 1,
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "ignores", onTerm: "ignore" },
        { name: "hook", preStop: execHook(5), onTerm: "ignore" },
      ],
    },
  },
  {
    name: "grace-0",
    asks: "What does a forced deletion (grace period 0) leave to hooks and to SIGTERM?",
    deleteGraceSeconds: 0,
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "ignores", onTerm: "ignore" },
        { name: "hook", preStop: execHook(5), onTerm: "ignore" },
      ],
    },
  },
];

export const sidecarScenarios: readonly PodScenario[] = [
  {
    name: "sidecars-in-order",
    asks: "In which order do native sidecars get SIGTERM, and when do their hooks run?",
    pod: {
      graceSeconds: 30,
      sidecars: [
        { name: "first", onTerm: 1 },
        { name: "second", preStop: execHook(0.5), onTerm: 1 },
      ],
      containers: [{ name: "main", onTerm: 2 }],
    },
  },
  {
    name: "sidecars-out-of-time",
    asks: "What do sidecars get when the main container uses up the grace period?",
    pod: {
      graceSeconds: 4,
      sidecars: [
        { name: "first", onTerm: "ignore" },
        { name: "second", onTerm: "ignore" },
      ],
      containers: [{ name: "main", onTerm: "ignore" }],
    },
  },
  {
    name: "sidecar-with-long-hook",
    asks: "Does a sidecar's hook run while the main container still serves?",
    pod: {
      graceSeconds: 30,
      sidecars: [{ name: "proxy", preStop: execHook(4) }],
      containers: [{ name: "main", preStop: execHook(1) }],
    },
  },
];

export const probeScenarios: readonly PodScenario[] = [
  {
    name: "probes-during-termination",
    asks: "When do liveness and readiness probes stop during a termination?",
    pod: {
      graceSeconds: 30,
      containers: [
        {
          name: "main",
          preStop: execHook(5),
          onTerm: 2,
          readiness: { path: "/ready" },
          liveness: { path: "/live" },
        },
      ],
    },
  },
  {
    name: "unready-during-termination",
    asks: "Does the endpoint stop serving when readiness fails during a termination?",
    pod: {
      graceSeconds: 30,
      containers: [
        {
          name: "main",
          preStop: execHook(8),
          readiness: { path: "/ready" },
          sick: { path: "/ready", afterSeconds: 9 },
        },
      ],
    },
  },
  {
    name: "liveness-restart",
    asks: "What does a liveness restart do: hook, signals, grace period, endpoint?",
    pod: {
      graceSeconds: 30,
      containers: [
        {
          name: "main",
          preStop: execHook(1),
          onTerm: "ignore",
          readiness: { path: "/ready" },
          liveness: { path: "/live", graceSeconds: 4 },
          sick: { path: "/live", afterSeconds: 4 },
        },
      ],
    },
    deleteAfterMs: 11_000,
    deleteGraceSeconds: 1,
  },
  {
    name: "liveness-restart-unready",
    asks: "What becomes of the endpoint when readiness fails during a liveness restart?",
    pod: {
      graceSeconds: 30,
      containers: [
        {
          name: "main",
          preStop: execHook(8),
          readiness: { path: "/ready", failureThreshold: 3 },
          liveness: { path: "/live" },
          sick: { path: "/", afterSeconds: 4 },
        },
      ],
    },
    deleteAfterMs: 16_000,
    deleteGraceSeconds: 1,
  },
];

/** Neither a hook nor an end by itself: the pod is ended by its kubelet. */
const ended = {
  name: "main",
  preStop: execHook(6),
  onTerm: "ignore",
  readiness: { path: "/ready" },
  liveness: { path: "/live" },
} as const;

export const unannouncedScenarios: readonly PodScenario[] = [
  {
    name: "node-shutdown",
    asks: "What does a graceful shutdown of the node do: hooks, signals, time, probes, endpoint?",
    // Readiness would fail in the middle of the hook.
    pod: {
      graceSeconds: 60,
      containers: [{ ...ended, sick: { path: "/ready", afterSeconds: 6 } }],
    },
    endedBy: "shutdown",
    alone: true,
  },
  {
    name: "node-shutdown-tolerated",
    asks: "What does a graceful shutdown do to a pod that does not tolerate a node that is not ready?",
    pod: { graceSeconds: 60, notReadySeconds: 0, containers: [ended] },
    endedBy: "shutdown",
    alone: true,
  },
  {
    name: "kubelet-eviction",
    asks: "What does an eviction by the kubelet do, for want of room in a volume?",
    pod: { graceSeconds: 60, containers: [ended] },
    endedBy: "full-volume",
    alone: true,
  },
];
