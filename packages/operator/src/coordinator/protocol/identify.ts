import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Identity, Tokens } from "../tokens.ts";

interface Shown {
  readonly authorization: string;
  readonly identity: Identity;
}

/** Finds the identity behind a request's token. It is looked up once for each connection and token. */
export class Identifier {
  readonly #tokens: Tokens;
  readonly #now: () => number;
  readonly #shown = new WeakMap<Socket, Shown>();

  constructor(tokens: Tokens, now: () => number) {
    this.#tokens = tokens;
    this.#now = now;
  }

  /** The identity, if it is cached. No promise, because this is called thousands of times a second. */
  known({ headers, socket }: IncomingMessage): Identity | undefined {
    const shown = this.#shown.get(socket);
    return shown && shown.authorization === headers.authorization && shown.identity.until > this.#now()
      ? shown.identity
      : undefined;
  }

  /** @returns undefined for a token that is not valid. @throws where the API server does not answer. */
  async of(request: IncomingMessage): Promise<Identity | undefined> {
    const known = this.known(request);
    if (known) return known;
    const { authorization = "" } = request.headers;
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return undefined;
    const identity = await this.#tokens.identityOf(token, peerOf(request));
    if (identity) this.#shown.set(request.socket, { authorization, identity });
    return identity;
  }
}

/** As a pod's status writes it. */
export function peerOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}
