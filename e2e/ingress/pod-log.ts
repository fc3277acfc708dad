import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RunClock } from "@lameduck/accounting";
import type { Cluster } from "../cluster/index.ts";

export interface LoggedPod {
  readonly cluster: Cluster;
  readonly node: string;
  readonly pod: string;
  readonly namespace?: string;
  readonly container: string;
}

/** As the container runtime writes it: 2026-11-21T20:01:11.123456789Z stderr F TEXT */
const loggedLine = /^(\S+) std(?:out|err) \S (.*)$/;

/** Tells each line of a container's log, from the first one on, with the time at which it was written. */
export async function followLog(
  { cluster, node, pod, namespace = "default", container }: LoggedPod,
  clock: RunClock,
  onLine: (at: number, text: string) => void,
): Promise<Disposable> {
  const logs = join(cluster.directory, node, "var", "log", "pods");
  const uid = await cluster.field(["pod", pod, "-n", namespace], "{.metadata.uid}");
  const own = (await readdir(logs)).find((entry) => entry.endsWith(uid)) ?? "";
  const log = join(logs, own, container, "0.log");
  // It ends with us, however we end.
  const tail = spawn("tail", ["-n", "+1", "-F", `--pid=${process.pid}`, log], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  createInterface({ input: tail.stdout }).on("line", (line) => {
    const [, time, text] = loggedLine.exec(line) ?? [];
    if (time !== undefined && text !== undefined) onLine(clock.fromEpoch(Date.parse(time)), text);
  });
  return { [Symbol.dispose]: () => void tail.kill("SIGKILL") };
}
