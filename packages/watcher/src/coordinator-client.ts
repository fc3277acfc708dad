import { readFile } from "node:fs/promises";
import {
  type ConsumerReport,
  type CoordinatorAnswer,
  operatorNames,
  otherVersion,
  otherVersionIn,
  parseCoordinatorAnswer,
  type StreamAnswer,
  writeConsumerReport,
} from "@lameduck/protocol";
import { unreadable } from "./consumer.ts";
import { CoordinatorStream } from "./coordinator-stream.ts";

/** What an answer may take beyond the time for which it may be held back, and a connection in all. */
const answerAllowanceMs = 3_000;
/** Then the token's file is read again. The kubelet renews it long before the old token expires. */
const tokenAgeMs = 60_000;
/** Streams that one report is sent on. The first may have ended, as one does whose token has expired. */
const mostStreams = 2;

/** One replica of the coordinator at one address. */
export class CoordinatorClient {
  readonly #at: { readonly host: string; readonly port: number };
  readonly #path: string;
  readonly #tokenFile: string;
  #token = { text: "", readAt: -Infinity };
  #stream: Promise<CoordinatorStream | StreamAnswer> | undefined;

  constructor(
    at: { readonly host: string; readonly port: number },
    { name, tokenFile }: { readonly name: string; readonly tokenFile: string },
  ) {
    this.#at = at;
    this.#path = `${operatorNames.coordinator.paths.consumers}/${encodeURIComponent(name)}`;
    this.#tokenFile = tokenFile;
  }

  /** @throws where it does not answer, refuses, or answers something else than the protocol's. */
  async report(report: ConsumerReport, signal: AbortSignal): Promise<CoordinatorAnswer> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(report.waitMs + answerAllowanceMs)]);
    const authorization = `Bearer ${await this.#readToken()}`;
    const { status, text } = await this.#tell(writeConsumerReport(report), authorization, limited);
    if (status === 200) return parseCoordinatorAnswer(text);
    if (status === 401) this.#token.readAt = -Infinity;
    const version = otherVersionIn(text);
    if (version !== undefined) throw otherVersion(this.#place, version);
    throw unreadable(this.#place, `answered ${status}: ${text.slice(0, 200)}`);
  }

  close(): void {
    void this.#stream?.then(
      (stream) => {
        if (stream instanceof CoordinatorStream) stream.close();
      },
      () => undefined,
    );
  }

  get #place(): string {
    return `the coordinator at ${this.#at.host}:${this.#at.port}`;
  }

  async #readToken(): Promise<string> {
    const now = performance.now();
    if (now - this.#token.readAt > tokenAgeMs)
      this.#token = { text: (await readFile(this.#tokenFile, "utf8")).trim(), readAt: now };
    return this.#token.text;
  }

  async #tell(report: string, authorization: string, signal: AbortSignal): Promise<StreamAnswer> {
    let cause: unknown;
    for (let streams = 0; streams < mostStreams; streams++)
      try {
        const stream = await this.#openStream(authorization, signal);
        const answer = stream instanceof CoordinatorStream ? await stream.ask(report, signal) : stream;
        if (answer) return answer;
      } catch (error) {
        cause = error;
        if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") break;
      }
    throw unreadable(this.#place, "no answer", { cause });
  }

  /** The one that is open, or a new one. */
  async #openStream(authorization: string, signal: AbortSignal): Promise<CoordinatorStream | StreamAnswer> {
    const before = this.#stream;
    const known = await before;
    if (known instanceof CoordinatorStream && !known.isOver) return known;
    // Another report may have asked for one meanwhile.
    if (this.#stream === before) {
      // The connection has less time than an answer that may be held back.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(answerAllowanceMs)]);
      this.#stream = CoordinatorStream.open({ ...this.#at, path: this.#path, authorization }, limit);
      this.#stream.catch(() => (this.#stream = undefined));
    }
    return this.#stream ?? this.#openStream(authorization, signal);
  }
}
