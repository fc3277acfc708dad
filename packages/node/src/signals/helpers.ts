import cluster from "node:cluster";
import { createServer, type Server as NetServer } from "node:net";
import { inodesIn, listening, socketsOf, socketTable } from "../proc.ts";

/** The numbers of those processes above this one that Node loaded us into. Children inherit it. */
const variable = "LAMEDUCK_PARENTS";
/** A name among Linux's abstract sockets, which are files nowhere, while a process holds. */
const nameOf = (pid: number): string => `lameduck-holds-${pid}`;

/** Writes our number into the variable: children inherit it with the options by which Node loads us. */
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
  return socketTable("unix").includes(`@${nameOf(process.ppid)}\n`);
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
  const inodes = inodesIn(socketTable("tcp") + socketTable("tcp6"), { state: listening });
  const listeners = new Set(inodes.map((inode) => `socket:[${inode}]`));
  return socketsOf(pid).some((socket) => listeners.has(socket));
}
