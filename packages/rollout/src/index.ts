export type { Action } from "./actions/action.ts";
export { drain } from "./actions/drain.ts";
export { remove } from "./actions/remove.ts";
export { restart } from "./actions/restart.ts";
export { scale } from "./actions/scale.ts";
export { watch } from "./actions/action.ts";
export { phasesIn } from "./following/phases.ts";
export { containerIn } from "./following/pods.ts";
export { aboutRoute, checkRights, inspect, neededRules } from "./preflight.ts";
export { observedFacts, rolloutConclusion, rolloutNotes, rolloutResult } from "./results.ts";
export {
  type RolloutOutcome,
  type RolloutProgress,
  type RolloutRun,
  type RolloutSettings,
  baselineMs,
  longestSettlingMs,
  runRollout,
} from "./run.ts";
export { type TargetReference, nameOf, isName, parseTarget } from "./target-reference.ts";
export { type Target, findTarget } from "./target.ts";
