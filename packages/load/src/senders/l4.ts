import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "./sender.ts";
import type { Change } from "./view.ts";
import { Chooser, refuse } from "./chooser.ts";
import { Pool } from "./pool.ts";

/**
 * A caller behind kube-proxy: each new connection goes to a random endpoint, as the statistic match of its rules does, and keeps that endpoint.
 * With `cuts`, connections to a pod are reset when the sender converges, as some eBPF balancers do.
 */
export class L4Sender implements LoadSender {
  readonly #context: SenderContext;
  readonly #chooser: Chooser;
  readonly #pool: Pool;

  constructor(context: SenderContext, { cuts }: { cuts: boolean }) {
    this.#context = context;
    this.#pool = new Pool(context.dial, context.shared?.service, {
      again: (exchange) => this.send(exchange),
    });
    this.#chooser = new Chooser(context, "ready-else-serving", ({ pod }) => {
      if (cuts) this.#sever(pod);
    });
  }

  send(exchange: Exchange): void {
    const kept = this.#pool.take(exchange);
    const { chosen } = this.#chooser;
    if (kept) kept.send(exchange);
    else if (chosen.length === 0) refuse(exchange, this.#context.now());
    else this.#pool.open(this.#context.random.pick(chosen), exchange).send(exchange);
  }

  learn(change: Change): void {
    this.#chooser.learn(change);
  }

  stop(): void {
    this.#chooser.stop();
    this.#pool.retire();
  }

  #sever(pod: string): void {
    const connections = this.#pool.to(pod);
    for (const connection of connections) connection.sever();
    this.#context.emit({ type: "severed", pod, connections: connections.length });
  }
}
