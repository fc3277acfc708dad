import type { Logger } from "pino";
import { answerLiveness } from "./liveness.ts";
import { type WatcherFlags, parseWatcherFlags, watcherHelp } from "./flags.ts";
import { Poller } from "./poller.ts";
import { Replicas } from "./replicas.ts";
import { keepHeapSmall } from "./small-heap.ts";
import { once } from "node:events";
import { processLog, subcommand } from "@lameduck/program";

/** All consumers of one process, each with a session for each replica of the coordinator. */
export class Watcher {
  readonly #pollers: readonly Poller[];
  #replicas: readonly Replicas[] = [];
  readonly #flags: WatcherFlags;
  readonly #log: Pick<Logger, "info" | "warn" | "debug">;

  constructor(flags: WatcherFlags, log: Pick<Logger, "info" | "warn" | "debug">) {
    this.#flags = flags;
    this.#log = log;
    this.#pollers = flags.consumers.map(
      (consumer) => new Poller(consumer, (problem) => this.#logProblem(consumer.kind, problem)),
    );
  }

  async start(): Promise<void> {
    const { coordinators, tokenFile, name, node, serves } = this.#flags;
    await Promise.all(this.#pollers.map((poller) => poller.check()));
    this.#replicas = this.#pollers.map(
      (poller) =>
        new Replicas({
          coordinators,
          tokenFile,
          name: `${poller.known.kind}/${name}`,
          node,
          serves,
          poller,
          onFailure: (place, error) => this.#log.warn({ place, err: error }, "it is tried again"),
        }),
    );
    const consumers = this.#pollers.map(({ known: { kind, basis } }) => ({ kind, basis }));
    this.#log.info({ name, node, consumers }, "watching");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map((replicas) => replicas.stop()));
    await Promise.all(this.#pollers.map((poller) => poller.stop()));
  }

  #logProblem(kind: string, problem: string | undefined): void {
    if (problem === undefined) this.#log.info({ kind }, "readable again");
    else this.#log.warn({ kind, problem }, "cannot be read: nothing is reported as applied");
  }
}

export const watcher = subcommand(watcherHelp, parseWatcherFlags, watch);

async function watch(flags: WatcherFlags): Promise<void> {
  keepHeapSmall();
  const ended = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
  const log = processLog(flags);
  // A watcher on each node must not carry the client of the API server.
  const watching =
    flags.discover.length > 0
      ? (await import("./clouds/discover.ts")).discoveries(flags, log)
      : new Watcher(flags, log);
  await watching.start();
  const liveness = flags.livePort === undefined ? undefined : await answerLiveness(flags.livePort);
  await ended;
  liveness?.close();
  await watching.stop();
}
