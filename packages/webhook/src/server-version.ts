import { setTimeout as delay } from "node:timers/promises";
import type { ClusterFacts } from "@lameduck/inject";
import type { KubernetesClient } from "@lameduck/kube";

export type ServerVersion = NonNullable<ClusterFacts["version"]>;

const intervalWhenKnownMs = 600_000;
const intervalWhenUnknownMs = 2_000;

/** The API server's version, asked for anew now and then: clusters are upgraded. Ends with the signal. */
export async function followVersion(
  client: KubernetesClient,
  onVersion: (version: ServerVersion) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const version = await client.get<{ major?: string; minor?: string }>("/version", signal).then(
      ({ major = "", minor = "" }) => ({
        major: Number.parseInt(major, 10),
        // Managed clusters add a plus sign.
        minor: Number.parseInt(minor, 10),
      }),
      () => undefined,
    );
    const isKnown = version !== undefined && !Number.isNaN(version.major + version.minor);
    if (isKnown) onVersion(version);
    await delay(isKnown ? intervalWhenKnownMs : intervalWhenUnknownMs, undefined, { signal }).catch(
      () => undefined,
    );
  }
}
