export { draw, meanOf, type Draws } from "./distribution.ts";
export {
  type Distribution,
  type Mechanism,
  type Periodic,
  type Preset,
  type PresetName,
  presets,
} from "@lameduck/senders";
