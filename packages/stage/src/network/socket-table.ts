import { closeSync, openSync, readSync } from "node:fs";
import type { Listening } from "./network.ts";

/** State columns of /proc/net/tcp (TCP_LISTEN, TCP_ESTABLISHED, include/net/tcp_states.h). */
const listen = "0A";
const established = "01";

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

  /** Whether a port's listeners are on loopback addresses alone, which nothing outside reaches; as text, the addresses. */
  loopbackOnly(port: number): readonly string[] {
    const hosts = new Set<string>();
    for (const file of this.#files)
      this.#find(file, (host, at) => {
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
      for (const [host, at, state, remote] of lines(readAll(file)))
        if (state === established && at === port && (address === undefined || isAddress(host, address)))
          remotes.push(spelled(remote));
    return remotes;
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

/** 127.0.0.1, ::1 and ::ffff:127.0.0.1 as the kernel prints them. */
const loopbacks: Readonly<Record<string, string>> = {
  "0100007F": "127.0.0.1",
  "00000000000000000000000001000000": "::1",
  "0000000000000000FFFF00000100007F": "127.0.0.1",
};

function readAll(file: number): string {
  const pieces: string[] = [];
  const buffer = Buffer.alloc(1 << 16);
  for (let at = 0, length = 1; length > 0; at += length) {
    length = readSync(file, buffer, 0, buffer.length, at);
    pieces.push(buffer.toString("latin1", 0, length));
  }
  return pieces.join("");
}

function* lines(text: string): Generator<readonly [string, number, string, string]> {
  for (const line of text.split("\n").slice(1)) {
    const [, local = "", remote = "", state = ""] = line.trim().split(/\s+/);
    const [host = "", port = ""] = local.split(":");
    if (state !== "") yield [host, Number.parseInt(port, 16), state, remote.split(":")[0] ?? ""];
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
