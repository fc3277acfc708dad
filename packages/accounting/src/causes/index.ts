import type { Cause } from "./cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { chose, seen } from "../phrases.ts";
import { acceptQueue } from "./accept-queue.ts";
import { graceOverrun } from "./grace-overrun.ts";
import { inFlight } from "./in-flight.ts";
import { keepAliveRace } from "./keep-alive-race.ts";
import { listenerClosed } from "./listener-closed.ts";
import { noEndpoint } from "./no-endpoint.ts";
import { notReady } from "./not-ready.ts";
import { otherStatus } from "./other-status.ts";
import { overloaded } from "./overloaded.ts";
import { podGone } from "./pod-gone.ts";
import { rememberedRoute } from "./remembered-route.ts";
import type { Rule } from "./cause.ts";
import { senderItself } from "./sender-itself.ts";

/**
 * In the order in which they are asked; the first that applies is the cause. What never reached a pod comes first, for nothing can be
 * concluded about a pod from it: the sender itself, an answer
 * that may be anybody's, no endpoint (what the generator could not send, C10, is set apart before). Then the pod that was not there yet, because its refusals look
 * like those of one that has left. Then what cut a connection, the more particular first: SIGKILL is also an exit, the accept queue and
 * the keep-alive race are also cuts while closing. Then connections to a closed listener, or to a pod that has gone. Overload comes last: it is what is
 * left when the pod was serving all the time.
 */
const rules: readonly Rule[] = [
  senderItself,
  otherStatus,
  noEndpoint,
  notReady,
  graceOverrun,
  acceptQueue,
  keepAliveRace,
  rememberedRoute,
  inFlight,
  listenerClosed,
  podGone,
  overloaded,
];

export interface Explanation {
  readonly cause: Cause;
  readonly sentence: string;
}

/** Every loss gets exactly one cause. Without a rule that applies it is `unknown`, with the known facts. */
export function explain(evidence: Evidence): Explanation {
  for (const rule of rules) {
    const sentence = rule.explain(evidence);
    // Where there was no endpoint no pod was chosen, whatever the time suggests.
    const guess = rule.cause === "C9" ? "" : inferred(evidence);
    if (sentence !== undefined) return { cause: rule.cause, sentence: sentence + guess };
  }
  const { record, life } = evidence;
  const known = life || record.pod ? chose(evidence) : `${record.sender} sent it, to which pod is not known`;
  return {
    cause: "unknown",
    sentence: `${seen(record)}: ${known}; nothing in the timeline explains it${inferred(evidence)}`,
  };
}

function inferred({ candidates, life }: Evidence): string {
  if (candidates === undefined || !life) return "";
  return candidates === 1
    ? " (pod inferred from the time)"
    : ` (pod inferred from the time, the likeliest of ${candidates})`;
}
