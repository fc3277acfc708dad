import { isMap } from "../policy/validate.ts";
import type { Reason } from "./injection.ts";

/** Names the version that has injected a pod. */
export const injectedAnnotation = "lameduck.dev/injected";

/** A pod as anybody may send it: what is not of its type counts as missing. */
export interface PodView {
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
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
  const annotations = textsIn(metadata["annotations"]);
  return {
    annotations,
    labels: textsIn(metadata["labels"]),
    isInjected: annotations[injectedAnnotation] !== undefined,
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

export function mapsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}

export function listIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function textsIn(value: unknown): Record<string, string> {
  if (!isMap(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
