import type { ConnectionMode, Outcome, RequestKind, StatusClasses } from "@lameduck/accounting";
import type { Answer } from "../answer.ts";
import { grpcStatusName } from "./grpc-status.ts";
import type { Expectation } from "../plan.ts";
import type { Finished } from "../generator/records.ts";

/** What ends a request other than an answer. */
export interface Failure {
  readonly outcome: Outcome;
  readonly error: string;
}

/** One request from the moment it is due until it has ended; ends exactly once. */
export class Exchange {
  readonly row: number;
  readonly record: Finished;
  readonly path: string;
  readonly expectation: Expectation | undefined;
  readonly #meant: readonly number[];
  readonly #classes: StatusClasses | undefined;
  readonly #isBaseline: boolean;
  readonly #done: (exchange: Exchange) => void;
  #ended = false;
  /** Gives the request up; set by the connection that carries it. */
  giveUp: () => void = () => this.fail({ outcome: "timeout", error: "ETIMEDOUT" }, this.record.intended);

  constructor(options: {
    row: number;
    intended: number;
    fired: number | undefined;
    mode: ConnectionMode;
    kind: RequestKind;
    sender: number;
    path: string;
    expectation: Expectation | undefined;
    meant: readonly number[];
    /** What statuses are held to, or learned for; without it everything below 500 is right. */
    classes?: StatusClasses | undefined;
    isBaseline?: boolean;
    done: (exchange: Exchange) => void;
  }) {
    this.row = options.row;
    this.path = options.path;
    this.expectation = options.expectation;
    this.#meant = options.meant;
    this.#classes = options.classes;
    this.#isBaseline = options.isBaseline ?? false;
    this.#done = options.done;
    this.record = {
      intended: options.intended,
      fired: options.fired,
      sent: undefined,
      finished: undefined,
      mode: options.mode,
      kind: options.kind,
      sender: options.sender,
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

  get kind(): RequestKind {
    return this.record.kind;
  }

  /** Bytes of body that have to be kept to check it. */
  get wanted(): number {
    const text = this.expectation?.text;
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

  #judge(response: Answer): Outcome {
    if (response.grpcStatus !== undefined) return this.#judgeCall(response.grpcStatus);
    if (response.status >= 500) return this.#meant.includes(response.status) ? "ok" : "bad-status";
    if (this.#isBaseline) this.#classes?.learn(response.status);
    else if (this.#classes?.knows(response.status) === false) {
      this.record.error = this.#classes.code;
      return "other-status";
    }
    // What the app answers is known for its successes only: a redirect or a 404 has a body of its own.
    if (response.status >= 300 || this.expectation === undefined) return "ok";
    const { bytes, text } = this.expectation;
    if (bytes !== undefined && bytes !== response.body) return "wrong-body";
    return text === undefined || text === response.text ? "ok" : "wrong-body";
  }

  #judgeCall(status: number): Outcome {
    if (status === 0 || this.#meant.includes(status)) return "ok";
    this.record.error = grpcStatusName(status);
    return "bad-status";
  }

  #end(outcome: Outcome, at: number): void {
    this.#ended = true;
    this.record.outcome = outcome;
    this.record.finished = at;
    this.#done(this);
  }
}
