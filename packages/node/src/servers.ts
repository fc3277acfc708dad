import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";
import { LameduckError } from "./errors.ts";
import { HttpWatch } from "./http-watch.ts";
import type { IsProbe } from "./probes.ts";
import type { ServerWatch, Traffic } from "./traffic.ts";

export type WatchedServer = HttpServer | HttpsServer;

/** On a server under watch: how whoever found it by itself gives it up to code that names it; undefined when named. */
const watched: unique symbol = Symbol.for("@lameduck/node:watched:1") as never;

interface Marked {
  [watched]?: { readonly giveUp: (() => void) | undefined };
}

/**
 * Puts a server under watch. One that the zero-code entry has found is given up by it.
 * @throws {LameduckError} for what is no server, or one attached before.
 */
export function watchServer(
  server: unknown,
  traffic: Traffic,
  isProbe: IsProbe,
  now: () => number,
  giveUp?: (watch: ServerWatch) => void,
): ServerWatch {
  if (!isWatchable(server))
    throw new LameduckError(
      "LAMEDUCK_NOT_A_SERVER",
      "server",
      `${nameOf(server)} is no http or https server`,
    );
  const marked = server as Marked;
  const before = marked[watched];
  if (before && !before.giveUp)
    throw new LameduckError("LAMEDUCK_ATTACHED_TWICE", "server", "is already attached");
  before?.giveUp?.();
  const watch = new HttpWatch(server, traffic, isProbe, now);
  marked[watched] = { giveUp: giveUp && (() => giveUp(watch)) };
  const detach = watch.detach.bind(watch);
  watch.detach = () => {
    delete marked[watched];
    detach();
  };
  return watch;
}

export function isWatchable(server: unknown): server is WatchedServer {
  return server instanceof HttpServer || server instanceof HttpsServer;
}

export function isWatched(server: object): boolean {
  return (server as Marked)[watched] !== undefined;
}

function nameOf(value: unknown): string {
  if (typeof value === "function") return `the function ${value.name || "given"}`;
  if (typeof value !== "object" || value === null) return String(value);
  return `an object of ${value.constructor?.name ?? "no class"}`;
}
