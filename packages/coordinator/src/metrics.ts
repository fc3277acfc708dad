import { Counter, Histogram, Registry } from "@prometheus-io/client";
import { firstNames, gauge, gauges, processMetrics } from "@lameduck/program";
import type { Termination } from "./state/termination.ts";
import { consumersByState, type CoordinatorStatus, terminatingByState } from "./status.ts";

/** Values that are read when metrics are scraped. */
interface CoordinatorGauges {
  readonly notReady: () => string | undefined;
  readonly status: () => CoordinatorStatus;
  /** The number of the last withdrawal. */
  readonly head: () => number;
  /** Requests that wait. */
  readonly parked: () => number;
  /** Seconds without a sign that the EndpointSlices are up to date. */
  readonly unheard: () => number;
  readonly terminations: () => Iterable<Termination>;
  /** Objects in memory, by kind. */
  readonly objects: () => Iterable<readonly [string, number]>;
}

/** The coordinator's metrics; docs/operate/acknowledgements.md lists them. */
export class CoordinatorMetrics {
  readonly registry = new Registry();
  readonly #named = firstNames();
  readonly releases = this.#counter(
    "lameduck_releases_total",
    "Pods that were released, by the mode that held for them.",
    ["mode"],
  );
  readonly ended = this.#counter(
    "lameduck_terminations_total",
    "Pods that are gone, by what they were told last: released, waiting, incomplete, unknown.",
    ["state"],
  );
  readonly overruled = this.#counter(
    "lameduck_releases_overruled_total",
    "Releases after which the pod says that a new connection came, by the sender at its address or node that had reported; unknown: there is none.",
    ["consumer"],
  );
  readonly reports = this.#counter("lameduck_reports_total", "Reports of senders, by outcome.", ["outcome"]);
  readonly refused = this.#counter("lameduck_refused_total", "Requests of pods and of held deletions.", [
    "path",
    "status",
  ]);
  readonly reviews = this.#counter(
    "lameduck_token_reviews_total",
    "Tokens that the API server was asked about.",
    ["outcome"],
  );
  readonly problems = this.#counter(
    "lameduck_problems_total",
    "What went wrong in the background, by part; the log has the words.",
    ["part"],
  );
  readonly releaseSeconds = new Histogram({
    name: "lameduck_release_seconds",
    help: "From a pod's withdrawal to its release.",
    buckets: [0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 60],
    registers: [this.registry],
  });

  overruledBy(consumers: readonly string[]): void {
    for (const name of consumers.length === 0 ? ["unknown"] : consumers)
      this.overruled.inc({ consumer: this.#named(name) });
  }

  registerGauges({
    notReady,
    status,
    head,
    parked,
    unheard,
    terminations,
    objects,
  }: CoordinatorGauges): void {
    const { registry } = this;
    processMetrics(registry, "coordinator");
    gauge(registry, "lameduck_ready", "1 when everything has been read once.", () =>
      notReady() === undefined ? 1 : 0,
    );
    gauge(registry, "lameduck_withdrawal_head", "The number of the last withdrawal.", head);
    gauge(registry, "lameduck_parked_requests", "Requests that wait for news.", parked);
    gauge(
      registry,
      "lameduck_endpoints_unheard_seconds",
      "Since the API server gave a sign that the EndpointSlices are up to date; from 15 on pods are answered that nothing is known.",
      unheard,
    );
    gauges(registry, "lameduck_consumers", "Senders by what is heard of them.", "state", () =>
      consumersByState(status()),
    );
    gauges(registry, "lameduck_terminating", "Pods that terminate, by what they are told.", "state", () =>
      terminatingByState(terminations()),
    );
    gauges(registry, "lameduck_known_objects", "Objects of the cluster in memory.", "kind", objects);
  }

  #counter<T extends string>(name: string, help: string, labelNames: readonly T[] = []): Counter<T> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }
}
