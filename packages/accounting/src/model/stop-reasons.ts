import type { StopReason } from "@lameduck/drain";

export const stopReasons = [
  "delay",
  "floor",
  "quiet",
  "idle",
  "acknowledged",
  "cap",
  "forced",
] as const satisfies readonly StopReason[];
