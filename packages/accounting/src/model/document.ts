import type { RequestRecord } from "./request.ts";
import type { Results } from "./results.ts";
import type { PodEvent, SenderEvent } from "./timeline.ts";

/*
 * Apart from the schema, of which a program needs the types alone: loading zod takes as long as starting Node.
 */

/** Everything seen in one run of one remedy; accounting turns it into results. */
export interface RunRecording {
  readonly remedy: string;
  readonly records: readonly RequestRecord[];
  readonly podEvents: readonly PodEvent[];
  readonly senderEvents: readonly SenderEvent[];
  /** Requests that came before this are warm-up and not counted. */
  readonly countedFrom: number;
  /** Number of requests the schedule asked for after `countedFrom`. */
  readonly scheduled: number;
  readonly ended: number;
  /** By pod: why it is not Ready at the end, in words, where that is known. */
  readonly waiting?: ReadonlyMap<string, string>;
  /** The pods have no readiness probe, and nobody has seen when they began to listen. */
  readonly readyProvesNothing?: boolean;
}

export function buildResults({
  startedAt,
  ...parts
}: Omit<Results, "schema" | "startedAt"> & { readonly startedAt: Date }): Results {
  return { schema: "lameduck.results/v1", ...parts, startedAt: startedAt.toISOString() };
}

/** The document as text, with a newline at its end. */
export function serialiseResults(results: Results): string {
  return `${JSON.stringify(results, undefined, 1)}\n`;
}
