import { stopReasons } from "@lameduck/accounting";
import type { StopReason } from "@lameduck/drain";

/** What Lameduck's library or init says of itself in a line of the container's output. */
interface PhaseLine {
  readonly phase: "lame-duck" | "closing" | "closed";
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly reason?: StopReason;
  readonly detail: Readonly<Record<string, unknown>>;
}

const phases: readonly unknown[] = ["lame-duck", "closing", "closed"];

/** undefined for every other line. */
export function parsePhaseLine(line: string): PhaseLine | undefined {
  // Cheap first: most lines of a server under load are its own log.
  if (!line.includes('"lameduck"')) return undefined;
  try {
    const said = JSON.parse(line.slice(line.indexOf("{"))) as Record<string, unknown>;
    const { lameduck, phase, at, reason, ...rest } = said;
    if (lameduck !== "phase" || typeof at !== "number" || !phases.includes(phase)) return undefined;
    return {
      phase: phase as PhaseLine["phase"],
      at,
      // Of the phases only `closing` is reached for a stop reason; the others' reasons are words of their own.
      ...(stopReasons.includes(reason as StopReason)
        ? { reason: reason as StopReason, detail: rest }
        : { detail: reason === undefined ? rest : { ...rest, reason } }),
    };
  } catch {
    return undefined;
  }
}
