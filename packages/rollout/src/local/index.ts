export type { Adjustments } from "./adjust.ts";
export { OtherPortError, StageError, stageErrors, type StageErrorCode } from "./errors.ts";
export {
  enterStage,
  insideStage,
  openNetwork,
  type EnterOptions,
  type NetworkChoice,
} from "./network/enter.ts";
export type { Allowed } from "./network/forward.ts";
export type { Network, NetworkKind } from "./network/network.ts";
export { findFabric, type Fabric } from "./network/privileges.ts";
export { PodNames } from "./pod-names.ts";
export { startStage, type RolloutOptions, type Stage, type StageOptions } from "./stage.ts";
