import cluster, { type Worker } from "node:cluster";
import type { Observed } from "../observed.ts";

/** Primaries that replace every worker that has gone would do so in a tight loop; this slows it to one a second. */
const lifeOfNewborns = 1_000;

/**
 * The primary of a cluster serves nothing itself, but in a container it is the one that gets SIGTERM, and its workers die with it.
 * So it passes the signal on and stays until they have gone.
 */
export function passOnToWorkers(duck: Pick<Observed, "on" | "hook" | "busy">): void {
  let workers: Worker[] = [];
  const areGone = (): boolean => workers.every((worker) => worker.isDead());
  duck.on("lame-duck", () => {
    const lease = duck.busy();
    workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    cluster.on("fork", suppress);
    const exited = (): void => {
      if (areGone()) lease[Symbol.dispose]();
    };
    cluster.on("exit", exited);
    // Where the process goes on (exit: false) it may fork again.
    duck.on("closed", () => {
      cluster.off("fork", suppress);
      cluster.off("exit", exited);
    });
    for (const worker of workers) worker.process.kill("SIGTERM");
    if (areGone()) lease[Symbol.dispose]();
  });
  const gone = async (): Promise<void> => {
    while (!areGone()) await new Promise((resolve) => cluster.once("exit", resolve));
  };
  // Bounded by the deadline only: a worker may use all of the grace period.
  duck.hook("closed", "workers", gone, { timeout: "720h" });
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
  const timer = setTimeout(kill, lifeOfNewborns).unref();
  process.once("exit", kill);
  worker.once("exit", () => process.removeListener("exit", kill));
}
