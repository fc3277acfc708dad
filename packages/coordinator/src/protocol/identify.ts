import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Identity, Tokens } from "../tokens.ts";

interface CachedIdentity {
  readonly authorization: string;
  readonly identity: Identity;
}

/** Finds the identity behind a request's token. It is looked up once for each connection and token. */
export class Identifier {
  readonly #tokens: Tokens;
  readonly #now: () => number;
  readonly #cache = new WeakMap<Socket, CachedIdentity>();

  constructor(tokens: Tokens, now: () => number) {
    this.#tokens = tokens;
    this.#now = now;
  }

  /** The identity, if it is cached. No promise, because this is called thousands of times a second. */
  cached({ headers, socket }: IncomingMessage): Identity | undefined {
    const shown = this.#cache.get(socket);
    return shown && shown.authorization === headers.authorization && this.isCurrent(shown.identity)
      ? shown.identity
      : undefined;
  }

  /** Its token need not be reviewed again yet. */
  isCurrent({ until }: Identity): boolean {
    return until > this.#now();
  }

  /** The connection shows no token again. */
  forget({ socket }: IncomingMessage): void {
    this.#cache.delete(socket);
  }

  /** @returns undefined for a token that is not valid. @throws where the API server does not answer. */
  async identify(request: IncomingMessage): Promise<Identity | undefined> {
    const known = this.cached(request);
    if (known) return known;
    const { authorization = "" } = request.headers;
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return undefined;
    const identity = await this.#tokens.identityOf(token, peerOf(request));
    if (identity) this.#cache.set(request.socket, { authorization, identity });
    return identity;
  }
}

/** As a pod's status writes it. */
export function peerOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}
