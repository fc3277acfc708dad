import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { cgroupsLeft, removeCgroups } from "./host/cgroups.ts";
import {
  isAlive,
  processesMarked,
  programOf,
  signalProcess,
  type ProcessIdentity,
} from "./host/processes.ts";
import { clusterMark } from "./host/sandbox.ts";
import { until } from "./host/until.ts";

/**
 * Ends everything that belongs to the cluster of this state directory, whether it was brought up whole, in part, or by a process that crashed.
 * Needs no record: the machines are found by their mark, and the kernel ends what runs in them.
 */
export async function tearDown(directory: string, { keepLogs = false } = {}): Promise<void> {
  // More than once: a start cut off in the middle may still be adding a machine.
  for (;;) {
    const marked = await processesMarked(clusterMark, directory);
    if (marked.length === 0) break;
    await endAll(marked);
  }
  await removeCgroups();
  await rm(failedLogs(directory), { recursive: true, force: true });
  if (keepLogs) await rename(join(directory, "log"), failedLogs(directory)).catch(() => undefined);
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * unshare and nsenter stay: they reap what they started and end by themselves, and a process namespace cannot end before all in it are reaped.
 * They must run to do so, and stop themselves when their child is stopped.
 */
async function endAll(marked: readonly ProcessIdentity[]): Promise<void> {
  for (const process of marked) {
    await signalProcess(process, "SIGCONT");
    if (!wrappers.has(await programOf(process.pid))) await signalProcess(process, "SIGKILL");
  }
  for (const process of marked)
    await until(async () => !(await isAlive(process)), {
      what: `end of process ${process.pid}`,
      timeoutMs: 30_000,
      everyMs: 10,
    });
}

const wrappers: ReadonlySet<string> = new Set(["unshare", "nsenter"]);

/** Where the logs of a start that failed are kept until the next start or `cluster:down`. */
export const failedLogs = (directory: string): string => `${directory}-failed-logs`;

/** What a cluster left on this machine, in words; empty when nothing. Mounts and namespaces end with the processes in them. */
export async function leftovers(directory: string): Promise<string[]> {
  const processes = await processesMarked(clusterMark, directory);
  return [
    ...processes.map(({ pid }) => `process ${pid}`),
    ...(await cgroupsLeft()).map((cgroup) => `cgroup ${cgroup}`),
    ...(existsSync(directory) ? [`directory ${directory}`] : []),
  ];
}
