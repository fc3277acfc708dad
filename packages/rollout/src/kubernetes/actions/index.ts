export type { Action, ActionStage, StagePod } from "./action.ts";
export { drain } from "./drain.ts";
export { remove } from "./remove.ts";
export { restart } from "./restart.ts";
export { scale } from "./scale.ts";
export { watch } from "./watch.ts";
