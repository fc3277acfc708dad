import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { operatorNames, otherVersion } from "@lameduck/protocol";
import { bodyOf } from "./consumers/ask.ts";
import { unreadable } from "./consumer.ts";
import { otherVersionIn, readAnswer, type Report, type CoordinatorAnswer } from "./report.ts";
import { type CoordinatorReply, ReportStream } from "./report-stream.ts";

/** Milliseconds that an answer may take beyond the long poll's wait. */
const answerAllowance = 3_000;
/** 100,000 withdrawals. */
const mostBytes = 8 * 2 ** 20;
/** Milliseconds until the token's file is read again. The kubelet renews it long before the old token expires. */
const tokenAge = 60_000;

/** Streams that one report is sent on. The first may have ended, as one does whose token has expired. */
const mostStreams = 2;

/** One replica of the coordinator at one address: over a stream, or by requests where it does not know streams. */
export class CoordinatorClient {
  readonly #at: { readonly host: string; readonly port: number };
  readonly #path: string;
  readonly #tokenFile: string;
  readonly #agent = new Agent({ keepAlive: true });
  #token = { text: "", readAt: -Infinity };
  #stream: Promise<ReportStream | undefined> | undefined;

  constructor(
    at: { readonly host: string; readonly port: number },
    { name, tokenFile }: { readonly name: string; readonly tokenFile: string },
  ) {
    this.#at = at;
    this.#path = `${operatorNames.coordinator.paths.consumers}/${encodeURIComponent(name)}`;
    this.#tokenFile = tokenFile;
  }

  /** @throws where it does not answer, refuses, or answers something else than the protocol's. */
  async post(report: Report, signal: AbortSignal): Promise<CoordinatorAnswer> {
    const body = JSON.stringify(report);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(report.wait + answerAllowance)]);
    const authorization = `Bearer ${await this.#readToken()}`;
    const { status, text } =
      (await this.#tell(body, authorization, limited)) ??
      (await this.#exchange(body, authorization, limited));
    if (status === 200) return readAnswer(text);
    if (status === 401) this.#token.readAt = -Infinity;
    const version = otherVersionIn(text);
    if (version !== undefined) throw otherVersion(this.#place, version);
    throw unreadable(this.#place, `answered ${status}: ${text.slice(0, 200)}`);
  }

  close(): void {
    this.#agent.destroy();
    void this.#stream?.then(
      (stream) => stream?.close(),
      () => undefined,
    );
  }

  get #place(): string {
    return `the coordinator at ${this.#at.host}:${this.#at.port}`;
  }

  async #readToken(): Promise<string> {
    const now = performance.now();
    if (now - this.#token.readAt > tokenAge)
      this.#token = { text: (await readFile(this.#tokenFile, "utf8")).trim(), readAt: now };
    return this.#token.text;
  }

  /** @returns undefined where the coordinator does not know streams, or something between cuts them. */
  async #tell(
    report: string,
    authorization: string,
    signal: AbortSignal,
  ): Promise<CoordinatorReply | undefined> {
    for (let streams = 0; streams < mostStreams; streams++)
      try {
        const stream = await this.#openStream(authorization, signal);
        if (!stream) return undefined;
        const reply = await stream.ask(report, signal);
        if (reply) return reply;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") return this.#silent(error);
      }
    return undefined;
  }

  /** The one that is open, or a new one. */
  async #openStream(authorization: string, signal: AbortSignal): Promise<ReportStream | undefined> {
    const known = this.#stream;
    const stream = await known;
    if (known && !stream?.isOver) return stream;
    // Another report may have opened one meanwhile.
    if (this.#stream === known) {
      const options = { ...this.#at, path: this.#path, authorization, mostBytes };
      // A long poll must not wait for a connection as long as for its answer.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(answerAllowance)]);
      const opening = ReportStream.open(options, limit);
      this.#stream = opening;
      opening.catch(() => (this.#stream = undefined));
    }
    return this.#openStream(authorization, signal);
  }

  #exchange(body: string, authorization: string, signal: AbortSignal): Promise<CoordinatorReply> {
    const headers = {
      authorization,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => reject(unreadable(this.#place, "no answer", { cause: error }));
      const sent = request(
        { ...this.#at, path: this.#path, method: "POST", agent: this.#agent, headers, signal },
        (response) => {
          bodyOf(response, mostBytes).then(
            (text) => resolve({ status: response.statusCode ?? 0, text }),
            failed,
          );
        },
      );
      sent.on("error", failed);
      sent.end(body);
    });
  }

  #silent(error: unknown): never {
    throw unreadable(this.#place, "no answer", { cause: error });
  }
}
