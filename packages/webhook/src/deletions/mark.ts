import type { KubernetesObject, ObjectMeta } from "@lameduck/kube";
import { heldMark, isMap } from "@lameduck/protocol";

/** `replacing`: its owner has let it go and makes another, while it serves on. `withdrawn`: no Service selects it. */
type Step = "replacing" | "withdrawn";

/** Why it is held: somebody deletes or evicts it, or its node shuts down. */
const causes = ["delete", "evict", "shutdown"] as const;

/** What a replica needs to go on with a hold that another began, or to undo it. */
export interface Mark {
  readonly step: Step;
  readonly by: (typeof causes)[number];
  /** How the labels were that have been taken. */
  readonly labels: Readonly<Record<string, string>>;
  /** When the hold began, and when this step did. Milliseconds since 1970. */
  readonly began: number;
  readonly stepBegan: number;
  /** If it is not terminating by then, the deletion does not happen. Of a node that shuts down: while nobody knows whether it is back. */
  readonly until: number;
  /** The ReplicaSet that has let it go. */
  readonly replicaSet?: string;
}

/** @returns none where there is none, or one that nobody can read. */
export function markOf({ metadata }: KubernetesObject): Mark | undefined {
  const text = metadata.annotations?.[heldMark];
  if (text === undefined) return undefined;
  try {
    const mark: unknown = JSON.parse(text);
    return isMark(mark) ? mark : undefined;
  } catch {
    return undefined;
  }
}

function isMark(mark: unknown): mark is Mark {
  if (!isMap(mark) || !isMap(mark["labels"])) return false;
  const { step, by, labels, began, stepBegan, until, replicaSet } = mark;
  return (
    (step === "replacing" || step === "withdrawn") &&
    causes.some((one) => one === by) &&
    [began, stepBegan, until].every((time) => typeof time === "number" && Number.isFinite(time)) &&
    Object.values(labels as object).every((value) => typeof value === "string") &&
    (replicaSet === undefined || typeof replicaSet === "string")
  );
}

/** By so much marks of other replicas may be ahead: all go by the API server's clock, which tells whole seconds. */
const clockErrorMs = 60_000;
/** No hold lasts so long. */
const longestHoldMs = 86_400_000;

/**
 * Whether the time that began then is over. Anybody who may change the pod may write the mark. A time of the future would never be over,
 * since every call reads it anew, and so it counts as over.
 */
export function isOver(began: number, lasting: number, now: number): boolean {
  return now >= began + lasting || began > now + clockErrorMs;
}

/** Whether nobody goes on with the hold. One that is to stand for too long was not written by us. */
export function isExpired({ until }: Pick<Mark, "until">, now: number): boolean {
  return now > until || until > now + longestHoldMs;
}

/** A merge patch that takes labels and says so. It fails (409) where another pod has the name by now. */
export function markingPatch(
  { labels = {}, uid }: ObjectMeta,
  remove: readonly string[],
  mark: Omit<Mark, "labels">,
  before: Readonly<Record<string, string>> = {},
): object {
  const taken = Object.fromEntries(
    remove.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])),
  );
  const whole: Mark = { ...mark, labels: { ...before, ...taken } };
  return {
    metadata: {
      uid,
      labels: { ...Object.fromEntries(remove.map((key) => [key, null])), [heldMark]: mark.step },
      annotations: { [heldMark]: JSON.stringify(whole) },
    },
  };
}

/** The pod as it was. What somebody has set meanwhile stays; a mark that cannot be read is only taken away. */
export function restoringPatch(pod: KubernetesObject): object {
  const { labels = {}, uid } = pod.metadata;
  const missing = Object.entries(markOf(pod)?.labels ?? {}).filter(([key]) => labels[key] === undefined);
  return {
    metadata: {
      uid,
      labels: { ...Object.fromEntries(missing), [heldMark]: null },
      annotations: { [heldMark]: null },
    },
  };
}
