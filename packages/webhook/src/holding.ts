import { type KubernetesClient, ServerClock } from "@lameduck/kube";
import type { Logger } from "pino";
import type { ReviewHandler } from "./admission/review.ts";
import type { ClusterView } from "./cluster-view.ts";
import { SecretPath } from "./deletions/secret-path.ts";
import { type KnownCluster, HeldPods } from "./deletions/pods.ts";
import { DeletionHolder } from "./deletions/deletion-holder.ts";
import { coordinatorSource } from "./deletions/consumers.ts";
import { EndpointView } from "./deletions/endpoints.ts";
import { alwaysExempt } from "./deletions/settings.ts";
import { operatorNames } from "@lameduck/protocol";
import type { HoldingFlags } from "./holding-flags.ts";
import { gauge } from "@lameduck/program";
import type { WebhookMetrics } from "./metrics.ts";

interface HoldingOptions {
  readonly flags: HoldingFlags;
  readonly client: KubernetesClient;
  readonly cluster: KnownCluster & Pick<ClusterView, "enabled">;
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

/** Held deletions and surges as flags ask for them, counted and logged. */
export function setUpHolding(options: HoldingOptions) {
  const { flags, client, cluster, namespace, metrics, log, isLeader, onProblem } = options;
  const { coordinator, coordinatorToken, exempt, holds, surges, nodeShutdowns, ...limits } = flags;
  const holder = new DeletionHolder({
    isLeader,
    shutdowns: nodeShutdowns
      ? {
          enabled: () => cluster.enabled(),
          onWithdrawn: ({ metadata, spec }) => {
            metrics.deletions.inc({ action: "shutdown", outcome: "withdrawn" });
            const pod = `${metadata.namespace}/${metadata.name}`;
            log.info({ action: "shutdown", outcome: "withdrawn", pod, node: spec.nodeName }, "deletion");
          },
        }
      : undefined,
    dependencies: {
      client,
      pods: new HeldPods(client, cluster, namespace),
      settings: { ...limits, exempt: [...alwaysExempt, ...exempt], ownNamespace: namespace },
      now: ServerClock.of(client).now,
      onRestored: () => metrics.restored.inc(),
      onProblem,
    },
    held: holds
      ? {
          endpoints: new EndpointView(client, onProblem),
          consumers: coordinator === undefined ? undefined : coordinatorSource(coordinator, coordinatorToken),
        }
      : undefined,
    onCall: ({ action, outcome, held, pod, user }) => {
      // A surge is asked about every eviction of the cluster.
      if (outcome === "not-chosen") return;
      metrics.deletions.inc({ action, outcome });
      // Evictions are rare, and somebody waits for each.
      if (action === "delete" && !loggedOutcomes.has(outcome)) return;
      if (action === "delete") metrics.holdSeconds.observe(held);
      log.info({ action, outcome, held: Math.round(held * 10) / 10, pod, user }, "deletion");
    },
  });
  gauge(metrics.registry, "lameduck_held_deletions", "Deletions that wait at present.", () => holder.size);
  const { paths, heldDeletions, surge } = operatorNames;
  const guard = (root: string, configuration: string, review: ReviewHandler) => ({
    configuration,
    review,
    caller: new SecretPath(client, { root, configuration }, onProblem),
  });
  const guarded = [
    ...(holds ? [guard(paths.hold, heldDeletions, holder.review)] : []),
    ...(surges ? [guard(paths.surge, surge, holder.reviewSurge)] : []),
  ];
  return {
    /** Names of the webhook configurations. */
    configurations: guarded.map(({ configuration }) => configuration),
    guarded: guarded.map(({ review, caller }) => ({
      review,
      isTrustedPath: (path: string) => caller.matches(path),
    })),
    deriveFrom: (key: string) => guarded.forEach(({ caller }) => caller.deriveFrom(key)),
    start: () => {
      holder.start();
      for (const { caller } of guarded) caller.start();
    },
    stop: async () => {
      await Promise.all([holder.stop(), ...guarded.map(({ caller }) => caller.stop())]);
    },
  };
}
