import type { Server as NetServer, Socket } from "node:net";
import type { Health } from "../options/health.ts";
import type { IsProbe, IsStream } from "../options/requests.ts";
import { isOfUnixSocket, remoteEnd } from "../internals.ts";

/** Where the watched servers report what they see. */
export interface Traffic {
  /** A new connection that carries traffic: its sender still chooses this pod. `at`, on the watch's clock, where it is reported later. */
  connection(sender: string, at?: number): void;
  /** A request on a connection opened earlier; `asked` where its client has been asked to leave before. */
  request(sender: string, asked: boolean): void;
  /** The client of a connection that reported so many requests is asked to leave. */
  asked(sender: string, requests: number): void;
  /** Requests begun (positive) or finished (negative). */
  inFlight(change: number): void;
}

/** What every watch needs to know. */
export interface WatchContext {
  readonly traffic: Traffic;
  readonly isProbe: IsProbe;
  readonly isStream: IsStream;
  readonly health: Health | undefined;
  /** Whether the process waits for traffic to move away when it is terminated. */
  readonly holds: boolean;
  /** Milliseconds on a clock that never runs backwards. */
  readonly now: () => number;
  /** 0 to 1; spreads what must not happen all at once. */
  readonly random: () => number;
}

/** How long streams are waited for that might end by themselves, once closing has begun. Milliseconds. */
export interface Patience {
  /** Those without an end are ended within this time, each at a random moment. */
  readonly spread: number;
  /** Before those are ended that may have an end. */
  readonly doubtful: number;
  /** How long a client has to answer that it has understood. */
  readonly answer: number;
  /** Those that have an end are ended, too, after such a silence; undefined: never. */
  readonly silence: number | undefined;
}

/** One server under watch, whatever its protocol. The methods are called in this order, each at most once, but for the last two. */
export interface ServerWatch {
  /** SIGTERM: from now on every request is seen. */
  hold(): void;
  /** From now on ask clients to leave; `share` is how much of the ramp is over, 0 to 1. */
  hint(share: number): void;
  /** Called often during hold and closing, for what cannot be seen by events. */
  tick(): void;
  /** The hold is over: handlers of the application are about to get their signal. */
  beforeHandlers(): void;
  /** No new connections from here on. */
  stopListening(): void;
  readonly listeners: readonly NetServer[];
  /** Whether it takes connections. */
  readonly listening: boolean;
  /** Accepted so far; two equal readings one loop turn apart say that the accept queue is empty. */
  readonly accepted: number;
  /** Open connections, probes included. */
  readonly open: number;
  /** Connections that may still get a request: not idle for `quiet` milliseconds, or with half a request received. */
  restless(quiet: number): number;
  /** Ends idle connections: end of stream, not reset. */
  endIdle(): void;
  /** Tells streams that never fall silent (server-sent events, WebSockets) that it is over. */
  endStreams(patience: Patience): void;
  /** Cuts what is left. @returns how many requests and connections that were. */
  cut(): { requests: number; connections: number };
  /** Stops watching and leaves the server as it was found. */
  detach(): void;
}

/**
 * Whose a connection is: peers are told apart by address, and IPv4 peers of an IPv6 listener are the same senders. Unix sockets have none,
 * and one that its client has reset has none any more. A socket that is not Node's may have an address and no more.
 */
export function senderOf(socket: Socket): string {
  const address = remoteEnd(socket)?.address ?? socket.remoteAddress;
  if (address === undefined) return isOfUnixSocket(socket) ? "unix" : "unknown";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
