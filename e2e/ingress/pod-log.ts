import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PodPlace } from "../cluster/container-process.ts";
import type { Cluster } from "../cluster/index.ts";

/** As the container runtime writes it: 2026-11-21T20:01:11.123456789Z stderr F TEXT; with P instead of F the line goes on. */
const loggedLine = /^(\S+) (stdout|stderr) ([FP])\S* (.*)$/;

/** Tells each line of a container's log, from the first one or from now on, with the time at which its end was written. */
export async function followLog(
  cluster: Cluster,
  { node, name, namespace = "default" }: PodPlace,
  container: string,
  from: "first" | "now",
  onLine: (text: string, epoch: number) => void,
): Promise<Disposable> {
  const logs = join(cluster.directory, node, "var", "log", "pods");
  const own = (await readdir(logs)).find((entry) => entry.startsWith(`${namespace}_${name}_`));
  if (own === undefined) throw new Error(`${logs} has no log of pod ${namespace}/${name}`);
  const log = join(logs, own, container, "0.log");
  // It ends with us, however we end.
  const lines = from === "first" ? "+1" : "0";
  const tail = spawn("tail", ["-n", lines, "-F", `--pid=${process.pid}`, log], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const begun = new Map<string, string>();
  createInterface({ input: tail.stdout }).on("line", (line) => {
    const [, time, stream, part, text] = loggedLine.exec(line) ?? [];
    if (time === undefined || stream === undefined || text === undefined) return;
    const sofar = (begun.get(stream) ?? "") + text;
    if (part === "P") begun.set(stream, sofar);
    else {
      begun.delete(stream);
      onLine(sofar, Date.parse(time));
    }
  });
  return { [Symbol.dispose]: () => void tail.kill("SIGKILL") };
}
