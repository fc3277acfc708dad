import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request } from "@lameduck/kube/node-http";
import type { AddressInfo } from "node:net";

import { parseDuration } from "@lameduck/drain/duration";

import type { Endpoint } from "@lameduck/accounting";
import { perConnectionHeaders } from "@lameduck/load/proxies";
import type { L7Spec } from "@lameduck/load";
import { connectTimeoutMs, type Proxy, type ProxyContext } from "./proxy.ts";

const perConnection = new Set<string>(perConnectionHeaders);

/** An ingress in small: round robin, keep-alive towards the pods, 502, 503 and 504 as usual, connect failures retried if asked to. */
export async function startL7(spec: L7Spec, context: ProxyContext): Promise<Proxy> {
  const forwarder = new Forwarder(spec, context);
  const server = createServer((incoming, outgoing) => forwarder.serve(incoming, outgoing));
  // Its callers' idle connections outlive any run: a proxy that closed them would add races of its own.
  server.keepAliveTimeout = 3_600_000;
  const address = spec.address ?? "127.0.0.1";
  await once(server.listen(0, address, 4_096), "listening");
  return {
    address,
    port: (server.address() as AddressInfo).port,
    namesRequests: false,
    use: (endpoints) => {
      forwarder.endpoints = endpoints;
      return Promise.resolve();
    },
    outcomes: () => Promise.resolve([]),
    close: async () => {
      forwarder.agent.destroy();
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

interface Attempt {
  readonly endpoint: Endpoint;
  readonly tried: ReadonlySet<string>;
}

class Forwarder {
  endpoints: readonly Endpoint[] = [];
  readonly agent = new Agent({ keepAlive: true, maxFreeSockets: 1_024 });
  readonly #spec: L7Spec;
  readonly #context: ProxyContext;
  readonly #timeout: number;
  readonly #connectedAt = new WeakMap<object, number>();
  #turn = 0;

  constructor(spec: L7Spec, context: ProxyContext) {
    this.#spec = spec;
    this.#context = context;
    this.#timeout = parseDuration(spec.timeout ?? "60s", "timeout");
  }

  serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const endpoint = this.#choose(new Set());
    if (endpoint) this.#forward(incoming, outgoing, { endpoint, tried: new Set() });
    else answer(outgoing, 503, { "x-lameduck-error": "NO_ENDPOINT" });
  }

  #choose(tried: ReadonlySet<string>): Endpoint | undefined {
    const untried = this.endpoints.filter((endpoint) => !tried.has(endpoint.pod));
    return untried[this.#turn++ % untried.length];
  }

  #forward(incoming: IncomingMessage, outgoing: ServerResponse, attempt: Attempt): void {
    const { endpoint, tried } = attempt;
    let connected = false;
    let timedOut = false;
    const upstream = request({
      host: endpoint.address,
      port: endpoint.port,
      agent: this.agent,
      method: incoming.method ?? "GET",
      path: incoming.url ?? "/",
      headers: { ...passedOn(incoming.headers), "x-forwarded-for": incoming.socket.remoteAddress },
      ...(this.#spec.address === undefined ? {} : { localAddress: this.#spec.address }),
    });
    const about = (): Record<string, string> => ({
      "x-lameduck-upstream": endpoint.pod,
      ...(tried.size > 0 ? { "x-lameduck-retries": String(tried.size) } : {}),
    });
    const expire = (): void => {
      timedOut = true;
      upstream.destroy();
    };
    let timer = setTimeout(expire, connectTimeoutMs);
    upstream.on("socket", (socket) => {
      const isConnected = (): void => {
        connected = true;
        if (!this.#connectedAt.has(socket)) this.#connectedAt.set(socket, this.#context.now());
        clearTimeout(timer);
        timer = setTimeout(expire, this.#timeout);
      };
      if (socket.connecting) socket.once("connect", isConnected);
      else isConnected();
    });
    upstream.on("response", (response) => {
      clearTimeout(timer);
      outgoing.writeHead(response.statusCode ?? 502, { ...passedOn(response.headers), ...about() });
      // A body that breaks off breaks off for the caller, too: the status has been sent.
      response.on("error", () => outgoing.destroy());
      response.pipe(outgoing);
    });
    upstream.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (outgoing.headersSent || outgoing.destroyed) {
        outgoing.destroy();
        return;
      }
      const now = new Set(tried).add(endpoint.pod);
      const next = !connected && tried.size < (this.#spec.retries ?? 0) ? this.#choose(now) : undefined;
      if (next) {
        this.#forward(incoming, outgoing, { endpoint: next, tried: now });
        return;
      }
      const at = upstream.socket ? this.#connectedAt.get(upstream.socket) : undefined;
      answer(outgoing, timedOut ? 504 : 502, {
        ...about(),
        "x-lameduck-error": timedOut ? "ETIMEDOUT" : (error.code ?? "EPROTO"),
        "x-lameduck-reused": upstream.reusedSocket ? "1" : "0",
        ...(at === undefined ? {} : { "x-lameduck-connected": String(at) }),
      });
    });
    outgoing.on("close", () => {
      clearTimeout(timer);
      if (!outgoing.writableFinished) upstream.destroy();
    });
    incoming.pipe(upstream);
  }
}

function passedOn(headers: IncomingMessage["headers"]): Record<string, string | string[] | undefined> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !perConnection.has(name)));
}

function answer(outgoing: ServerResponse, status: number, headers: Record<string, string>): void {
  const text = `${status}\n`;
  outgoing.writeHead(status, { "content-type": "text/plain", "content-length": text.length, ...headers });
  outgoing.end(text);
}
