import type { Outcome, RequestRecord } from "@lameduck/accounting";
import type { Answer } from "../answer.ts";
import type { Exchange } from "./exchange.ts";
import type { TlsOptions } from "../plan.ts";
import type { RequestForm } from "../request-form.ts";

/** One connection of the load, in whatever protocol. */
export interface Connection {
  readonly id: number;
  /** The pod, where the sender chose it itself. */
  readonly pod: string | undefined;
  /** Whether it can carry one more request, as far as its client can know. */
  readonly reusable: boolean;
  send(exchange: Exchange): void;
  /** Closes it: at once when idle, else after what is on it. */
  retire(): void;
  /** Cuts it with a reset, as a balancer does that severs established connections. */
  sever(): void;
}

/** How a lasting connection (a WebSocket, an event stream) ended, where its client did not end it. */
export interface SessionEnd {
  readonly connection: number;
  readonly pod: string | undefined;
  readonly podKnownBy: RequestRecord["podKnownBy"];
  readonly connected: number | undefined;
  readonly at: number;
  readonly outcome: Outcome;
  readonly error: string | undefined;
  readonly received: number;
  readonly endedBySender: boolean;
}

/** Where a connection goes and what surrounds it. */
export interface ConnectionOptions {
  readonly id: number;
  readonly pod: string | undefined;
  readonly address: string;
  readonly port: number;
  readonly localAddress: string | undefined;
  /** Over TLS. */
  readonly secure: boolean;
  readonly tls: TlsOptions;
  /** What every request says, beside its path and host. */
  readonly form: RequestForm;
  /** The authority: what a Host header says. */
  readonly host: string;
  /** Shared by all connections: bytes are consumed before the next read. */
  readonly buffer: Buffer;
  readonly now: () => number;
  /** The answer is complete. Says which pod gave it. */
  readonly answered: (exchange: Exchange, answer: Answer) => void;
  /** It can carry another request, and carries none. */
  readonly idle: (connection: Connection) => void;
  /** It has ended. */
  readonly gone: (connection: Connection) => void;
  /** The server has said that it has not processed this one: it may go elsewhere, and does in every client of the protocol. */
  readonly again: (exchange: Exchange) => void;
  readonly sessionEnded: (end: SessionEnd) => void;
}

/** How a lasting connection ended, from what it knows of itself. */
export function sessionEnd(
  { id, pod }: Connection,
  rest: Pick<SessionEnd, "connected" | "at" | "error" | "received" | "endedBySender">,
): SessionEnd {
  return {
    connection: id,
    pod,
    podKnownBy: pod === undefined ? undefined : "choice",
    outcome: rest.error === undefined ? "ok" : "truncated",
    ...rest,
  };
}

/** The server answered something else than the protocol: every request that waited fails, with the error code given for each case. */
export function refuse(
  exchanges: Iterable<Exchange>,
  { status, received, at }: { readonly status: number; readonly received: number; readonly at: number },
  errors: { readonly serverError: string; readonly otherAnswer: string },
): void {
  for (const exchange of exchanges) {
    exchange.record.status = status || undefined;
    exchange.record.received = received;
    exchange.fail(
      status >= 500
        ? { outcome: "bad-status", error: errors.serverError }
        : { outcome: "wrong-body", error: errors.otherAnswer },
      at,
    );
  }
}

/** Notes on the request's record what carries it. */
export function carry(exchange: Exchange, { id, pod }: Connection, carried: number): void {
  const { record } = exchange;
  record.connection = id;
  record.reused = carried > 0;
  if (pod !== undefined) {
    record.pod = pod;
    record.podKnownBy = "choice";
  }
}
