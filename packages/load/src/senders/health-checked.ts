import { parseDuration } from "@lameduck/drain/duration";

import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "./sender.ts";
import type { Endpoint } from "@lameduck/accounting";
import type { Change, EndpointState } from "./view.ts";
import { Learner } from "./learner.ts";
import type { HealthCheckedSpec } from "./spec.ts";
import { HealthChecks } from "./health-checks.ts";
import { PodPools } from "./pool.ts";
import { reportChoice } from "./chooser.ts";

/**
 * A cloud load balancer: registers new pods when it learns of them and lets them in after its own checks; a deletion means nothing to it.
 * When every target is unhealthy it uses all of them, as AWS' target groups do ("fail open").
 */
export class HealthCheckedSender implements LoadSender {
  readonly #context: SenderContext;
  readonly #checks: HealthChecks;
  readonly #pools: PodPools;
  readonly #learner: Learner;
  #targets: readonly Endpoint[] = [];
  #chosen: readonly Endpoint[] = [];

  constructor(context: SenderContext, spec: HealthCheckedSpec) {
    const { check = {} } = spec;
    this.#context = context;
    this.#pools = new PodPools(context, () => this.#chosen);
    this.#checks = new HealthChecks({
      // Without TLS and HTTP/2 of their own, checks of other protocols ask for a connection only.
      path: check.path === undefined ? (context.speaksHttp1 ? "/" : null) : check.path,
      interval: parseDuration(check.interval ?? "5s", "check.interval"),
      timeout: parseDuration(check.timeout ?? "2s", "check.timeout"),
      unhealthyThreshold: check.unhealthyThreshold ?? 2,
      healthyThreshold: check.healthyThreshold ?? 2,
      localAddress: spec.address,
      changed: () => this.#choose(),
    });
    this.#learner = new Learner({
      now: context.now,
      spacing: context.spacing,
      apply: (states) => this.#register(states),
    });
  }

  send(exchange: Exchange): void {
    this.#pools.send(exchange);
  }

  learn(change: Change): void {
    this.#learner.learn(change);
  }

  stop(): void {
    this.#learner.stop();
    this.#checks.stop();
    this.#pools.dropAll();
  }

  #register(states: readonly EndpointState[]): void {
    for (const { endpoint, listed, serving, terminating } of states) {
      const isKnown = this.#targets.some((target) => target.pod === endpoint.pod);
      if (isKnown || !listed || !serving || terminating) continue;
      this.#targets = [...this.#targets, endpoint];
      this.#checks.watch(endpoint);
    }
    this.#choose();
  }

  #choose(): void {
    const before = this.#chosen;
    const healthy = this.#targets.filter((target) => this.#checks.healthy(target.pod));
    // A target that has never been healthy is still being looked at, and no reason to fail open.
    this.#chosen =
      healthy.length === 0 ? this.#targets.filter((target) => this.#checks.wasHealthy(target.pod)) : healthy;
    reportChoice(before, this.#chosen, this.#context.emit, ({ pod }) => this.#pools.drop(pod));
  }
}
