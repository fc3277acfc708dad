import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { CoordinatorClient } from "./coordinator-client.ts";
import type { Poller } from "./poller.ts";
import { Session } from "./session.ts";

/** Milliseconds between two lookups of the name. */
const every = 10_000;
/** Least milliseconds until the next lookup after a failure. */
const soonest = 1_000;

export interface ReplicasOptions {
  readonly coordinators: readonly URL[];
  readonly tokenFile: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly serves?: readonly string[];
  readonly poller: Poller;
  /** Called when something fails, and when it fails for another reason. */
  readonly onFailure: (place: string, error: unknown) => void;
  /** All addresses of a name; those of the system unless given. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Keeps a session with every replica of the coordinator that the names lead to. */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #stopping = new AbortController();
  #wake: () => void = () => undefined;
  readonly #running: Promise<void>;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.stop()));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      await this.#look();
      await delay(soonest, undefined, { signal }).catch(() => undefined);
      await Promise.race([woken, delay(every - soonest, undefined, { signal }).catch(() => undefined)]);
    }
  }

  async #look(): Promise<void> {
    const found = new Map<string, { host: string; port: number }>();
    let isWhole = true;
    for (const { hostname, port } of this.#options.coordinators)
      try {
        const bare = hostname.replace(/^\[|\]$/g, "");
        for (const host of await (this.#options.resolve ?? addressesOf)(bare)) {
          const at = { host, port: Number(port || 80) };
          found.set(`${at.host} ${at.port}`, at);
        }
      } catch (error) {
        // The lookup failed. Replicas that still answer are kept.
        isWhole = false;
        this.#options.onFailure(hostname, error);
      }
    if (this.#stopping.signal.aborted) return;
    for (const [key, at] of found) if (!this.#sessions.has(key)) this.#sessions.set(key, this.#begin(at));
    for (const [key, session] of this.#sessions)
      if (isWhole && !found.has(key) && session.failures > 0) {
        this.#sessions.delete(key);
        await session.stop();
      }
  }

  #begin(at: { host: string; port: number }): Session {
    const { poller, node, serves = [], name, tokenFile } = this.#options;
    return new Session({
      client: new CoordinatorClient(at, { name, tokenFile }),
      poller,
      node,
      serves,
      onFailure: (error, isNews) => {
        if (isNews) this.#options.onFailure(`${at.host}:${at.port}`, error);
        this.#wake();
      },
    });
  }
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
