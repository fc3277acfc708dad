import type { PodScenario } from "../scenario.ts";
import { graceScenarios, probeScenarios, sidecarScenarios, unannouncedScenarios } from "./grace.ts";
import { hookScenarios } from "./hooks.ts";

export { rolloutScenarios } from "./rollouts.ts";

export const podScenarios: readonly PodScenario[] = [
  ...hookScenarios,
  ...graceScenarios,
  ...sidecarScenarios,
  ...probeScenarios,
  ...unannouncedScenarios,
];
