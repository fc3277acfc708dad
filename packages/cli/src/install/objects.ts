import { orUndefined, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import type { Manifest } from "./manifest.ts";

const plurals: Readonly<Record<string, string>> = {
  NetworkPolicy: "networkpolicies",
  PriorityClass: "priorityclasses",
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
};

/** The manager of the fields that this command sets. */
export const fieldManager = "lameduck-install";

/** Where the API server keeps it. */
export function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  return `${root}${within}/${plural}/${metadata.name}`;
}

export const nameOf = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;

/** undefined where there is no such object, or no such kind. */
export function found(client: KubernetesClient, object: Manifest): Promise<KubernetesObject | undefined> {
  return orUndefined(client.get<KubernetesObject>(pathOf(object)), 404);
}

export type Change = "created" | "changed" | "as it was";

/** Makes it, or sets what we say of it and leaves the rest alone. `before` is what was there. */
export async function applied(
  client: KubernetesClient,
  object: Manifest,
  before: KubernetesObject | undefined,
  signal: AbortSignal,
): Promise<Change> {
  const after = await client.apply<KubernetesObject>(pathOf(object), object, fieldManager, signal);
  if (before === undefined) return "created";
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? "as it was" : "changed";
}

/** @returns whether it was there. */
export async function removed(
  client: KubernetesClient,
  object: Manifest,
  signal: AbortSignal,
): Promise<boolean> {
  const deletion = client.delete(pathOf(object), { propagationPolicy: "Background" }, signal);
  return (await orUndefined(deletion, 404)) !== undefined;
}

/** All at once would be too much for the API server where there are many, and one after another would take long. */
const atOnce = 10;

/** The results of the work for each, in their order. */
export async function inBatches<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += atOnce)
    results.push(...(await Promise.all(all.slice(at, at + atOnce).map(work))));
  return results;
}
