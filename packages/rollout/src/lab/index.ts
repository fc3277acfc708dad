export { runLab, type LabHooks } from "./run.ts";
export type { LabProgress, LabSettings } from "./settings.ts";
