import { KubernetesClient } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import { lameduck } from "@lameduck/node";
import { readInitVolume } from "./init-volume/files.ts";
import { helpText, type WebhookFlags, webhookFlags } from "./flags.ts";
import { processLog, ownEnvironment, subcommand } from "@lameduck/program";
import { Webhook } from "./webhook.ts";

export const webhook = subcommand(helpText, webhookFlags, serve);

async function serve(flags: WebhookFlags): Promise<void> {
  const log = processLog(flags);
  const connection = clusterConnection({ kubeconfig: flags.kubeconfig });
  const files = flags.initDirectory === undefined ? undefined : await readInitVolume(flags.initDirectory);
  const client = new KubernetesClient(connection);
  const running = new Webhook({ flags, client, connection, files, log });
  // Its senders are a handful of API servers: none lags as a cloud's load balancer does.
  lameduck(running.server, {
    cap: Math.min(10_000, flags.gracePeriod / 3),
    grace: flags.gracePeriod,
    log,
    environment: ownEnvironment(),
  }).hook("closed", "operator", () => running.stop());
  await running.start();
}
