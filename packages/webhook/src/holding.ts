import { type KubernetesClient, ServerClock } from "@lameduck/kube";
import type { Logger } from "pino";
import { SecretPath } from "./deletions/secret-path.ts";
import { type KnownCluster, HeldPods } from "./deletions/pods.ts";
import { DeletionHolder } from "./deletions/deletion-holder.ts";
import { coordinatorSource } from "./deletions/consumers.ts";
import { EndpointView } from "./deletions/endpoints.ts";
import { alwaysExempt } from "./deletions/settings.ts";
import type { HoldingFlags } from "./holding-flags.ts";
import { gauge } from "@lameduck/program";
import type { WebhookMetrics } from "./metrics.ts";

export interface HoldingOptions {
  readonly flags: HoldingFlags;
  readonly client: KubernetesClient;
  readonly cluster: KnownCluster;
  readonly namespace: string;
  readonly metrics: WebhookMetrics;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  readonly onProblem: (part: string, error: unknown) => void;
}

/** Calls that say more in the log than that nothing was to be done. */
const loggedOutcomes = new Set([
  "released",
  "waited",
  "limit",
  "last-endpoint",
  "too-many",
  "fault",
  "later",
]);

export type Holding = Readonly<ReturnType<typeof setUpHolding>>;

/** Held deletions as flags ask for them, counted and logged. */
export function setUpHolding(options: HoldingOptions) {
  const { flags, client, cluster, namespace, metrics, log, isLeader, onProblem } = options;
  const { coordinator, coordinatorToken, exempt, ...limits } = flags;
  const holder = new DeletionHolder({
    isLeader,
    dependencies: {
      client,
      pods: new HeldPods(client, cluster, namespace),
      endpoints: new EndpointView(client, onProblem),
      consumers: coordinator === undefined ? undefined : coordinatorSource(coordinator, coordinatorToken),
      settings: { ...limits, exempt: [...alwaysExempt, ...exempt], ownNamespace: namespace },
      now: ServerClock.of(client).now,
      onRestored: () => metrics.restored.inc(),
      onProblem,
    },
    onCall: ({ action, outcome, held, pod, user }) => {
      metrics.deletions.inc({ action, outcome });
      // Evictions are rare, and somebody waits for each.
      if (action === "delete" && !loggedOutcomes.has(outcome)) return;
      if (action === "delete") metrics.holdSeconds.observe(held);
      log.info({ action, outcome, held: Math.round(held * 10) / 10, pod, user }, "deletion");
    },
  });
  gauge(metrics.registry, "lameduck_held_deletions", "Deletions that wait at present.", () => holder.size);
  return { holder, caller: new SecretPath(client, onProblem) };
}
