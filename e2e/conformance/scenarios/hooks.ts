import { execHook, type PodScenario } from "../scenario.ts";

export const hookScenarios: readonly PodScenario[] = [
  {
    name: "deleted-when-just-ready",
    asks: "How soon after the deletion does the kubelet begin when the pod has only just become ready?",
    deleteAfterMs: 0,
    pod: { graceSeconds: 30, containers: [{ name: "main", preStop: execHook(1) }] },
  },
  {
    name: "hooks-in-parallel",
    asks: "Do the hooks of a pod's containers run at the same time, and does each delay only its own container's SIGTERM?",
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "none" },
        { name: "short", preStop: execHook(1) },
        { name: "long", preStop: execHook(3) },
      ],
    },
  },
  {
    name: "http-hooks",
    asks: "What does an httpGet hook wait for, does its status matter, and what if nobody listens?",
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "answers", preStop: { httpGet: { path: "/hook?2", port: 8080 } } },
        { name: "says-500", preStop: { httpGet: { path: "/hook?2&500", port: 8081 } } },
        { name: "refused", preStop: { httpGet: { path: "/hook?2", port: 9 } } },
      ],
    },
  },
  {
    name: "sleep-hooks",
    asks: "How exact is a sleep hook, and is zero allowed?",
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "two", preStop: { sleep: { seconds: 2 } } },
        { name: "zero", preStop: { sleep: { seconds: 0 } } },
      ],
    },
  },
  {
    name: "failing-hooks",
    asks: "When does SIGTERM come after a hook that failed or could not be started?",
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "exits-1", preStop: execHook(1, 1) },
        { name: "no-such-file", preStop: { exec: ["/no/such/program"] } },
      ],
    },
  },
  {
    name: "hook-longer-than-grace",
    asks: "What happens at the end of the grace period while a hook still runs, and what does the minimum of 2 s mean?",
    pod: {
      graceSeconds: 3,
      containers: [
        { name: "obeys", preStop: execHook(20) },
        { name: "ignores", preStop: execHook(20), onTerm: "ignore" },
      ],
    },
  },
  {
    name: "sleep-longer-than-container",
    asks: "Does a sleep hook, or an exec hook, go on when its container has ended by itself meanwhile?",
    pod: {
      graceSeconds: 30,
      containers: [
        { name: "sleep", preStop: { sleep: { seconds: 9 } }, exitAfterSeconds: 9 },
        { name: "exec", preStop: execHook(9), exitAfterSeconds: 9 },
      ],
    },
  },
  {
    name: "deleted-again",
    asks: "Does a second DELETE with a shorter grace period cut a hook that already runs?",
    pod: {
      graceSeconds: 30,
      containers: [{ name: "main", preStop: execHook(8), onTerm: "ignore" }],
    },
    meanwhile: [{ afterMs: 2_000, do: "delete-again", graceSeconds: 4 }],
  },
  {
    name: "kubelet-restarted",
    asks: "Does a hook run a second time when the kubelet was restarted during it, and with which grace period?",
    pod: {
      graceSeconds: 12,
      containers: [{ name: "main", preStop: execHook(5), onTerm: "ignore" }],
    },
    meanwhile: [{ afterMs: 2_000, do: "restart-kubelet" }],
    alone: true,
  },
];
