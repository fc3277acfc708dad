import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";
import { LameduckError } from "./errors.ts";
import { HttpWatch } from "./http-watch.ts";
import type { IsProbe } from "./probes.ts";
import type { ServerWatch, Traffic } from "./traffic.ts";

export type WatchedServer = HttpServer | HttpsServer;

/** Marks servers under watch, whichever copy of this package does it. */
const watched: unique symbol = Symbol.for("@lameduck/node:watched") as never;

export function watchServer(
  server: unknown,
  traffic: Traffic,
  isProbe: IsProbe,
  now: () => number,
): ServerWatch {
  if (!(server instanceof HttpServer) && !(server instanceof HttpsServer))
    throw new LameduckError(
      "LAMEDUCK_NOT_A_SERVER",
      "server",
      `${nameOf(server)} is no http or https server`,
    );
  const marked = server as { [watched]?: boolean };
  if (marked[watched]) throw new LameduckError("LAMEDUCK_ATTACHED_TWICE", "server", "is already attached");
  marked[watched] = true;
  const watch = new HttpWatch(server, traffic, isProbe, now);
  const detach = watch.detach.bind(watch);
  watch.detach = () => {
    delete marked[watched];
    detach();
  };
  return watch;
}

function nameOf(value: unknown): string {
  if (typeof value === "function") return `the function ${value.name || "given"}`;
  if (typeof value !== "object" || value === null) return String(value);
  return `an object of ${value.constructor?.name ?? "no class"}`;
}
