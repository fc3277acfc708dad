import type { PodEvent } from "@lameduck/accounting";
import type { PodCount } from "@lameduck/load";

const finished = ["gone", "killed"] as const;
const kinds = ["starting", "ready", "not ready", "holding", "stopping", ...finished] as const;
export type PodState = (typeof kinds)[number];

/** What a person sees of one pod while it is rolled. */
export interface PodLine extends PodCount {
  readonly pod: string;
  readonly state: PodState;
  /** How long it has been so; of a finished pod, how long its termination took. Milliseconds. */
  readonly ms: number;
  /** What it holds for, or why it stopped holding. */
  readonly why?: string;
}

export function isFinished({ state }: PodLine): boolean {
  return (finished as readonly string[]).includes(state);
}

interface Life {
  state: PodState;
  since: number;
  why: string | undefined;
  deleted: number | undefined;
  until: number | undefined;
}

/** The states of pods, by events as they come. A name that comes back (a StatefulSet's) is another pod. */
export class PodStates {
  readonly #lives = new Map<string, Life>();
  #events: readonly PodEvent[] = [];
  #taken = 0;

  /** Takes what is new in a list that only grows. Another list begins anew. */
  follow(events: readonly PodEvent[]): void {
    if (events !== this.#events) {
      this.#lives.clear();
      this.#taken = 0;
    }
    this.#events = events;
    for (; this.#taken < events.length; this.#taken++) this.#take(events[this.#taken]!);
  }

  /** In the order of their creation. */
  lines(now: number, counts: ReadonlyMap<string, PodCount>): PodLine[] {
    return [...this.#lives].map(([pod, { state, since, why, deleted, until }]): PodLine => {
      const from = until === undefined ? since : (deleted ?? since);
      const { answered, lost } = counts.get(pod) ?? { answered: 0, lost: 0 };
      const ms = Math.max(0, (until ?? now) - from);
      return { pod, state, ms, answered, lost, ...(why === undefined ? {} : { why }) };
    });
  }

  #take(event: PodEvent): void {
    const { at, pod, type } = event;
    let life = this.#lives.get(pod);
    if (!life || type === "created") {
      this.#lives.delete(pod);
      life = { state: "starting", since: at, why: undefined, deleted: undefined, until: undefined };
      this.#lives.set(pod, life);
    }
    if (life.until !== undefined) return;
    if (type === "deleted") [life.state, life.since, life.deleted] = ["holding", at, at];
    else if (type === "gone") {
      if (life.state !== "killed") life.state = "gone";
      life.until = at;
    } else if (life.deleted === undefined) serve(life, event);
    else end(life, event);
  }
}

function serve(life: Life, { at, type }: PodEvent): void {
  const state =
    type === "ready" ? "ready" : type === "unready" || type === "crashed" ? "not ready" : undefined;
  if (state === undefined) return;
  life.state = state;
  life.since = at;
}

function end(life: Life, event: PodEvent): void {
  const { type, at } = event;
  const stop = (why: string | undefined): void => {
    if (life.state !== "holding") return;
    [life.state, life.since, life.why] = ["stopping", at, why];
  };
  if (type === "killed") [life.state, life.why] = ["killed", undefined];
  else if (type === "listener-closed" || type === "exited") stop(undefined);
  else if (type === "phase" && event.phase !== "lame-duck") stop(event.reason);
  else if (life.state === "holding") life.why = holdsBy(event) ?? life.why;
}

function holdsBy(event: PodEvent): string | undefined {
  switch (event.type) {
    case "pre-stop-begun":
      return "preStop hook";
    case "signalled":
      return "SIGTERM";
    case "phase":
      return typeof event.detail?.["policy"] === "string" ? event.detail["policy"] : "Lameduck";
    default:
      return undefined;
  }
}
