/** What is left where less can be seen: no sock_diag, no /proc, a read-only root, the host's network, sockets that are files. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { helperProgram, initProgram, nativeProgram, sanitized, withoutCompiler } from "./compiled.ts";
import { Network, senderAddress } from "./network.ts";
import {
  go,
  pod,
  podBehind,
  programAsPod,
  reportOf,
  resultOf,
  sender,
  serverFile,
  tailOf,
  terminate,
  type HoldReport,
} from "./pod.ts";
import { endAll, Running, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;

/** Runs `script` in the container's own mount namespace, and then what follows. */
const inContainer = (script: string): string[] => ["sh", "-c", `${script} && exec "$@"`, "in-container"];

describe("where less can be seen", { skip, concurrency: 4 }, () => {
  before(() => [initProgram(), nativeProgram("witness"), helperProgram("without_netlink")]);

  test("the init sees everything as uid 65534, without capabilities or new privileges, on a read-only root", async () => {
    await using network = await Network.create();
    const readOnly = inContainer("mount -o remount,bind,ro / && ! touch /lameduck-was-here 2>/dev/null");
    const server = await podBehind(readOnly, network, []);
    const traffic = sender(network, 1, { every: 20, for: 2_500 });
    await go(traffic);
    terminate(server);
    assert.equal((await resultOf(traffic)).lost, 0);
    assert.equal((await server.ended).code, 0);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "quiet");
    assert.deepEqual(report.evidence, ["counters", "sockets", "tcp-info", "events"]);
  });

  test("the evidence comes from counters and /proc/net/tcp where sock_diag is missing", async () => {
    await using network = await Network.create();
    const server = await podBehind([helperProgram("without_netlink")], network, []);
    const traffic = sender(network, 1, { every: 20, for: 3_000 });
    await go(traffic);
    terminate(server);
    assert.equal((await resultOf(traffic)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.deepEqual(report.evidence, ["counters", "sockets"]);
    assert.equal(report.reason, "quiet");
    assert.ok(report.connections > 50, server.stderr);
  });

  test("probes are told apart where sock_diag is missing, too", async () => {
    await using network = await Network.create();
    const flags = ["--floor", "1s", "--ignore-peer", `${senderAddress(1)}/32`];
    const server = await podBehind([helperProgram("without_netlink")], network, flags);
    const prober = sender(network, 1, { every: 200, for: 30_000, patient: true });
    await go(prober);
    await server.line("served");
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.notEqual(report.reason, "cap", server.stderr);
  });

  // A program built with the sanitizers reads /proc/self/maps before it begins.
  test(
    "a pod whose counters cannot be read is held for the floor, and one line says so",
    { skip: sanitized },
    async () => {
      await using network = await Network.create();
      const blind = [helperProgram("without_netlink"), ...inContainer("mount -t tmpfs none /proc")];
      const server = await podBehind(blind, network, ["--floor", "700ms"]);
      const traffic = sender(network, 1, { every: 50, for: 300 });
      await go(traffic);
      assert.equal((await resultOf(traffic)).lost, 0);
      // No /proc to find the init by: its parent is asked for, which has but one child.
      terminate(server);
      assert.equal((await server.ended).code, 0);
      const report = reportOf(server.stderr);
      assert.deepEqual(report.evidence, []);
      assert.equal(report.explanation, "floor 0.7");
      assert.ok(report.hold_ms >= 700, server.stderr);
      const lines = server.stderr.split("\n").filter((line) => line.includes("only the floor was held"));
      assert.equal(lines.length, 1, server.stderr);
    },
  );

  test("a /proc that hides the processes of others (hidepid) hides nothing that is needed", async () => {
    await using network = await Network.create();
    const server = await podBehind(inContainer("mount -o remount,hidepid=2 /proc"), network, [
      "--floor",
      "300ms",
    ]);
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.deepEqual(report.evidence, ["counters", "sockets", "tcp-info", "events"]);
    assert.equal(report.reason, "idle");
  });
});

describe("Unix sockets", { skip, concurrency: 4 }, () => {
  /** A server at a socket, called ten times a second by a process of its own container for three seconds from the signal on. */
  async function called(path: string, before: string[], ...flags: string[]): Promise<HoldReport> {
    await using network = await Network.create();
    const client = `
      const { connect } = require("node:net");
      setInterval(() => connect("${path}").on("error", () => process.exit(1)), 100);`;
    const server = `
      require("node:child_process").spawn(process.execPath, ["-e", \`${client}\`]);
      require("node:http").createServer((_, response) => response.end()).listen("${path}", () => console.log("listening"));
      process.on("SIGTERM", () => process.exit(0));`;
    const program = [process.execPath, "-e", server];
    const running = programAsPod(
      before,
      network,
      ["--floor", "300ms", "--grace", "4s", "--reserve", "1s", ...flags],
      program,
    );
    await running.line("listening");
    terminate(running);
    await running.ended;
    return reportOf(running.stderr);
  }
  const volume = inContainer("mount -t tmpfs -o mode=777 none /mnt");
  const root = inContainer("mkdir -p -m 777 /var/tmp/lameduck-unix");

  test("connections to a socket file on a volume, which other containers can reach, are traffic", async () => {
    const report = await called("/mnt/app.sock", volume);
    assert.equal(report.reason, "cap");
    assert.ok(report.connections > 5);
  });

  test("the end of one of many open connections to a socket file is no arrival", async () => {
    await using network = await Network.create();
    // 1,500 idle connections; the oldest ones end one by one from the signal on.
    const client = `
      const { connect } = require("node:net");
      const open = Array.from({ length: 1500 }, () => connect("/mnt/app.sock"));
      open.at(-1).on("connect", () => setTimeout(() => {
        console.log("listening");
        setInterval(() => open.shift().destroy(), 50);
      }, 500));`;
    const server = `
      const child = \`${client}\`;
      require("node:net").createServer(() => {}).listen("/mnt/app.sock", 1500, () =>
        require("node:child_process").spawn(process.execPath, ["-e", child], { stdio: "inherit" }));
      process.on("SIGTERM", () => process.exit(0));`;
    const flags = ["--floor", "300ms", "--grace", "20s", "--reserve", "1s", "--convergence", "100ms"];
    const running = programAsPod(volume, network, flags, [process.execPath, "-e", server]);
    await running.line("listening");
    terminate(running);
    await running.ended;
    const report = reportOf(running.stderr);
    assert.equal(report.connections, 0, running.stderr);
    assert.notEqual(report.reason, "cap", running.stderr);
  });

  test("connections to a socket file on the container's own root are internal and hold nothing", async () => {
    try {
      const report = await called(`/var/tmp/lameduck-unix/${process.pid}.sock`, root);
      assert.equal(report.connections, 0);
      assert.equal(report.because, "nothing listens");
    } finally {
      rmSync("/var/tmp/lameduck-unix", { recursive: true, force: true });
    }
  });

  for (const ignored of ["/mnt/app.sock", "/mnt", "/"])
    test(`connections to a socket file on a volume are left out with --ignore-socket ${ignored}`, async () => {
      const report = await called("/mnt/app.sock", volume, "--ignore-socket", ignored);
      assert.equal(report.because, "nothing listens");
    });
});

const notOfHost = existsSync("/proc/sys/net/core/netdev_budget") ? false : "this is no host's network";

/** Two that nothing listened on a moment ago. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer().listen(0, "127.0.0.1"), createServer().listen(0, "127.0.0.1")];
  await Promise.all(servers.map((server) => once(server, "listening")));
  const [one = 0, other = 0] = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return [one, other];
}

describe("host network", { skip: withoutCompiler || notOfHost }, () => {
  async function hostServer(...flags: string[]): Promise<Running> {
    const all = ["--log", "json", "--floor", "300ms", ...flags, "--", process.execPath, serverFile, "0"];
    const server = new Running(initProgram(), all, {
      env: { ...process.env, KUBERNETES_SERVICE_HOST: "198.18.0.9" },
    });
    await server.line("listening");
    return server;
  }

  test("an init on the host's network in Kubernetes says that --port is missing, and watches the listeners of its container", async () => {
    const server = await hostServer();
    assert.match(server.stderr, /"level":"warning".*the host's network.*--port/);
    server.kill("SIGTERM");
    assert.equal((await server.ended).code, 0);
    // The counters of a node say nothing about one pod.
    assert.deepEqual(reportOf(server.stderr).evidence, ["sockets", "tcp-info", "events"]);
  });

  test("a connection that a dump finds open is dated by that dump, and overrules an earlier release", async () => {
    const [port, coordinatorPort] = await freePorts();
    const coordinator = new Running(process.execPath, [
      fileURLToPath(new URL("coordinator-server.ts", import.meta.url)),
      "127.0.0.1",
      String(coordinatorPort),
      "released",
    ]);
    await coordinator.line("listening");
    const we = ["--pod-name", "web-7d", "--pod-namespace", "shop", "--pod-uid", "0f3c-11"];
    const where = ["--coordinator", `http://127.0.0.1:${coordinatorPort}`, ...we];
    const times = ["--floor", "4s", "--grace", "12s", "--reserve", "2s", "--port", String(port)];
    const all = ["--log", "json", ...times, ...where, "--", process.execPath, serverFile, String(port)];
    const server = new Running(initProgram(), all);
    await server.line("listening");
    server.kill("SIGTERM");
    await server.says("hold-began");
    await pause(1_500);
    const agent = new Agent({ keepAlive: true });
    get({ host: "127.0.0.1", port, agent, headers: { "x-delay": "1" } }, (response) => response.resume());
    await server.line("working");
    await server.ended;
    agent.destroy();
    coordinator.kill("SIGKILL");
    const report = reportOf(server.stderr);
    assert.match(report.explanation, /release overruled by 127\.0\.0\.1 at [23]\.\d/, server.stderr);
    assert.ok(tailOf(report) < report.hold_ms - 1_400, server.stderr);
  });

  test("an init on the host's network with --port says nothing of it", async () => {
    const server = await hostServer("--port", "1");
    server.kill("SIGTERM");
    await server.ended;
    assert.doesNotMatch(server.stderr, /the host's network/);
  });

  test("a program on the host's network that has no listener is held for the floor only", async () => {
    const flags = ["--log", "json", "--floor", "400ms", "--", nativeProgram("witness"), "signals", "15"];
    // In a process namespace of its own only the program itself is seen, as in a container.
    const isolated = ["--pid", "--fork", "--mount-proc", "--kill-child", initProgram(), ...flags];
    const worker = new Running("unshare", isolated);
    await worker.line("ready");
    terminate(worker);
    await worker.ended;
    const report = reportOf(worker.stderr);
    assert.deepEqual(report.evidence, []);
    assert.ok(report.hold_ms >= 400, worker.stderr);
  });
});

describe("pods of their own network", { skip, concurrency: 4 }, () => {
  test("an init in a network of its own says nothing of the host's network", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "100ms"]);
    terminate(server);
    await server.ended;
    assert.doesNotMatch(server.stderr, /the host's network/);
  });
});
