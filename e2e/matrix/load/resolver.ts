import { Resolver } from "node:dns/promises";
import type { LookupFunction } from "node:net";

export interface Resolution {
  readonly at: number;
  readonly addresses: readonly string[];
}

/**
 * A client that finds its servers by DNS, as clients of headless Services do. Every new connection goes to one of the known addresses. They are asked
 * for again when their time to live is over. While the server does not answer, the last answer stays in force.
 */
export class CachingResolver {
  readonly #resolver = new Resolver({ timeout: 1_000, tries: 2 });
  readonly #name: string;
  readonly #now: () => number;
  readonly #tell: (resolution: Resolution) => void;
  #addresses: readonly string[] = [];
  #expires = -Infinity;
  #asking: Promise<void> | undefined;

  constructor(options: {
    readonly server: string;
    readonly name: string;
    /** Milliseconds. */
    readonly now: () => number;
    /** Called whenever the addresses have changed. */
    readonly tell: (resolution: Resolution) => void;
  }) {
    this.#resolver.setServers([options.server]);
    this.#name = options.name;
    this.#now = options.now;
    this.#tell = options.tell;
  }

  /** For `net.connect`. */
  readonly lookup: LookupFunction = (_hostname, options, callback) => void this.#answer(options, callback);

  async #answer(
    { all }: Parameters<LookupFunction>[1],
    callback: Parameters<LookupFunction>[2],
  ): Promise<void> {
    await this.#fresh();
    const address = this.#addresses[Math.floor(Math.random() * this.#addresses.length)];
    if (address === undefined)
      callback(Object.assign(new Error(`no address for ${this.#name}`), { code: "ENOTFOUND" }), "", 4);
    else if (all) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  }

  #fresh(): Promise<void> {
    if (this.#now() < this.#expires) return Promise.resolve();
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      const answers = await this.#resolver.resolve4(this.#name, { ttl: true });
      const addresses = answers.map(({ address }) => address).sort();
      this.#expires = this.#now() + 1_000 * Math.min(...answers.map(({ ttl }) => ttl));
      if (addresses.join() === this.#addresses.join()) return;
      this.#addresses = addresses;
      this.#tell({ at: this.#now(), addresses });
    } catch {
      // Asked again with the next connection.
    }
  }
}
