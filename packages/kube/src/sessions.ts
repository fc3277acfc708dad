import { Agent as HttpAgent } from "./node-http.ts";
import { Agent as HttpsAgent } from "node:https";
import type { ClusterConnection, Credentials } from "./connection/connection.ts";

/** Credentials and the connections that are made with them. */
export interface Session {
  readonly credentials: Credentials;
  readonly agent: HttpAgent | HttpsAgent;
  /** An agent that opens a connection for each request. */
  readonly once: HttpAgent | HttpsAgent;
}

/** Credentials are used for this time at least: with a wrong clock they seem to have expired when they are issued. */
const shortestUseMs = 60_000;
/** Between two renewals, as a plugin may ask a person each time. */
const betweenRenewalsMs = 5_000;

/** The credentials in use, asked for once for all requests that wait for them, and the connections made with them. */
export class Sessions {
  readonly #connection: ClusterConnection;
  readonly #signal: AbortSignal;
  readonly #agents = new Set<HttpAgent | HttpsAgent>();
  #session: Session | undefined;
  #freshUntil = 0;
  #asked = -Infinity;
  #asking: Promise<Session> | undefined;
  /** The last session that was seen to be accepted. */
  #accepted: Session | undefined;

  /** @param signal ends a question for credentials. */
  constructor(connection: ClusterConnection, signal: AbortSignal) {
    this.#connection = connection;
    this.#signal = signal;
  }

  async current(): Promise<Session> {
    if (this.#session && this.#freshUntil > Date.now()) return this.#session;
    return this.#ask();
  }

  accepted(session: Session): void {
    this.#accepted = session;
  }

  /** After a refusal. @returns the refused session where there are no other credentials. */
  async renewed(refused: Session): Promise<Session> {
    // Another request may have been refused before this one.
    if (this.#session !== refused && this.#session) return this.#session;
    if (this.#asking) return this.#asking;
    const justIssued = this.#accepted !== refused && Date.now() - this.#asked < betweenRenewalsMs;
    return justIssued ? refused : this.#ask();
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  #ask(): Promise<Session> {
    this.#asking ??= this.#askNow().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askNow(): Promise<Session> {
    const credentials = await this.#connection.credentials(this.#signal);
    this.#asked = Date.now();
    this.#freshUntil = Math.max(credentials.expires, this.#asked + shortestUseMs);
    const former = this.#session;
    if (former && isSame(former.credentials, credentials)) return former;
    const kept = former && hasSameCertificate(former.credentials, credentials);
    const agents = kept
      ? { agent: former.agent, once: former.once }
      : { agent: this.#connect(credentials, true), once: this.#connect(credentials, false) };
    this.#session = { credentials, ...agents };
    if (former && !kept) retire(former.agent);
    return this.#session;
  }

  #connect({ cert, key }: Credentials, keepAlive: boolean): HttpAgent | HttpsAgent {
    const { server, ca, insecure, serverName, proxy } = this.#connection;
    const common = {
      keepAlive,
      // The proxy has been chosen already: Node ignores networks in NO_PROXY.
      proxyEnv: proxy === undefined ? {} : { HTTPS_PROXY: proxy, HTTP_PROXY: proxy },
    };
    const agent =
      server.protocol === "http:"
        ? new HttpAgent(common)
        : new HttpsAgent({
            ...common,
            cert,
            key,
            ca,
            rejectUnauthorized: !insecure,
            ...(serverName === undefined ? {} : { servername: serverName }),
          });
    this.#agents.add(agent);
    return agent;
  }
}

/** Open watches on the agent live on. Its connections that are free now, or become so, are closed. */
function retire(agent: HttpAgent | HttpsAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}

function isSame(one: Credentials, other: Credentials): boolean {
  return one.authorization === other.authorization && hasSameCertificate(one, other);
}

function hasSameCertificate(one: Credentials, other: Credentials): boolean {
  return one.cert?.toString() === other.cert?.toString() && one.key?.toString() === other.key?.toString();
}
