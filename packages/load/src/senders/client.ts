import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "../generator/sender.ts";
import type { Change } from "./view.ts";
import { Chooser, refuse } from "./chooser.ts";
import { PodPools } from "./pools.ts";

/** A caller inside the cluster that resolves the pods itself (headless Service, client-side balancing) and has a pool for each. */
export class ClientSender implements LoadSender {
  readonly #context: SenderContext;
  readonly #chooser: Chooser;
  readonly #pools: PodPools;

  constructor(context: SenderContext) {
    this.#context = context;
    this.#pools = new PodPools({
      dial: context.dial,
      shared: context.shared?.pod,
      again: (exchange) => this.send(exchange),
    });
    this.#chooser = new Chooser({
      now: context.now,
      spacing: context.spacing,
      choice: "ready",
      emit: context.emit,
      left: (endpoint) => this.#pools.drop(endpoint.pod),
    });
  }

  send(exchange: Exchange): void {
    const { chosen } = this.#chooser;
    if (chosen.length === 0) refuse(exchange, this.#context.now());
    else this.#pools.send(exchange, this.#context.random.pick(chosen));
  }

  learn(change: Change): void {
    this.#chooser.learn(change);
  }

  stop(): void {
    this.#chooser.stop();
    this.#pools.dropAll();
  }
}
