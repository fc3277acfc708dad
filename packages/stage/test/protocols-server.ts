import type { AddressInfo, Server, Socket } from "node:net";
import type { TestContext } from "node:test";

import type { RequestRecord } from "@lameduck/accounting";
import type { LoadOptions, SenderSpec } from "@lameduck/load";
import { rig, sentOf, type Rig } from "./load-helpers.ts";
import { until } from "../../load/test/servers.ts";

/** Listens on a port of its own; every socket ends with the test. */
export async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A fleet that loads some ports, one a pod: web-1, web-2. */
export async function loading(
  t: TestContext,
  ports: readonly number[],
  load: Partial<LoadOptions>,
  sender: SenderSpec = { name: "s", kind: "l4" },
): Promise<Rig> {
  const started = await rig(t, { senders: [sender], load: { rate: 200, timeout: "5s", ...load } });
  for (const [index, port] of ports.entries()) {
    const pod = `web-${index + 1}`;
    started.fleet.ready({ pod, address: "127.0.0.1", port }, started.clock.now());
    await started.event((event) => event.type === "added" && event.pod === pod);
  }
  await started.fleet.begin();
  return started;
}

/** Loads until so many requests have ended; then what became of all that a busy machine could send. */
export async function recordsOf(
  t: TestContext,
  ports: readonly number[],
  load: Partial<LoadOptions>,
  requests = 100,
): Promise<readonly RequestRecord[]> {
  const { fleet } = await loading(t, ports, load);
  await until(() => fleet.progress().finished >= requests, `${requests} requests`);
  return sentOf((await fleet.stop()).records);
}

/** Requests, without the ends of lasting connections; and those. */
export function apart(records: readonly RequestRecord[]): {
  requests: readonly RequestRecord[];
  sessions: readonly RequestRecord[];
} {
  return {
    requests: sentOf(records).filter(({ kind }) => kind !== "session"),
    sessions: records.filter(({ kind }) => kind === "session"),
  };
}

/** "reset-before-response ECONNRESET", counted. */
export function kindsOf(records: readonly RequestRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome, error } of records) {
    const kind = error === undefined ? outcome : `${outcome} ${error}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
