import { closeSync, openSync, readSync } from "node:fs";
import type { Listening } from "./network.ts";

/** State column of /proc/net/tcp for a listening socket (TCP_LISTEN, include/net/tcp_states.h). */
const listen = "0A";

/** Listening sockets come first in the kernel's list, so the beginning is enough unless it is full of them. */
const firstBytes = 4_096;

/** Looks for listening sockets in the kernel's table, as the processes of one network namespace see it. */
export class SocketTable {
  readonly #files: number[] = [];
  #buffer = Buffer.alloc(firstBytes);

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
      return this.#files.some((file) => this.#find(file, isWanted)) ? "open" : "closed";
    } catch {
      return "unknown";
    }
  }

  /** Every port with a listener, at that IPv4 address if one is given. */
  ports(address?: string): number[] {
    const ports = new Set<number>();
    for (const file of this.#files)
      this.#find(file, (host, port) => {
        if (address === undefined || isAddress(host, address)) ports.add(port);
        return false;
      });
    return [...ports].sort((a, b) => a - b);
  }

  close(): void {
    for (const file of this.#files.splice(0)) closeSync(file);
  }

  #find(file: number, isWanted: (host: string, port: number) => boolean): boolean {
    for (;;) {
      const length = readSync(file, this.#buffer, 0, this.#buffer.length, 0);
      const text = this.#buffer.toString("latin1", 0, length);
      let hasOtherStates = false;
      for (const line of text.split("\n").slice(1)) {
        const [, local, , state] = line.trim().split(/\s+/);
        if (!local || !state) continue;
        const [host = "", port = ""] = local.split(":");
        if (state !== listen) hasOtherStates = true;
        else if (isWanted(host, Number.parseInt(port, 16))) return true;
      }
      const complete = hasOtherStates || length < this.#buffer.length - 200;
      if (complete || this.#buffer.length >= 1 << 20) return false;
      this.#buffer = Buffer.alloc(this.#buffer.length * 4);
    }
  }
}

/** The kernel prints addresses as words in the machine's byte order; every platform of Node's is little-endian here. */
function isAddress(host: string, address: string): boolean {
  const bytes = address.split(".").toReversed();
  return host.endsWith(
    bytes.map((byte) => Number(byte).toString(16).padStart(2, "0").toUpperCase()).join(""),
  );
}
