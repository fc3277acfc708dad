import type { PodEvent } from "../model/timeline.ts";
import { toleranceMs } from "./tolerance.ts";

type Phase = Extract<PodEvent, { type: "phase" }>;
type Exit = Extract<PodEvent, { type: "exited" }>;

/**
 * What is known of a pod between its creation and its end. A name that comes back (a StatefulSet's) is another life. All times are on the
 * run's clock.
 */
export interface PodLife {
  readonly pod: string;
  readonly began: number;
  /** When the next life of that name began; Infinity if none did. */
  readonly until: number;
  readonly events: readonly PodEvent[];
  readonly ready: number | undefined;
  readonly deleted: { readonly at: number; readonly grace: number; readonly why: string } | undefined;
  /** First signal of the termination. */
  readonly signalled: number | undefined;
  readonly closing: Phase | undefined;
  readonly killed: number | undefined;
  readonly exits: readonly (Exit | Extract<PodEvent, { type: "crashed" }>)[];
  readonly gone: number | undefined;
  /** When the listener opened and closed, in order. */
  readonly listener: readonly ListenerChange[];
}

interface ListenerChange {
  readonly at: number;
  readonly open: boolean;
  /** Words for why it is closed. */
  readonly how: string;
}

/** Splits a run's pod events into lives, each in the order of time. */
export function podLives(events: readonly PodEvent[]): PodLife[] {
  const byPod = Map.groupBy(
    [...events].sort((a, b) => a.at - b.at),
    (event) => event.pod,
  );
  return [...byPod.values()].flatMap((own) =>
    splitLives(own).map((events, i, lives) => life(events, lives[i + 1]?.[0]?.at ?? Infinity)),
  );
}

function splitLives(events: readonly PodEvent[]): PodEvent[][] {
  const lives: PodEvent[][] = [];
  for (const event of events) {
    if (lives.length === 0 || event.type === "created") lives.push([]);
    lives.at(-1)!.push(event);
  }
  return lives;
}

function life(events: readonly PodEvent[], until: number): PodLife {
  const first = <T extends PodEvent["type"]>(type: T) =>
    events.find((event): event is Extract<PodEvent, { type: T }> => event.type === type);
  const deleted = first("deleted");
  const from = terminationFrom(deleted);
  return {
    pod: events[0]!.pod,
    began: events[0]!.at,
    until,
    events,
    ready: first("ready")?.at,
    deleted: deleted && { at: deleted.at, grace: deleted.grace, why: deleted.why },
    signalled: events.find((e) => e.type === "signalled" && e.at >= (deleted?.at ?? -Infinity))?.at,
    // What a container said before it was restarted in its place is no part of the termination.
    closing: events.find((e): e is Phase => e.type === "phase" && e.phase === "closing" && e.at >= from),
    killed: first("killed")?.at,
    exits: events.filter((e) => e.type === "exited" || e.type === "crashed"),
    gone: first("gone")?.at,
    listener: listenerChanges(events),
  };
}

/** What came before is no part of the termination. News of a deletion may be late. */
export function terminationFrom(deleted: PodLife["deleted"]): number {
  return deleted === undefined ? -Infinity : deleted.at - toleranceMs.news;
}

/**
 * An exit closes the listener only where nobody watched the listener itself: in a pod of several containers the one that ended need not be
 * the one that listens.
 */
function listenerChanges(events: readonly PodEvent[]): ListenerChange[] {
  const watched = events.some((event) => event.type === "listener-closed");
  const changes: ListenerChange[] = [];
  for (const { type, at } of events) {
    if (type === "listener-opened") changes.push({ at, open: true, how: "had opened its listener" });
    if (type === "listener-closed") changes.push({ at, open: false, how: "had closed its listener" });
    if (type === "exited" && !watched) changes.push({ at, open: false, how: "had exited" });
    if (type === "crashed") changes.push({ at, open: false, how: "had crashed" });
  }
  return changes;
}

/** The last change of the listener up to a time; undefined before the first one that is known. */
export function listenerAt({ listener }: PodLife, at: number): ListenerChange | undefined {
  return listener.findLast((change) => change.at <= at);
}

/** Whether its listener was closed by then, or it had begun to close. */
export function isClosing(life: PodLife, at: number): boolean {
  return listenerAt(life, at)?.open === false || (life.closing?.at ?? Infinity) <= at;
}

/** When the last container ended. */
export function lastExit({ exits }: PodLife): number | undefined {
  return exits.at(-1)?.at;
}

/** When a termination's pod stopped to accept: it began to close, its listener closed, or it ended, whichever came first. */
export function stoppedAccepting(life: PodLife): { readonly at: number; readonly by: Stop } | undefined {
  const from = life.deleted?.at ?? life.began;
  const before = listenerAt(life, from);
  if (before && !before.open && from - before.at <= toleranceMs.news)
    return { at: from, by: "listener closed" };
  const stops: { at: number; by: Stop }[] = [
    ...(life.closing ? [{ at: life.closing.at, by: "closing" as const }] : []),
    ...life.listener.filter((c) => !c.open).map((c) => ({ at: c.at, by: "listener closed" as const })),
    ...(life.killed === undefined ? [] : [{ at: life.killed, by: "killed" as const }]),
    ...life.exits.slice(-1).map((e) => ({ at: e.at, by: "exit" as const })),
    ...(life.gone === undefined ? [] : [{ at: life.gone, by: "exit" as const }]),
  ];
  return stops.filter((stop) => stop.at >= from).sort((a, b) => a.at - b.at)[0];
}

type Stop = "closing" | "listener closed" | "exit" | "killed";
