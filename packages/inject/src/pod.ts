import { injectedAnnotation, isMap } from "@lameduck/protocol";
import type { Reason } from "./injection.ts";

/** What nobody could tell from the rest, for whoever takes the injection out of a manifest: "grace 55 was 30; variables web 2 api 2; hooks web api". */
export const undoAnnotation = "lameduck.dev/undo";
/** Nodes run 110 pods unless told otherwise, and admission is asked about pods that could never start: what a patch adds to each container adds up. */
export const mostContainers = 100;

/** A pod as anybody may send it: what is not of its type counts as missing. */
export interface PodView {
  readonly annotations: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<string, unknown>>;
  /** An injection has been here: it has told every container the grace period. */
  readonly isInjected: boolean;
  readonly hasMetadata: boolean;
  readonly hasAnnotations: boolean;
  /** Kinds of its owners. */
  readonly owners: readonly string[];
  readonly spec: Readonly<Record<string, unknown>>;
  readonly containers: readonly Readonly<Record<string, unknown>>[];
  readonly volumes: readonly Readonly<Record<string, unknown>>[];
  /** Names of native sidecars. */
  readonly nativeSidecars: readonly string[];
}

export function podOf(pod: unknown): PodView | Reason {
  const none: Reason = { code: "not-a-pod", text: "spec.containers holds no containers" };
  if (!isMap(pod) || !isMap(pod["spec"])) return none;
  const { spec } = pod;
  const containers = mapsIn(spec["containers"]);
  if (containers.length === 0 || containers.length !== (spec["containers"] as unknown[]).length) return none;
  const metadata = isMap(pod["metadata"]) ? pod["metadata"] : {};
  const annotations = mapIn(metadata["annotations"]);
  return {
    annotations,
    labels: mapIn(metadata["labels"]),
    isInjected: typeof annotations[injectedAnnotation] === "string",
    hasMetadata: isMap(pod["metadata"]),
    hasAnnotations: isMap(metadata["annotations"]),
    owners: mapsIn(metadata["ownerReferences"]).map(({ kind }) => textOf(kind)),
    spec,
    containers,
    volumes: mapsIn(spec["volumes"]),
    nativeSidecars: mapsIn(spec["initContainers"])
      .filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ name }) => textOf(name)),
  };
}

/** A container's. */
export function preStopOf({
  lifecycle,
}: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  return isMap(lifecycle) && isMap(lifecycle["preStop"]) ? lifecycle["preStop"] : undefined;
}

export function mapsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}

export function listIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** No copy: it may have as many entries as a body holds. */
export function mapIn(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {};
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The longest path that Linux knows; registries take no longer name either. */
const longestPath = 4_096;

/** A program or an image; empty where it can be none. */
export function pathIn(value: unknown): string {
  const text = textOf(value);
  return text.length > longestPath ? "" : text;
}
