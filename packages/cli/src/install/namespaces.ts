import { initVolumeSumAnnotation } from "@lameduck/webhook";
import { holdLabel, injectLabel, operatorNames } from "@lameduck/protocol";
import { injectLabelValue, systemNamespaces } from "@lameduck/inject";
import { orUndefined, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { badOption } from "../errors.ts";
import type { Manifest } from "./manifest.ts";
import { fieldManager } from "./objects.ts";

/** On every object of ours. */
const nameLabel = "app.kubernetes.io/name";

/** Namespaces that ask for injection. */
export async function labelledNamespaces(client: KubernetesClient, signal: AbortSignal): Promise<string[]> {
  const selector = encodeURIComponent(`${injectLabel}=${injectLabelValue}`);
  const namespaces = await client.list<KubernetesObject>(
    `/api/v1/namespaces?labelSelector=${selector}`,
    signal,
  );
  return namespaces.map(({ metadata }) => metadata.name);
}

/** @throws {CliError} LAMEDUCK_BAD_OPTION for one that is not there, or whose pods are never injected. */
export async function mustBeInjectable(
  client: KubernetesClient,
  namespaces: readonly string[],
  ofLameduck: string,
  signal: AbortSignal,
): Promise<void> {
  for (const name of namespaces) {
    if ([ofLameduck, ...systemNamespaces].includes(name))
      throw badOption("--enable", `pods of ${name} are never injected`);
    const found = await orUndefined(client.get(`/api/v1/namespaces/${name}`, signal), 404);
    if (found === undefined) throw badOption("--enable", `there is no namespace "${name}"`);
  }
}

/** Namespaces with our label, whatever its value. */
export async function namespacesWithLabels(client: KubernetesClient, signal: AbortSignal): Promise<string[]> {
  const lists = await Promise.all(
    [injectLabel, holdLabel].map((one) =>
      client.list<KubernetesObject>(`/api/v1/namespaces?labelSelector=${encodeURIComponent(one)}`, signal),
    ),
  );
  return [...new Set(lists.flat().map(({ metadata }) => metadata.name))].sort();
}

/** Asks for injection. @returns false where the namespace is gone. */
export function label(client: KubernetesClient, namespace: string, signal: AbortSignal): Promise<boolean> {
  return setLabels(client, namespace, { [injectLabel]: injectLabelValue }, signal);
}

/** Takes away every label of ours. @returns false where the namespace is gone. */
export function unlabel(client: KubernetesClient, namespace: string, signal: AbortSignal): Promise<boolean> {
  return setLabels(client, namespace, { [injectLabel]: null, [holdLabel]: null }, signal);
}

async function setLabels(
  client: KubernetesClient,
  namespace: string,
  labels: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}?fieldManager=${fieldManager}`;
  const change = { metadata: { labels } };
  return (await orUndefined(client.patch(path, change, "merge-patch", signal), 404)) !== undefined;
}

/** A namespace, or a ConfigMap with lameduck-init, that somebody else made. What is in it is theirs. */
export function isForeign({ kind, metadata: { name } }: Manifest, there: KubernetesObject): boolean {
  const { labels, annotations, deletionTimestamp } = there.metadata;
  if (deletionTimestamp !== undefined) return false;
  if (kind === "ConfigMap" && name === operatorNames.initConfigMap)
    return annotations?.[initVolumeSumAnnotation] === undefined;
  return kind === "Namespace" && labels?.[nameLabel] !== "lameduck";
}
