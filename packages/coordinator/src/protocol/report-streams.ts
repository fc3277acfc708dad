import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { readBody } from "@lameduck/program";
import type { ConsumerRequests } from "./consumer-requests.ts";
import type { Identifier } from "./identify.ts";
import { HttpReply } from "./reply.ts";
import { ReportStream } from "./report-stream.ts";
import { reporterOf } from "./reporter.ts";

export interface ReportsOptions {
  readonly consumerRequests: ConsumerRequests;
  readonly identifier: Identifier;
  readonly consumerAccounts: readonly string[];
  readonly onFault: (error: unknown) => void;
}

/** Bytes: reports take a few hundred. */
const longestReport = 32_768;
/** Milliseconds without a byte on a connection. Consumers report again within 30 s; they must be the first to close. */
export const longestSilence = 65_000;

/** Takes a report that is posted. */
export async function takeReport(
  { consumerRequests, consumerAccounts, identifier }: ReportsOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = new HttpReply(response);
  const reporter = await reporterOf({ identifier, accounts: consumerAccounts }, request);
  // Who may not report is not read.
  if ("error" in reporter) {
    consumerRequests.unread(reporter.status, reporter.error, reply);
    return;
  }
  const text = await readBody(request, longestReport);
  if (text === undefined) consumerRequests.unread(413, `more than ${longestReport} bytes`, reply);
  else consumerRequests.report(reporter.name, text, reporter.identity, reply);
}

/** The open streams of consumers. */
export class ReportStreams {
  readonly #options: ReportsOptions;
  readonly #streams = new Set<ReportStream>();

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** @param request that asks for a stream on this connection */
  readonly open = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    const stream = new ReportStream(socket.setTimeout(longestSilence, () => socket.destroy()));
    this.#streams.add(stream);
    socket.once("close", () => this.#streams.delete(stream));
    this.#take(request, stream, head).catch((error: unknown) => {
      this.#options.onFault(error);
      stream.end();
    });
  };

  /** Consumers go on with new ones, or at another replica. */
  end(): void {
    for (const stream of this.#streams) stream.end();
  }

  /** Takes reports until the token has to be reviewed again. */
  async #take(request: IncomingMessage, stream: ReportStream, head: Buffer): Promise<void> {
    const { consumerRequests, consumerAccounts, identifier, onFault } = this.#options;
    const reporter = await reporterOf({ identifier, accounts: consumerAccounts }, request);
    if ("error" in reporter) {
      consumerRequests.unread(reporter.status, reporter.error, stream);
      return;
    }
    const { name, identity } = reporter;
    identifier.forget(request);
    stream.read(head, longestReport, (line) => {
      try {
        if (identifier.isCurrent(identity)) consumerRequests.report(name, line, identity, stream);
        else stream.end();
      } catch (error) {
        onFault(error);
        stream.end();
      }
    });
  }
}
