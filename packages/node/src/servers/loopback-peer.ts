import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { localEnd, remoteEnd } from "../internals.ts";

/** The look takes a millisecond in a container; on a machine with many processes it is given up after this time, and nothing is known. */
const longestLookMs = 100;

/**
 * Who is at the other end of a connection over loopback. `executed`: a process that was put into this container from outside, as by an exec probe;
 * `alone`: one of this container that has no other socket, so that it passes on nobody's requests; `unknown`: anything else, such as a proxy in a container of
 * its own, whose processes cannot be seen from here.
 */
export type LoopbackPeer = "executed" | "alone" | "unknown";

export function loopbackPeer(socket: Socket): LoopbackPeer {
  try {
    const remote = remoteEnd(socket);
    const local = localEnd(socket);
    if (!remote?.port || !local?.port) return "unknown";
    const tables = ["tcp", "tcp6"].map(table);
    const inode = inodeBetween(tables.join(""), remote.port, local.port);
    const owner = inode === undefined ? undefined : ownerOf(`socket:[${inode}]`);
    if (owner === undefined) return "unknown";
    if (isFromOutside(owner)) return "executed";
    return hasNoOther(owner, inode!, [...tables, ...["udp", "udp6", "unix"].map(table)])
      ? "alone"
      : "unknown";
  } catch {
    // No /proc, or the process is gone.
    return "unknown";
  }
}

/** Without one: nothing is listed in it. */
function table(name: string): string {
  try {
    return readFileSync(`/proc/net/${name}`, "latin1");
  } catch {
    return "";
  }
}

const inHex = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

function inodeBetween(tables: string, from: number, to: number): string | undefined {
  const line = new RegExp(`:${inHex(from)} [0-9A-F]+:${inHex(to)} \\S+ \\S+ \\S+ \\S+ +\\d+ +\\d+ (\\d+) `);
  return line.exec(tables)?.[1];
}

function ownerOf(socket: string): number | undefined {
  const until = performance.now() + longestLookMs;
  // The youngest first, as probes are processes of a moment: numbers go up to the latest, and begin again after the highest.
  const latest = Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").at(-1));
  const age = (id: number): number => (id <= latest ? latest - id : Infinity);
  const others = readdirSync("/proc").filter((id) => /^\d+$/.test(id) && Number(id) !== process.pid);
  for (const id of others.map(Number).sort((a, b) => (age(a) === age(b) ? b - a : age(a) - age(b)))) {
    if (socketsOf(id).includes(socket)) return id;
    if (performance.now() > until) return undefined;
  }
  return undefined;
}

function socketsOf(id: number): string[] {
  try {
    const folder = `/proc/${id}/fd`;
    return readdirSync(folder)
      .map((descriptor) => readlinkSync(`${folder}/${descriptor}`))
      .filter((target) => target.startsWith("socket:"));
  } catch {
    return [];
  }
}

/**
 * Parents outside the container are number 0. What the container itself has started descends from its process 1; where this process does not, several
 * containers share their processes, and each of them has a parent outside.
 */
function isFromOutside(id: number): boolean {
  return originOf(process.pid) === 1 && originOf(id) !== 1;
}

/** The eldest ancestor that can be seen. */
function originOf(id: number): number {
  let origin = id;
  for (let parent = parentOf(id); parent > 0; parent = parentOf(parent)) origin = parent;
  return origin;
}

/** The fourth field of `stat`, of which the second, a name in parentheses, may hold anything. */
export function parentOf(id: number): number {
  const stat = readFileSync(`/proc/${id}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Whether no socket but the one is of a network, or listens. */
function hasNoOther(id: number, inode: string, tables: readonly string[]): boolean {
  const others = socketsOf(id).map((socket) => socket.slice("socket:[".length, -1));
  const lines = tables.flatMap((each) => each.split("\n"));
  return others.every((other) => {
    if (other === inode) return true;
    const line = lines.find((each) => each.split(/\s+/).includes(other));
    // A Unix socket that listens has the flag 10000; pairs of them are how Node talks to its children.
    return line === undefined || (/^\w+: /.test(line) && !/^\w+: \w+ \w+ \w*1\w{4} /.test(line));
  });
}
