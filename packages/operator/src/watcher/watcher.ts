import type { Logger } from "pino";
import type { WatcherFlags } from "./flags.ts";
import { Looker } from "./looker.ts";
import { Replicas } from "./replicas.ts";

/** All consumers of one process, each with a session for each replica of the coordinator. */
export class Watcher {
  readonly #lookers: readonly Looker[];
  #replicas: readonly Replicas[] = [];
  readonly #flags: WatcherFlags;
  readonly #log: Pick<Logger, "info" | "warn" | "debug">;

  constructor(flags: WatcherFlags, log: Pick<Logger, "info" | "warn" | "debug">) {
    this.#flags = flags;
    this.#log = log;
    this.#lookers = flags.consumers.map(
      (consumer) => new Looker(consumer, (problem) => this.#say(consumer.kind, problem)),
    );
  }

  /** Why a consumer cannot be read, if so. */
  get problems(): readonly string[] {
    return this.#lookers.flatMap(({ problem }) => problem ?? []);
  }

  async start(): Promise<void> {
    const { coordinators, tokenFile, name, node, serves } = this.#flags;
    await Promise.all(this.#lookers.map((looker) => looker.try()));
    this.#replicas = this.#lookers.map(
      (looker) =>
        new Replicas({
          coordinators,
          tokenFile,
          name: `${looker.consumer.kind}/${name}`,
          node,
          serves,
          looker,
          onFailure: (place, error) => this.#log.warn({ place, err: error }, "it is tried again"),
        }),
    );
    const consumers = this.#lookers.map(({ consumer: { kind, basis } }) => ({ kind, basis }));
    this.#log.info({ name, node, consumers }, "watching");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map((replicas) => replicas.stop()));
    await Promise.all(this.#lookers.map((looker) => looker.stop()));
  }

  #say(kind: string, problem: string | undefined): void {
    if (problem === undefined) this.#log.info({ kind }, "readable again");
    else this.#log.warn({ kind, problem }, "cannot be read: nothing is reported as applied");
  }
}
