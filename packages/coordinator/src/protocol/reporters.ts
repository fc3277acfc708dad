import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { operatorNames } from "@lameduck/protocol";
import type { Identity } from "../tokens.ts";
import type { ConsumerRequests } from "./consumer-requests.ts";
import type { Identifier } from "./identify.ts";
import { ReportStream } from "./report-stream.ts";

export interface ReportersOptions {
  readonly consumerRequests: ConsumerRequests;
  readonly identifier: Identifier;
  readonly consumerAccounts: readonly string[];
  readonly onFault: (error: unknown) => void;
}

/** Without a byte on a connection. Consumers report again within 30 s; they must be the first to close. */
export const longestSilenceMs = 65_000;

/** Who reports, and as which consumer; or why it may not. */
type Reporter =
  | { readonly name: string; readonly identity: Identity }
  | { readonly status: 401 | 403 | 503; readonly error: string };

const unauthorized: Reporter = {
  status: 401,
  error: "a token of a ServiceAccount that may report is needed, for audience lameduck",
};

/** Who may report, and the streams on which they do. */
export class Reporters {
  readonly #options: ReportersOptions;
  readonly #streams = new Set<ReportStream>();

  constructor(options: ReportersOptions) {
    this.#options = options;
  }

  /** @param request that asks for a stream on this connection */
  readonly open = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    const stream = new ReportStream(socket.setTimeout(longestSilenceMs, () => socket.destroy()));
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
    const { consumerRequests, identifier, onFault } = this.#options;
    const reporter = await this.#reporterOf(request);
    // Of who may not report nothing is read.
    if ("error" in reporter) {
      consumerRequests.unread(reporter.status, reporter.error, stream);
      return;
    }
    const { name, identity } = reporter;
    stream.read(head, (line) => {
      try {
        if (identifier.isCurrent(identity)) consumerRequests.report(name, line, identity, stream);
        else stream.end();
      } catch (error) {
        onFault(error);
        stream.end();
      }
    });
  }

  async #reporterOf(request: IncomingMessage): Promise<Reporter> {
    const { identifier, consumerAccounts } = this.#options;
    const name = nameIn(request.url ?? "");
    let identity: Identity | undefined;
    try {
      identity = await identifier.identify(request);
    } catch {
      return { status: 503, error: "the API server does not say who this is; try again" };
    }
    if (!identity || name === undefined) return unauthorized;
    const { account } = identity;
    return consumerAccounts.includes(account)
      ? { name, identity }
      : { status: 403, error: `${account} may not report` };
  }
}

/** The consumer's, in the path of its stream. */
function nameIn(url: string): string | undefined {
  const [path = ""] = url.slice(operatorNames.coordinator.paths.consumers.length + 1).split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
