import type { Endpoint } from "@lameduck/accounting";
import type { SenderContext } from "./sender.ts";
import type { Exchange } from "../protocols/exchange.ts";
import { EndpointView, without, type Change, type Choice } from "./view.ts";
import { Learner } from "./learner.ts";

/** The endpoints a sender may choose at present: it learns after its own delay, and reports what changed then. */
export class Chooser {
  readonly #view: EndpointView;
  readonly #learner: Learner;

  /** @param left is told of each endpoint that it may not choose any more */
  constructor(context: SenderContext, choice: Choice, left: (endpoint: Endpoint) => void) {
    this.#view = new EndpointView(choice);
    const { now, spacing, emit } = context;
    this.#learner = new Learner({
      now,
      spacing,
      apply: (states) => {
        const before = this.chosen;
        this.#view.apply(states);
        reportChoice(before, this.chosen, emit, left);
      },
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
}

/** What has changed in a sender's choice, as events. */
export function reportChoice(
  before: readonly Endpoint[],
  now: readonly Endpoint[],
  emit: SenderContext["emit"],
  left: (endpoint: Endpoint) => void = () => undefined,
): void {
  for (const { pod } of without(now, before)) emit({ type: "added", pod });
  for (const endpoint of without(before, now)) {
    emit({ type: "converged", pod: endpoint.pod });
    left(endpoint);
  }
  if (before.length === 0 && now.length > 0) emit({ type: "filled" });
  if (before.length > 0 && now.length === 0) emit({ type: "empty" });
}

/** Without an endpoint kube-proxy rejects, a resolver finds nothing and a load balancer has no target: nothing is sent anywhere. */
export function refuse(exchange: Exchange, at: number): void {
  exchange.fail({ outcome: "refused", error: "NO_ENDPOINT" }, at);
}
