import type { IncomingMessage } from "node:http";
import type { Identity, Tokens } from "../tokens.ts";

/** Finds the identity behind a request's token. */
export class Identifier {
  readonly #tokens: Tokens;
  readonly #now: () => number;

  constructor(tokens: Tokens, now: () => number) {
    this.#tokens = tokens;
    this.#now = now;
  }

  /** Its token need not be reviewed again yet. */
  isCurrent({ until }: Identity): boolean {
    return until > this.#now();
  }

  /** @returns undefined for a token that is not valid. @throws where the API server does not answer. */
  async identify(request: IncomingMessage): Promise<Identity | undefined> {
    const { authorization = "" } = request.headers;
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
    return token === undefined ? undefined : this.#tokens.identityOf(token, peerOf(request));
  }
}

/** As a pod's status writes it. */
export function peerOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}
