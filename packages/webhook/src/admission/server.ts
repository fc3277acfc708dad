import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import {
  answerHealth,
  answerOneAtATime,
  capTotal,
  type Health,
  largestBody,
  RequestBodies,
} from "@lameduck/program";
import { operatorNames } from "@lameduck/protocol";
import type { Issued } from "../certificates/issue.ts";
import type { Outcome } from "../metrics.ts";
import {
  type AdmissionRequest,
  answerReview,
  type Answer,
  type ReviewHandler,
  unreadable,
} from "./review.ts";

/** The API server gives a review 2 s; a connection that sends a request for longer is no API server. */
const longestRequestMs = 10_000;
const longestHandshakeMs = 5_000;
/** How often Node looks for such requests. */
const checkIntervalMs = 1_000;
/** Go's HTTP client closes connections that were idle for 90 s: it must be the first, or a review meets a closed one. */
const keepAliveTimeoutMs = 95_000;
/** An API server keeps some 25 idle connections to a webhook, and opens more when many pods come. */
const mostConnections = 500;

interface AdmissionServerOptions extends Health {
  readonly mutate: ReviewHandler;
  readonly validate: ReviewHandler;
  /** Deletions and evictions, where they wait, from a caller whose path is right; of others they are let through. */
  readonly guarded?: readonly GuardedReview[] | undefined;
  readonly onReview?: (path: string, outcome: Outcome, seconds: number) => void;
  /** A handler threw: that is our mistake. */
  readonly onFault?: (error: unknown, request: AdmissionRequest) => void;
  readonly onTlsFailure?: () => void;
  /** A connection was given up, since there were too many, or too much was being sent at a time. */
  readonly onDrop?: () => void;
}

interface GuardedReview {
  readonly review: ReviewHandler;
  readonly isTrustedPath: (path: string) => boolean;
}

/** HTTPS for the API server. It can listen before there is a certificate; handshakes fail until then. */
export class AdmissionServer {
  readonly server: Server;
  readonly #options: AdmissionServerOptions;
  readonly #bodies: RequestBodies;

  constructor(options: AdmissionServerOptions) {
    const { onTlsFailure, onDrop } = options;
    this.#options = options;
    this.#bodies = new RequestBodies(onDrop);
    this.server = createServer({
      keepAliveTimeout: keepAliveTimeoutMs,
      requestTimeout: longestRequestMs,
      headersTimeout: longestRequestMs,
      handshakeTimeout: longestHandshakeMs,
      connectionsCheckingInterval: checkIntervalMs,
    });
    answerOneAtATime(this.server, (request, response) => this.#route(request, response));
    capTotal(this.server, mostConnections, onDrop);
    this.server.on("tlsClientError", (_error, socket) => {
      onTlsFailure?.();
      socket.destroy();
    });
    this.server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** From now on for every new connection; those that are open go on. */
  useCertificate({ cert, key }: Issued): void {
    this.server.setSecureContext({ cert, key });
  }

  /** @returns the port. */
  async listen(port: number, address?: string): Promise<number> {
    this.server.listen(port, address);
    await once(this.server, "listening");
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  #route(request: IncomingMessage, response: ServerResponse): void {
    const { paths } = operatorNames;
    const { mutate, validate, guarded = [] } = this.#options;
    // The API server adds ?timeout=2s.
    const [path = ""] = (request.url ?? "").split("?", 1);
    if (path === paths.mutate) void this.#answer(path, mutate, request, response);
    else if (path === paths.validate) void this.#answer(path, validate, request, response);
    else {
      // What follows is a secret, and no name of a metric.
      const root = [paths.hold, paths.surge].find((one) => path === one || path.startsWith(`${one}/`));
      if (root === undefined) return answerHealth(path, request, response, this.#options);
      const trusting = guarded.find(({ isTrustedPath }) => isTrustedPath(path));
      void this.#answer(root, trusting?.review ?? (() => ({ allowed: true })), request, response);
    }
  }

  async #answer(
    path: string,
    handler: ReviewHandler,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { onReview, onFault } = this.#options;
    const refused = methodProblem(request);
    const text = refused ? undefined : await this.#bodies.read(request, largestBody);
    const began = performance.now();
    const answer =
      refused ??
      (text === undefined
        ? unreadable(413, "the body is too large, or broke off")
        : await answerReview(text, handler, closedSignal(response), onFault));
    // What was not read stands in the connection.
    if (text === undefined) response.setHeader("connection", "close");
    onReview?.(path, answer.outcome, (performance.now() - began) / 1_000);
    response.writeHead(answer.status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(answer.body),
      ...(answer.status === 405 ? { allow: "POST" } : {}),
    });
    response.end(answer.body);
  }
}

function methodProblem({ method, headers }: IncomingMessage): Answer | undefined {
  if (method !== "POST") return unreadable(405, "only POST is answered");
  const [type = ""] = (headers["content-type"] ?? "").split(";", 1);
  return type.trim().toLowerCase() === "application/json"
    ? undefined
    : unreadable(415, "the content type must be application/json");
}

function closedSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}
