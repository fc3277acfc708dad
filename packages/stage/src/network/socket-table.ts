import { closeSync, openSync, readSync } from "node:fs";
import type { Listening } from "./network.ts";

/** State columns of /proc/net/tcp (TCP_LISTEN, TCP_ESTABLISHED, include/net/tcp_states.h). */
const listen = "0A";
const established = "01";

/** The kernel gives no more at a time, whatever is asked for. */
const pageBytes = 4_096;

/** Looks for listening sockets in the kernel's table, as the processes of one network namespace see it. */
export class SocketTable {
  readonly #files: number[] = [];

  /** @param directory - /proc/PID/net of a process in the namespace. */
  constructor(directory: string) {
    for (const name of ["tcp", "tcp6"]) {
      try {
        this.#files.push(openSync(`${directory}/${name}`, "r"));
      } catch {
        // A kernel without IPv6 has no tcp6; without both files nothing can be known.
      }
    }
  }

  /** @param address - IPv4; without it any local address counts. */
  listening(port: number, address?: string): Listening {
    if (this.#files.length === 0) return "unknown";
    try {
      const isWanted = (host: string, at: number): boolean =>
        at === port && (address === undefined || /^0+$/.test(host) || isAddress(host, address));
      return this.#files.some((file) => hasListener(file, isWanted)) ? "open" : "closed";
    } catch {
      return "unknown";
    }
  }

  /** Every port with a listener, at that IPv4 address if one is given. */
  ports(address?: string): number[] {
    const ports = new Set<number>();
    for (const file of this.#files)
      hasListener(file, (host, port) => {
        if (address === undefined || isAddress(host, address)) ports.add(port);
        return false;
      });
    return [...ports].sort((a, b) => a - b);
  }

  /** Whether a port's listeners are on loopback addresses alone, which nothing outside reaches; as text, the addresses. */
  loopbackOnly(port: number): readonly string[] {
    const hosts = new Set<string>();
    for (const file of this.#files)
      hasListener(file, (host, at) => {
        if (at === port) hosts.add(host);
        return false;
      });
    return [...hosts].every((host) => host in loopbacks) ? [...hosts].map((host) => loopbacks[host]!) : [];
  }

  /** The addresses of those who are connected to a port, one for each connection. */
  connected(port: number, address?: string): string[] | undefined {
    if (this.#files.length === 0) return undefined;
    const remotes: string[] = [];
    for (const file of this.#files)
      for (const { host, port: at, state, remote } of rowsOf(file))
        if (state === established && at === port && (address === undefined || isAddress(host, address)))
          remotes.push(spelled(remote));
    return remotes;
  }

  close(): void {
    for (const file of this.#files.splice(0)) closeSync(file);
  }
}

/** 127.0.0.1, ::1 and ::ffff:127.0.0.1 as the kernel prints them. */
const loopbacks: Readonly<Record<string, string>> = {
  "0100007F": "127.0.0.1",
  "00000000000000000000000001000000": "::1",
  "0000000000000000FFFF00000100007F": "127.0.0.1",
};

function hasListener(file: number, isWanted: (host: string, port: number) => boolean): boolean {
  for (const { host, port, state } of rowsOf(file)) {
    // Listening sockets come first in the kernel's list.
    if (state !== listen) return false;
    if (isWanted(host, port)) return true;
  }
  return false;
}

interface Row {
  readonly host: string;
  readonly port: number;
  readonly state: string;
  readonly remote: string;
}

/** Reads on only as far as rows are taken. */
function* rowsOf(file: number): Generator<Row> {
  const buffer = Buffer.alloc(pageBytes);
  let rest = "";
  for (let at = 0, length = 1; length > 0; at += length) {
    length = readSync(file, buffer, 0, buffer.length, at);
    const lines = (rest + buffer.toString("latin1", 0, length)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [number = "", local = "", remote = "", state = ""] = line.trim().split(/\s+/);
      const [host = "", port = ""] = local.split(":");
      // The first line is the header.
      if (number.endsWith(":"))
        yield { host, port: Number.parseInt(port, 16), state, remote: remote.split(":")[0] ?? "" };
    }
  }
}

/** An IPv4 address, also one mapped into IPv6; any other one as the kernel prints it. */
function spelled(host: string): string {
  const bytes = host.slice(-8).match(/../g)?.toReversed() ?? [];
  const isMapped = host.length === 8 || host.startsWith("0000000000000000FFFF0000");
  return isMapped ? bytes.map((byte) => Number.parseInt(byte, 16)).join(".") : host;
}

/** The kernel prints addresses as words in the machine's byte order; every platform of Node's is little-endian here. */
function isAddress(host: string, address: string): boolean {
  const bytes = address.split(".").toReversed();
  return host.endsWith(
    bytes.map((byte) => Number(byte).toString(16).padStart(2, "0").toUpperCase()).join(""),
  );
}
