import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { localEnd, remoteEnd } from "../internals.ts";
import { inodesIn, parentOf, processes, socketsOf, socketTable } from "../proc.ts";

/** The kubelet's shortest period is 1 s. What comes more often is traffic, and costs no further look. */
const shortestPeriodMs = 900;
/**
 * Probes may be early or late by this time, or by this share of their period if that is more: a process is started for each, and processor time is
 * short in pods.
 */
const jitterMs = 300;
const jitterShare = 0.1;
/** Startup, readiness and liveness probe may ask the same. */
const mostPerPeriod = 3;
/** Times that are kept of each kind of request. */
const mostTimes = 12;
/** Kinds of request that are followed; whatever else is asked over loopback is traffic. */
const mostKinds = 4;

/** The headers that such tools send. A proxy adds others, or passes on the host that its client knows. */
const plain = /^(host|user-agent|accept|accept-encoding|accept-language|sec-fetch-mode|connection)$/;
const ownHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
const tools = /^(curl|wget)\b/i;

interface Kind {
  times: number[];
  sender: string;
}

/**
 * Recognises exec probes, which ask over loopback and do not say what they are. Counted as traffic, they would hold every pod to its cap. What a sidecar proxy
 * passes on comes over loopback, too, and is traffic. So a request is a probe only if its process was put into this container from outside, or if
 * it is of a tool in a process without any other connection, and comes at regular intervals.
 */
export class LoopbackProbes {
  readonly #now: () => number;
  readonly #peerOf: (socket: Socket) => LoopbackPeer;
  readonly #kinds = new Map<string, Kind>();
  readonly #known = new WeakSet<IncomingMessage>();
  #lookedAt = -Infinity;

  constructor(now: () => number, peerOf: (socket: Socket) => LoopbackPeer = loopbackPeer) {
    this.#now = now;
    this.#peerOf = peerOf;
  }

  /** Whether a connection, by its first request, is a probe's; or may be one's, which undecided() tells. */
  takes(socket: Socket, request: IncomingMessage): boolean {
    const sender = remoteEnd(socket)?.address?.replace(/^::ffff:/, "");
    if ((sender !== "127.0.0.1" && sender !== "::1") || !isPlain(request)) return false;
    const now = this.#now();
    const { method, url, headers } = request;
    const name = `${method} ${url} ${headers["user-agent"]}`;
    const isFrequent = now - this.#lookedAt < shortestPeriodMs;
    this.#lookedAt = now;
    const peer = isFrequent ? "unknown" : this.#peerOf(socket);
    if (peer === "executed") {
      this.#known.add(request);
      return true;
    }
    if (peer === "unknown" || !tools.test(headers["user-agent"] ?? "")) {
      this.#kinds.delete(name);
      return false;
    }
    const mayBe = this.#isInTime(name, sender, now);
    if (isRegular(this.#kinds.get(name)?.times ?? [])) this.#known.add(request);
    return mayBe;
  }

  /** Whether a request that takes() has seen is known to be a probe. */
  has(request: IncomingMessage): boolean {
    return this.#known.has(request);
  }

  /** Forgets those of which it is not known whether they are probes. @returns their senders: what is unknown is traffic. */
  undecided(): string[] {
    const all = [...this.#kinds].filter(([, { times }]) => !isRegular(times));
    for (const [name] of all) this.#kinds.delete(name);
    return all.map(([, { sender }]) => sender);
  }

  #isInTime(name: string, sender: string, now: number): boolean {
    const known = this.#kinds.get(name);
    if (!known && this.#kinds.size >= mostKinds) return false;
    const times = [...(known?.times ?? []), now].slice(-mostTimes);
    const mayBe = times.length < mostPerPeriod + 2 || isRegular(times);
    this.#kinds.set(name, { sender, times: mayBe ? times : [now] });
    return mayBe;
  }
}

function isPlain({ method, headers, rawHeaders }: IncomingMessage): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (!plain.test(rawHeaders[index]!.toLowerCase())) return false;
  return ownHost.test(headers.host ?? "");
}

/** Whether each but the first few came one period after another: one probe, or up to three of one period. */
export function isRegular(times: readonly number[]): boolean {
  for (let apart = 1; apart <= mostPerPeriod && times.length >= apart + 2; apart++) {
    const periods = times.slice(apart).map((at, index) => at - times[index]!);
    const least = Math.min(...periods);
    if (least >= shortestPeriodMs && Math.max(...periods) - least <= Math.max(jitterMs, least * jitterShare))
      return true;
  }
  return false;
}

/** The look takes a millisecond in a container; on a machine with many processes it is given up after this time, and nothing is known. */
const longestLookMs = 100;

/**
 * The process at the other end of a connection over loopback.
 * `executed`: it was put into this container from outside, as an exec probe is.
 * `alone`: it is of this container and has no other socket. It passes on no requests of others.
 * `unknown`: anything else, such as a proxy in another container, whose processes cannot be seen from here.
 */
export type LoopbackPeer = "executed" | "alone" | "unknown";

export function loopbackPeer(socket: Socket): LoopbackPeer {
  try {
    const remote = remoteEnd(socket);
    const local = localEnd(socket);
    if (!remote?.port || !local?.port) return "unknown";
    const ofTcp = socketTable("tcp") + socketTable("tcp6");
    const [inode] = inodesIn(ofTcp, { localPort: remote.port, remotePort: local.port });
    const owner = inode === undefined ? undefined : ownerOf(`socket:[${inode}]`);
    if (inode === undefined || owner === undefined) return "unknown";
    if (isFromOutside(owner)) return "executed";
    return hasNoOther(owner, inode) ? "alone" : "unknown";
  } catch {
    // No /proc, or the process is gone.
    return "unknown";
  }
}

const tables = ["tcp", "tcp6", "udp", "udp6", "unix"] as const;

function ownerOf(socket: string): number | undefined {
  const until = performance.now() + longestLookMs;
  // The youngest process first, as probes last for a moment. Numbers grow up to that of the latest process, and begin again after the highest.
  const latest = Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").at(-1));
  const age = (id: number): number => (id <= latest ? latest - id : Infinity);
  const others = processes().filter((id) => id !== process.pid);
  for (const id of others.sort((a, b) => (age(a) === age(b) ? b - a : age(a) - age(b)))) {
    if (socketsOf(id).includes(socket)) return id;
    if (performance.now() > until) return undefined;
  }
  return undefined;
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

/** Whether none of its other sockets is of a network, or listens. */
function hasNoOther(id: number, inode: string): boolean {
  const others = socketsOf(id).map((socket) => socket.slice("socket:[".length, -1));
  const lines = tables.flatMap((name) => socketTable(name).split("\n"));
  return others.every((other) => {
    if (other === inode) return true;
    const line = lines.find((each) => each.split(/\s+/).includes(other));
    // A Unix socket that listens has the flag 10000; pairs of them are how Node talks to its children.
    return line === undefined || (/^\w+: /.test(line) && !/^\w+: \w+ \w+ \w*1\w{4} /.test(line));
  });
}
