import type { IsProbe, IsStream } from "../options/requests.ts";

/** Where the watches report what they see. */
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
  /** Whether the process waits for traffic to move away when it is terminated. */
  readonly holds: boolean;
  /** SIGTERM has come: every request is seen. */
  readonly isHolding: boolean;
  /** When the listeners closed, on the clock of `now`; Infinity before. */
  readonly stoppedAt: number;
  /** Milliseconds on a clock that never runs backwards. */
  readonly now: () => number;
  /** 0 to 1; spreads what must not happen all at once. */
  readonly random: () => number;
  /** Lasting connections have a time of their own after the hold. */
  readonly spreads: boolean;
}

/** How lasting connections are ended, and how long streams are waited for that might end by themselves. Milliseconds. */
export interface Patience {
  /** Those without an end are ended at an even rate, over at most this time. */
  readonly spread: number;
  /** Between two ends at most. */
  readonly gap: number;
  /** A WebSocket whose turn has come is waited for so long, for a moment after an answer. 0: it is ended at once. */
  readonly moment: number;
  /** Before those are ended that may have an end. */
  readonly doubtful: number;
  /** All are ended within this time. */
  readonly all: number;
  /** How long a client has to answer that it has understood. */
  readonly answer: number;
  /** Those that have an end are ended, too, after such a silence; undefined: never. */
  readonly silence: number | undefined;
}

/** Lasting connections: WebSockets, streams without an end, sessions that carry such streams. */
export interface Lasting {
  /** Those that the server has ended in order: a WebSocket with its close frame, a stream between two events. */
  readonly ended: number;
  /** WebSockets among them that were ended before a message was answered, as far as their bytes tell. */
  readonly unanswered: number;
}

/** What was still going on when it was cut. */
export interface Cut {
  readonly requests: number;
  readonly connections: number;
}

/** Some of the connections of one server: those of a protocol, or those that still shake hands. */
export interface ConnectionWatch {
  /** Open connections, probes included. */
  readonly open: number;
  /** SIGTERM: from now on every request is seen. */
  hold(): void;
  /** Connections that may still get a request: not idle for `quiet` milliseconds, or with half a request received. */
  restless(quiet: number): number;
  /** Ends idle connections: end of stream, not reset. */
  endIdle(): void;
  /** Cuts what is left. */
  cut(): Cut;
  /** Stops watching and leaves the server as it was found. */
  detach(): void;
}

/** The connections of one protocol: what they carry is known. */
export interface ProtocolWatch extends ConnectionWatch {
  /** From now on asks clients to leave; `share` is how much of the ramp is over, 0 to 1. Infinity: the listener closes. */
  hint(share: number): void;
  /** Lasting connections that have not been ended. */
  readonly lasting: number;
  readonly ended: Lasting;
  /** Called often during hold and closing, for what no event tells. */
  tick(): void;
  /** Ends lasting connections from now on, also those that come later. A further call replaces the patience of the one before. */
  endStreams(patience: Patience): void;
}
