import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer, type Server as NetServer } from "node:net";
import cluster from "node:cluster";

/** Numbers of the processes above that were given us without code, as their children are. */
const variable = "LAMEDUCK_PARENTS";
/** A name among Linux's abstract sockets, which are files nowhere, while a process holds. */
const nameOf = (pid: number): string => `lameduck-holds-${pid}`;

/** Children inherit the options by which Node loads us: they can know from whom. */
export function tellChildren(): void {
  if (!parents().includes(process.pid)) process.env[variable] = [process.pid, ...parents()].join(" ");
}

/** From now on children know that their parent holds. @returns what ends it. */
export function tellOfHold(): () => void {
  if (process.platform !== "linux" || !parents().includes(process.pid)) return () => {};
  const sign = createServer((socket) => socket.destroy()).on("error", () => {});
  sign.listen({ path: `\0${nameOf(process.pid)}`, exclusive: true }).unref();
  return () => void sign.close();
}

/**
 * Whether the process serves a parent that serves others, and nobody else: a signal from that parent is no deletion of the pod. Workers of a cluster serve
 * everybody. What cannot be known (on systems other than Linux) counts as no.
 */
export function isHelper(listeners: readonly NetServer[]): boolean {
  const { ppid } = process;
  return !cluster.isWorker && parents().includes(ppid) && listeners.every(isLocal) && isListening(ppid);
}

/** The pod ends, and all its processes got the signal: the parent serves on, and needs its helper. */
export function doesParentHold(): boolean {
  return read("/proc/net/unix").includes(`@${nameOf(process.ppid)}\n`);
}

function parents(): number[] {
  return process.env[variable]?.split(" ").map(Number) ?? [];
}

function isLocal(server: NetServer): boolean {
  const address = server.address();
  if (address === null || typeof address === "string") return true;
  return address.address === "::1" || /^(::ffff:)?127\./.test(address.address);
}

/** Whether a process listens to TCP. */
function isListening(pid: number): boolean {
  const sockets = `${read("/proc/net/tcp")}\n${read("/proc/net/tcp6")}`;
  // Local and remote address, state 0A (TCP_LISTEN), queues, timer, retransmits, user, timeout, inode.
  const listen = /^ *\d+: \S+ \S+ 0A \S+ \S+ \S+ +\d+ +\d+ (\d+) /gm;
  const inodes = new Set([...sockets.matchAll(listen)].map(([, inode]) => `socket:[${inode}]`));
  try {
    return readdirSync(`/proc/${pid}/fd`).some((file) => inodes.has(linkOf(`/proc/${pid}/fd/${file}`)));
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
