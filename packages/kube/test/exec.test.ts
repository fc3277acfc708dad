import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { ApiFailure, KubernetesClient, runInContainer, type CommandEnd } from "@lameduck/kube";
import { connectionTo } from "./api-server.ts";
import { execServer, frame, type OnExec } from "./exec-server.ts";

const where = { namespace: "shop", pod: "web-1", container: "app" };

async function ran(onExec: OnExec, signal = AbortSignal.timeout(20_000)): Promise<CommandEnd> {
  await using server = await execServer(onExec);
  const client = new KubernetesClient(connectionTo(server.url));
  try {
    return await runInContainer(client, { ...where, command: ["/bin/x", "a b"] }, signal);
  } finally {
    client.close();
  }
}

test("the output and the exit code of a command arrive whole, however the frames are cut", async () => {
  const long = "l".repeat(70_000);
  const end = await ran((path, query, said) => {
    assert.equal(path, "/api/v1/namespaces/shop/pods/web-1/exec");
    assert.deepEqual([query.getAll("command"), query.get("container")], [["/bin/x", "a b"], "app"]);
    const text = Buffer.concat([
      frame(Buffer.from("\u0001out")),
      frame(Buffer.from("\u0002er"), 2, false),
      frame(Buffer.from("ping"), 9),
      frame(Buffer.from("ror"), 0),
      frame(Buffer.from("\u0001")),
      frame(Buffer.from(`\u0001${"m".repeat(300)}`)),
    ]);
    for (const byte of text) said.raw(Buffer.from([byte]));
    said.channel(1, long);
    said.exit(4);
  });
  assert.equal(end.stdout, `out${"m".repeat(300)}${long}`);
  assert.deepEqual([end.stderr, end.exitCode, end.problem], ["error", 4, undefined]);
});

test("a command that did not start, one that was cut off and one that was refused are told apart", async () => {
  const missing = await ran((_path, _query, said) => said.notStarted("no such file"));
  assert.deepEqual([missing.exitCode, missing.problem], [undefined, "no such file"]);
  const cut = await ran((_path, _query, said) => {
    said.channel(2, "told");
    setImmediate(() => said.cut());
  });
  assert.deepEqual([cut.exitCode, cut.problem], [undefined, undefined]);
  const done = await ran((_path, _query, said) => said.exit(0));
  assert.equal(done.exitCode, 0);
  await assert.rejects(
    ran(() => undefined, AbortSignal.timeout(200)),
    "a command that says nothing is given up",
  );
});

test("the refusal of an exec carries the API server's answer", async () => {
  const server = createServer();
  server.on("upgrade", (_request, socket) => {
    const body = JSON.stringify({ kind: "Status", message: "may not exec", reason: "Forbidden" });
    socket.end(
      `HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const client = new KubernetesClient(connectionTo(`http://127.0.0.1:${port}`));
  try {
    await assert.rejects(
      runInContainer(client, { ...where, command: ["x"] }, AbortSignal.timeout(20_000)),
      (error) =>
        error instanceof ApiFailure && error.status === 403 && error.message.includes("may not exec"),
    );
  } finally {
    client.close();
    server.close();
  }
});
