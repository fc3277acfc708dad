import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { count } from "@lameduck/accounting/words";
import { argumentsOf, childOf } from "../runtime/children.ts";
import type { PodNetwork } from "../network/network.ts";

/** SIGTERM's bit in the masks of /proc/PID/status. */
const terminate = 1n << 14n;

const shells = new Set(["sh", "bash", "dash", "ash", "busybox", "zsh"]);

/**
 * What is to be seen of a process that did not end in its grace period, just before SIGKILL: what it makes of the signal, whether it listens, and
 * who is connected. undefined where the system does not tell.
 */
export function lastLook(pid: number, { network, port, signal, senderAt }: LookOptions): string | undefined {
  const program = nameOf(pid);
  if (program === undefined) return undefined;
  const child = childOf(pid);
  const below = child === undefined ? undefined : nameOf(child);
  const listens = network.listening(port);
  const parts = [
    signal === "SIGTERM" ? heard(pid, program, { below, isFirst: network.ownProcesses }) : undefined,
    listens === "open" ? `it still listened on port ${port}` : undefined,
    listens === "closed" ? `it listened on port ${port} no more` : undefined,
    connected(network.connections(port), port, senderAt),
  ];
  const said = parts.filter((part) => part !== undefined);
  const nothing = listens === "closed" && network.connections(port)?.length === 0;
  return said.length === 0
    ? undefined
    : said.join("; ") +
        (nothing ? "; what else it had open (a timer, a worker, a pool of connections) kept it alive" : "");
}

interface LookOptions {
  readonly network: PodNetwork;
  readonly port: number;
  /** That was sent before. */
  readonly signal: string;
  /** The sender that connects from an address. */
  readonly senderAt: (address: string) => string | undefined;
}

function heard(
  pid: number,
  program: string,
  { below, isFirst }: { readonly below: string | undefined; readonly isFirst: boolean },
): string | undefined {
  const caught = mask(pid, "SigCgt");
  if (caught === undefined) return undefined;
  if ((caught & terminate) !== 0n) return `${program} caught SIGTERM and did not end`;
  if (below !== undefined && shells.has(program))
    return `PID 1 is the shell ${program}, which neither obeys SIGTERM nor passes it on to ${below} (exec would replace it)`;
  const ignores = ((mask(pid, "SigIgn") ?? 0n) & terminate) !== 0n;
  if (ignores) return `${program} ignores SIGTERM`;
  return isFirst
    ? `${program} has no handler for SIGTERM, and as PID 1 it is not ended by a signal without one`
    : undefined;
}

/** "3 connections were open: 2 of node-1, 1 of client-1" */
function connected(
  remotes: readonly string[] | undefined,
  port: number,
  senderAt: LookOptions["senderAt"],
): string | undefined {
  if (remotes === undefined) return undefined;
  if (remotes.length === 0) return `nobody was connected to port ${port}`;
  const counts = new Map<string, number>();
  for (const address of remotes) {
    const name = senderAt(address) ?? address;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const named = [...counts].sort((a, b) => b[1] - a[1]).map(([name, number]) => `${number} of ${name}`);
  return `${count(remotes.length, "connection")} ${remotes.length === 1 ? "was" : "were"} open: ${named.join(", ")}`;
}

function nameOf(pid: number): string | undefined {
  const [command = ""] = argumentsOf(pid);
  // Threads and titles have names of their own; what was started is what its user knows.
  return command === "" ? undefined : basename(command);
}

function mask(pid: number, name: string): bigint | undefined {
  const digits = new RegExp(`^${name}:\\s*([0-9a-f]+)`, "m").exec(read(`/proc/${pid}/status`) ?? "")?.[1];
  return digits === undefined ? undefined : BigInt(`0x${digits}`);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
