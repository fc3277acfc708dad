import { readdir, readFile } from "node:fs/promises";
import { unreadable } from "./consumer.ts";

/** Linux tells times of processes in hundredths of a second, on every architecture. */
const ticksPerSecond = 100;

/** When the workers of an nginx started that accept connections, milliseconds since 1970. @throws {OperatorError} where there are none. */
export async function workerStarts(pidFile: string): Promise<readonly number[]> {
  const master = Number((await readFile(pidFile, "latin1").catch(() => "")).trim());
  if (!Number.isInteger(master) || master <= 0) throw unreadable(pidFile, "it holds no process id");
  const [uptime = NaN] = (await readFile("/proc/uptime", "latin1")).split(" ").map(Number);
  const booted = Date.now() - uptime * 1_000;
  const starts: number[] = [];
  for (const name of await childrenOf(master)) {
    const own = await processOf(name);
    // A worker that is shutting down accepts no connection. The cache manager is no worker.
    if (own === undefined || own.parent !== master || own.title !== "nginx: worker process") continue;
    starts.push(booted + (own.startedAt / ticksPerSecond) * 1_000);
  }
  if (starts.length === 0)
    throw unreadable(pidFile, `process ${master} has no worker here; the watcher must see nginx's processes`);
  return starts;
}

/** The children that the kernel lists, or all processes where it lists none. */
async function childrenOf(pid: number): Promise<readonly string[]> {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1").catch(() => undefined);
  if (listed !== undefined) return listed.split(" ").filter((one) => one !== "");
  return (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
}

async function processOf(
  pid: string,
): Promise<{ parent: number; startedAt: number; title: string } | undefined> {
  const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "");
  const stat = await read("stat");
  // The name in parentheses may hold anything, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [, parent = ""] = fields;
  if (parent === "" || !stat.includes("(nginx)")) return undefined;
  const title = (await read("cmdline")).replaceAll("\0", " ").trim();
  return { parent: Number(parent), startedAt: Number(fields[19]), title };
}
