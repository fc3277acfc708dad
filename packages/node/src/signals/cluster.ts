import cluster, { type Worker } from "node:cluster";
import { sleep } from "../clock.ts";
import { onWord, tellWord } from "../internals.ts";
import type { Observed } from "../observed.ts";
import { signalGate } from "./signals.ts";

/** Primaries that replace every worker that has gone would do so in a tight loop; this slows it to one a second. */
const lifeOfNewbornsMs = 1_000;
const pollPeriodMs = 20;

/**
 * The primary of a cluster serves no requests. In a container SIGTERM goes to the primary alone, and the workers die when it exits. So the primary
 * tells its workers to hold. It stays until the last worker has exited. The program's own SIGTERM handlers in the primary run when the holds are
 * over. They end the workers by a message, a signal or disconnect(). A primary without such handlers passes SIGTERM on to its workers.
 * @returns what takes it back.
 */
export function passOnToWorkers(duck: Pick<Observed, "on" | "hook" | "busy">): () => void {
  /** Those that have Lameduck, and whether their hold is over. */
  const known = new Map<Worker, boolean>();
  let workers: Worker[] = [];
  let areTold = false;
  let look = (): void => {};
  const met = new WeakSet<Worker>();
  const meet = (worker: Worker): void => {
    if (met.has(worker)) return;
    met.add(worker);
    onWord(worker.process, (word) => {
      if (word === "here") known.set(worker, false);
      if (word === "over") known.set(worker, true);
      if (word === "left") known.delete(worker);
      look();
    });
    tellWord(worker.process, "who");
  };
  const forget = (worker: Worker): void => void known.delete(worker);
  for (const worker of all()) meet(worker);
  cluster.on("fork", meet);
  cluster.on("disconnect", forget);

  const areGone = (): boolean => workers.every((worker) => worker.isDead());
  const areOver = (): boolean => workers.every((worker) => worker.isDead() || known.get(worker) !== false);
  duck.on("lame-duck", ({ reason }) => {
    const lease = duck.busy();
    areTold = signalGate().others(reason as NodeJS.Signals).length > 0;
    workers = all().filter((worker) => !areTold || known.has(worker));
    const over = Promise.withResolvers<void>();
    signalGate().ahead.add(over.promise);
    look = (): void => {
      if (areTold ? !areOver() : !areGone()) return;
      lease[Symbol.dispose]();
      over.resolve();
    };
    cluster.on("fork", suppress);
    cluster.on("disconnect", look);
    cluster.on("exit", look);
    // Where the process goes on (exit: false) it may fork again.
    duck.on("closed", () => {
      signalGate().ahead.delete(over.promise);
      cluster.off("fork", suppress);
      cluster.off("disconnect", look);
      cluster.off("exit", look);
    });
    for (const worker of workers)
      if (areTold) tellWord(worker.process, "hold");
      else worker.process.kill("SIGTERM");
    look();
  });
  const gone = async (): Promise<void> => {
    let areLetGo = !areTold;
    while (!areGone()) {
      const { exit, fatal } = signalGate();
      // Without us they would go with the primary now.
      if (!areLetGo && (exit.code !== undefined || fatal)) {
        areLetGo = true;
        for (const worker of workers) tellWord(worker.process, "end");
      }
      await sleep(pollPeriodMs);
    }
  };
  // Bounded by the deadline only: a worker may use all of the grace period.
  duck.hook("closed", "workers", gone, { timeout: "720h" });
  return () => {
    cluster.off("fork", meet);
    cluster.off("disconnect", forget);
  };
}

function all(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

/**
 * A worker born now must not take traffic: it is stopped before it can listen, and, as it handles no signal yet, SIGTERM ends it once it
 * is let go on.
 */
function suppress(worker: Worker): void {
  worker.process.kill("SIGSTOP");
  const kill = (): void => {
    clearTimeout(timer);
    worker.process.kill("SIGTERM");
    worker.process.kill("SIGCONT");
  };
  const timer = setTimeout(kill, lifeOfNewbornsMs).unref();
  process.once("exit", kill);
  worker.once("exit", () => process.removeListener("exit", kill));
}
