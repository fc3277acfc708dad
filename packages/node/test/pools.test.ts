import assert from "node:assert/strict";
import { test } from "node:test";
import { inPod, startServer, until } from "./child.ts";
import { between, client, tally, type Tally } from "./clients.ts";
import { Balancer } from "./network.ts";

/**
 * Pooled clients at the end of a drain. 320 of them, 5 ms away: 100 busy, 200 sparse, 20 with requests of 1.5 s. SIGTERM at 1 s,
 * from 1.5 s on new connections go elsewhere. Every other library fails 67 to 157 requests here, at its best configuration.
 */
async function drainPools(
  env: Record<string, string>,
): Promise<{ total: Tally; reason: string | undefined }> {
  await using leaving = await startServer({}, { ...inPod, ...env });
  await using staying = await startServer({}, {});
  const balancer = await new Balancer(leaving.port).listen();
  const stop = new AbortController();
  const total = tally();
  const run = (path: string, low: number, high: number): Promise<void> =>
    client({ port: balancer.port, path, think: between(low, high) }, total, stop.signal);
  const clients = [
    ...Array.from({ length: 100 }, () => run("/", 0, 20)),
    ...Array.from({ length: 200 }, () => run("/", 50, 300)),
    ...Array.from({ length: 20 }, () => run("/?wait=1500", 0, 20)),
  ];
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  leaving.kill();
  setTimeout(() => (balancer.target = staying.port), 500);
  const { code } = await leaving.exited;
  await new Promise((resolve) => setTimeout(resolve, 500));
  // Where others want the machine as well they come to fewer, and go on elsewhere until they are enough to be believed.
  await until(
    () => total.sent > 2_000,
    60_000,
    () => `${total.sent} sent`,
  );
  stop.abort();
  await Promise.all(clients);
  await balancer.close();
  assert.equal(code, 0);
  assert.equal(leaving.event("closed")?.reason, "done");
  return { total, reason: leaving.event("closing")?.reason };
}

test("pooled clients lose nothing when the hold ends by evidence", async () => {
  const { total, reason } = await drainPools({ LAMEDUCK_FLOOR: "1s" });
  assert.deepEqual([...total.failures], []);
  assert.equal(reason, "quiet");
});

test("pooled clients lose nothing when the hold ends by the clock", async () => {
  const { total, reason } = await drainPools({
    LAMEDUCK_POLICY: "fixed",
    LAMEDUCK_DELAY: "1500ms",
    LAMEDUCK_FLOOR: "1s",
  });
  assert.deepEqual([...total.failures], []);
  assert.equal(reason, "delay");
});

/**
 * A load balancer that has not noticed: SIGTERM at 1 s, clients go on until 4 s. Every other library but one refuses all new
 * connections here by default.
 */
test("a load balancer that has not noticed is served for as long as it takes", async () => {
  await using server = await startServer({}, inPod);
  const stop = new AbortController();
  const total = tally();
  const clients = [
    ...Array.from({ length: 10 }, () =>
      client({ port: server.port, think: between(50, 150), fresh: true }, total, stop.signal),
    ),
    ...Array.from({ length: 20 }, () =>
      client({ port: server.port, path: "/?wait=20", think: between(5, 15) }, total, stop.signal),
    ),
    ...Array.from({ length: 8 }, () =>
      client({ port: server.port, path: "/?wait=800", think: between(0, 50) }, total, stop.signal),
    ),
  ];
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  server.kill();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  assert.equal(server.event("closing"), undefined, "it holds while there is traffic");
  stop.abort();
  await Promise.all(clients);
  assert.equal((await server.exited).code, 0);
  assert.deepEqual([...total.failures], []);
  assert.equal(server.event("closing")?.reason, "quiet");
});
