import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { KubernetesError } from "../errors.ts";
import type { ClusterConnection, Credentials } from "./connection.ts";

/** An answer of the API server that is no success. */
export class ApiFailure extends KubernetesError {
  readonly status: number;
  /** Kubernetes' own word for it, such as "NotFound" or "TooManyRequests". */
  readonly reason: string;

  constructor(place: string, status: number, reason: string, message: string) {
    super(status === 403 ? "LAMEDUCK_API_FORBIDDEN" : codeOf(status), place, message);
    this.status = status;
    this.reason = reason;
  }
}

/** An API server that takes longer than this for a plain request is taken for unreachable. */
const patience = 30_000;

interface Sending {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly signal?: AbortSignal | undefined;
  /** No answer is needed soon: the request lives until its signal. */
  readonly streaming?: boolean;
}

/** When the API server answered, by its own clock (whole seconds) and by ours (Date.now() before and after). */
export interface ServerTime {
  readonly server: number;
  readonly sent: number;
  readonly received: number;
}

/**
 * What `rollout` needs of the Kubernetes API and no more, over one kept-alive agent. Our own because of @kubernetes/client-node 2.0.1: 83 MB
 * installed and 0.4 s to import, a connection for every request, no bookmarks, and a watch that stops at every error but 410.
 */
export class KubernetesClient {
  readonly connection: ClusterConnection;
  #credentials: Credentials | undefined;
  #agent: HttpAgent | HttpsAgent | undefined;
  #serverTime: ((time: ServerTime) => void) | undefined;

  constructor(connection: ClusterConnection) {
    this.connection = connection;
  }

  /** Is told of each answer's Date header. */
  onServerTime(listener: (time: ServerTime) => void): void {
    this.#serverTime = listener;
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.#json<T>({ method: "GET", path, signal });
  }

  post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return this.#json<T>({ method: "POST", path, body, signal });
  }

  delete<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
    return this.#json<T>({ method: "DELETE", path, body, signal });
  }

  /** A strategic merge patch unless told otherwise. */
  patch<T>(
    path: string,
    body: unknown,
    type: "strategic-merge-patch" | "merge-patch" = "strategic-merge-patch",
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#json<T>({ method: "PATCH", path, body, type: `application/${type}+json`, signal });
  }

  /** An answer to be read as it comes: watches and logs. @throws {ApiFailure} for a status that is no success. */
  async stream(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#send({ method: "GET", path, signal, streaming: true });
    if ((response.statusCode ?? 500) >= 300) throw failureOf(`GET ${path}`, response, await textOf(response));
    return response;
  }

  close(): void {
    this.#agent?.destroy();
  }

  async #json<T>(sending: Sending): Promise<T> {
    const response = await this.#send(sending);
    const text = await textOf(response);
    const place = `${sending.method} ${sending.path.split("?")[0]}`;
    if ((response.statusCode ?? 500) >= 300) throw failureOf(place, response, text);
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new KubernetesError(
        "LAMEDUCK_API_REFUSED",
        place,
        "the answer is not JSON: is this an API server?",
      );
    }
  }

  async #send(sending: Sending): Promise<IncomingMessage> {
    const response = await this.#attempt(sending);
    if (response.statusCode !== 401 || this.#credentials?.expires === Infinity) return response;
    // Renewed on the way, or withdrawn before their time: once more with new ones.
    response.resume();
    this.#forget();
    return this.#attempt(sending);
  }

  async #attempt(sending: Sending): Promise<IncomingMessage> {
    try {
      return await this.#open(sending);
    } catch (error) {
      if (sending.signal?.aborted || error instanceof KubernetesError) throw error;
      // A kept-alive connection that the server had closed meanwhile: what only reads may be asked again.
      if (sending.method === "GET" && (error as NodeJS.ErrnoException).code === "ECONNRESET")
        return this.#open(sending).catch((again: unknown) => {
          throw this.#unreachable(again);
        });
      throw this.#unreachable(error);
    }
  }

  #unreachable(error: unknown): KubernetesError {
    const { code, message } = error as NodeJS.ErrnoException;
    const words = message === "" || code === undefined ? (code ?? message) : message;
    return new KubernetesError("LAMEDUCK_API_UNREACHABLE", this.connection.server.origin, words, {
      cause: error,
    });
  }

  async #open(sending: Sending): Promise<IncomingMessage> {
    const { server } = this.connection;
    const credentials = await this.#fresh();
    const text = sending.body === undefined ? undefined : JSON.stringify(sending.body);
    const options: RequestOptions = {
      method: sending.method,
      agent: this.#agent,
      headers: {
        accept: "application/json",
        "user-agent": "lameduck",
        ...impersonationHeaders(this.connection),
        ...(credentials.authorization === undefined ? {} : { authorization: credentials.authorization }),
        ...(text === undefined
          ? {}
          : {
              "content-type": sending.type ?? "application/json",
              "content-length": Buffer.byteLength(text),
            }),
      },
      ...(sending.signal === undefined ? {} : { signal: sending.signal }),
    };
    const url = new URL(`${server.pathname.replace(/\/$/, "")}${sending.path}`, server);
    return new Promise((resolve, reject) => {
      const sent = Date.now();
      const send = server.protocol === "https:" ? httpsRequest : httpRequest;
      const request = send(url, options, (response) => {
        clearTimeout(timer);
        this.#note(response, sent);
        resolve(response);
      });
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer within ${patience / 1_000} s`)),
        patience,
      );
      request.on("error", (error) => {
        clearTimeout(timer);
        reject(error);
      });
      request.on("socket", (socket) => socket.setKeepAlive(true, 5_000));
      request.end(text);
    });
  }

  #note(response: IncomingMessage, sent: number): void {
    const server = Date.parse(response.headers.date ?? "");
    if (!Number.isNaN(server)) this.#serverTime?.({ server, sent, received: Date.now() });
  }

  async #fresh(): Promise<Credentials> {
    if (this.#credentials && this.#credentials.expires > Date.now() && this.#agent) return this.#credentials;
    const credentials = await this.connection.credentials();
    const { server, ca, insecure, serverName, proxy } = this.connection;
    const certificate = { cert: credentials.cert, key: credentials.key };
    const changed = this.#credentials?.cert?.toString() !== credentials.cert?.toString();
    if (!this.#agent || changed) {
      this.#agent?.destroy();
      const common = {
        keepAlive: true,
        proxyEnv: proxy === undefined ? process.env : { HTTPS_PROXY: proxy, HTTP_PROXY: proxy },
      };
      this.#agent =
        server.protocol === "http:"
          ? new HttpAgent(common)
          : new HttpsAgent({
              ...common,
              ...certificate,
              ca,
              rejectUnauthorized: !insecure,
              ...(serverName === undefined ? {} : { servername: serverName }),
            });
    }
    this.#credentials = credentials;
    return credentials;
  }

  #forget(): void {
    this.#credentials = undefined;
  }
}

function impersonationHeaders({ impersonation }: ClusterConnection): OutgoingHttpHeaders {
  if (!impersonation) return {};
  const { user, uid, groups, extra = {} } = impersonation;
  return {
    "impersonate-user": user,
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(groups.length > 0 ? { "impersonate-group": [...groups] } : {}),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [
        `impersonate-extra-${encodeURIComponent(key)}`,
        [...values],
      ]),
    ),
  };
}

function codeOf(status: number): "LAMEDUCK_CREDENTIALS_FAILED" | "LAMEDUCK_API_REFUSED" {
  return status === 401 ? "LAMEDUCK_CREDENTIALS_FAILED" : "LAMEDUCK_API_REFUSED";
}

function failureOf(place: string, response: IncomingMessage, text: string): ApiFailure {
  const status = response.statusCode ?? 500;
  try {
    const { message, reason } = JSON.parse(text) as { message?: string; reason?: string };
    return new ApiFailure(place, status, reason ?? "", message ?? `status ${status}`);
  } catch {
    return new ApiFailure(place, status, "", `status ${status}: ${text.slice(0, 200)}`);
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) text += chunk;
  return text;
}
