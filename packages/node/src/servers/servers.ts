import { Server as HttpServer } from "node:http";
import type { Http2SecureServer, Http2Server } from "node:http2";
import { Server as HttpsServer } from "node:https";
import { Server as NetServer } from "node:net";
import { shown } from "@lameduck/drain/common";
import { CombinedWatch } from "../protocols/combined-watch.ts";
import { mistake } from "../errors.ts";
import { failHealth } from "./health.ts";
import { Handshakes } from "./handshakes.ts";
import { Http2Watch } from "../protocols/http2-watch.ts";
import { HttpWatch } from "../protocols/http-watch.ts";
import { allowsHttp1 } from "../internals.ts";
import type { ServerWatch, WatchContext } from "./traffic.ts";

export type WatchedServer = HttpServer | HttpsServer | Http2Server | Http2SecureServer;

/** Set on a server under watch: releases a server that was found, so that code can name it; undefined where code has named it. */
const watched: unique symbol = Symbol.for("@lameduck/node:watched:1") as never;

interface Marked {
  [watched]?: { readonly giveUp: (() => void) | undefined };
}

/**
 * Puts a server under watch. One that the zero-code entry has found is given up by it.
 * @param giveUp for a server that is found: what lets it go, where code names it or, `isClosed`, where it has closed.
 * @throws {LameduckError} for what is no server, or one attached before.
 */
export function watchServer(
  server: unknown,
  context: WatchContext,
  giveUp?: (watch: ServerWatch, isClosed: boolean) => void,
): ServerWatch {
  if (!isWatchable(server))
    throw mistake("LAMEDUCK_NOT_A_SERVER", "server", `${shown(server)} is no http, https or http2 server`);
  const marked = server as Marked;
  const before = marked[watched];
  if (before && !before.giveUp) throw mistake("LAMEDUCK_ATTACHED_TWICE", "server", "is already attached");
  before?.giveUp?.();
  const watch = watchFor(server, context);
  marked[watched] = { giveUp: giveUp && (() => giveUp(watch, false)) };
  const closed = (): void => giveUp?.(watch, true);
  if (giveUp) server.on("close", closed);
  const detach = watch.detach.bind(watch);
  const hold = watch.hold.bind(watch);
  let restoreHealth = (): void => {};
  watch.hold = () => {
    if (context.health) restoreHealth = failHealth(server, context.health);
    hold();
  };
  watch.detach = () => {
    delete marked[watched];
    server.removeListener("close", closed);
    restoreHealth();
    detach();
  };
  return watch;
}

function watchFor(server: WatchedServer, context: WatchContext): ServerWatch {
  const isSecure = "setSecureContext" in server;
  if (!isHttp2(server)) {
    const http = new HttpWatch(server, context);
    return isSecure ? new CombinedWatch([http, new Handshakes(server, context)]) : http;
  }
  const http2 = new Http2Watch(server, context);
  if (!isSecure) return http2;
  const handshakes = new Handshakes(server, context);
  if (!allowsHttp1(server)) return new CombinedWatch([http2, handshakes]);
  return new CombinedWatch([http2, new HttpWatch(server as never, context), handshakes]);
}

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
