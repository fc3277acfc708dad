import { restoreAll } from "@lameduck/operator";
import type { KubernetesClient } from "@lameduck/kube";

/**
 * Pods whose deletion was held, and that nobody will delete or restore any more, are as they were before. Only called once the webhook that
 * holds them is gone.
 */
export async function restoreHeld(client: KubernetesClient, signal: AbortSignal): Promise<void> {
  for (const pod of await restoreAll(client, signal))
    process.stderr.write(`Pod ${pod}: has its labels back; its deletion was being held\n`);
}
