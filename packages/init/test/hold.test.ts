/** The hold under real traffic: a pod and its senders in network namespaces of their own. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { initProgram, nativeProgram, sanitized, withoutCompiler } from "./compiled.ts";
import { Network, senderAddress } from "./network.ts";
import { commandOf, descendantsOf, endAll, Running, withoutNamespaces } from "./running.ts";

afterEach(endAll);
const skip = withoutCompiler || withoutNamespaces;
const serverFile = fileURLToPath(new URL("server.ts", import.meta.url));
const senderFile = fileURLToPath(new URL("sender.ts", import.meta.url));
const restricted =
  "setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs";

interface HoldReport {
  readonly reason: string;
  readonly because?: string;
  readonly hold_ms: number;
  readonly connections: number;
  readonly requests: number;
  readonly bytes: number;
  readonly in_flight: number;
  readonly probes: number;
  readonly last_arrival_ms?: number;
  readonly evidence: readonly string[];
}

function reportOf(stderr: string): HoldReport {
  const line = stderr.split("\n").find((each) => each.includes('"event":"hold-ended"'));
  assert.ok(line, `no report of a hold in: ${stderr}`);
  return JSON.parse(line) as HoldReport;
}

/** The init with a server under it, as the restricted user of a pod and as PID 1 of its own process namespace. */
async function pod(
  network: Network,
  flags: readonly string[],
  ...serverArguments: string[]
): Promise<Running> {
  const isolate = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
  const server = [process.execPath, serverFile, ...(serverArguments.length > 0 ? serverArguments : ["80"])];
  // Port 80 needs a capability unless the namespace says otherwise, as container runtimes do.
  network.inPod("sysctl", "-q", "net.ipv4.ip_unprivileged_port_start=0");
  const [command, ...rest] = network.asPod(
    ...isolate,
    ...restricted.split(" "),
    initProgram(),
    "--log",
    "json",
    ...flags,
    "--",
    ...server,
  );
  const running = new Running(command, rest);
  await running.line("listening");
  return running;
}

/** unshare passes no signals on: they go to the init, its only child. */
function terminate(running: Running, signal = "SIGTERM"): void {
  for (const pid of descendantsOf(running.pid)) if (isInit(pid)) process.kill(pid, signal);
}

function sender(network: Network, index: number, orders: Record<string, unknown>): Running {
  const all = { from: senderAddress(index), to: `${network.pod}:80`, every: 20, for: 1_000, ...orders };
  const [command, ...rest] = network.asSender(process.execPath, senderFile, JSON.stringify(all));
  return new Running(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
}

async function resultOf(running: Running): Promise<{ sent: number; lost: number }> {
  await running.until(() => running.lines.some((line) => line.startsWith("done ")), "the sender is done");
  return JSON.parse(running.lines.at(-1)!.slice(5)) as { sent: number; lost: number };
}

describe("hold", { skip }, () => {
  test("connections that go on after SIGTERM are all served; it stops soon after the last sender", async () => {
    await using network = await Network.create();
    const server = await pod(network, []);
    const senders = [1, 2, 3].map((index) =>
      sender(network, index, { every: 20, for: 1_500 + index * 1_000 }),
    );
    for (const each of senders) each.process.stdin?.write("go\n");
    terminate(server);
    for (const each of senders) assert.equal((await resultOf(each)).lost, 0);
    assert.equal((await server.ended).code, 0);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "quiet");
    assert.deepEqual(report.evidence, ["counters", "sockets", "tcp-info", "events"]);
    // 50 requests a second from each, for 2.5, 3.5 and 4.5 s; those of the first moments may have come before SIGTERM.
    assert.ok(report.connections > 400 && report.connections <= 525, `${report.connections} connections`);
    const tail = report.hold_ms - (report.last_arrival_ms ?? 0);
    assert.ok(tail > 100 && tail < 6_000, `stopped ${tail} ms after the last arrival`);
  });

  test("no traffic, no wait beyond the floor", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "300ms"]);
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "idle");
    assert.ok(report.hold_ms >= 300 && report.hold_ms < 2_000, `${report.hold_ms} ms`);
  });

  test("traffic without end is served until the cap, not longer", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--grace", "4s", "--reserve", "1s"]);
    const endless = sender(network, 1, { for: 60_000 });
    endless.process.stdin?.write("go\n");
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "cap");
    assert.ok(report.hold_ms >= 3_000 && report.hold_ms < 4_000, `${report.hold_ms} ms`);
  });

  test("a request that is being worked on is waited for", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "0", "--convergence", "100ms"]);
    const slow = sender(network, 1, { every: 10_000, for: 100, delay: 3_000 });
    slow.process.stdin?.write("go\n");
    await server.line("working");
    terminate(server);
    assert.equal((await resultOf(slow)).lost, 0);
    await server.ended;
    assert.ok(reportOf(server.stderr).hold_ms > 1_500, server.stderr);
  });

  test("a pool without new connections is traffic too; when it falls silent the hold ends", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "500ms"]);
    const pooled = sender(network, 1, { every: 10, for: 4_000, pooled: true });
    pooled.process.stdin?.write("go\n");
    await new Promise((resolve) => setTimeout(resolve, 800));
    terminate(server);
    assert.equal((await resultOf(pooled)).lost, 0);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.ok(report.hold_ms > 2_500, server.stderr);
    assert.ok(report.connections < 15, "they were open before");
  });

  test("probes from an address that was named are no traffic", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s", "--ignore-peer", `${senderAddress(1)}/32`]);
    const prober = sender(network, 1, { every: 200, for: 20_000 });
    prober.process.stdin?.write("go\n");
    await new Promise((resolve) => setTimeout(resolve, 500));
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.connections, 0, server.stderr);
    // Those before the signal may have left no trace but a count, so that the end may be quiet rather than idle; but they do not go on for 20 s.
    assert.ok(report.hold_ms < 10_000, server.stderr);
  });

  test("SIGINT ends the hold, a second SIGTERM does not", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "20s", "-v"]);
    terminate(server);
    await server.says("holding it");
    terminate(server);
    await server.says("came again; it changes nothing");
    terminate(server, "SIGINT");
    assert.equal((await server.ended).code, 0);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "forced");
    assert.equal(report.because, "SIGINT");
  });

  test("--signal TERM=USR1: held as SIGTERM, sent as SIGUSR1", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "200ms", "--signal", "TERM=USR1"]);
    terminate(server);
    assert.equal((await server.ended).code, 10);
    assert.match(server.stderr, /sending SIGUSR1/);
  });

  test("--stop-signal QUIT: images that set STOPSIGNAL hold on that one", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "200ms", "--stop-signal", "QUIT", "--signal", "QUIT=TERM"]);
    terminate(server, "SIGQUIT");
    assert.equal((await server.ended).code, 0);
    assert.equal(reportOf(server.stderr).reason, "idle");
  });

  test("a program that listens on nothing is told at once", async () => {
    await using network = await Network.create();
    const [command, ...rest] = network.asPod(
      initProgram(),
      "--log",
      "json",
      "--",
      nativeProgram("witness"),
      "signals",
      "15",
    );
    const worker = new Running(command, rest);
    await worker.line("ready");
    worker.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
    assert.equal(reportOf(worker.stderr).because, "nothing listens");
  });

  test("a listener on a socket file counts as one", async () => {
    await using network = await Network.create();
    const folder = mkdtempSync("/tmp/lameduck-unix-");
    try {
      const [command, ...rest] = network.asPod(
        initProgram(),
        "--log",
        "json",
        "--floor",
        "700ms",
        "--",
        process.execPath,
        serverFile,
        join(folder, "socket"),
      );
      const server = new Running(command, rest);
      await server.line("listening");
      server.kill("SIGTERM");
      await server.ended;
      const report = reportOf(server.stderr);
      assert.equal(report.reason, "idle");
      assert.ok(report.hold_ms >= 700);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("when the program ends by itself the hold ends, and its code is ours", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "20s", "-v"]);
    terminate(server);
    await server.says("holding it");
    const child = descendantsOf(server.pid).at(-1)!;
    process.kill(child, "SIGKILL");
    assert.equal((await server.ended).code, 137);
    assert.match(reportOf(server.stderr).because ?? "", /ended by itself/);
  });

  test("with hardly any memory to be had it holds all the same", { skip: sanitized }, async () => {
    await using network = await Network.create();
    // 1.5 MB of addresses: enough for the programs themselves, not for tables of connections.
    const limit = ["prlimit", "--as=1500000"];
    const flags = ["--log", "json", "--floor", "500ms", "--grace", "8s", "--reserve", "1s"];
    const [command, ...rest] = network.asPod(
      ...limit,
      initProgram(),
      ...flags,
      "--",
      nativeProgram("witness"),
      "deaf",
      "80",
    );
    const server = new Running(command, rest);
    await server.line("ready");
    const traffic = sender(network, 1, { every: 5, for: 1_000 });
    traffic.process.stdin?.write("go\n");
    server.kill("SIGTERM");
    assert.equal((await server.ended).code, 0);
    assert.ok(reportOf(server.stderr).hold_ms >= 500, server.stderr);
  });

  test("hundreds of connections a second, none lost and all counted", async () => {
    await using network = await Network.create();
    const server = await pod(network, ["--floor", "1s"]);
    const senders = [1, 2, 3].map((index) => sender(network, index, { every: 8, for: 4_000 }));
    for (const each of senders) each.process.stdin?.write("go\n");
    terminate(server);
    let sent = 0;
    for (const each of senders) {
      const result = await resultOf(each);
      assert.equal(result.lost, 0);
      sent += result.sent;
    }
    await server.ended;
    const { connections } = reportOf(server.stderr);
    assert.ok(connections > sent * 0.9 && connections <= sent, `${connections} of ${sent}`);
  });
});

describe("wait", { skip }, () => {
  async function plainServer(network: Network): Promise<Running> {
    const [command, ...rest] = network.asPod(process.execPath, serverFile, "80");
    const server = new Running(command, rest);
    await server.line("listening");
    return server;
  }

  function hook(network: Network, ...flags: string[]): Running {
    const [command, ...rest] = network.asPod(
      "unshare",
      "--mount",
      "sh",
      "-c",
      'mount -t tmpfs none /dev/shm && exec "$0" "$@"',
      initProgram(),
      "wait",
      "--log",
      "json",
      ...flags,
    );
    return new Running(command, rest);
  }

  test("returns when traffic has gone, with the server untouched", async () => {
    await using network = await Network.create();
    await plainServer(network);
    const traffic = sender(network, 1, { every: 20, for: 3_000 });
    traffic.process.stdin?.write("go\n");
    await new Promise((resolve) => setTimeout(resolve, 500));
    const waiting = hook(network);
    assert.equal((await waiting.ended).code, 0);
    assert.equal((await resultOf(traffic)).lost, 0);
    const report = reportOf(waiting.stderr);
    assert.equal(report.reason, "quiet");
    assert.ok(report.hold_ms > 2_000, waiting.stderr);
  });

  test("ends at once where nothing listens: the app is dead", async () => {
    await using network = await Network.create();
    const waiting = hook(network);
    assert.equal((await waiting.ended).code, 0);
    const report = reportOf(waiting.stderr);
    assert.equal(report.because, "nothing listens");
    assert.ok(report.hold_ms < 1_000);
  });

  test("ends soon where the app accepts nothing any more: it hangs", async () => {
    await using network = await Network.create();
    const [command, ...rest] = network.asPod(nativeProgram("witness"), "deaf", "80");
    const deaf = new Running(command, rest);
    await deaf.line("ready");
    const probing = sender(network, 1, { every: 300, for: 1_500 });
    probing.process.stdin?.write("go\n");
    const waiting = hook(network, "--grace", "60s");
    assert.equal((await waiting.ended).code, 0);
    const report = reportOf(waiting.stderr);
    assert.match(report.because ?? "", /does not accept/);
    assert.ok(report.hold_ms < 15_000, waiting.stderr);
  });

  test("a hook that is run again has only what the first run left", async () => {
    await using network = await Network.create();
    await plainServer(network);
    const both = `mount -t tmpfs none /dev/shm; "$0" "$@"; "$0" "$@"`;
    const flags = ["wait", "--log", "json", "--policy", "fixed", "--delay", "1s", "--floor", "1s"];
    const [command, ...rest] = network.asPod("unshare", "--mount", "sh", "-c", both, initProgram(), ...flags);
    const begun = performance.now();
    const twice = new Running(command, rest);
    assert.equal((await twice.ended).code, 0);
    const [first, second] = twice.stderr
      .split("\n")
      .filter((line) => line.includes("hold-ended"))
      .map((line) => JSON.parse(line) as HoldReport);
    assert.ok(first!.hold_ms >= 1_000, twice.stderr);
    assert.ok(second!.hold_ms < 900, twice.stderr);
    assert.ok(performance.now() - begun < 5_000);
  });
});

describe("order among containers", { skip }, () => {
  test("a proxy outlives the app: --wait-for holds on after traffic has gone; --done-file lets go", async () => {
    await using network = await Network.create();
    const folder = mkdtempSync(join(tmpdir(), "lameduck-order-"));
    try {
      const done = join(folder, "app.done");
      const ready = join(folder, "app.ready");
      writeFileSync(done, "left by an earlier run");
      const start = (...flags: string[]): Running => {
        const [command, ...rest] = network.asPod(
          initProgram(),
          "--log",
          "json",
          "--floor",
          "300ms",
          ...flags,
          "--",
          process.execPath,
          serverFile,
        );
        return new Running(command, [...rest, flags.includes("--done-file") ? "81" : "80"]);
      };
      const app = start("--done-file", done, "--ready-file", ready);
      await app.line("listening");
      assert.ok(!existsSync(done), "what an earlier run left is gone");
      const proxy = start("--wait-for", done);
      await proxy.line("listening");
      proxy.kill("SIGTERM");
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      assert.equal(proxy.process.exitCode, null, "still there");
      app.kill("SIGTERM");
      assert.equal((await app.ended).code, 0);
      assert.ok(existsSync(done) && existsSync(ready));
      assert.equal((await proxy.ended).code, 0);
      assert.ok(reportOf(proxy.stderr).hold_ms >= 1_000);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("--wait-for in vain: said, bounded, and exit 1 of the hook", async () => {
    await using network = await Network.create();
    const [serverCommand, ...serverRest] = network.asPod(process.execPath, serverFile, "80");
    await new Running(serverCommand, serverRest).line("listening");
    const [command, ...rest] = network.asPod(
      initProgram(),
      "wait",
      "--floor",
      "0",
      "--wait-for",
      "/no/such/file",
      "--order-timeout",
      "700ms",
      "--dry-run",
    );
    const waiting = new Running(command, rest);
    assert.equal((await waiting.ended).code, 1);
    assert.match(waiting.stderr, /waited for \/no\/such\/file in vain/);
  });
});

function isInit(pid: number): boolean {
  return commandOf(pid).includes("lameduck-init");
}
