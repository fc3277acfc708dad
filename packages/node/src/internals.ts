/**
 * Everything that we use of Node and that its documentation does not promise. Each part says what it is for, and what happens in a Node
 * without it. None is needed to start or to stop in order. test/internals.test.ts takes each away in turn.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerHttp2Session } from "node:http2";
import { Socket, type Server as NetServer } from "node:net";
import { IncomingMessage, ServerResponse, type Server as HttpServer } from "./node-http.ts";

/**
 * `process._getActiveHandles()` lists the sockets of the process, so that nothing has to be kept of a connection until the hold. In every
 * Node from 0.x to 26. Without it: undefined, and connections are kept from the beginning.
 */
export function activeSockets(): readonly Socket[] | undefined {
  const { _getActiveHandles: handles } = process as { _getActiveHandles?: () => readonly unknown[] };
  return handles?.call(process).filter((handle) => handle instanceof Socket);
}

/**
 * Whether `activeSockets()` will list the socket as one of the server: it has a `_handle`, and `server` says whose it is (set by net, and by http for
 * sockets that came another way, node#13435). Without either: false, and the connection is kept from the beginning.
 */
export function isFindable(socket: Socket, server: NetServer): boolean {
  const { _handle: handle, server: owner } = socket as { _handle?: unknown; server?: unknown };
  return handle != null && owner === server;
}

/** Whether its `server` listens at a path. Without it: no. */
function isOfUnixSocket(socket: Socket): boolean {
  const { server } = socket as { server?: Partial<NetServer> | null };
  return typeof server?.address?.() === "string";
}

/** `_connections` of a server: what getConnections() answers from, which answers only later. Without it: undefined, and those kept are counted. */
export function connectionsOf(server: NetServer): number | undefined {
  return (server as { _connections?: number })._connections;
}

/**
 * A second listen() on the `_handle` of a listener shortens its accept queue; Node has no public name for it. Without it: the queue is
 * emptied, but whoever comes between the last look and close() is reset.
 */
export function shortenQueue(server: NetServer): void {
  const { _handle: handle } = server as { _handle?: { listen?: (backlog: number) => number } | null };
  if (server.listening && typeof handle?.listen === "function") handle.listen(0);
}

/**
 * `fd` of a listener's `_handle`: listeners that node:cluster's primary owns have none. Without it: undefined, and the accept queue is only
 * emptied before the listener closes.
 */
export function descriptorOf(server: NetServer): number | undefined {
  const { _handle: handle } = server as { _handle?: { fd?: unknown } | null };
  return typeof handle?.fd === "number" ? handle.fd : undefined;
}

/**
 * Whether a listener was opened elsewhere. Where listen() was given a handle or a descriptor, `_connectionKey` names no address. A `_handle` that
 * node:cluster has handed out has a `close` of its own. Without the key: it counts as opened elsewhere.
 */
export function comesFromOutside(server: NetServer): boolean {
  const { _connectionKey: key, _handle: handle } = server as { _connectionKey?: unknown; _handle?: object };
  if (typeof key !== "string" || /^(-1|null):null:(-1|null)$/.test(key)) return true;
  return handle !== undefined && handle !== null && Object.hasOwn(handle, "close");
}

export interface EndOfConnection {
  readonly address?: string;
  readonly family?: string;
  readonly port?: number;
}

/**
 * What the kernel says of a socket's other end. The `_handle` is asked, in 1.2 us. `remoteAddress` would keep its answer on the socket, and sockets
 * that were asked would be of another shape than the others. Node also learns only in the loop's next turn that a connection is made. Without the
 * handle: what Node says.
 */
export function remoteEnd(socket: Socket): EndOfConnection | undefined {
  return (
    endOf(socket, "getpeername") ?? publicEnd(socket.remoteAddress, socket.remoteFamily, socket.remotePort)
  );
}

/** The same of its own end. */
export function localEnd(socket: Socket): EndOfConnection | undefined {
  return endOf(socket, "getsockname") ?? publicEnd(socket.localAddress, socket.localFamily, socket.localPort);
}

/**
 * Whose a connection is: peers are told apart by address, and IPv4 peers of an IPv6 listener are the same senders. Unix sockets have none,
 * and one that its client has reset has none any more. A socket that is not Node's may have an address and no more.
 */
export function senderOf(socket: Socket): string {
  const address = remoteEnd(socket)?.address ?? socket.remoteAddress;
  if (address === undefined) return isOfUnixSocket(socket) ? "unix" : "unknown";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

type Asked = "getpeername" | "getsockname";

function endOf(socket: Socket, asked: Asked): EndOfConnection | undefined {
  const { _handle: handle } = socket as { _handle?: Partial<Record<Asked, (end: object) => number>> | null };
  const end: EndOfConnection = {};
  return typeof handle?.[asked] === "function" && handle[asked](end) === 0 ? end : undefined;
}

function publicEnd(address?: string, family?: string, port?: number): EndOfConnection | undefined {
  return address === undefined || family === undefined || port === undefined
    ? undefined
    : { address, family, port };
}

/** The TCP socket under a TLS socket, `_parent`: there since Node 0.11. Without it: undefined, and a time-out ends the wait for handshakes. */
export function socketUnder(socket: Socket): Socket | undefined {
  return (socket as { _parent?: Socket })._parent;
}

/**
 * The response a connection is busy with, `_httpMessage`: there since Node 0.x, and the only way to find responses begun before the
 * hold without having watched every request. Without it: see `trackResponses`.
 */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: message, [tracked]: fallback } = socket as {
    _httpMessage?: ServerResponse | null;
    [tracked]?: ServerResponse;
  };
  const response = message ?? fallback;
  return response && !response.writableFinished ? response : undefined;
}

const tracked = Symbol("@lameduck/node:response");

/** For a Node without `_httpMessage`: looks at every request. @returns what stops it. */
export function trackResponses(server: HttpServer): () => void {
  if (socketsKnowResponses()) return () => {};
  return onRequests(server, ({ socket }, response) => {
    (socket as { [tracked]?: ServerResponse })[tracked] = response;
  });
}

function socketsKnowResponses(): boolean {
  const socket = new Socket();
  const response = new ServerResponse(new IncomingMessage(socket));
  response.assignSocket(socket);
  return currentResponse(socket) === response;
}

const requestStart = "http.server.request.start";

/**
 * Reports each request before the application sees it, whatever its kind: a channel of node:diagnostics_channel, which Node's documentation calls
 * experimental. Without it: a listener, beside one of the application's, reports the requests that the application's gets.
 * @returns what stops it.
 */
export function onRequests(
  server: HttpServer,
  notify: (request: IncomingMessage, response: ServerResponse) => void,
): () => void {
  const reported = new WeakSet<ServerResponse>();
  const notifyOnce = (request: IncomingMessage, response: ServerResponse): void => {
    // Requests of HTTP/2 come to the same listeners.
    if (reported.has(response) || !(response instanceof ServerResponse)) return;
    reported.add(response);
    notify(request, response);
  };
  const started = (message: unknown): void => {
    const about = message as { server: HttpServer; request: IncomingMessage; response: ServerResponse };
    if (about.server === server) notifyOnce(about.request, about.response);
  };
  subscribe(requestStart, started);
  if (server.listenerCount("request") > 0) server.prependListener("request", notifyOnce);
  return () => {
    unsubscribe(requestStart, started);
    server.removeListener("request", notifyOnce);
  };
}

const listenStart = "tracing:net.server.listen:asyncStart";

/**
 * Reports each server of the process as it begins to listen: another such channel. Without it: none is found, and the process is as it would be
 * without us; servers that code names do not need it.
 * @returns what stops it.
 */
export function onListen(notify: (server: object) => void): () => void {
  const started = (message: unknown): void => notify((message as { server: object }).server);
  subscribe(listenStart, started);
  return () => void unsubscribe(listenStart, started);
}

/**
 * `shouldKeepAlive` of a response. Where it is false, every Node from 0.x to 26 answers `Connection: close` and ends the connection.
 * In a Node without it the client is not asked to leave, and its connection is ended last.
 */
export function isKeptAlive(response: ServerResponse): boolean {
  return response.shouldKeepAlive;
}

export function setKeepAlive(response: ServerResponse, keepAlive: boolean): void {
  response.shouldKeepAlive = keepAlive;
}

/**
 * Every way of answering sends the headers by the response's own `writeHead`: what takes its place sees them, and what it was given, last. Without it: as
 * the application says, which may be `Connection: keep-alive`; such a client is not asked to leave.
 */
export function beforeHeaders(response: ServerResponse, change: (given: unknown[]) => unknown[]): void {
  const { writeHead: original } = response as { writeHead?: (...given: unknown[]) => ServerResponse };
  if (typeof original !== "function") return;
  const changed = (...given: unknown[]): ServerResponse => Reflect.apply(original, response, change(given));
  Object.assign(response, { writeHead: changed });
}

/**
 * The headers of a response as they are sent, `_header`: those given to writeHead() are found nowhere else. Without it: undefined, and
 * a stream of server-sent events whose type was given so is taken for a long answer.
 */
export function renderedHeaders(response: ServerResponse): string | undefined {
  const { _header: text } = response as { _header?: unknown };
  return typeof text === "string" ? text : undefined;
}

/**
 * The socket under an HTTP/2 session, for a frame that Node cannot send (see goaway.ts). `session.socket` refuses to be written to. A method of it
 * that returns the socket returns the real one. Without that: undefined, and the client gets no notice before the session closes.
 */
export function writableSocketOf(session: ServerHttp2Session): Socket | undefined {
  const { socket: proxy } = session;
  try {
    const socket = proxy?.setMaxListeners(proxy.getMaxListeners());
    return socket !== proxy && typeof socket?.write === "function" ? socket : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether an HTTP/2 server over TLS serves HTTP/1.1 to clients that do not choose HTTP/2, and does not refuse them: only then has it the
 * time-outs of HTTP/1.1. Where a later Node has them otherwise, such clients are served as ever and not asked to leave.
 */
export function allowsHttp1(server: object): boolean {
  return "headersTimeout" in server;
}

/**
 * Closes a listener that the program will close, too, in an order of its own: until then it finds it listening, at the same address. It takes the place of
 * the listener's `_handle`. @returns false without that: it is to be closed in the usual way, and the program's own close() calls back
 * with an error.
 */
export function closeBeneath(server: NetServer): boolean {
  const holder = server as { _handle?: { close?: () => void } | null };
  const { _handle: handle } = holder;
  if (typeof handle?.close !== "function") return false;
  const address = server.address();
  handle.close();
  holder._handle = new ClosedHandle(address);
  return true;
}

/** The handle of a listener that is closed, to its program's knowledge, only when the program closes it. */
class ClosedHandle {
  readonly #address: unknown;

  constructor(address: unknown) {
    this.#address = address;
  }

  close(): void {}
  ref(): void {}
  unref(): void {}

  getsockname(out: object): number {
    Object.assign(out, this.#address);
    return 0;
  }
}

export function isClosedBeneath(server: NetServer): boolean {
  return (server as { _handle?: unknown })._handle instanceof ClosedHandle;
}

/** Open connections of the servers no longer keep the event loop alive. Without `activeSockets()`: they do, and the loop counts as not empty. */
export function unrefConnections(servers: readonly NetServer[]): void {
  for (const socket of activeSockets() ?? [])
    if (servers.includes((socket as { server?: NetServer }).server as NetServer)) socket.unref();
}

/** `process.moduleLoadList` names node:test where a test imports it. Without it: only other test runners are recognised. */
export function isNodeTestLoaded(): boolean {
  const { moduleLoadList: list } = process as { moduleLoadList?: unknown };
  return Array.isArray(list) && list.includes("NativeModule internal/test_runner/harness");
}

/**
 * Node emits a signal by calling `process.emit`, which is replaced, so that a hold can keep it from the handlers of others. Where it cannot be
 * replaced, or Node no longer calls it: they get their signal at once, as with `otherHandlers: "leave"`.
 */
export function replaceEmit(emit: typeof process.emit): void {
  try {
    process.emit = emit;
  } catch {
    // Read-only.
  }
}

/** The listeners by which Node begins and ends to watch a signal, as this module finds them before the program has run. */
const watchersOfSignals = (["newListener", "removeListener"] as const).flatMap((event) =>
  process
    .rawListeners(event as "newListener")
    .filter(({ name }) => /^(?:start|stop)ListeningIfSignal$/.test(name))
    .map((watcher) => ({ event, watcher })),
);

/**
 * `process.removeAllListeners()` of a program takes them away, and no signal reaches anybody any more. Without it: such a program dies at once of the
 * signal, as it does without us.
 */
export function restoreSignals(): void {
  for (const { event, watcher } of watchersOfSignals)
    if (!process.rawListeners(event).includes(watcher))
      process.on(event as "newListener", watcher as () => void);
}

/** What primaries of a cluster and workers that have Lameduck tell each other. */
export type Word = "who" | "here" | "left" | "hold" | "over" | "end";

/** The process, or a child: what has a channel to the other. */
interface Channel {
  readonly connected: boolean;
  send?(message: object, handle: undefined, options: undefined, done: () => void): unknown;
  on(event: "internalMessage", listener: (message: unknown) => void): unknown;
  removeListener(event: "internalMessage", listener: (message: unknown) => void): unknown;
}

const ofWords = "NODE_LAMEDUCK";

/**
 * A message whose `cmd` begins with NODE_ comes as `internalMessage`, by which node:cluster speaks to its own: no program's listener of `message` sees it.
 * Without it: workers count as such without Lameduck, and get what the primary's handlers send them without a hold.
 */
export function onWord(from: unknown, notify: (word: Word) => void): () => void {
  const channel = from as Channel;
  const listener = (message: unknown): void => {
    const { cmd, word } = (message ?? {}) as { cmd?: unknown; word?: Word };
    if (cmd === ofWords && word !== undefined) notify(word);
  };
  channel.on("internalMessage", listener);
  return () => void channel.removeListener("internalMessage", listener);
}

export function tellWord(to: unknown, word: Word): void {
  const channel = to as Channel;
  // Of a channel that closes just now nobody is told.
  if (channel.connected) channel.send?.({ cmd: ofWords, word }, undefined, undefined, () => {});
}
