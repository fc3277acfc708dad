import { injectLabel, injectLabelValue } from "@lameduck/operator";
import { hasStatus, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { CliError } from "../errors.ts";
import { fieldManager } from "./objects.ts";

/** Those that ask for injection. */
export async function labelledNamespaces(client: KubernetesClient, signal: AbortSignal): Promise<string[]> {
  const selector = encodeURIComponent(`${injectLabel}=${injectLabelValue}`);
  const namespaces = await client.list<KubernetesObject>(
    `/api/v1/namespaces?labelSelector=${selector}`,
    signal,
  );
  return namespaces.map(({ metadata }) => metadata.name);
}

/** @param value null takes the label away. @throws {CliError} LAMEDUCK_BAD_OPTION where there is no such namespace. */
export async function label(
  client: KubernetesClient,
  namespace: string,
  value: typeof injectLabelValue | null,
  signal: AbortSignal,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}?fieldManager=${fieldManager}`;
  try {
    await client.patch(path, { metadata: { labels: { [injectLabel]: value } } }, "merge-patch", signal);
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    throw new CliError("LAMEDUCK_BAD_OPTION", "--enable", `there is no namespace "${namespace}"`);
  }
}
