import type { SenderEvent } from "@lameduck/accounting";
import { changes, type Sender } from "../observe/proxies.ts";
import type { Resolution } from "./resolver.ts";

/** A client that finds pods by DNS, as a sender: it converges when the addresses that it holds no longer name a pod. */
export class ResolvingClient implements Sender {
  readonly name: string;
  readonly events: SenderEvent[] = [];
  readonly #podAt: (address: string) => string | undefined;
  #known: ReadonlySet<string> = new Set();

  constructor(name: string, podAt: (address: string) => string | undefined) {
    this.name = name;
    this.#podAt = podAt;
  }

  get reaches(): ReadonlySet<string> {
    return this.#known;
  }

  resolved({ at, addresses }: Resolution): void {
    const now = new Set(addresses.map((one) => this.#podAt(one)).filter((pod) => pod !== undefined));
    this.events.push(...changes(at, this.name, this.#known, now));
    this.#known = now;
  }
}
