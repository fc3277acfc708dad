import { readdir, readFile } from "node:fs/promises";
import { until } from "./until.ts";

/** A process that cannot be confused with a later one of the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot at which it started: field 22 of /proc/PID/stat. */
  readonly started: string;
}

async function statFields(pid: number): Promise<readonly string[] | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The command name in parentheses may hold spaces and parentheses itself; fields resume after the last one.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const fields = await statFields(pid);
  return fields?.[19] === undefined ? undefined : { pid, started: fields[19] };
}

/** Whether that very process still runs (a zombie does not). */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const fields = await statFields(identity.pid);
  return fields !== undefined && fields[19] === identity.started && fields[0] !== "Z" && fields[0] !== "X";
}

/** Whether it is stopped by SIGSTOP. */
export async function isStopped(identity: ProcessIdentity): Promise<boolean> {
  const fields = await statFields(identity.pid);
  return fields !== undefined && fields[19] === identity.started && fields[0] === "T";
}

/** The one child of a wrapper (unshare, nsenter) that forks and waits. */
export function onlyChild(wrapper: number, alive: () => boolean): Promise<ProcessIdentity> {
  return until(
    async () => {
      if (!alive()) throw new Error("the wrapper ended");
      const children = await readFile(`/proc/${wrapper}/task/${wrapper}/children`, "utf8");
      const pid = Number(children.trim().split(" ")[0]);
      return pid > 0 ? identify(pid) : undefined;
    },
    { what: `a child of process ${wrapper}`, timeoutMs: 10_000, everyMs: 5 },
  );
}

/** Sends the signal if that very process still exists; returns whether it did. */
export async function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(identity))) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** All processes whose environment holds `NAME=value`: how leftovers of a crashed run are found without a record of them. */
export async function processesMarked(name: string, value: string): Promise<ProcessIdentity[]> {
  const marker = `${name}=${value}`;
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      try {
        const environment = await readFile(`/proc/${pid}/environ`, "utf8");
        return environment.split("\0").includes(marker) ? await identify(pid) : undefined;
      } catch {
        return undefined;
      }
    }),
  );
  return found.filter((identity) => identity !== undefined);
}

/** The name of the program that runs, as the kernel keeps it; empty when the process is gone. */
export async function programOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/comm`, "utf8").then(
    (name) => name.trim(),
    () => "",
  );
}

/** TCP ports in state LISTEN (0A) in the network namespace of a process. */
export async function listeningPorts(pid: number): Promise<ReadonlySet<number>> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((table) => readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "")),
  );
  const sockets = tables.join("").matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A /gm);
  return new Set(Array.from(sockets, ([, port = ""]) => Number.parseInt(port, 16)));
}

/** Proportional set size: shared pages counted once in the sum over all processes. */
export async function memoryOf(pid: number): Promise<number> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
