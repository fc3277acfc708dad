import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { KubernetesClient, type ClusterConnection } from "@lameduck/kube";

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

interface Entry {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Item;
}

/**
 * One collection as an API server serves it: lists by pages, watches from a resourceVersion, bookmarks, 410 for what was compacted. The lines are
 * in the form a Kubernetes 1.36 API server writes.
 */
export class ApiServer implements AsyncDisposable {
  readonly requests: URL[] = [];
  /** Everything is forbidden, as by a server that does not know its roles yet. */
  forbids = false;
  /** What converts the objects is down, as the webhook of a custom resource may be. */
  fails = false;
  readonly #items = new Map<string, Item>();
  readonly #log: Entry[] = [];
  readonly #watches = new Set<{ response: ServerResponse; bookmarks: boolean }>();
  readonly #sending = new WeakMap<ServerResponse, Promise<void>>();
  readonly #sockets = new Set<Socket>();
  #version = 100;
  #compacted = 100;
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<ApiServer> {
    const api = new ApiServer();
    await api.listen();
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get watching(): number {
    return this.#watches.size;
  }

  client(): KubernetesClient {
    return new KubernetesClient(connectionTo(this.url));
  }

  put(name: string, fields: Record<string, unknown> = {}, uid = `uid-${name}`): void {
    const type = this.#items.has(uid) ? "MODIFIED" : "ADDED";
    this.#write(type, { metadata: { name, uid }, ...fields });
  }

  remove(name: string, uid = `uid-${name}`): void {
    this.#write("DELETED", { metadata: { name, uid } });
  }

  /** Something happens in the cluster that is not of this collection. */
  elsewhere(): void {
    this.#version++;
  }

  bookmark(): void {
    const object = { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion: String(this.#version) } };
    for (const { response, bookmarks } of this.#watches)
      if (bookmarks) this.#send(response, "BOOKMARK", object);
  }

  /** History is forgotten; whoever comes back with an older version must list anew. */
  compact(): void {
    this.#compacted = this.#version;
    this.#log.length = 0;
  }

  /** Connections end without a word. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Expires the watches that are open, as a server does whose cache has lost their place. */
  expire(): void {
    const message = "too old resource version: 100 (4242)";
    const object = { kind: "Status", status: "Failure", message, reason: "Expired", code: 410 };
    this.compact();
    const open = [...this.#watches];
    this.#watches.clear();
    for (const { response } of open) {
      this.#send(response, "ERROR", object);
      this.#end(response);
    }
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => this.#serve(request, response));
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    this.cut();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #write(type: Entry["type"], item: Item): void {
    const version = ++this.#version;
    const object = { ...item, metadata: { ...item.metadata, resourceVersion: String(version) } };
    if (type === "DELETED") this.#items.delete(item.metadata.uid);
    else this.#items.set(item.metadata.uid, object);
    this.#log.push({ version, type, object });
    for (const { response } of this.#watches) this.#send(response, type, object);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.url);
    this.requests.push(url);
    response.setHeader("content-type", "application/json");
    if (this.forbids) {
      const status = { kind: "Status", reason: "Forbidden", message: "pods is forbidden", code: 403 };
      response.writeHead(403).end(JSON.stringify(status));
    } else if (this.fails) response.writeHead(500).end("{}");
    else if (url.searchParams.get("watch") === "true") this.#watch(url, response);
    else this.#list(url, response);
  }

  #list(url: URL, response: ServerResponse): void {
    const limit = Number(url.searchParams.get("limit") ?? "500");
    const from = Number(url.searchParams.get("continue") ?? "0");
    const all = [...this.#items.values()];
    const more = from + limit < all.length ? { continue: String(from + limit) } : {};
    const metadata = { resourceVersion: String(this.#version), ...more };
    response.end(JSON.stringify({ kind: "PodList", metadata, items: all.slice(from, from + limit) }));
  }

  /** Each line in two pieces, as a network cuts it, and one after the other. */
  #send(response: ServerResponse, type: string, object: object): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    const before = this.#sending.get(response) ?? Promise.resolve();
    const pieces = [line.slice(0, 20), line.slice(20)];
    const sent = pieces.reduce(
      (former, piece) =>
        former.then(async () => {
          response.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }),
      before,
    );
    this.#sending.set(response, sent);
  }

  #end(response: ServerResponse): void {
    void (this.#sending.get(response) ?? Promise.resolve()).then(() => response.end());
  }

  #watch(url: URL, response: ServerResponse): void {
    const from = Number(url.searchParams.get("resourceVersion"));
    response.writeHead(200);
    response.flushHeaders();
    if (from < this.#compacted) {
      const message = `too old resource version: ${from} (${this.#compacted})`;
      this.#send(response, "ERROR", { kind: "Status", message, reason: "Expired", code: 410 });
      this.#end(response);
      return;
    }
    for (const { version, type, object } of this.#log) if (version > from) this.#send(response, type, object);
    const bookmarks = url.searchParams.get("allowWatchBookmarks") === "true";
    const watch = { response, bookmarks };
    this.#watches.add(watch);
    const seconds = Number(url.searchParams.get("timeoutSeconds") ?? "300");
    const timer = setTimeout(() => response.end(), seconds * 1_000);
    response.on("close", () => {
      clearTimeout(timer);
      this.#watches.delete(watch);
    });
  }
}

export function connectionTo(server: string): ClusterConnection {
  return {
    context: "test",
    cluster: "test",
    server: new URL(server),
    namespace: "shop",
    ca: undefined,
    insecure: false,
    serverName: undefined,
    proxy: undefined,
    credentials: () => Promise.resolve({ expires: Infinity }),
  };
}
