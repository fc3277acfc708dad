export { Observed } from "./observed.ts";
export { runLab, type LabHooks } from "./run.ts";
export type { LabProgress, LabSettings } from "./settings.ts";
export { informed, settled } from "./waiting.ts";
