import { createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";

import { runClock, type RunClock } from "../src/model/clock.ts";
import type { Outcome, RequestRecord } from "../src/model/request.ts";
import type { SenderEvent } from "../src/model/timeline.ts";
import { propagationOf, startFleet, type FleetOptions, type SenderFleet } from "../src/senders/index.ts";

/** A fleet under test, its events, and a way to wait for them. */
export interface Rig {
  readonly fleet: SenderFleet;
  readonly clock: RunClock;
  readonly events: SenderEvent[];
  /** Resolves when an event (past or future) matches. */
  readonly event: (matches: (event: SenderEvent) => boolean) => Promise<SenderEvent>;
}

export async function rig(t: TestContext, options: Partial<FleetOptions>): Promise<Rig> {
  const events: SenderEvent[] = [];
  const clock = runClock();
  const fleet = await startFleet({
    clock,
    senders: [{ name: "s", kind: "l4" }],
    propagation: propagationOf("instant"),
    load: { rate: 200 },
    seed: 1,
    onEvent: (event) => events.push(event),
    ...options,
  });
  t.after(() => fleet.close());
  return {
    fleet,
    clock,
    events,
    event: (matches) => until(() => events.find(matches), `an event; seen: ${JSON.stringify(events)}`),
  };
}

/** Waits for a condition; looks often, gives up late. */
export async function until<T>(look: () => T | undefined | false, what: string, limit = 20_000): Promise<T> {
  const deadline = Date.now() + limit;
  for (;;) {
    const seen = look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error(`never saw ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** A TCP server whose behaviour is one function; closes with the test. */
export async function serve(
  t: TestContext,
  behave: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly server: Server; readonly sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    behave(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("no port");
  return { port: address.port, server, sockets };
}

/** Answers every request with 200 and "ok", at once or after a while. */
export function answerOk(socket: Socket, headers = "", afterMs = 0): void {
  socket.on("data", (bytes) => {
    const last = bytes.includes("Connection: close");
    const text = `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${headers}${last ? "Connection: close\r\n" : ""}\r\nok\n`;
    const answer = (): unknown => (last ? socket.end(text) : socket.write(text));
    if (afterMs > 0) setTimeout(answer, afterMs);
    else answer();
  });
}

export function outcomes(records: readonly RequestRecord[]): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of records) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
