import {
  type Evidence,
  failedAt,
  near,
  setOut,
  deletionBefore,
  exitNear,
  flight,
  mayBeRace,
  letGoAt,
  addressGone,
  wasCut,
} from "./evidence/evidence.ts";
import { isClosing, type PodLife, listenerAt, lastExit, stoppedAccepting } from "./evidence/pod-life.ts";
import { reloadAt, emptyAt } from "./evidence/sender-history.ts";
import { toleranceMs } from "./evidence/tolerance.ts";
import type { Cause } from "./model/cause.ts";
import { chose, seen, ago, used, ending } from "./phrases.ts";
import { count, listed, spell } from "./words.ts";

/** Says why one request was lost, with the numbers behind it, where it applies. */
type Rule = (evidence: Evidence) => string | undefined;

/**
 * Rules in the order in which they are asked. The first that applies is the cause.
 * 1. Requests that never reached a pod, and answers that may not be the app's. They say nothing about a pod. Requests that the generator
 *    could not send (C10) are set apart before.
 * 2. A pod that was not there yet. Its refusals look like those of a pod that has left.
 * 3. What lies between the pod and its senders. Its requests time out, whatever the pod does in the end.
 * 4. Connections that were cut, the more particular cause first. A SIGKILL is also an exit. A full accept queue and a keep-alive race are
 *    also cuts while closing.
 * 5. Connections to a closed listener, and connections to a pod that has gone.
 * 6. Overload. No other cause is left when the pod was serving all the time.
 */
const rules: readonly (readonly [Cause, Rule])[] = [
  ["proxy", senderItself],
  ["C11", otherStatus],
  ["C9", noEndpoint],
  ["C7", notReady],
  ["C13", networkCut],
  ["C14", turnedAway],
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

/** Whether the pod ran on, and something lies between it and its senders. */
export function isOutOfReach(evidence: Evidence): boolean {
  return (networkCut(evidence) ?? turnedAway(evidence)) !== undefined;
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

/** The sender cut the connection, because it had let go of the pod or reloaded itself. */
function senderItself(evidence: Evidence): string | undefined {
  const { record, sender, life, symptom } = evidence;
  const at = failedAt(record);
  if (record.endedBySender) {
    const severed = sender?.severed.findLast((cut) => cut.pod === record.pod && near(at, cut.at));
    if (severed)
      return `${seen(record)}: ${record.sender} severed ${count(severed.connections, "connection")} to ${severed.pod} when it stopped sending to it`;
    const did = symptom === "timeout" ? "did not pass the pod's answer on" : "itself ended the connection";
    return `${seen(record)}: ${record.sender} ${did}`;
  }
  const others = cutWithOthers(evidence);
  if (others !== undefined) return `${seen(record)}: ${used(evidence)}; ${others}`;
  // A request that it cut as it left is at times read late on a busy machine: when it set out counts as well.
  const reload = sender && reloadAt(sender, [at, setOut(record)], toleranceMs.observation);
  // A reload is to blame only where nothing happened to the pod meanwhile.
  if (reload === undefined || (life && wasClosing(life, at))) return undefined;
  if (symptom !== "reset" && symptom !== "truncated") return undefined;
  return `${seen(record)}: ${used(evidence)}; ${record.sender} reloaded itself ${ago(record, reload.from)}`;
}

/**
 * The sender lost connections to several pods at one moment, and not all of these pods were ending. A preStop hook of another pod explains the cut of its
 * own connections only. Where the flight was as short as in a keep-alive race, it is left to C3.
 */
function cutWithOthers({ record, life, run }: Evidence): string | undefined {
  const at = failedAt(record);
  if (!life || !wasCut(record)) return undefined;
  const cut = run.cutAtOnce(record.sender, at).filter((one) => !hasReason(one, at));
  const running = cut.filter((one) => !deletionBefore(one, at));
  if (cut.length < 2 || !cut.includes(life) || running.length === 0) return undefined;
  const names = (lives: readonly PodLife[]): string => listed(lives.map(({ pod }) => pod));
  const were = running.length === 1 ? `${names(running)} was` : `${names(running)} were`;
  return `${record.sender} lost connections to ${names(cut)} at one moment, and ${were} not ending`;
}

/** The pod itself may have cut connections then, whatever its sender did: it was not ready yet, had a signal, closed, or ended. */
function hasReason(life: PodLife, at: number): boolean {
  const until = at + toleranceMs.observation;
  return (
    (life.ready ?? Infinity) > at ||
    (life.signalled ?? Infinity) <= until ||
    (life.killed ?? Infinity) <= until ||
    [at, until].some((one) => wasClosing(life, one))
  );
}

function wasClosing(life: PodLife, at: number): boolean {
  return isClosing(life, at) || life.exits.some((exit) => near(at, exit.at));
}

/** The error of a sender of the local stage that has no endpoint to choose. */
const noEndpointError = "NO_ENDPOINT";

/** C9: there was no pod to choose. */
function noEndpoint({ record, symptom, sender, candidates }: Evidence): string | undefined {
  const at = failedAt(record);
  const empty = sender && emptyAt(sender, at, toleranceMs.observation);
  // A pod that was chosen is an endpoint; one inferred from the time was not chosen for certain.
  const chosen = record.pod !== undefined && candidates === undefined;
  const fits = empty !== undefined && !chosen && symptom !== "wrong-answer" && symptom !== "truncated";
  if (record.error !== noEndpointError && !fits) return undefined;
  const since = empty === undefined ? 0 : at - empty.from;
  return `${seen(record)}: ${record.sender} had no endpoint left${since >= 1 ? `, for ${spell(since)} already` : ""}`;
}

/** C7: a sender chose a pod that could not serve yet. */
function notReady(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (!life || symptom === "truncated") return undefined;
  const why = unprepared(evidence, life);
  return why && `${seen(record)}: ${record.sender} already chose ${life.pod}, ${why}`;
}

/** Why the pod could not serve yet; undefined if it could. */
function unprepared({ record, run }: Evidence, life: PodLife): string | undefined {
  const at = failedAt(record);
  const opened = life.listener.find((change) => change.open)?.at;
  const answered = run.firstAnswer(life);
  // Whatever answered once was prepared, and what closed before it opened never will be.
  if (isClosing(life, at) || (answered !== undefined && answered <= at)) return undefined;
  if (opened !== undefined && opened > at)
    return `which opened its listener only ${spell(opened - at)} later (created ${spell(at - life.began)} before)`;
  if (life.ready !== undefined && life.ready > at)
    return `which became ready only ${spell(life.ready - at)} later`;
  const deletion = life.deleted?.at ?? Infinity;
  if (deletion <= at) return undefined;
  if (life.ready === undefined) return "which was not ready";
  if (answered === undefined && !run.namesPods) return undefined;
  if (answered === undefined) return "which had never answered a request";
  return `which answered its first request only ${spell(answered - at)} later`;
}

/**
 * C13: the pod ran on, and from one moment on nothing came from it. A program that stands still looks alike, but its kernel still accepts connections
 * until the accept queue is full. So connections must have failed as well, or the pod must say that nobody acknowledges what it sends.
 */
function networkCut(evidence: Evidence): string | undefined {
  const { record, symptom, life, run } = evidence;
  if (!life?.deleted || (symptom !== "timeout" && symptom !== "unreachable")) return undefined;
  const stop = stoppedAccepting(life)?.at ?? Infinity;
  const at = failedAt(record);
  if (setOut(record) >= stop || at < life.deleted.at) return undefined;
  const from = Math.max(run.lastSign(life, stop) ?? 0, life.deleted.at);
  const until = Number.isFinite(stop) ? stop : Math.max(at, run.lastInVain(life) ?? at);
  if (until - from < toleranceMs.silence) return undefined;
  const said = life.closing?.detail?.["network"] === "cut";
  const inVain =
    symptom === "unreachable"
      ? setOut(record) > from - toleranceMs.observation
      : run.triedToConnect(life, from, stop);
  if (!said && !inVain) return undefined;
  const answered = run.lastAnswer(life, stop) ?? -Infinity;
  if (!said && (run.lastConnected(life, stop) ?? -Infinity) - answered > toleranceMs.silence)
    return undefined;
  const whom = symptom === "unreachable" ? chose(evidence) : used(evidence);
  const ran = Number.isFinite(stop) ? `for ${spell(stop - from)}, in which it ran on` : "although it ran on";
  return `${seen(record)}: ${whom}; nothing came from ${life.pod} from ${spell(from - life.deleted.at)} after its deletion, ${ran}: its network was cut${said ? ", as it says itself" : ""}`;
}

/** C14: something between sender and pod leaves connections alone that are there, and lets no new one through: Cilium, once the pod is deleted. */
function turnedAway(evidence: Evidence): string | undefined {
  const { record, symptom, life, run } = evidence;
  if (!life?.deleted || record.reused || (symptom !== "unreachable" && symptom !== "refused"))
    return undefined;
  const from = setOut(record);
  const stop = stoppedAccepting(life)?.at ?? Infinity;
  if (from < life.deleted.at || failedAt(record) >= stop - toleranceMs.observation) return undefined;
  // A closed listener refuses, and does not leave its callers waiting. That it was open is known where it was seen to close later.
  if (symptom === "refused" && !life.closing && !life.events.some(({ type }) => type === "listener-closed"))
    return undefined;
  const answered = run.lastAnswer(life, stop);
  const connected = run.lastConnected(life, stop) ?? -Infinity;
  if (answered === undefined || answered <= from || connected > from) return undefined;
  return `${seen(record)}: ${chose(evidence)}; ${life.pod} still accepted, and answered on older connections for ${spell(answered - from)} after that: new ones are turned away before they reach it`;
}

/**
 * C5: the kubelet's SIGKILL cut it, or left its caller waiting. A kill before the end of the grace period is an exit
 * like any other, and C4.
 */
function graceOverrun(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (life?.killed === undefined) return undefined;
  const at = failedAt(record);
  const grace = life.deleted ? ` when the grace period of ${spell(life.deleted.grace)} was over` : "";
  const kill = `SIGKILL ended ${life.pod}${grace}`;
  const cut = symptom === "reset" || symptom === "truncated" || symptom === "unavailable";
  if (cut && near(at, life.killed)) return `${seen(record)}: ${used(evidence)}; ${kill}`;
  // An address that vanishes with its pod leaves its callers waiting.
  if (symptom === "timeout" && setOut(record) <= life.killed && at > life.killed)
    return `${seen(record)}: ${used(evidence)}; ${kill} ${spell(at - life.killed)} before its caller gave up`;
  return undefined;
}

/** C6: the listener closed before the pod had accepted the connection. */
function acceptQueue(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (!life || symptom !== "reset" || record.reused || record.received > 0) return undefined;
  const closed = closedOnIt(evidence, life);
  if (closed === undefined) return undefined;
  const waited = closed - (record.connected ?? record.intended);
  return `${seen(record)}: ${chose(evidence)}; the connection had waited ${spell(Math.max(0, waited))} to be accepted when ${life.pod} closed its listener`;
}

/** When the listener closed with this connection still in its queue; undefined if it cannot have been so. */
function closedOnIt({ record, run }: Evidence, life: PodLife): number | undefined {
  const at = failedAt(record);
  const closed = life.listener.findLast((change) => !change.open && near(at, change.at))?.at;
  if (closed === undefined || (record.connected ?? record.intended) > closed + toleranceMs.observation)
    return undefined;
  // The end of the process closes its listener too, and then cuts what it had accepted. The two cannot be distinguished.
  if (life.exits.some((exit) => near(closed, exit.at, toleranceMs.exit))) return undefined;
  return run.cutAccepted(life, at) ? undefined : closed;
}

/** C3: it set out on a kept-alive connection that the pod was just closing. */
function keepAliveRace(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  if (!life || symptom !== "reset" || !mayBeRace(record)) return undefined;
  const at = failedAt(record);
  const exit = exitNear(life, at);
  // A violent end closes nothing idle first: what it cut was in flight (C4), unless it set out too late for that.
  if (exit && violent(exit) && setOut(record) < exit.at) return undefined;
  return `${seen(record)}: ${used(evidence)}, ${spell(flight(record))} before the reset; ${closer(life, at)}`;
}

function violent(exit: PodLife["exits"][number]): boolean {
  return exit.type === "crashed" || exit.signal !== undefined || (exit.code ?? 0) !== 0;
}

function closer(life: PodLife, at: number): string {
  if (exitNear(life, at)) return `${life.pod} was closing its connections and ended`;
  if (listenerAt(life, at + toleranceMs.observation)?.open === false || (life.closing?.at ?? Infinity) <= at)
    return `${life.pod} was closing its idle connections`;
  return deletionBefore(life, at)
    ? `${life.pod} had closed that idle connection, its listener still open`
    : `${life.pod} had closed that idle connection by its own time-out`;
}

/**
 * C3, the second victim of a keep-alive race: a connection that the pod reset stays in its node's connection table for 10 s, and a new one that gets the
 * same local port is led the same way, whatever kube-proxy's rules say by then.
 */
function rememberedRoute(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const letGo = letGoAt(evidence);
  const at = setOut(record);
  const isNew = !record.reused && record.podKnownBy === "choice";
  if (!life || letGo === undefined || !isNew || (symptom !== "refused" && symptom !== "unreachable"))
    return undefined;
  const reset = evidence.run.lastReset(life, record.sender, at);
  if (reset === undefined || at - reset > toleranceMs.remembered) return undefined;
  return (
    `${seen(record)}: ${record.sender} had stopped sending to ${life.pod} ${spell(at - letGo)} before, but ${life.pod} had reset one of its connections ` +
    `${spell(at - reset)} before: for 10 s the kernel leads the next one from the same local port there, too`
  );
}

/** C4: the pod had the request when it ended, or cut its connections. */
function inFlight(evidence: Evidence): string | undefined {
  const { record, life } = evidence;
  const end = life && cutBy(evidence, life);
  if (!end) return undefined;
  const flew =
    record.kind === "session" ? "" : ` and it was in flight for ${spell(failedAt(record) - setOut(record))}`;
  return `${seen(record)}: ${used(evidence)}${flew} when ${end}`;
}

/** What ended the request while the pod had it, in words. */
function cutBy({ record, symptom }: Evidence, life: PodLife): string | undefined {
  const at = failedAt(record);
  if (symptom === "timeout") {
    const end = lastExit(life);
    return end !== undefined && setOut(record) <= end && end < at
      ? `${life.pod} ${ending(life, end)} ${spell(at - end)} before its caller gave up`
      : undefined;
  }
  if (symptom !== "reset" && symptom !== "truncated" && symptom !== "unavailable") return undefined;
  const exit = exitNear(life, at);
  if (exit && setOut(record) <= exit.at + toleranceMs.race) return `${life.pod} ${ending(life, exit.at)}`;
  if (symptom === "unavailable") return undefined;
  if (isClosing(life, at + toleranceMs.observation)) return `${life.pod} cut its connections while it closed`;
  if (life.signalled !== undefined && life.signalled <= at + toleranceMs.observation)
    return `${life.pod} cut the connection after SIGTERM`;
  return deletionBefore(life, at) ? `${life.pod} cut the connection, in its preStop hook` : undefined;
}

/** C1: a sender still chose a pod that did not listen any more. */
function listenerClosed(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const at = failedAt(record);
  if (!life || (symptom !== "refused" && symptom !== "unavailable")) return undefined;
  if (record.status === 504 || at >= (life.gone ?? Infinity)) return undefined;
  const closed = closedBefore(evidence, life);
  return closed && `${seen(record)}: ${chose(evidence)}; ${closed}`;
}

/** "web-3 had closed its listener 2.0 s before" */
function closedBefore({ record, symptom }: Evidence, life: PodLife): string | undefined {
  const at = failedAt(record);
  const last = listenerAt(life, at + toleranceMs.observation);
  if (last && !last.open) return `${life.pod} ${last.how} ${ago(record, last.at)}`;
  if (life.closing && life.closing.at <= at)
    return symptom === "unavailable" && record.podKnownBy === "header"
      ? `${life.pod} itself said so: it had begun to close ${ago(record, life.closing.at)}`
      : `${life.pod} had begun to close ${ago(record, life.closing.at)}`;
  if (life.signalled !== undefined && life.signalled <= at)
    return symptom === "unavailable" && record.podKnownBy === "header"
      ? `${life.pod} itself said so, after SIGTERM ${ago(record, life.signalled)}`
      : after(life, `SIGTERM ${ago(record, life.signalled)}`);
  // Software may close in its preStop hook, before any signal.
  return symptom === "refused" && deletionBefore(life, setOut(record)) && (addressGone(life) ?? Infinity) > at
    ? after(life, "its preStop hook began")
    : undefined;
}

function after(life: PodLife, event: string): string {
  return `${life.pod} was not listening any more, after ${event}`;
}

/** C2: a sender still chose a pod whose address was dead. */
function podGone(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const gone = life && addressGone(life);
  if (gone === undefined || symptom === "truncated" || symptom === "wrong-answer") return undefined;
  const at = failedAt(record);
  if (at < gone - toleranceMs.observation) return undefined;
  // A request that timed out counts from when it was sent; a failed connection attempt, from its failure.
  if (symptom === "timeout" && setOut(record) < gone - toleranceMs.observation) return undefined;
  const past = setOut(record) - gone;
  const when =
    past >= 1
      ? `had been gone for ${spell(past)}`
      : past > -1
        ? "went at that moment"
        : `went ${spell(past)} later`;
  return `${seen(record)}: ${chose(evidence)}; ${life?.pod} ${when}`;
}

/** C8: the pod was serving, and did not answer in time. */
export function overloaded(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const starved = symptom === "timeout" || symptom === "unreachable" || symptom === "unavailable";
  if (!life || !starved || !serving(life, failedAt(record))) return undefined;
  return `${seen(record)}: ${life.pod} was serving${sinceDeletion(evidence, life)}, ${queue(evidence, life)}`;
}

function serving(life: PodLife, at: number): boolean {
  const listening = listenerAt(life, at)?.open ?? life.signalled === undefined;
  return listening && (life.closing?.at ?? Infinity) > at && !life.exits.some((exit) => exit.at <= at);
}

function sinceDeletion({ record }: Evidence, life: PodLife): string {
  const deletion = deletionBefore(life, failedAt(record));
  return deletion
    ? ` still, ${spell(failedAt(record) - deletion.at)} after its deletion`
    : " and not being deleted";
}

function queue({ record, run }: Evidence, life: PodLife): string {
  const now = run.inFlight(life, setOut(record));
  const ordinary = run.ordinaryInFlight(life);
  return `with ${count(now, "request")} in flight when it was sent${ordinary === undefined ? "" : ` (ordinarily ${ordinary})`}`;
}
