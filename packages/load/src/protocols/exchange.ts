import type { ConnectionMode, Outcome, RequestRecord, StatusClasses } from "@lameduck/accounting";
import type { Answer } from "../answer.ts";
import { grpcStatusName } from "./grpc-status.ts";
import type { Expectation } from "../plan.ts";

type Known = Required<Omit<RequestRecord, "id" | "sender" | "elsewhere" | "late">>;

/** What is known of a request when it has ended; times on the run's clock. */
export type Finished = { -readonly [Field in keyof Known]: RequestRecord[Field] } & {
  /** When the generator turned to it: later than intended only if the generator itself was late. */
  fired: number | undefined;
  /** A stall of the generator made it late, or had just ended. */
  late: boolean;
  /** Index of the sender. */
  sender: number;
};

/** What ends a request other than an answer. */
export interface Failure {
  readonly outcome: Outcome;
  readonly error: string;
}

interface ExchangeOptions extends Pick<Finished, "intended" | "fired" | "mode" | "kind" | "sender"> {
  readonly late?: boolean;
  readonly row: number;
  readonly path: string;
  readonly expectation: Expectation | undefined;
  /** Statuses, or gRPC's, that are no loss although they look so. */
  readonly meant: readonly number[];
  /** What statuses are held to, or learned for; without it everything below 500 is right. */
  readonly classes?: StatusClasses | undefined;
  readonly isBaseline?: boolean;
  readonly done: (exchange: Exchange) => void;
}

/** One request from the moment it is due until it has ended; ends exactly once. */
export class Exchange {
  readonly row: number;
  readonly path: string;
  readonly record: Finished;
  readonly #options: ExchangeOptions;
  #ended = false;
  /** Gives the request up; set by the connection that carries it. */
  giveUp: () => void = () => this.fail({ outcome: "timeout", error: "ETIMEDOUT" }, this.record.intended);

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { row, path, intended, fired, late = false, mode, kind, sender } = options;
    this.row = row;
    this.path = path;
    this.record = {
      intended,
      fired,
      late,
      sent: undefined,
      finished: undefined,
      mode,
      kind,
      sender,
      pod: undefined,
      podKnownBy: undefined,
      connection: undefined,
      reused: false,
      connected: undefined,
      outcome: "timeout",
      status: undefined,
      error: undefined,
      received: 0,
      retries: undefined,
      endedBySender: false,
    };
  }

  get ended(): boolean {
    return this.#ended;
  }

  get mode(): ConnectionMode {
    return this.record.mode;
  }

  /** Bytes of body that have to be kept to check it. */
  get wanted(): number {
    const text = this.#options.expectation?.text;
    return text === undefined ? 0 : text.length + 1;
  }

  fail(failure: Failure, at: number): void {
    if (this.#ended) return;
    this.record.error = failure.error;
    this.#end(failure.outcome, at);
  }

  /** Ends the request as observed, where there was no answer to judge. */
  finish(end: { readonly outcome: Outcome; readonly error: string | undefined; readonly at: number }): void {
    if (this.#ended) return;
    this.record.error = end.error;
    this.#end(end.outcome, end.at);
  }

  answered(response: Answer, at: number): void {
    if (this.#ended) return;
    this.#end(this.#judge(response), at);
  }

  #judge({ status, grpcStatus, body, text }: Answer): Outcome {
    const { meant, classes, isBaseline, expectation } = this.#options;
    if (grpcStatus !== undefined) {
      if (grpcStatus === 0 || meant.includes(grpcStatus)) return "ok";
      this.record.error = grpcStatusName(grpcStatus);
      return "bad-status";
    }
    if (meant.includes(status)) return "ok";
    if (status >= 500) return "bad-status";
    if (isBaseline) classes?.learn(status);
    else if (classes?.knows(status) === false) {
      this.record.error = classes.code;
      return "other-status";
    }
    // What the app answers is known for its successes only: a redirect or a 404 has a body of its own.
    if (status >= 300 || expectation === undefined) return "ok";
    const { bytes = body, text: expected = text } = expectation;
    return bytes === body && expected === text ? "ok" : "wrong-body";
  }

  #end(outcome: Outcome, at: number): void {
    this.#ended = true;
    this.record.outcome = outcome;
    this.record.finished = at;
    this.#options.done(this);
  }
}
