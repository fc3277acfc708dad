import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { runClock, type RequestRecord } from "@lameduck/accounting";
import { cacheDirectory } from "../cluster/host/paths.ts";
import { buildGoClient } from "../cluster/host/programs.ts";
import { findProgram } from "../cluster/host/requirements.ts";
import type { ClientKind, GeneratorPlan } from "../matrix/load/plan.ts";

const generator = join(import.meta.dirname, "..", "matrix", "load", "generator.ts");

/** What a client records of 100 requests or more to a server that once ends a kept connection with a request on it. */
async function recordsOf(client: ClientKind): Promise<readonly RequestRecord[]> {
  const used = new Set<Socket>();
  let hasCut = false;
  const server = createServer(({ socket }, response) => {
    if (used.has(socket) && !hasCut) {
      hasCut = true;
      socket.destroy();
      return;
    }
    used.add(socket);
    response.setHeader("x-lameduck-pod", "web-1").end("answered");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const plan: GeneratorPlan = {
    clients: [client],
    sender: "here",
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    origin: runClock().origin,
    newPerSecond: 0,
    pooledPerSecond: 100,
    slowShare: 0,
    timeoutMs: 10_000,
    maxSeconds: 60,
  };
  const program: [string, ...string[]] =
    client === "go" ? [await buildGoClient(cacheDirectory())] : [process.execPath, generator];
  const [command, ...args] = program;
  const child = spawn(command, [...args, JSON.stringify(plan)], { stdio: ["pipe", "pipe", "inherit"] });
  const records: RequestRecord[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const read = JSON.parse(line) as { readonly sent: number } | RequestRecord;
    if ("mode" in read) records.push(read);
    else if (read.sent >= 100) child.stdin.end();
  }
  server.close();
  server.closeAllConnections();
  return records;
}

const isLost = ({ outcome }: RequestRecord): boolean => outcome !== "ok";

it("Node's pool loses a request on a connection that its server ends, and knows the pod", async () => {
  const [lost, ...others] = (await recordsOf("lifo")).filter(isLost);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [lost?.mode, lost?.reused, lost?.outcome, lost?.pod],
    ["pooled", true, "reset-before-response", "web-1"],
  );
});

it("a pool of fixed size uses its connections in turn", async () => {
  const connections = (await recordsOf("ring")).map(({ connection }) => connection);
  assert.ok(new Set(connections).size >= 32, `${new Set(connections).size} connections`);
});

it(
  "Go's transport sends that request again",
  { skip: (await findProgram("go")) === undefined && "no go in PATH" },
  async () => {
    const records = await recordsOf("go");
    assert.deepEqual(records.filter(isLost), []);
    const again = records.filter(({ retries = 0 }) => retries > 0);
    assert.deepEqual(
      again.map(({ retries, pod, received }) => [retries, pod, received]),
      [[1, "web-1", "answered".length]],
    );
  },
);
