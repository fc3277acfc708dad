import type { Evidence } from "../evidence/evidence.ts";
import { chose, seen } from "../phrases.ts";
import { acceptQueue } from "./accept-queue.ts";
import type { Cause, Rule } from "./cause.ts";
import { graceOverrun } from "./grace-overrun.ts";
import { inFlight } from "./in-flight.ts";
import { keepAliveRace } from "./keep-alive-race.ts";
import { listenerClosed } from "./listener-closed.ts";
import { noEndpoint } from "./no-endpoint.ts";
import { notReady } from "./not-ready.ts";
import { overloaded } from "./overloaded.ts";
import { podGone } from "./pod-gone.ts";
import { rememberedRoute } from "./remembered-route.ts";
import { senderItself } from "./sender-itself.ts";

/**
 * In the order in which they are asked; the first that applies is the cause. What never reached a pod comes first, for nothing can be
 * concluded about a pod from it: the sender itself, an answer
 * that may be anybody's, no endpoint (what the generator could not send, C10, is set apart before). Then the pod that was not there yet, because its refusals look
 * like those of one that has left. Then what cut a connection, the more particular first: SIGKILL is also an exit, the accept queue and
 * the keep-alive race are also cuts while closing. Then connections to a closed listener, or to a pod that has gone. Overload comes last: it is what is
 * left when the pod was serving all the time.
 */
const rules: readonly (readonly [Cause, Rule])[] = [
  ["proxy", senderItself],
  ["C11", otherStatus],
  ["C9", noEndpoint],
  ["C7", notReady],
  ["C5", graceOverrun],
  ["C6", acceptQueue],
  ["C3", keepAliveRace],
  ["C3", rememberedRoute],
  ["C4", inFlight],
  ["C1", listenerClosed],
  ["C2", podGone],
  ["C8", overloaded],
];

/** Every loss gets exactly one cause. Without a rule that applies it is `unknown`, with the known facts. */
export function explain(evidence: Evidence): { readonly cause: Cause; readonly sentence: string } {
  for (const [cause, rule] of rules) {
    const sentence = rule(evidence);
    // Where there was no endpoint no pod was chosen, whatever the time suggests.
    const guess = cause === "C9" ? "" : inferred(evidence);
    if (sentence !== undefined) return { cause, sentence: sentence + guess };
  }
  const facts = `${seen(evidence.record)}: ${sentTo(evidence)}`;
  return { cause: "unknown", sentence: `${facts}; nothing in the timeline explains it${inferred(evidence)}` };
}

/** Something else than the app answered, or the app something else: what did cannot be seen in the answer alone. */
function otherStatus(evidence: Evidence): string | undefined {
  const { record } = evidence;
  return record.outcome === "other-status" ? `${seen(record)}: ${sentTo(evidence)}` : undefined;
}

function sentTo(evidence: Evidence): string {
  const { record, life } = evidence;
  return life || record.pod ? chose(evidence) : `${record.sender} sent it, to which pod is not known`;
}

function inferred({ candidates, life }: Evidence): string {
  if (candidates === undefined || !life) return "";
  return candidates === 1
    ? " (pod inferred from the time)"
    : ` (pod inferred from the time, the likeliest of ${candidates})`;
}
