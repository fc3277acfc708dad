import { existsSync, readdirSync, readFileSync } from "node:fs";
import { uptime } from "node:os";
import { messageOf } from "@lameduck/drain/common";
import { unreadable } from "../consumer.ts";

/** Linux tells times of processes in hundredths of a second, on every architecture. */
const millisecondsPerTick = 10;

export interface Worker {
  readonly pid: string;
  /** With its start: process ids come again. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

export interface Workers {
  readonly master: string;
  readonly accepting: readonly Worker[];
  /** They accept nothing, and finish what they have accepted. */
  readonly leaving: readonly Worker[];
}

/** The master and its children at a moment at which it read no configuration. */
export interface Rest {
  readonly master: string;
  readonly children: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** When the last of the workers started that accept connections. */
export const startOf = ({ accepting }: Pick<Workers, "accepting">): number =>
  Math.max(...accepting.map(({ startedAt }) => startedAt));

/**
 * Milliseconds. A replaced worker has sent by then what it had accepted. If it still runs, it mostly has connections that stay open for hours.
 */
export const leavingPatience = 5_000;

/** @throws {OperatorError} where no worker accepts connections, or more do than those of one master. */
export function workersOf(pidFile: string): Workers {
  const master = masterOf(pidFile);
  // While the binary is replaced, the workers of both masters accept.
  if (existsSync(`${pidFile}.oldbin`)) throw unreadable(pidFile, "nginx's binary is being replaced");
  return workersBelow(master, pidFile);
}

/**
 * The masters that a program has started, itself or by others, by the name of that program, with which the command line of its process begins.
 * @returns none where the program's processes cannot be seen.
 */
export function mastersStartedBy(program: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const own = processOf(pid);
    return own?.title.startsWith("nginx: master process") === true && isBelow(own.parent, program);
  });
}

function isBelow(pid: string, program: string): boolean {
  for (let above = pid; above !== "" && above !== "0"; above = statusOf(above)?.parent ?? "") {
    const [path = ""] = contentOf(`/proc/${above}/cmdline`).split("\0");
    if (path.slice(path.lastIndexOf("/") + 1) === program) return true;
  }
  return false;
}

/** @param place for people: by what the master was found. @throws {OperatorError} where no worker accepts connections. */
export function workersBelow(master: string, place: string): Workers {
  const booted = Date.now() - uptime() * 1_000;
  const accepting: Worker[] = [];
  const leaving: Worker[] = [];
  for (const pid of childrenOf(master)) {
    const own = processOf(pid);
    if (own?.parent !== master) continue;
    const key = `${pid} ${own.startedAt}`;
    const worker = { pid, key, startedAt: booted + own.startedAt * millisecondsPerTick };
    // The cache manager is no worker.
    if (own.title === "nginx: worker process") accepting.push(worker);
    else if (own.title === "nginx: worker process is shutting down") leaving.push(worker);
  }
  if (accepting.length > 0) return { master, accepting, leaving };
  throw unreadable(place, `process ${master} has no worker here; the watcher must see nginx's processes`);
}

/**
 * The children of a master that rests now. A worker that is none of them comes from a reload that begins later. While the master reloads it blocks its
 * signals; it waits for them with none blocked. Everybody may read that. @returns undefined where it does not rest, or is not there.
 */
export function restOf(pidFile: string): Rest | undefined {
  try {
    const master = masterOf(pidFile);
    if (!/^SigBlk:\s+0+$/m.test(readFileSync(`/proc/${master}/status`, "latin1"))) return undefined;
    const children = new Set(childrenOf(master));
    return { master, children, at: performance.timeOrigin + performance.now() };
  } catch {
    return undefined;
  }
}

function masterOf(pidFile: string): string {
  const text = contentOf(pidFile).trim();
  if (/^[1-9]\d*$/.test(text)) return text;
  throw unreadable(pidFile, "it holds no process id");
}

/** The children that the kernel lists, or all processes where it lists none. */
function childrenOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean);
  } catch (error) {
    if (!existsSync(`/proc/${pid}`)) throw unreadable(`/proc/${pid}`, messageOf(error), { cause: error });
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  }
}

function processOf(pid: string): { parent: string; startedAt: number; title: string } | undefined {
  const status = statusOf(pid);
  if (status?.name !== "nginx") return undefined;
  return { ...status, title: contentOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() };
}

function statusOf(pid: string): { name: string; parent: string; startedAt: number } | undefined {
  const stat = contentOf(`/proc/${pid}/stat`);
  // The name in parentheses may hold anything, parentheses too.
  const end = stat.lastIndexOf(")");
  const fields = stat.slice(end + 2).split(" ");
  const [, parent = ""] = fields;
  if (parent === "") return undefined;
  return { name: stat.slice(stat.indexOf("(") + 1, end), parent, startedAt: Number(fields[19]) };
}

/** Empty for what is not there: a process may end at any time. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
