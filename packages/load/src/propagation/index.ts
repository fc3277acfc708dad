export { draw, meanOf, type Distribution, type Draws } from "./distribution.ts";
export type { Delay, Mechanism, Periodic, Poll } from "./mechanism.ts";
export { presets, type Preset, type PresetName } from "./presets.ts";
