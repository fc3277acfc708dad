import type { RequestOptions } from "node:http";
import { request } from "@lameduck/kube/node-http";

import type { Endpoint } from "@lameduck/accounting";
import { withoutUndefined } from "@lameduck/drain/common";
import { connects } from "../protocols/connects.ts";

interface HealthCheckSettings {
  /** `null`: a TCP connection is enough. */
  readonly path: string | null;
  /** Milliseconds. */
  readonly interval: number;
  readonly timeout: number;
  readonly unhealthyThreshold: number;
  readonly healthyThreshold: number;
  readonly localAddress: string | undefined;
  /** A target's health has changed. */
  readonly changed: (pod: string) => void;
}

interface Target {
  readonly endpoint: Endpoint;
  readonly timer: NodeJS.Timeout;
  readonly abort: AbortController;
  healthy: boolean;
  wasHealthy: boolean;
  asking: boolean;
  /** Results in a row that contradict the present state. */
  against: number;
}

/** Checks each target on its own interval, for real; a target changes sides after a threshold of results in a row. */
export class HealthChecks {
  readonly #settings: HealthCheckSettings;
  readonly #targets = new Map<string, Target>();

  constructor(settings: HealthCheckSettings) {
    this.#settings = settings;
  }

  healthy(pod: string): boolean {
    return this.#targets.get(pod)?.healthy ?? false;
  }

  wasHealthy(pod: string): boolean {
    return this.#targets.get(pod)?.wasHealthy ?? false;
  }

  watch(endpoint: Endpoint): void {
    const check = (): void => {
      void this.#check(target);
    };
    const target: Target = {
      endpoint,
      timer: setInterval(check, this.#settings.interval),
      abort: new AbortController(),
      healthy: false,
      wasHealthy: false,
      asking: false,
      against: 0,
    };
    this.#targets.set(endpoint.pod, target);
    check();
  }

  stop(): void {
    for (const { timer, abort } of this.#targets.values()) {
      clearInterval(timer);
      abort.abort();
    }
  }

  async #check(target: Target): Promise<void> {
    // One check at a time, or results would come out of order.
    if (target.asking) return;
    target.asking = true;
    const passed = await this.#ask(target);
    target.asking = false;
    if (target.abort.signal.aborted) return;
    target.against = passed === target.healthy ? 0 : target.against + 1;
    const { unhealthyThreshold, healthyThreshold, changed } = this.#settings;
    if (target.against < (target.healthy ? unhealthyThreshold : healthyThreshold)) return;
    target.healthy = passed;
    target.wasHealthy ||= passed;
    target.against = 0;
    changed(target.endpoint.pod);
  }

  #ask({ endpoint, abort }: Target): Promise<boolean> {
    const { path, timeout, localAddress } = this.#settings;
    const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(timeout)]);
    const to = withoutUndefined({ host: endpoint.address, port: endpoint.port, localAddress, signal });
    return path === null ? connects(to) : this.#askHttp(to, path);
  }

  #askHttp(to: RequestOptions, path: string): Promise<boolean> {
    return new Promise((resolve) => {
      request(
        { ...to, path, agent: false, headers: { "user-agent": "ELB-HealthChecker/2.0" } },
        (response) => {
          const status = response.statusCode ?? 0;
          response.on("error", () => resolve(false));
          response.on("end", () => resolve(status >= 200 && status < 400));
          response.resume();
        },
      )
        .on("error", () => resolve(false))
        .end();
    });
  }
}
