import type { Outcome, RequestKind } from "@lameduck/accounting";
import type { Finished } from "../protocols/exchange.ts";

/** What became of the requests of one kind through one sender so far. */
export interface Trial {
  /** Index of the sender in the generator. */
  readonly sender: number;
  readonly kind: RequestKind;
  readonly due: number;
  readonly finished: number;
  /** Answered as a request should be: no failure, and no status from 400 on that is not meant. */
  readonly worked: number;
  /** How often each end was seen, in words: "401", "no answer in time". */
  readonly ends: Readonly<Record<string, number>>;
}

type Growing = { -readonly [Field in keyof Omit<Trial, "ends">]: Trial[Field] } & {
  readonly ends: Record<string, number>;
};

/** Counts of a generator, by sender and kind: whether requests work at all is known before anything is rolled. */
export class Trials {
  readonly #meant: readonly number[];
  readonly #trials = new Map<string, Growing>();

  constructor(meant: readonly number[]) {
    this.#meant = meant;
  }

  get all(): readonly Trial[] {
    return [...this.#trials.values()];
  }

  due({ sender, kind }: Pick<Finished, "sender" | "kind">): void {
    this.#of(sender, kind).due++;
  }

  end(record: Finished): void {
    if (record.kind === "session" || record.outcome === "not-sent") return;
    const trial = this.#of(record.sender, record.kind);
    trial.finished++;
    if (this.#isMeant(record)) trial.worked++;
    const words = wordsOf(record);
    trial.ends[words] = (trial.ends[words] ?? 0) + 1;
  }

  #of(sender: number, kind: RequestKind): Growing {
    const key = `${sender} ${kind}`;
    const known = this.#trials.get(key) ?? { sender, kind, due: 0, finished: 0, worked: 0, ends: {} };
    this.#trials.set(key, known);
    return known;
  }

  #isMeant({ outcome, status = 0 }: Finished): boolean {
    return outcome === "ok" && (status < 400 || this.#meant.includes(status));
  }
}

/** Errors that say what came instead of the protocol. */
const instead: Readonly<Record<string, string>> = {
  NOT_HTTP: "an answer that is no HTTP/1.1",
  NO_H2: "a server that does not speak HTTP/2",
  NOT_WEBSOCKET: "instead of a WebSocket",
  NO_UPGRADE: "instead of a WebSocket",
  NOT_EVENTS: "without events (text/event-stream)",
  NO_EVENTS: "without events",
  NO_GRPC_STATUS: "without a status of gRPC",
};

/** How a request ended, for a person. */
export function wordsOf({
  outcome,
  status,
  error = "",
}: {
  readonly outcome: Outcome;
  readonly status?: number | undefined;
  readonly error?: string | undefined;
}): string {
  const known = instead[error];
  if (known !== undefined) return status === undefined ? known : `${status} ${known}`;
  const because = error === "" ? "" : ` (${error})`;
  switch (outcome) {
    case "ok":
      return String(status ?? "an answer");
    case "bad-status":
    case "other-status":
      return `${status ?? "a bad status"}${because}`;
    case "wrong-body":
      return error === "" ? "another body than the app's" : `a wrong answer${because}`;
    case "timeout":
      return "no answer in time";
    case "refused":
      return error === "NO_ENDPOINT" ? "no pod to send it to" : `connection refused${because}`;
    case "unreachable":
      return `no connection${because}`;
    case "reset-before-response":
      return `a connection that ended before the answer${because}`;
    case "truncated":
      return `an answer that broke off${because}`;
    case "not-sent":
      return `nothing: it was not sent${because}`;
  }
}
