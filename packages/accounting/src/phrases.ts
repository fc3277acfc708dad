import { spellClasses } from "./model/status-classes.ts";
import type { RequestRecord } from "./model/request.ts";
import { deletionBefore, failedAt, flight, letGoAt, setOut, type Evidence } from "./evidence/evidence.ts";
import type { PodLife } from "./evidence/pod-life.ts";
import { size, spell } from "./words.ts";

/** What the client saw: "refused", "502 (ECONNREFUSED)", "cut after 312 bytes". */
export function seen(record: RequestRecord): string {
  if (record.kind === "session")
    return `a lasting connection ended after ${spell(flight(record))} (${record.error ?? "in order"})`;
  switch (record.outcome) {
    case "refused":
      return "refused";
    case "unreachable":
      return `no connection after ${spell(flight(record))}`;
    case "reset-before-response":
      return "reset before the first byte";
    case "truncated":
      return `cut after ${size(record.received)}`;
    case "bad-status":
      return `${record.status ?? "bad status"}${record.error ? ` (${record.error})` : ""}`;
    case "timeout":
      return `timed out after ${spell(failedAt(record) - record.intended)}`;
    case "wrong-body":
      return record.error ? `answered by something else (${record.error})` : "answered with another body";
    case "other-status":
      return `${record.status ?? "another status"}, where ${spellClasses(record.error ?? "")} was answered before`;
    case "not-sent":
      return "not sent";
    case "ok":
      return "answered";
  }
}

/** "ingress-2 still chose web-3 2.1 s after its deletion" */
export function chose(evidence: Evidence): string {
  const { record, life } = evidence;
  const pod = life?.pod ?? record.pod ?? "a pod";
  const at = setOut(record);
  const deletion = life && deletionBefore(life, at);
  // The sender was told to call this pod: no proxy chose it, and no proxy was late.
  if (record.podKnownBy === "address")
    return `${record.sender} goes to ${pod} by its own address, ${whenOf(evidence)}`;
  const letGo = letGoAt(evidence);
  if (letGo !== undefined && letGo >= (deletion?.at ?? 0))
    return `${record.sender} chose ${pod} although it had stopped sending to it ${spell(at - letGo)} before`;
  if (deletion) return `${record.sender} still chose ${pod} ${whenOf(evidence)}`;
  const comma = untilDeletion(evidence) === undefined ? "," : "";
  return `${record.sender} chose ${pod}${comma} ${whenOf(evidence)}`;
}

/** "2.1 s after its deletion" */
function whenOf(evidence: Evidence): string {
  const { record, life } = evidence;
  const at = setOut(record);
  const deletion = life && deletionBefore(life, at);
  if (deletion) return `${spell(at - deletion.at)} after its deletion`;
  const left = untilDeletion(evidence);
  return left === undefined ? "which was not being deleted" : `${spell(left)} before its deletion`;
}

/** "ingress-2 used a kept-alive connection to web-3 2.1 s after its deletion" */
export function used(evidence: Evidence): string {
  const { record, life } = evidence;
  const pod = life?.pod ?? record.pod ?? "a pod";
  const at = setOut(record);
  const deletion = life && deletionBefore(life, at);
  if (record.kind === "session") return `${record.sender} had it to ${pod}`;
  const connection = record.reused ? "a kept-alive connection" : "a new connection";
  const left = untilDeletion(evidence);
  if (!deletion && left === undefined)
    return `${record.sender} sent it to ${pod}, which was not being deleted, on ${connection}`;
  const when = deletion ? `${spell(at - deletion.at)} after` : `${spell(left ?? 0)} before`;
  return `${record.sender} sent it to ${pod} on ${connection} ${when} the deletion`;
}

/** How long the request had been sent when its pod was deleted, if that was before it failed. */
function untilDeletion({ record, life }: Evidence): number | undefined {
  const at = life?.deleted?.at;
  return at !== undefined && at > setOut(record) && at <= failedAt(record) ? at - setOut(record) : undefined;
}

/** "2.0 s before", "at that moment": how an event of the pod lies to the failure. */
export function ago(record: RequestRecord, event: number): string {
  const past = failedAt(record) - event;
  return past < 1 ? "at that moment" : `${spell(past)} before the failure`;
}

export function ending(life: PodLife, at: number): string {
  const crash = life.exits.findLast((exit) => exit.at === at);
  if (crash?.type === "crashed") return "crashed";
  if (crash?.type === "exited" && crash.signal) return `was ended by ${crash.signal}`;
  if (crash?.type === "exited" && crash.code !== undefined) return `exited (code ${crash.code})`;
  return "ended";
}
