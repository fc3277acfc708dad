import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "./sender.ts";
import type { Change } from "./view.ts";
import { Chooser } from "./chooser.ts";
import { PodPools } from "./pool.ts";

/** A caller inside the cluster that resolves the pods itself (headless Service, client-side balancing) and has a pool for each. */
export class ClientSender implements LoadSender {
  readonly #chooser: Chooser;
  readonly #pools: PodPools;

  constructor(context: SenderContext) {
    this.#pools = new PodPools(context, () => this.#chooser.chosen);
    this.#chooser = new Chooser(context, "ready", ({ pod }) => this.#pools.drop(pod));
  }

  send(exchange: Exchange): void {
    this.#pools.send(exchange);
  }

  learn(change: Change): void {
    this.#chooser.learn(change);
  }

  stop(): void {
    this.#chooser.stop();
    this.#pools.dropAll();
  }
}
