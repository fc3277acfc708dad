import type { Http2SecureServer, Http2Server } from "node:http2";
import { Server as HttpsServer } from "node:https";
import { Server as NetServer } from "node:net";
import { messageOf, shown } from "@lameduck/drain/common";
import { mistake } from "../errors.ts";
import { allowsHttp1, isClosedBeneath } from "../internals.ts";
import { Server as HttpServer } from "../node-http.ts";
import type { Health } from "../options/health.ts";
import { Handshakes } from "../protocols/handshakes.ts";
import { HttpWatch } from "../protocols/http-watch.ts";
import { Http2Watch } from "../protocols/http2-watch.ts";
import type {
  ConnectionWatch,
  Cut,
  Lasting,
  Patience,
  ProtocolWatch,
  WatchContext,
} from "../protocols/watch.ts";
import { failHealth } from "./health.ts";

export type WatchedServer = HttpServer | HttpsServer | Http2Server | Http2SecureServer;

/** How the servers of one decision are watched. */
export interface ServerSettings extends Omit<WatchContext, "isHolding" | "stoppedAt"> {
  readonly health: Health | undefined;
}

/** The servers of one decision. They hold, and close, together. */
export class Servers {
  readonly #settings: ServerSettings;
  readonly #context: WatchContext;
  readonly #watches = new Set<ServerWatch>();
  readonly #failed: (problem: string) => void;
  readonly #deserted: () => void;
  readonly #told = new Set<string>();
  #isHolding = false;
  #stoppedAt = Infinity;

  /**
   * @param failed called with what a server's own methods threw.
   * @param deserted called when the last of the servers that were found is given up.
   */
  constructor(settings: ServerSettings, failed: (problem: string) => void, deserted: () => void) {
    this.#settings = settings;
    this.#failed = failed;
    this.#deserted = deserted;
    const isHolding = (): boolean => this.#isHolding;
    const stoppedAt = (): number => this.#stoppedAt;
    this.#context = {
      ...settings,
      get isHolding() {
        return isHolding();
      },
      get stoppedAt() {
        return stoppedAt();
      },
    };
  }

  get size(): number {
    return this.#watches.size;
  }

  get listeners(): readonly NetServer[] {
    return [...this.#watches].map(({ server }) => server);
  }

  get areListening(): boolean {
    return this.listeners.some(({ listening }) => listening);
  }

  /** Accepted since the hold began; two equal readings one loop turn apart say that the accept queues are empty. */
  get accepted(): number {
    return sum(this.#watches, ({ accepted }) => accepted);
  }

  /** Open connections, probes included. */
  get open(): number {
    return sum(this.#connections(), ({ open }) => open);
  }

  /**
   * Puts a server under watch.
   * @param isFound the process began to listen with it. It is given up where code names it, and where it closes before the hold.
   * @throws {LameduckError} for what is no server, or one attached before.
   */
  add(server: unknown, isFound: boolean): void {
    if (!isWatchable(server))
      throw mistake("LAMEDUCK_NOT_A_SERVER", "server", `${shown(server)} is no http, https or http2 server`);
    const before = (server as Marked)[watched];
    if (before && !before.giveUp) throw mistake("LAMEDUCK_ATTACHED_TWICE", "server", "is already attached");
    before?.giveUp?.();
    const watch = new ServerWatch(server, this.#context);
    this.#watches.add(watch);
    if (isFound) watch.giveUpBy((isClosed) => this.#giveUp(watch, isClosed));
    if (this.#isHolding) watch.hold(this.#settings.health);
  }

  /** SIGTERM: from now on every request is seen. */
  hold(): void {
    this.#isHolding = true;
    for (const watch of this.#watches) watch.hold(this.#settings.health);
  }

  /** From now on clients are asked to leave; `share` is how much of the ramp is over, 0 to 1. */
  hint(share: number): void {
    this.#each((protocol) => protocol.hint(share));
  }

  /** To be called often during hold and closing, for what no event tells. */
  tick(): void {
    this.#each((protocol) => protocol.tick());
  }

  /** The hold is over: handlers of the application are about to get their signal. */
  beforeHandlers(): void {
    for (const { http } of this.#watches) http?.beforeHandlers();
  }

  /** No new connections from here on; all clients are asked to leave. */
  stopListening(): void {
    this.#stoppedAt = this.#context.now();
    for (const watch of this.#watches) watch.stopListening();
    this.hint(Infinity);
  }

  /** Connections that may still get a request: not idle for `quiet` milliseconds, or with half a request received. */
  restless(quiet: number): number {
    return sum(this.#connections(), (connections) => connections.restless(quiet));
  }

  /** Ends idle connections: end of stream, not reset. */
  endIdle(): void {
    for (const connections of this.#connections()) connections.endIdle();
  }

  /** Ends lasting connections from now on (WebSockets, event streams). */
  endStreams(patience: Patience): void {
    for (const protocol of this.#protocols()) protocol.endStreams(patience);
  }

  /** Lasting connections that have not been ended. */
  get lasting(): number {
    return sum(this.#protocols(), ({ lasting }) => lasting);
  }

  get ended(): Lasting {
    const all = [...this.#protocols()].map((protocol) => protocol.ended);
    return {
      ended: sum(all, ({ ended }) => ended),
      unanswered: sum(all, ({ unanswered }) => unanswered),
    };
  }

  /** Cuts what is left. @returns how many requests and connections that were. */
  cut(): Cut {
    return total([...this.#watches].map((watch) => watch.cut(this.#failed)));
  }

  /** Stops watching and leaves the servers as they were found. */
  detach(): void {
    for (const watch of this.#watches) watch.detach();
    this.#watches.clear();
  }

  #giveUp(watch: ServerWatch, isClosed: boolean): void {
    // A server closes in a termination, too; its connections are still counted then.
    if (isClosed && this.#isHolding) return;
    this.#watches.delete(watch);
    watch.detach();
    if (this.#watches.size === 0) this.#deserted();
  }

  /** An exception here would end the termination, and cut every request. A protocol may throw at every tick: each message is told once. */
  #each(act: (protocol: ProtocolWatch) => void): void {
    for (const protocol of this.#protocols())
      try {
        act(protocol);
      } catch (error) {
        const problem = messageOf(error);
        if (!this.#told.has(problem)) this.#failed(problem);
        this.#told.add(problem);
      }
  }

  *#connections(): Generator<ConnectionWatch> {
    for (const { connections } of this.#watches) yield* connections;
  }

  *#protocols(): Generator<ProtocolWatch> {
    for (const { protocols } of this.#watches) yield* protocols;
  }
}

/** Set on a server under watch. One that was found has a way to be given up; one without has been named by code. */
const watched: unique symbol = Symbol.for("@lameduck/node:watched:1") as never;

interface Marked {
  [watched]?: { readonly giveUp: (() => void) | undefined };
}

/** One server: its listener, and its connections in groups of one protocol each. */
class ServerWatch {
  readonly server: WatchedServer;
  /** HTTP/1.1, where the server speaks it. */
  readonly http: HttpWatch | undefined;
  readonly protocols: readonly ProtocolWatch[];
  readonly connections: readonly ConnectionWatch[];
  /** Since the hold began. */
  accepted = 0;
  #isClosedByUs = false;
  #restoreHealth = (): void => {};
  #closed = (): void => {};

  constructor(server: WatchedServer, context: WatchContext) {
    this.server = server;
    const isSecure = "setSecureContext" in server;
    const http2 = isHttp2(server) ? new Http2Watch(server, context) : undefined;
    if (!http2 || (isSecure && allowsHttp1(server))) this.http = new HttpWatch(server as HttpServer, context);
    this.protocols = [http2, this.http].filter((protocol) => protocol !== undefined);
    this.connections = isSecure ? [...this.protocols, new Handshakes(server, context)] : this.protocols;
    (server as Marked)[watched] = { giveUp: undefined };
  }

  /** Says how this watch of a server that was found is given up. It is given up when code names the server, and when the server closes. */
  giveUpBy(giveUp: (isClosed: boolean) => void): void {
    (this.server as Marked)[watched] = { giveUp: () => giveUp(false) };
    this.#closed = () => giveUp(true);
    this.server.on("close", this.#closed);
  }

  hold(health: Health | undefined): void {
    if (health) this.#restoreHealth = failHealth(this.server, health);
    for (const event of arriving) this.server.on(event, this.#accepts);
    for (const connections of this.connections) connections.hold();
  }

  /**
   * By the close() of net, because those of http and http2 also end connections at once, and a request may be on its way on them. Not where the program
   * has closed it, or is to find it open.
   */
  stopListening(): void {
    if (!this.server.listening || isClosedBeneath(this.server)) return;
    NetServer.prototype.close.call(this.server);
    this.#isClosedByUs = true;
  }

  /** One server whose close() throws must not keep the process from ending. */
  cut(failed: (problem: string) => void): Cut {
    const cuts: Cut[] = [];
    try {
      for (const connections of this.connections) cuts.push(connections.cut());
      // Clears the timers of http, which outlive the close() of net.
      if (this.#isClosedByUs && !isHttp2(this.server)) this.server.close();
    } catch (error) {
      failed(messageOf(error));
    }
    return total(cuts);
  }

  detach(): void {
    delete (this.server as Marked)[watched];
    this.server.removeListener("close", this.#closed);
    for (const event of arriving) this.server.removeListener(event, this.#accepts);
    this.#restoreHealth();
    for (const connections of this.connections) connections.detach();
  }

  readonly #accepts = (): void => void this.accepted++;
}

/** A handshake that has ended is progress, too. */
const arriving = ["connection", "secureConnection"] as const;

export function isWatchable(server: unknown): server is WatchedServer {
  return server instanceof HttpServer || server instanceof HttpsServer || isHttp2(server);
}

/** By its own method, because Node exports neither class, and loading node:http2 to compare would cost those who do not use it. */
function isHttp2(server: unknown): server is Http2Server | Http2SecureServer {
  return server instanceof NetServer && "updateSettings" in server;
}

export function isWatched(server: object): boolean {
  return (server as Marked)[watched] !== undefined;
}

function total(cuts: readonly Cut[]): Cut {
  return {
    requests: sum(cuts, ({ requests }) => requests),
    connections: sum(cuts, ({ connections }) => connections),
  };
}

function sum<T>(all: Iterable<T>, of: (one: T) => number): number {
  let result = 0;
  for (const one of all) result += of(one);
  return result;
}
