import type { StuckConsumer, TerminationView, TerminationConsumer } from "../../termination-view.ts";
import type { ConsumerRecord, DrainReport } from "./drain-report.ts";

/** The consumers that let go last come first. Of a large cluster the coordinator names only these. */
export function consumersOf(consumers: TerminationView["consumers"], origin: number): ConsumerRecord[] {
  return [...consumers]
    .map(([name, consumer]) => recordOf(name, consumer, origin))
    .sort((a, b) => lateness(b) - lateness(a) || (a.name < b.name ? -1 : 1));
}

/** Characters of a reason: a role of the cluster may have long names. */
export const longestReason = 300;

function recordOf(name: string, consumer: TerminationConsumer, origin: number): ConsumerRecord {
  const { kind, basis, appliedAt, reason, isMissing, isSilent } = consumer;
  const common = { name, kind, ...(basis === undefined ? {} : { basis }) };
  if (appliedAt !== undefined)
    return { ...common, state: "applied", appliedMs: Math.max(0, Math.round(appliedAt - origin)) };
  const why = reason === undefined ? {} : { reason: reason.slice(0, longestReason) };
  if (isMissing) return { ...common, state: "missing", ...why };
  return isSilent ? { ...common, state: "silent" } : { ...common, state: "behind", ...why };
}

const lateness = ({ appliedMs = Infinity }: ConsumerRecord): number => Math.min(appliedMs, 1e15);

/** "kube-proxy/node5 and 2 more" */
export function namesOf(consumers: readonly Pick<ConsumerRecord, "name">[]): string {
  const [first, ...others] = consumers;
  if (!first) return "none";
  return others.length === 0 ? first.name : `${first.name} and ${others.length} more`;
}

/** "mesh/istio (Istio's sidecars, as Pod shop/client shows) and 2 more" */
export function missingText(consumers: readonly ConsumerRecord[]): string {
  const [first, ...others] = consumers;
  if (first?.reason === undefined) return namesOf(consumers);
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `${first.name} (${first.reason})${more}`;
}

/** "nginx/edge and 2 more had not stopped sending (not reloaded since its files changed)" */
export function behindText(consumers: readonly StuckConsumer[]): string {
  const [{ reason } = {}] = consumers;
  return `${namesOf(consumers)} had not stopped sending${reason === undefined ? "" : ` (${reason})`}`;
}

/** "198.18.1.5 (pod shop/client on node5)" */
export function overrulerText({
  overruledBy,
  overruler,
}: Pick<DrainReport, "overruledBy" | "overruler">): string {
  return overruler === undefined ? (overruledBy ?? "") : `${overruledBy} (${overruler})`;
}

/** The consumers that reported too early, if the pod is right, as the end of a sentence; empty without any. */
export function falseAcknowledgersText({
  falseAcknowledgers = [],
  overruler = "",
}: Pick<DrainReport, "falseAcknowledgers" | "overruler">): string {
  if (falseAcknowledgers.length === 0) return "";
  // A pod's address shows on either way: through the proxy of its node, or straight to the pod.
  const unless = overruler.startsWith("pod ")
    ? `, unless ${overruler.split(" ", 2).join(" ")} dials pods by their addresses`
    : "";
  return `: ${falseAcknowledgers.join(", ")} would have reported too early${unless}`;
}
