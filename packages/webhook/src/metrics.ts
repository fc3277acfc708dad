import { Counter, Histogram, Registry } from "@prometheus-io/client";
import { gauge, processMetrics } from "@lameduck/program";

/** How a review ended. */
export type Outcome = "injected" | "left-alone" | "allowed" | "rejected" | "delayed" | "unreadable" | "fault";

/** Values that are read when metrics are scraped. */
interface WebhookGauges {
  readonly notReady: () => string | undefined;
  readonly isLeader: () => boolean;
  readonly losingWorkloads: () => number;
  /** When the certificate that is shown ends, in milliseconds since 1970. */
  readonly expires: () => number | undefined;
  /** Objects in memory. */
  readonly objects: () => number;
}

/** What an operator is watched by; docs/contributing/operator.md lists them. */
export class WebhookMetrics {
  readonly registry = new Registry();
  readonly #reviews = new Counter({
    name: "lameduck_reviews_total",
    help: "Admission reviews by path and outcome.",
    labelNames: ["path", "outcome"] as const,
    registers: [this.registry],
  });
  readonly #seconds = new Histogram({
    name: "lameduck_review_seconds",
    help: "From the last byte of a review to the first of its answer.",
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2],
    registers: [this.registry],
  });
  readonly beforeServices = new Counter({
    name: "lameduck_reviews_before_services_total",
    help: "Pods that were judged before the Services of the cluster had been read.",
    registers: [this.registry],
  });
  readonly handshakes = new Counter({
    name: "lameduck_tls_failures_total",
    help: "TLS handshakes that failed: a caller does not trust the certificate, or is no TLS client.",
    registers: [this.registry],
  });
  readonly dropped = new Counter({
    name: "lameduck_connections_dropped_total",
    help: "Connections that were given up because there were too many, or because too much was being sent at a time.",
    registers: [this.registry],
  });
  readonly repairs = new Counter({
    name: "lameduck_ca_bundle_repairs_total",
    help: "Webhook configurations that were told of the authority, or told again.",
    registers: [this.registry],
  });
  readonly problems = new Counter({
    name: "lameduck_problems_total",
    help: "What went wrong in the background, by part; the log has the words.",
    labelNames: ["part"] as const,
    registers: [this.registry],
  });
  readonly leftOut = new Counter({
    name: "lameduck_objects_left_out_total",
    help: "Objects of the cluster that were too large to be kept, in whole or in part, by kind.",
    labelNames: ["part"] as const,
    registers: [this.registry],
  });
  readonly carried = new Counter({
    name: "lameduck_init_volume_writes_total",
    help: "ConfigMaps with lameduck-init that were written or removed.",
    labelNames: ["action"] as const,
    registers: [this.registry],
  });

  readonly deletions = new Counter({
    name: "lameduck_held_deletions_total",
    help: "Deletions and evictions that were asked about, by how they ended.",
    labelNames: ["action", "outcome"] as const,
    registers: [this.registry],
  });
  readonly holdSeconds = new Histogram({
    name: "lameduck_held_deletion_seconds",
    help: "How long the call of a deletion that was held has waited.",
    buckets: [0.5, 1, 2, 5, 10, 15, 20, 25, 30],
    registers: [this.registry],
  });
  readonly restored = new Counter({
    name: "lameduck_held_pods_restored_total",
    help: "Pods that are as they were before, because their deletion did not happen.",
    registers: [this.registry],
  });

  reviewed(path: string, outcome: Outcome, seconds: number): void {
    this.#reviews.inc({ path, outcome });
    this.#seconds.observe(seconds);
  }

  registerGauges({ notReady, isLeader, losingWorkloads, expires, objects }: WebhookGauges): void {
    const { registry } = this;
    processMetrics(registry, "webhook");
    gauge(registry, "lameduck_ready", "1 when reviews are answered with all that is needed.", () =>
      notReady() === undefined ? 1 : 0,
    );
    gauge(registry, "lameduck_leader", "1 for the replica that copies init volumes.", () =>
      isLeader() ? 1 : 0,
    );
    gauge(
      registry,
      "lameduck_workloads_losing_requests",
      "Workloads of injected namespaces for which the audit has an error; counted by the leader.",
      losingWorkloads,
    );
    gauge(
      registry,
      "lameduck_certificate_expiry_timestamp_seconds",
      "When the certificate that is shown ends; 0 without one.",
      () => (expires() ?? 0) / 1_000,
    );
    gauge(registry, "lameduck_known_objects", "Objects of the cluster that are kept in memory.", objects);
  }
}
