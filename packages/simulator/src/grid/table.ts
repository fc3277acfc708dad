import type { PlayedCell } from "./play.ts";

export function renderGrid(played: readonly PlayedCell[]): string {
  return JSON.stringify(played);
}
