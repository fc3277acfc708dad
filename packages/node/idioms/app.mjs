/**
 * What the small programs have in common. Each is a server or a worker as anyone would write it. The variable IDIOM_MODE says whether
 * Lameduck is called in code (`code`); without code (`import`) the program does not know of it.
 */
import { createServer } from "node:http";

const {
  IDIOM_MODE: mode,
  IDIOM_PACKAGE: built,
  IDIOM_ORDER: order,
  IDIOM_HOOK: hook,
  IDIOM_NODE: node,
} = process.env;
const ours = mode === "code" ? await import(`${built}/index.js`) : undefined;
let duck;

// Launchers put programs of the repository before those of the harness.
if (node !== undefined && node !== process.execPath)
  throw new Error(`run by ${process.execPath} instead of ${node}`);

export const isInCode = ours !== undefined;

/** A line that must be printed as often with Lameduck as without. */
export const say = (line) => console.log(line);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Says that the program is ready for its termination. */
export const ready = (port) => say(port === undefined ? "READY" : `PORT=${port}`);

/** As docs/reference/library.md has it: one call for each server. The hook stands for those that users add. */
export function attach(...servers) {
  if (!ours) return undefined;
  const own = ours.lameduck(servers);
  if (hook !== "none") own.hook("closed", "pool", () => say("HOOK closed"));
  duck ??= own;
  return own;
}

/** For servers that a framework does not give away. */
export function attachAll() {
  if (!ours) return undefined;
  duck = ours.lameduckAll();
  duck.hook("closed", "pool", () => say("HOOK closed"));
  return duck;
}

export const primary = () => ours?.lameduckPrimary();

/** What a program's own tests do to a server at their end. */
export async function terminate(server) {
  if (duck) await duck.terminate();
  else await new Promise((resolve) => server.close(resolve));
}

/** Answers after as many milliseconds as the query says. */
export function work(request, response) {
  const { searchParams } = new URL(request.url, "http://here");
  request.resume();
  setTimeout(() => response.end("ok"), Number(searchParams.get("ms") ?? 0));
}

export const listening = (server, port = 0) =>
  new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server.address().port)));

/**
 * Attaches, listens, and lets the program register its handlers: the usual order. The other order, handlers first, is as right.
 * @param {(server: import("node:http").Server) => unknown} handlers registers them.
 */
export async function serve(handlers = async () => {}, server = createServer(work)) {
  if (order === "handlers") await handlers(server);
  attach(server);
  const port = await listening(server);
  if (order !== "handlers") await handlers(server);
  ready(port);
  return server;
}
