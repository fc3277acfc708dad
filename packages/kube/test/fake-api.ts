import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { KubernetesClient } from "@lameduck/kube";
import { connectionTo } from "./api-server.ts";

export interface Item {
  metadata: { name: string; uid: string; resourceVersion?: string; [field: string]: unknown };
  [field: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What goes wrong with one request; undefined where nothing does. */
export type Fault =
  /** The answer comes as far as that byte of it (0: not at all), and then nothing more, or the connection is cut there. */
  | { readonly stallAt: number }
  | { readonly cutAt: number }
  /** Another answer; a text is sent as it is. */
  | Answer
  | { readonly after: number };

interface Entry {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Item;
  /** As it was before a change. */
  readonly before?: Item;
}

interface Collection {
  readonly items: Map<string, Item>;
  readonly log: Entry[];
  readonly watches: Set<{ readonly url: URL; readonly response: ServerResponse }>;
}

export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly resource: string;
  readonly name: string;
  readonly sub: string;
  readonly watch: boolean;
  readonly headers: IncomingHttpHeaders;
}

/** Several collections of one namespace as an API server serves them, and that can misbehave in every way that one can. */
export class FakeApi implements AsyncDisposable {
  /** Told of each request to any of them. */
  static onAsked: (asked: Asked) => void = () => undefined;
  readonly asked: Asked[] = [];
  /** Decides which requests go wrong. */
  fault: (asked: Asked) => Fault | undefined = () => undefined;
  /** The server's clock is ahead of ours by so much. */
  clockAhead = 0;
  /** How late watches tell, milliseconds. */
  watchDelay = 0;
  readonly #collections = new Map<string, Collection>();
  readonly #sockets = new Set<Socket>();
  #version = 100;
  #uids = 0;
  #compacted = 0;
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<FakeApi> {
    const api = new FakeApi();
    await api.listen();
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  now(): number {
    return Date.now() + this.clockAhead;
  }

  client(timeout?: number): KubernetesClient {
    return new KubernetesClient(connectionTo(this.url), timeout === undefined ? {} : { timeoutMs: timeout });
  }

  items(resource: string): Item[] {
    return [...this.#collection(resource).items.values()];
  }

  get(resource: string, name: string): Item | undefined {
    return this.#collection(resource).items.get(name);
  }

  put(resource: string, name: string, fields: { metadata?: object; [field: string]: unknown } = {}): Item {
    const metadata = { name, uid: `uid-${++this.#uids}`, ...fields.metadata };
    return this.#write(resource, "ADDED", { ...fields, metadata });
  }

  /** Merges as a merge patch does. */
  change(resource: string, name: string, fields: { metadata?: object; [field: string]: unknown }): Item {
    const before = this.get(resource, name);
    if (!before) throw new Error(`no ${resource} ${name}`);
    return this.#write(resource, "MODIFIED", merge(before, fields) as Item);
  }

  /** Gives the pod up: other labels, and no owner. */
  relabel(name: string, labels: Record<string, string>): void {
    const pod = this.get("pods", name);
    if (!pod) throw new Error(`no pod ${name}`);
    this.#write("pods", "MODIFIED", { ...pod, metadata: { ...pod.metadata, labels, ownerReferences: [] } });
  }

  remove(resource: string, name: string): void {
    const item = this.get(resource, name);
    if (item) this.#write(resource, "DELETED", item);
  }

  /** History is forgotten and all watches are told so. */
  expire(): void {
    this.#compacted = this.#version;
    for (const { watches, log } of this.#collections.values()) {
      log.length = 0;
      for (const { response } of watches) this.#line(response, "ERROR", expired);
    }
  }

  /** Connections end without a word. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
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

  /** What writes do; undefined for what is not served. */
  protected act(
    _method: string,
    _resource: string,
    _name: string,
    _sub: string,
    _body: Item,
  ): Answer | undefined {
    return undefined;
  }

  #collection(resource: string): Collection {
    let found = this.#collections.get(resource);
    if (!found) {
      found = { items: new Map(), log: [], watches: new Set() };
      this.#collections.set(resource, found);
    }
    return found;
  }

  #write(resource: string, type: Entry["type"], item: Item): Item {
    const version = ++this.#version;
    const object = { ...item, metadata: { ...item.metadata, resourceVersion: String(version) } };
    const { items, log, watches } = this.#collection(resource);
    const before = items.get(item.metadata.name);
    if (type === "DELETED") items.delete(item.metadata.name);
    else items.set(item.metadata.name, object);
    const entry: Entry = { version, type, object, ...(type === "MODIFIED" && before ? { before } : {}) };
    log.push(entry);
    for (const { url, response } of watches)
      setTimeout(() => this.#tell(response, url, entry), this.watchDelay);
    return object;
  }

  /** A watch that selects an object no longer is told that it is gone, as it was before; one that begins to, that it is new. */
  #tell(response: ServerResponse, url: URL, { type, object, before, version }: Entry): void {
    const [was, is] = [before !== undefined && chosen(url, before), chosen(url, object)];
    if (before === undefined) {
      if (is) this.#line(response, type, object);
    } else if (is) this.#line(response, was ? "MODIFIED" : "ADDED", object);
    else if (was) {
      const metadata = { ...before.metadata, resourceVersion: String(version) };
      this.#line(response, "DELETED", { ...before, metadata });
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const asked = { ...partsOf(url), method: request.method ?? "GET", url, headers: request.headers };
    this.asked.push(asked);
    FakeApi.onAsked(asked);
    let text = "";
    for await (const chunk of request as AsyncIterable<Buffer>) text += chunk;
    const fault = this.fault(asked);
    if (fault && "after" in fault) await new Promise((resolve) => setTimeout(resolve, fault.after));
    response.sendDate = false;
    response.setHeader("date", new Date(this.now()).toUTCString());
    response.setHeader("content-type", "application/json");
    // A request that comes to nothing at all has not been carried out either.
    if (fault && "stallAt" in fault && fault.stallAt === 0) return;
    if (fault && "cutAt" in fault && fault.cutAt === 0) {
      request.socket.destroy();
      return;
    }
    if (asked.watch && !(fault && "status" in fault)) {
      this.#watch(asked, response, fault);
      return;
    }
    const answer =
      fault && "status" in fault
        ? fault
        : this.#answer(asked, text === "" ? {} : (JSON.parse(text) as object));
    const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
    if (fault && ("stallAt" in fault || "cutAt" in fault)) {
      const whole = `HTTP/1.1 ${answer.status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      const at = "stallAt" in fault ? fault.stallAt : fault.cutAt;
      const { socket } = request;
      socket.write(whole.slice(0, at), () => {
        if ("cutAt" in fault) socket.destroy();
      });
      return;
    }
    response.writeHead(answer.status).end(body);
  }

  #answer({ method, resource, name, sub, url }: Asked, body: object): Answer {
    if (resource === "selfsubjectaccessreviews") return { status: 201, body: { status: { allowed: true } } };
    if (url.pathname === "/apis") return { status: 200, body: { groups: this.#groups() } };
    if (url.pathname === "/version") return { status: 200, body: { major: "1", minor: "36" } };
    if (method !== "GET") {
      const done = this.act(method, resource, name, sub, body as Item);
      return done ?? { status: 405, body: { message: "not served" } };
    }
    if (name !== "") {
      const item = sub === "" ? this.get(resource, name) : undefined;
      return item
        ? { status: 200, body: item }
        : { status: 404, body: { reason: "NotFound", message: `${resource} "${name}" not found` } };
    }
    const items = this.items(resource).filter((item) => chosen(url, item));
    const from = Number(url.searchParams.get("continue") ?? "0");
    const end = from + Number(url.searchParams.get("limit") ?? Infinity);
    const more = end < items.length ? { continue: String(end) } : {};
    const metadata = { resourceVersion: String(this.#version), ...more };
    return { status: 200, body: { metadata, items: items.slice(from, end) } };
  }

  /** Those with a collection: each is served in any version. */
  #groups(): readonly object[] {
    const names = [...this.#collections.keys()].flatMap((one) =>
      one.includes("/") ? one.split("/", 1) : [],
    );
    const version = { version: "v1" };
    return [...new Set(names)].map((name) => ({ name, versions: [version], preferredVersion: version }));
  }

  #watch({ resource, url }: Asked, response: ServerResponse, fault: Fault | undefined): void {
    const from = Number(url.searchParams.get("resourceVersion"));
    response.writeHead(200);
    response.flushHeaders();
    if (fault && "stallAt" in fault) return;
    if (fault && "cutAt" in fault) {
      response.destroy();
      return;
    }
    if (from < this.#compacted) {
      this.#line(response, "ERROR", expired);
      response.end();
      return;
    }
    const { log, watches } = this.#collection(resource);
    for (const entry of log) if (entry.version > from) this.#tell(response, url, entry);
    const watch = { url, response };
    watches.add(watch);
    const seconds = Number(url.searchParams.get("timeoutSeconds") ?? "300");
    const timer = setTimeout(() => response.end(), seconds * 1_000);
    response.on("close", () => {
      clearTimeout(timer);
      watches.delete(watch);
    });
  }

  #line(response: ServerResponse, type: string, object: object): void {
    if (!response.writableEnded && !response.destroyed)
      response.write(`${JSON.stringify({ type, object })}\n`);
  }
}

const expired = {
  kind: "Status",
  status: "Failure",
  code: 410,
  reason: "Expired",
  message: "too old resource version",
};

function partsOf(url: URL): Omit<Asked, "method" | "url" | "headers"> {
  const [, group = "", resource = "", name = "", sub = ""] =
    /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/[^/]+)?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(
      url.pathname,
    ) ?? [];
  const reviews = resource === "selfsubjectaccessreviews";
  return {
    resource: group === "" || reviews ? resource : `${group}/${resource}`,
    name,
    sub,
    watch: url.searchParams.get("watch") === "true",
  };
}

/** Selectors of equality and existence, and fields by their path. */
function chosen({ searchParams }: URL, item: Item): boolean {
  const labels = (item.metadata["labels"] ?? {}) as Record<string, string>;
  const terms = (name: string): string[][] =>
    (searchParams.get(name) ?? "")
      .split(",")
      .filter((term) => term !== "")
      .map((term) => term.split("="));
  return (
    terms("labelSelector").every(([key = "", value]) =>
      value === undefined ? key in labels : labels[key] === value,
    ) &&
    terms("fieldSelector").every(([key = "", value]) => {
      const at = key.split(".").reduce<unknown>((inside, part) => (inside as Item | undefined)?.[part], item);
      return at === value;
    })
  );
}

/** As a merge patch does it. */
export function merge(before: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = { ...(before as object) };
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  return merged;
}
