import { Agent, type AgentOptions, type ClientRequestArgs } from "node:http";
import type { ClientAddresses } from "./plan.ts";

/** Every new connection is another client's: it begins at an address taken at random. Who has kept a connection uses it again. */
export class ClientAgent extends Agent {
  readonly #clients: ClientAddresses | undefined;

  constructor(options: AgentOptions, clients: ClientAddresses | undefined) {
    super(options);
    this.#clients = clients;
  }

  override createConnection(
    options: ClientRequestArgs,
    ready?: Parameters<Agent["createConnection"]>[1],
  ): ReturnType<Agent["createConnection"]> {
    if (this.#clients === undefined) return super.createConnection(options, ready);
    const localAddress = addressAt(this.#clients, Math.floor(Math.random() * this.#clients.count));
    return super.createConnection({ ...options, localAddress }, ready);
  }
}

/** The address of the range at an index from 0; network and broadcast addresses are ordinary ones here. */
export function addressAt({ range }: ClientAddresses, index: number): string {
  const [first = ""] = range.split("/");
  const number = first.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) + index;
  return [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join(".");
}
