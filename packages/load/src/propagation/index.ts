export { draw, meanOf, type Distribution, type Draws } from "./distribution.ts";
export type { Mechanism, Periodic } from "./mechanism.ts";
export { presets, type Preset, type PresetName } from "./presets.ts";
