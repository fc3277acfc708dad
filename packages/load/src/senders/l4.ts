import type { Connection } from "../protocols/connection.ts";
import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "../generator/sender.ts";
import type { Endpoint } from "@lameduck/accounting";
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
  readonly #byPod = new Map<string, Set<Connection>>();

  constructor(context: SenderContext, options: { cuts: boolean }) {
    this.#context = context;
    this.#pool = new Pool(context.shared?.service);
    this.#chooser = new Chooser({
      now: context.now,
      spacing: context.spacing,
      choice: "ready-else-serving",
      emit: context.emit,
      ...(options.cuts ? { left: (endpoint: Endpoint) => this.#sever(endpoint.pod) } : {}),
    });
  }

  send(exchange: Exchange): void {
    const kept = exchange.mode === "pooled" ? this.#pool.take() : undefined;
    if (kept) {
      kept.send(exchange);
      return;
    }
    const { chosen } = this.#chooser;
    if (chosen.length === 0) refuse(exchange, this.#context.now());
    else this.#dial(this.#context.random.pick(chosen), exchange).send(exchange);
  }

  learn(change: Change): void {
    this.#chooser.learn(change);
  }

  stop(): void {
    this.#chooser.stop();
    for (const connections of this.#byPod.values()) for (const connection of connections) connection.retire();
  }

  #dial(endpoint: Endpoint, { mode }: Exchange): Connection {
    const connection = this.#context.dial(endpoint, {
      idle: (free) => this.#pool.freed(free),
      gone: (ended) => {
        this.#byPod.get(endpoint.pod)?.delete(ended);
        this.#pool.remove(ended);
      },
      again: (exchange) => this.send(exchange),
    });
    if (mode === "pooled") this.#pool.opened(connection);
    let connections = this.#byPod.get(endpoint.pod);
    if (!connections) this.#byPod.set(endpoint.pod, (connections = new Set()));
    connections.add(connection);
    return connection;
  }

  #sever(pod: string): void {
    const connections = [...(this.#byPod.get(pod) ?? [])];
    for (const connection of connections) connection.sever();
    this.#context.emit({ type: "severed", pod, connections: connections.length });
  }
}
