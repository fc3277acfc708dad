import { shown } from "./common.ts";
import { DrainError } from "./errors.ts";

/**
 * Milliseconds as a number, or a text such as "300ms", "5s", "1.5s", "2m", "1h". A text needs its unit, as Kubernetes counts in seconds
 * and programs in milliseconds; only "0" needs none.
 */
export type Duration = number | string;

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const form = /^(-?(?:\d+(?:\.\d+)?|\.\d+))\s*(ms|s|m|h)?$/;

/** Longest duration accepted, 30 days: beyond it a value is a typing mistake and arithmetic loses precision. */
export const longestDuration = 30 * 24 * units.h;

/** @returns milliseconds. @throws {DrainError} LAMEDUCK_BAD_DURATION. */
export function parseDuration(value: unknown, option: string): number {
  const milliseconds = typeof value === "string" ? fromText(value.trim(), option) : value;
  if (typeof milliseconds !== "number" || !Number.isFinite(milliseconds))
    throw new DrainError("LAMEDUCK_BAD_DURATION", option, `${shown(value)} is not a duration`);
  if (milliseconds < 0) throw new DrainError("LAMEDUCK_BAD_DURATION", option, `${shown(value)} is negative`);
  if (milliseconds > longestDuration)
    throw new DrainError("LAMEDUCK_BAD_DURATION", option, `${shown(value)} is longer than 30 days`);
  return milliseconds;
}

/** "300ms", "5s", "1.5s", "90s": the shortest exact form. */
export function formatDuration(milliseconds: number): string {
  return milliseconds !== 0 && Math.abs(milliseconds) < 1_000
    ? `${+milliseconds.toFixed(1)}ms`
    : `${+(milliseconds / 1_000).toFixed(3)}s`;
}

function fromText(text: string, option: string): number | undefined {
  const [, digits, unit = ""] = form.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const value = Number(digits);
  if (unit === "" && value > 0)
    throw new DrainError(
      "LAMEDUCK_BAD_DURATION",
      option,
      `"${text}" has no unit: write "${text}s" for ${text} seconds or "${text}ms" for ${text} milliseconds`,
    );
  return value * units[(unit || "ms") as keyof typeof units];
}
