import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Identity, Tokens } from "../tokens.ts";

interface Shown {
  readonly authorization: string;
  readonly identity: Identity;
}

/** Who asks: by the token of the request. A connection that shows the same one again is not looked up again. */
export class Identifier {
  readonly #tokens: Tokens;
  readonly #now: () => number;
  readonly #shown = new WeakMap<Socket, Shown>();

  constructor(tokens: Tokens, now: () => number) {
    this.#tokens = tokens;
    this.#now = now;
  }

  /** Without a promise where nobody needs to be asked: this is called thousands of times a second. */
  known({ headers, socket }: IncomingMessage): Identity | undefined {
    const shown = this.#shown.get(socket);
    return shown && shown.authorization === headers.authorization && shown.identity.until > this.#now()
      ? shown.identity
      : undefined;
  }

  /** @returns none where it is nobody. @throws where the API server does not answer. */
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
