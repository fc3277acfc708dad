import {
  isReady,
  type Change,
  type ContainerState,
  type ContainerStatus,
  type Event,
  type Pod,
  type ServerClock,
} from "@lameduck/kube";
import type { ContainerEnd, Moment, PodFacts } from "./pod-facts.ts";

type Growing = {
  -readonly [K in keyof PodFacts]: PodFacts[K] extends readonly (infer T)[] ? T[] : PodFacts[K];
};

/** Events of the kubelet that say when it began to end a container, and whose hook failed. */
const killing = "Killing";
const hookFailed = "FailedPreStopHook";

/** Gathers what the API server reports about the target's pods. */
export class PodHistory {
  readonly #clock: ServerClock;
  readonly #pods = new Map<string, Growing>();
  readonly #objects = new Map<string, Pod>();
  readonly #listeners = new Set<() => void>();
  /** When the run began (Date.now()); undefined before. */
  #begun: number | undefined;

  constructor(clock: ServerClock) {
    this.#clock = clock;
  }

  /** Pods that were there before the run are no change. */
  begin(at = Date.now()): void {
    this.#begun = at;
  }

  get facts(): readonly PodFacts[] {
    return [...this.#pods.values()];
  }

  get objects(): readonly Pod[] {
    return [...this.#objects.values()];
  }

  /** The live pods: ready ones first, the oldest of them at the front. */
  get candidates(): { name: string; uid: string; node: string | undefined }[] {
    return [...this.live]
      .sort((a, b) => Number(isReady(b)) - Number(isReady(a)) || createdAt(a) - createdAt(b))
      .map(({ metadata, spec }) => ({ name: metadata.name, uid: metadata.uid, node: spec.nodeName }));
  }

  /** Neither terminating nor ended. */
  get live(): readonly Pod[] {
    return this.objects.filter((pod) => !isLeaving(pod));
  }

  get available(): number {
    return this.live.filter(isReady).length;
  }

  /** Terminations of this run. A pod that was terminating before, on a dead node or held by a finalizer, may never end. */
  get terminating(): number {
    return this.objects.filter(
      ({ metadata }) =>
        metadata.deletionTimestamp !== undefined && this.#pods.get(metadata.uid)?.isLeftover !== true,
    ).length;
  }

  /** A rollout of the pods had already begun. */
  get hasLeftovers(): boolean {
    return this.facts.some(({ isLeftover }) => isLeftover);
  }

  /** Whether the pod has ever been the target's. */
  knows(uid: string): boolean {
    return this.#pods.has(uid);
  }

  has(uid: string): boolean {
    return this.#objects.has(uid);
  }

  /** The pod that an address belonged to at a time (Date.now()). Where several pods had it, the last of them. */
  podAt(address: string, at: number): string | undefined {
    return this.facts
      .filter(({ addresses, created, gone }) => {
        return addresses.includes(address) && created.from <= at && (gone?.to ?? Infinity) >= at - 60_000;
      })
      .sort((a, b) => b.created.from - a.created.from)[0]?.name;
  }

  /** The pod whose own address it was; undefined for an address that several pods had at once, as pods in the node's network have. */
  ownerOf(address: string, at: number): string | undefined {
    const shares = this.facts.filter(
      ({ addresses, created, gone }) =>
        addresses.includes(address) && created.from <= at && (gone?.to ?? Infinity) >= at,
    );
    return shares.length > 1 ? undefined : this.podAt(address, at);
  }

  /** Calls `listener` after each change. @returns a function that ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  takePod(change: Change<Pod>): void {
    const { metadata, status } = change.object;
    const { uid } = metadata;
    const facts = this.#pods.get(uid) ?? this.#add(change);
    const seen: Moment = { from: change.since, to: change.at };
    const addresses = [...(status?.podIPs ?? []).map(({ ip }) => ip), status?.podIP];
    for (const address of addresses)
      if (address !== undefined && !facts.addresses.includes(address)) facts.addresses.push(address);
    facts.node ??= change.object.spec.nodeName;
    this.#noteDeletion(facts, change, seen);
    this.#noteReadiness(facts, change.object, seen);
    for (const one of status?.containerStatuses ?? []) this.#noteContainer(facts, one, change.at);
    const over = change.type === "gone" || status?.phase === "Failed" || status?.phase === "Succeeded";
    if (over && facts.gone === undefined) facts.gone = seen;
    if (change.type === "gone") this.#objects.delete(uid);
    else this.#objects.set(uid, change.object);
    this.changed();
  }

  /** The pod goes on elsewhere. No end of it is to be expected. */
  leave(uid: string): void {
    this.#objects.delete(uid);
    this.changed();
  }

  /** Lets waiters look again. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  takeEvent({ type, object, at, live }: Change<Event>): void {
    if (type === "gone") return;
    const facts = this.#pods.get(object.involvedObject.uid ?? "");
    if (!facts) return;
    const stamp = object.eventTime ?? object.lastTimestamp;
    const when = live ? { from: at, to: at } : this.#second(stamp, at);
    // Events live for an hour: a hook may have failed at an earlier restart.
    if (when.to < (this.#begun ?? Infinity)) return;
    const note = { at: when, message: object.message ?? "" };
    if (object.reason === killing) facts.killing.push(note);
    const container = containerIn(object.involvedObject);
    if (object.reason === hookFailed) facts.hookFailed.push({ ...note, container });
  }

  takePhase(uid: string, phase: PodFacts["phases"][number]): void {
    this.#pods.get(uid)?.phases.push(phase);
  }

  #add({ object, at }: Change<Pod>): Growing {
    const { name, uid, creationTimestamp, deletionTimestamp } = object.metadata;
    const facts: Growing = {
      uid,
      name,
      node: object.spec.nodeName,
      addresses: [],
      created: notBefore(this.#second(creationTimestamp, at), this.#endOf(name)),
      readiness: [],
      starts: [],
      deleted: undefined,
      isLeftover: this.#begun === undefined && deletionTimestamp !== undefined,
      killing: [],
      hookFailed: [],
      ends: [],
      phases: [],
      gone: undefined,
    };
    this.#pods.set(uid, facts);
    return facts;
  }

  /** When the last pod of that name was gone. A pod of a StatefulSet comes again in the same second, and timestamps are no finer. */
  #endOf(name: string): number {
    const last = [...this.#pods.values()].findLast((pod) => pod.name === name && pod.gone !== undefined);
    return last?.gone?.to ?? -Infinity;
  }

  #noteDeletion(facts: Growing, { type, object }: Change<Pod>, seen: Moment): void {
    const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
    if (facts.deleted !== undefined) return;
    if (deletionTimestamp === undefined) {
      // A forced deletion looks so: deleted and gone at once.
      if (type === "gone" && facts.gone === undefined) facts.deleted = { at: seen, grace: 0 };
      return;
    }
    const grace = (deletionGracePeriodSeconds ?? 0) * 1_000;
    // The timestamp is the deletion's second plus the grace period. After an interruption of the watch it is more exact than what was seen.
    const stamped = this.#clock.toLocal(Date.parse(deletionTimestamp) - grace);
    facts.deleted = { at: narrow(seen, { from: stamped, to: stamped + 1_000 }), grace };
  }

  #noteReadiness(facts: Growing, pod: Pod, seen: Moment): void {
    const ready = isReady(pod);
    if (ready === (facts.readiness.at(-1)?.ready ?? false)) return;
    const stamp = pod.status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
    const at = seen.from === seen.to ? seen : this.#second(stamp, seen.to);
    facts.readiness.push({ at, ready });
  }

  #noteContainer(facts: Growing, { name, state, lastState }: ContainerStatus, at: number): void {
    for (const one of [lastState, state]) this.#noteEnd(facts, name, one?.terminated, at);
    const started = state?.running?.startedAt;
    if (started === undefined) return;
    const moment = this.#second(started, at);
    if (!facts.starts.some((start) => start.container === name && isSame(start.at.from, moment.from)))
      facts.starts.push({ container: name, at: moment });
  }

  #noteEnd(facts: Growing, container: string, ended: ContainerState["terminated"], at: number): void {
    if (ended?.finishedAt === undefined) return;
    const stamped = this.#clock.toLocal(Date.parse(ended.finishedAt));
    const known = facts.ends.some(
      (end) => end.container === container && isSame(end.at.from, stamped) && end.code === ended.exitCode,
    );
    if (known) return;
    const end: ContainerEnd = {
      container,
      at: { from: Math.min(stamped, at), to: Math.min(stamped + 1_000, at) },
      code: ended.exitCode,
      signal: ended.signal,
      reason: ended.reason ?? "",
    };
    facts.ends.push(end);
  }

  /** A timestamp of whole seconds. What was seen at `at` was not later than that. */
  #second(stamp: string | null | undefined, at: number): Moment {
    if (stamp === undefined || stamp === null) return { from: at, to: at };
    const local = this.#clock.toLocal(Date.parse(stamp));
    return { from: Math.min(local, at), to: Math.min(local + 1_000, at) };
  }
}

/** The container that an event is about; undefined where it is about the pod. */
export function containerIn({ fieldPath = "" }: Event["involvedObject"]): string | undefined {
  return /^spec\.(?:c|initC)ontainers\{(.*)\}$/.exec(fieldPath)?.[1];
}

function createdAt({ metadata }: Pod): number {
  return Date.parse(metadata.creationTimestamp ?? "") || 0;
}

function isLeaving({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined || status?.phase === "Failed" || status?.phase === "Succeeded"
  );
}

/** Every later status repeats a timestamp. The offset of the clocks, which is known better and better, moves it by less than a second. */
function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) < 900;
}

/** What both say. Where they contradict each other, what was seen. */
function narrow(seen: Moment, stamped: Moment): Moment {
  const both = { from: Math.max(seen.from, stamped.from), to: Math.min(seen.to, stamped.to) };
  return both.from <= both.to ? both : seen;
}

function notBefore({ from, to }: Moment, at: number): Moment {
  return { from: Math.max(from, at), to: Math.max(to, at) };
}
