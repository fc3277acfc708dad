import type { RolloutScenario } from "../scenario.ts";

export const rolloutScenarios: readonly RolloutScenario[] = [
  {
    name: "rollout-surge-1",
    asks: "Which steps does a rollout take with one pod more and none less?",
    replicas: 3,
    maxSurge: 1,
    maxUnavailable: 0,
    minReadySeconds: 0,
    endsAfterSeconds: 2,
  },
  {
    name: "rollout-unavailable-1",
    asks: "And with none more and one less?",
    replicas: 3,
    maxSurge: 0,
    maxUnavailable: 1,
    minReadySeconds: 0,
    endsAfterSeconds: 2,
  },
  {
    name: "rollout-defaults",
    asks: "How are 25 % of five replicas rounded, and does a terminating pod count?",
    replicas: 5,
    maxSurge: "25%",
    maxUnavailable: "25%",
    minReadySeconds: 0,
    endsAfterSeconds: 3,
  },
  {
    name: "rollout-min-ready",
    asks: "What does minReadySeconds delay?",
    replicas: 2,
    maxSurge: 1,
    maxUnavailable: 0,
    minReadySeconds: 3,
    endsAfterSeconds: 1,
  },
];
