import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { RequestListener } from "node:http";
import { limitConnections } from "./connection-limit.ts";
import { answerOneAtATime } from "@lameduck/program";
import type { Issued } from "../certificates/issue.ts";

/** The API server gives a review 2 s; a connection that sends a request for longer is no API server. */
const longestRequest = 10_000;
const longestHandshake = 5_000;
/** How often that is looked at. Milliseconds, all of them. */
const checkInterval = 1_000;
/** Go's HTTP client closes connections that were idle for 90 s: it must be the first, or a review meets a closed one. */
const keepAliveTimeout = 95_000;

export interface AdmissionServerOptions {
  readonly handler: RequestListener;
  readonly onTlsFailure?: () => void;
  /** A connection was given up, since there were too many. */
  readonly onDrop?: () => void;
}

/** HTTPS for the API server. It can listen before there is a certificate; handshakes fail until then. */
export class AdmissionServer {
  readonly server: Server;

  constructor({ handler, onTlsFailure, onDrop }: AdmissionServerOptions) {
    this.server = createServer({
      keepAliveTimeout,
      requestTimeout: longestRequest,
      headersTimeout: longestRequest,
      handshakeTimeout: longestHandshake,
      connectionsCheckingInterval: checkInterval,
    });
    answerOneAtATime(this.server, handler);
    limitConnections(this.server, onDrop);
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
}
