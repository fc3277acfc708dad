import type { BareSenderEvent } from "../generator/sender.ts";
import type { Endpoint } from "@lameduck/accounting";
import { type Change, type EndpointState, EndpointView, type Choice } from "./view.ts";
import { Learner } from "./learner.ts";
import type { Exchange } from "../protocols/exchange.ts";

/** The endpoints a sender may choose at present: it learns after its own delay, and reports what changed then. */
export class Chooser {
  readonly #view: EndpointView;
  readonly #learner: Learner;
  readonly #emit: (event: BareSenderEvent) => void;
  readonly #left: (endpoint: Endpoint) => void;

  constructor(options: {
    now: () => number;
    spacing: number;
    choice: Choice;
    emit: (event: BareSenderEvent) => void;
    left?: (endpoint: Endpoint) => void;
  }) {
    this.#view = new EndpointView(options.choice);
    this.#emit = options.emit;
    this.#left = options.left ?? (() => undefined);
    this.#learner = new Learner({
      now: options.now,
      spacing: options.spacing,
      apply: (states) => this.#apply(states),
    });
  }

  get chosen(): readonly Endpoint[] {
    return this.#view.chosen;
  }

  learn(change: Change): void {
    this.#learner.learn(change);
  }

  stop(): void {
    this.#learner.stop();
  }

  #apply(states: readonly EndpointState[]): void {
    const before = this.chosen.length;
    const { added, left } = this.#view.apply(states);
    for (const { pod } of added) this.#emit({ type: "added", pod });
    for (const endpoint of left) {
      this.#emit({ type: "converged", pod: endpoint.pod });
      this.#left(endpoint);
    }
    if (before === 0 && this.chosen.length > 0) this.#emit({ type: "filled" });
    if (before > 0 && this.chosen.length === 0) this.#emit({ type: "empty" });
  }
}

/** Without an endpoint kube-proxy rejects, a resolver finds nothing and a load balancer has no target: nothing is sent anywhere. */
export function refuse(exchange: Exchange, at: number): void {
  exchange.fail({ outcome: "refused", error: "NO_ENDPOINT" }, at);
}
