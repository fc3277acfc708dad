/** What the lab sees of programs that listen where nobody reaches them, or that do not end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, test } from "node:test";
import { StageError } from "../src/errors.ts";
import { SocketTable } from "../src/network/socket-table.ts";
import { ignoresTerm, node, observe, stageNetwork, workload } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
const limit = { timeout: 60_000 };

if (network) {
  const isOwn = network.kind !== "shared loopback";
  const skip = !isOwn && "needs network namespaces";

  const listens = (port: number, host: string): string[] => [
    process.execPath,
    "-e",
    `require("node:http").createServer((q, r) => r.end()).listen(${port}, "${host}")`,
  ];

  describe(
    "a program that listens on loopback alone is named, wherever its port is",
    { concurrency: 4, skip },
    () => {
      for (const [port, host, where] of [
        [8080, "127.0.0.1", "port 8080 of 127.0.0.1 only"],
        [8080, "::1", "port 8080 of [::1] only"],
        [3000, "localhost", "port 3000 of "],
      ] as const)
        test(
          `a program that listens on ${host}:${port} only is named as reachable by nobody else`,
          limit,
          async (context) => {
            const { stage } = observe(context, network, workload(listens(port, host)), {
              progressDeadlineSeconds: 600,
            });
            await assert.rejects(stage.ready(), (error: unknown) => {
              assert.ok(error instanceof StageError);
              assert.equal(error.code, "LAMEDUCK_LOOPBACK_ONLY");
              assert.ok(error.message.includes(where), error.message);
              return true;
            });
          },
        );

      test(
        "a program that listens on loopback beside another container may be meant to, and is not named",
        limit,
        async (context) => {
          const made = workload(node());
          const main = made.template.containers.at(0);
          assert.ok(main);
          const inner = { ...main, name: "inner", command: listens(9_000, "127.0.0.1"), ports: [] };
          const containers = [main, { ...inner, readiness: undefined } as never];
          const { stage } = observe(context, network, {
            ...made,
            template: { ...made.template, containers },
          });
          await stage.ready();
          await stage.rollout();
        },
      );
    },
  );

  describe("what was seen of a program that SIGKILL ended", { concurrency: 4, skip }, () => {
    const closes = `process.on("SIGTERM", () => server.close());`;
    for (const [name, command, words] of [
      [
        "no handler",
        node(),
        /^node has no handler for SIGTERM, and as PID 1 .*; it still listened on port 8080; 1 connection was open: 1 of node-1$/,
      ],
      [
        "a handler that does nothing",
        node(ignoresTerm),
        /^node caught SIGTERM and did not end; it still listened/,
      ],
      [
        "a handler that waits for a connection",
        node(closes),
        /^node caught SIGTERM.*; it listened on port 8080 no more; 1 connection was open: 1 of node-1$/,
      ],
      [
        "a shell before it",
        ["sh", "-c", `"$@"; true`, "sh", ...node()],
        /^PID 1 is the shell sh, which neither obeys SIGTERM nor passes it on to node/,
      ],
    ] as const)
      test(`what SIGKILL ended is described: ${name}`, limit, async (context) => {
        const observed = observe(context, network, workload(command, { pod: { graceSeconds: 1 } }));
        await observed.stage.ready();
        const { address = "", port = 0 } = observed.endpoints.get("web-1") ?? {};
        const localAddress = await network.senderAddress("node-1");
        const socket = connect({ host: address, port, localAddress }).on("error", () => undefined);
        context.after(() => socket.destroy());
        // A request whose answer is not read to its end keeps the connection from being idle.
        socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
        await new Promise((resolve) => socket.once("data", resolve));
        await observed.stage.deletePod("web-1");
        const { because = "" } = await observed.first("killed", "web-1");
        assert.match(because, words);
      });
  });

  test("a listener is seen among as many others as there are", async (context) => {
    const servers = Array.from({ length: 100 }, () => createServer().listen(0, "127.0.0.1"));
    await Promise.all(servers.map((server) => once(server, "listening")));
    const table = new SocketTable("/proc/self/net");
    context.after(() => {
      table.close();
      for (const server of servers) server.close();
    });
    const ports = servers.map((server) => (server.address() as AddressInfo).port);
    assert.deepEqual(
      ports.filter((port) => table.listening(port, "127.0.0.1") !== "open"),
      [],
    );
    const all = table.ports("127.0.0.1");
    assert.deepEqual(
      ports.filter((port) => !all.includes(port)),
      [],
    );
    const [free = 0] = ports;
    for (const server of servers.splice(0, 1)) await new Promise((resolve) => server.close(resolve));
    assert.equal(table.listening(free), "closed");
  });
}
