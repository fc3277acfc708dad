/** What Linux tells in /proc of processes and their sockets. Elsewhere there is no such folder: lists and tables are empty. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The numbers of all processes that can be seen. */
export function processes(): number[] {
  return list("/proc").map(Number).filter(Number.isInteger);
}

/** The sockets that a process has open, "socket:[INODE]" each. */
export function socketsOf(id: number): string[] {
  return list(`/proc/${id}/fd`).flatMap((descriptor) => socketAt(id, descriptor) ?? []);
}

/** Undefined where the descriptor is of something else, or cannot be seen. */
export function socketAt(id: number | "self", descriptor: number | string): string | undefined {
  try {
    const target = readlinkSync(`/proc/${id}/fd/${descriptor}`);
    return target.startsWith("socket:") ? target : undefined;
  } catch {
    return undefined;
  }
}

/** @throws where there is no such process. */
export function parentOf(id: number): number {
  return Number(statOf(id)[1]);
}

/** The ticks at which a process began, which distinguish it from a later one of its number. @throws where there is no such process. */
export function startOf(id: number): string | undefined {
  return statOf(id)[19];
}

/** The fields behind the name, which may contain anything. */
function statOf(id: number): string[] {
  const stat = readFileSync(`/proc/${id}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** A table of the sockets of this network namespace. */
export function socketTable(name: "tcp" | "tcp6" | "udp" | "udp6" | "unix"): string {
  try {
    return readFileSync(`/proc/net/${name}`, "latin1");
  } catch {
    return "";
  }
}

/** States, as the tables of TCP say them. */
export const established = "01";
export const listening = "0A";

/** What a TCP socket is to have. */
interface Sought {
  readonly localPort?: number;
  readonly remotePort?: number;
  readonly state?: string;
}

/** The inodes of the sockets that tables of TCP list; 0 for one that nobody has accepted yet. */
export function inodesIn(tables: string, { localPort, remotePort, state = "\\w\\w" }: Sought): string[] {
  // Local and remote address, state, queues, timer, retransmits, user, timeout, inode.
  const row = `:${inHex(localPort)} [0-9A-F]+:${inHex(remotePort)} ${state} \\S+ \\S+ \\S+ +\\d+ +\\d+ (\\d+) `;
  return [...tables.matchAll(new RegExp(row, "g"))].map(([, inode = ""]) => inode);
}

/** Connections of a local port, and of them those whose peer has not acknowledged all that was sent. */
export interface Acknowledging {
  readonly open: number;
  readonly pending: number;
  /** For each of these: how often in a row it was sent again, and in how many milliseconds it will be once more. */
  readonly resent: readonly { readonly times: number; readonly next: number }[];
}

/** Milliseconds of the tables' unit of time, whatever the kernel's own. */
const tickMs = 10;

/** States of TCP in which our side may still send: established, and those of a connection that one side has closed. */
const sending = "(?:01|04|08|09|0B)";

export function acknowledgingIn(tables: string, ports: ReadonlySet<number>): Acknowledging {
  const row = new RegExp(
    `:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ${sending} ([0-9A-F]+):\\S+ \\w\\w:([0-9A-F]+) ([0-9A-F]+) `,
    "g",
  );
  const own = [...tables.matchAll(row)].filter(([, port = ""]) => ports.has(parseInt(port, 16)));
  const pending = own.filter(([, , queue = ""]) => parseInt(queue, 16) > 0);
  return {
    open: own.length,
    pending: pending.length,
    resent: pending
      .map(([, , , next = "", times = ""]) => ({
        times: parseInt(times, 16),
        next: parseInt(next, 16) * tickMs,
      }))
      .filter(({ times }) => times > 0),
  };
}

function inHex(port: number | undefined): string {
  return port === undefined ? "[0-9A-F]{4}" : port.toString(16).toUpperCase().padStart(4, "0");
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
