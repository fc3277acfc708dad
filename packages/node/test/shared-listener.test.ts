import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ownListeners } from "../src/closing/accept-queue.ts";
import { ask } from "./ask.ts";
import { fixture, startScript } from "./child.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
/** Fewer than the backlog that Node asks for. */
const callers = 40;
const loopback = { port: 0, host: "127.0.0.1" };

async function listening(where: object): Promise<Server> {
  const server = createServer();
  await once(server.listen(where), "listening");
  return server;
}

/** Connects; the kernel lets in as many as the accept queue holds, whoever accepts them. */
async function called(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket.on("error", () => {});
}

describe("a listener that others accept from, too", () => {
  for (const way of ["cluster", "handle"])
    test(`${way}: when one process ends, the queue of the others stays as long as it was`, async () => {
      await using child = await startScript(["--import", register, fixture("shared.mjs")], { WAY: way });
      await child.until(() => child.stdout.includes("accepting"));
      const [, other] = /accepting (\d+) (\d+)/.exec(child.stdout)!.slice(1).map(Number) as [number, number];
      child.process.stdin.write("first\n");
      await child.until(() => child.stdout.includes("ended with 0"));
      // Nobody accepts now: what connects is in the queue.
      process.kill(other, "SIGSTOP");
      const sockets = await Promise.all(Array.from({ length: callers }, () => called(child.port)));
      process.kill(other, "SIGCONT");
      for (const socket of sockets) socket.destroy();
      assert.equal((await ask(child.port)).body, `${other}\n`);
      child.process.stdin.end();
    });

  test(
    "a shared listener is known by its handle, and by who else has it",
    { skip: !existsSync("/proc/self/fd") && "no /proc" },
    async () => {
      const alone = await listening(loopback);
      const passed = await listening(loopback);
      const taken = await listening(passed);
      const unix = await listening({ path: `\0lameduck-null-${process.pid}` });
      const child = fork(fixture("idle-child.mjs"), { execArgv: [] });
      child.send("take", passed);
      await once(child, "message");
      assert.deepEqual(ownListeners([alone, passed, taken, unix]), [alone, unix]);
      child.kill("SIGKILL");
      await once(child, "exit");
      assert.deepEqual(ownListeners([passed]), [passed], "nobody else has it any more");
      assert.ok((alone.address() as AddressInfo).port > 0);
      for (const server of [alone, passed, unix]) server.close();
      assert.deepEqual(ownListeners([alone]), []);
    },
  );
});
