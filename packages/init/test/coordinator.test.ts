/** What the cluster's coordinator says of a pod, and what happens where it says nothing, or nonsense. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { timelineText, parseTrace, replay } from "@lameduck/drain";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { Network, senderAddress } from "./network.ts";
import {
  go,
  pod,
  podBehind,
  processorWaitOf,
  reportOf,
  resultOf,
  sender,
  serverFile,
  terminate,
  type HoldReport,
} from "./pod.ts";
import { Running, endAll, withoutNamespaces } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;
const file = fileURLToPath(new URL("coordinator-server.ts", import.meta.url));
const dnsFile = fileURLToPath(new URL("name-server.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lameduck-coordinator-"));
chmodSync(folder, 0o777);
after(() => rmSync(folder, { recursive: true }));

const coordinatorAt = senderAddress(3);
const we = ["--pod-name", "web-7d", "--pod-namespace", "shop", "--pod-uid", "0f3c-11"];
const asks = (host: string): string[] => ["--coordinator", `http://${host}:8070`, ...we];

async function coordinator(network: Network, mode: string, after = 0, at = coordinatorAt): Promise<Running> {
  const [command, ...rest] = network.asSender(process.execPath, file, at, "8070", mode, String(after));
  const running = new Running(command, rest);
  await running.line("listening");
  return running;
}

interface Line {
  readonly asked?: number;
  readonly told?: string;
  readonly path?: string;
  readonly waited?: number;
}

function linesOf(running: Running): Line[] {
  return running.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line);
}

/** Requests ten times a second until 1.5 s into the hold: evidence alone takes some seconds more. */
async function held(network: Network, server: Running): Promise<void> {
  const traffic = sender(network, 1, { every: 100, for: 3_500 });
  await go(traffic);
  await server.line("served");
  terminate(server);
  assert.equal((await resultOf(traffic)).lost, 0, server.stderr);
  assert.equal((await server.ended).code, 0, server.stderr);
}

/** The preStop hook of a pod, with a /dev/shm of its own. */
function hookOf(network: Network, flags: readonly string[]): Running {
  const shm = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$0" "$@"'];
  const [command, ...rest] = network.asPod(...shm, initProgram(), "wait", "--log", "json", ...flags);
  return new Running(command, rest);
}

/** With the budget of a strict user evidence alone would take twice as long. */
const strict = ["--loss-budget", "1e-9"];
const policyFlags = ["--floor", "500ms", "--grace", "20s", "--reserve", "2s"];

describe("what the cluster knows", { skip, concurrency: 6 }, () => {
  before(() => void initProgram());

  test("a coordinator that says that all consumers have let go ends the hold, and is told how it went", async () => {
    await using network = await Network.create();
    const cluster = await coordinator(network, "release", 2_500);
    const path = join(folder, "hold.jsonl");
    const flags = [...policyFlags, ...strict, "-vv", "--trace", path];
    const server = await pod(network, [...flags, ...asks(coordinatorAt)]);
    await server.line("listening");
    assert.deepEqual(linesOf(cluster), [], "something was opened before the termination");
    await held(network, server);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "acknowledged", server.stderr);
    assert.match(
      report.explanation,
      /^floor 0\.5, released by 5 of 5 senders at \d\.\d \(kube-proxy\/node5 last\)$/,
    );
    assert.match(server.stderr, /the cluster: waiting, 4\/5 senders, behind: kube-proxy\/node5 \(rules\)/);
    const { reason, length, timeline } = replay(parseTrace(readFileSync(path, "utf8"), path));
    assert.equal(reason, "acknowledged");
    assert.ok(Math.abs(length - report.hold_ms) < 20, `${length} and ${report.hold_ms}`);
    assert.equal(timelineText(timeline), report.explanation);
    const lines = linesOf(cluster);
    const asked = lines.flatMap(({ asked: count, path }) => (count === undefined ? [] : [path]));
    assert.deepEqual(asked.slice(0, 2), [
      "/v1/pods/shop/web-7d?uid=0f3c-11&wait=0",
      "/v1/pods/shop/web-7d?uid=0f3c-11&wait=5&seen=waiting",
    ]);
    assert.ok(asked.length <= 3, JSON.stringify(lines));
    const [first = "", last = "", ...more] = lines.flatMap(({ told }) => (told === undefined ? [] : [told]));
    assert.deepEqual(more, []);
    assert.match(
      first,
      /^phase: lame-duck\nprogram: init\npolicy: adaptive\nfloor-ms: 500\n(senders: 198\.18\.1\.1\n)?$/,
    );
    assert.match(last, /^phase: closing\n/);
    for (const line of [
      /^reason: acknowledged$/m,
      /^held-ms: \d+$/m,
      /^last-arrival-ms: \d+$/m,
      /^connections: \d+$/m,
      /^requests: \d+$/m,
      /^oldest-wait: floor 0\.5, released by 5 of 5/m,
      /^senders: 198\.18\.1\.1$/m,
    ])
      assert.match(last, line);
  });

  test("a connection of the kubelet's probe to a young pod disproves no release, and the same connection of another sender does", async () => {
    const probe = { every: 10_000, for: 100, patient: true };
    const says = async (flags: readonly string[], route: boolean, before: boolean): Promise<HoldReport> => {
      await using network = await Network.create();
      if (route) network.inPod("ip", "route", "add", "default", "via", senderAddress(1));
      await coordinator(network, "released");
      const server = await pod(network, ["--floor", "3s", ...flags, ...asks(coordinatorAt)]);
      const first = sender(network, 1, probe);
      const second = sender(network, 1, probe);
      const other = sender(network, 2, { every: 100, for: 500, patient: true });
      await second.line("ready");
      if (before) {
        await go(first);
        await resultOf(first);
        await go(other);
        await resultOf(other);
      }
      terminate(server);
      await server.says("hold-began");
      await pause(500);
      await go(second);
      await server.ended;
      return reportOf(server.stderr);
    };
    const overruled = /overruled by 198\.18\.1\.1/;
    const [stranger, gateway, firstOfAll, untold] = await Promise.all([
      says([], false, false),
      says([], true, false),
      says(["--probe-period", "8s", "--probe-period", "8s"], false, true),
      says([], false, true),
    ]);
    assert.match(stranger.explanation, overruled);
    assert.doesNotMatch(gateway.explanation, overruled);
    assert.doesNotMatch(firstOfAll.explanation, overruled);
    assert.match(untold.explanation, overruled);
  });

  test("a coordinator that was asked to end the hold ends it as forced", async () => {
    await using network = await Network.create();
    await coordinator(network, "end");
    const server = await pod(network, [...policyFlags, "--floor", "15s", ...asks(coordinatorAt)]);
    terminate(server);
    await server.ended;
    const { reason, because } = reportOf(server.stderr);
    assert.deepEqual([reason, because], ["forced", "the coordinator was asked to end it"]);
  });

  test("the last line of a hold says that a coordinator was silent, also where packets to it vanish", async () => {
    await using network = await Network.create();
    const [server, heard] = await Promise.all([
      pod(network, ["--floor", "1s", ...asks("203.0.113.9")]),
      coordinator(network, "waiting"),
    ]);
    network.inPod("ip", "route", "add", "203.0.113.0/24", "dev", "pod");
    terminate(server);
    await server.ended;
    assert.match(server.stderr, /; the cluster: silent, no answer of http:\/\/203\.0\.113\.9:8070"/);
    assert.equal(reportOf(server.stderr).cluster, "silent");
    heard.kill("SIGTERM");
  });

  test("a coordinator that releases too early is overruled by what arrives, and the last line names the sender", async () => {
    await using network = await Network.create();
    const cluster = await coordinator(network, "released");
    const server = await pod(network, [...policyFlags, ...asks(coordinatorAt)]);
    await held(network, server);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "quiet", server.stderr);
    assert.match(report.explanation, /release overruled by 198\.18\.1\.1 at \d\.\d/);
    assert.ok(
      linesOf(cluster).some(
        ({ told }) => told?.includes("phase: lame-duck") && told.includes("overruled: 198.18.1.1"),
      ),
      cluster.lines.join("\n"),
    );
  });

  /** How the hold ends where it is released while this traffic goes on, and how long after the release. */
  async function releasedAmid(
    orders: Record<string, unknown>,
    begun: (traffic: Running) => Promise<void>,
  ): Promise<{ report: HoldReport; tail: number; stderr: string }> {
    await using network = await Network.create();
    const cluster = await coordinator(network, "signal");
    const server = await pod(network, [...policyFlags, ...strict, ...asks(coordinatorAt)]);
    const traffic = sender(network, 1, orders);
    await go(traffic);
    await server.line("working");
    terminate(server);
    await begun(traffic);
    const releasedAt = performance.now();
    cluster.kill("SIGUSR2");
    await server.ended;
    const { stderr } = server;
    const report = reportOf(stderr);
    return { report, tail: performance.now() - releasedAt - processorWaitOf(report), stderr };
  }

  test("a connection that was opened before the release and ends after it overrules nothing", async () => {
    const { report, tail, stderr } = await releasedAmid({ every: 50, for: 3_000, delay: 600 }, (traffic) =>
      traffic.line("sent"),
    );
    assert.equal(report.reason, "acknowledged", stderr);
    assert.ok(tail < 2_500, `${tail} ms: ${stderr}`);
  });

  test("requests on connections from before the release overrule nothing", async () => {
    const { report, tail, stderr } = await releasedAmid(
      { every: 300, for: 30_000, delay: 1, pooled: true },
      () => pause(3_000),
    );
    assert.equal(report.reason, "acknowledged", stderr);
    assert.ok(tail < 2_500, `${tail} ms: ${stderr}`);
  });

  for (const program of ["init", "wait"])
    test(`requests of pools keep ${program} only until there is a gap, once all consumers have let go`, async (t) => {
      await using network = await Network.create();
      const cluster = await coordinator(network, "signal");
      const path = join(folder, `pools-${program}.jsonl`);
      // The cap leaves time for a gap after the longest wait for a processor.
      const flags = [...policyFlags, "--grace", "40s", ...strict, ...asks(coordinatorAt), "--trace", path];
      const [command, ...rest] = network.asPod(process.execPath, serverFile, "80");
      const server = program === "init" ? await pod(network, flags) : new Running(command, rest);
      await server.line("listening");
      // It opens haltingly, so that its silence is long before it says something; and it has a pool.
      const opening = [700, 1_100].map((every) => sender(network, 1, { every, for: 8_000, delay: 1 }));
      const pool = sender(network, 1, { every: 100, for: 30_000, delay: 30, pooled: true });
      await go(...opening, pool);
      await server.line("served");
      const hook = program === "wait" ? hookOf(network, flags) : undefined;
      if (hook === undefined) terminate(server);
      await Promise.all(opening.map((each) => each.line("sent")));
      const releasedAt = performance.now();
      cluster.kill("SIGUSR2");
      await (hook ?? server).ended;
      const { stderr } = hook ?? server;
      const report = reportOf(stderr);
      const tail = performance.now() - releasedAt - processorWaitOf(report);
      assert.equal(report.reason, "acknowledged", stderr);
      t.diagnostic(`${Math.round(tail)} ms after the release`);
      // There is no gap of 200 ms.
      assert.ok(tail < 5_000, `${tail} ms: ${stderr}`);
      assert.match(report.explanation, /, a gap on old connections until \d+\.\d$/);
      const trace = parseTrace(readFileSync(path, "utf8"), path);
      assert.deepEqual(trace.unknown, []);
      const { stop, recordedStop, timeline } = replay(trace);
      assert.equal(stop, recordedStop, "TypeScript asks for the same gap");
      assert.equal(timelineText(timeline), report.explanation);
    });

  test(
    "a stop with pools in use waits until a processor is free",
    { skip: !existsSync("/proc/pressure/cpu") && "the kernel does not count who waits for a processor" },
    async () => {
      await using network = await Network.create();
      const cluster = await coordinator(network, "signal");
      const flags = [...policyFlags, "--grace", "40s", ...strict, ...asks(coordinatorAt)];
      const server = await pod(network, flags);
      const pool = sender(network, 1, { every: 300, for: 60_000, delay: 1, pooled: true });
      await go(pool);
      await server.line("working");
      const others = Array.from({ length: 2 * availableParallelism() }, () =>
        spawn("sh", ["-c", "while :; do :; done"]),
      );
      try {
        terminate(server);
        await server.says("hold-began");
        // Time for the kernel to count who waits.
        await pause(2_000);
        cluster.kill("SIGUSR2");
        await pause(3_000);
      } finally {
        for (const other of others) other.kill();
      }
      await server.ended;
      const report = reportOf(server.stderr);
      assert.match(report.explanation, /, a free processor until \d+\.\d/, server.stderr);
      assert.ok(processorWaitOf(report) > 1_000, server.stderr);
    },
  );

  test("a sender that goes on after the release overrules it, however seldom it comes", async () => {
    const { report, stderr } = await releasedAmid({ every: 300, for: 8_000, delay: 1 }, () => pause(2_000));
    assert.match(report.explanation, /release overruled by 198\.18\.1\.1 at \d\.\d/, stderr);
  });

  for (const mode of [
    "silent",
    "reset",
    "garbage",
    "endless",
    "drip",
    "refused",
    "version",
    "incomplete",
    "unknown",
  ])
    test(`the pod's own evidence decides when a coordinator is ${mode}`, async () => {
      await using network = await Network.create();
      const cluster = await coordinator(network, mode);
      const server = await pod(network, [...policyFlags, ...asks(coordinatorAt)]);
      await held(network, server);
      const report = reportOf(server.stderr);
      assert.equal(report.reason, "quiet", server.stderr);
      // It is no silence until the time of an answer is over, three seconds; the hold may be shorter.
      const late = /^(?:silent|nothing)$/;
      const known = { incomplete: /^incomplete$/, drip: late, silent: late }[mode] ?? /^silent$/;
      assert.match(report.cluster ?? "", known);
      const said = server.stderr.split("speaks version 2 of the protocol").length - 1;
      assert.equal(said, mode === "version" ? 1 : 0, server.stderr);
      const asked = linesOf(cluster).filter((line) => line.asked !== undefined).length;
      assert.ok(asked >= 1 && asked < 2 * (report.hold_ms / 250), `asked ${asked} times`);
    });

  test("the pod's own evidence decides where no coordinator listens at the address", async () => {
    await using network = await Network.create();
    const server = await pod(network, [...policyFlags, ...asks(coordinatorAt)]);
    await held(network, server);
    assert.equal(reportOf(server.stderr).reason, "quiet", server.stderr);
  });

  test("a coordinator asked by a hook ends its wait, and hears of its end before the hook returns", async () => {
    await using network = await Network.create();
    const cluster = await coordinator(network, "release", 1_500);
    const [command, ...rest] = network.asPod(process.execPath, serverFile, "80");
    const server = new Running(command, rest);
    await server.line("listening");
    const traffic = sender(network, 1, { every: 100, for: 2_500 });
    await go(traffic);
    await server.line("served");
    const hook = hookOf(network, [...policyFlags, ...strict, ...asks(coordinatorAt)]);
    const { code, stderr } = await hook.ended;
    const told = linesOf(cluster).map((line) => line.told);
    assert.equal(code, 0);
    assert.equal(reportOf(stderr).reason, "acknowledged", stderr);
    assert.ok(
      told.some((text) => text?.startsWith("phase: closing\nprogram: wait\n")),
      String(told),
    );
  });

  test("a coordinator that has fallen silent does not keep a hook from returning", async () => {
    await using network = await Network.create();
    const cluster = await coordinator(network, "falls-silent");
    const [command, ...rest] = network.asPod(process.execPath, serverFile, "80");
    await new Running(command, rest).line("listening");
    const { code, stderr } = await hookOf(network, [
      "--policy",
      "acknowledged",
      ...policyFlags,
      ...asks(coordinatorAt),
    ]).ended;
    assert.deepEqual([code, reportOf(stderr).cluster], [0, "silent"], stderr);
    const lines = (): Line[] => linesOf(cluster).filter(({ told }) => told !== undefined);
    await cluster.until(() => lines().length > 0, "the first that it is told");
    const kept = lines().filter(({ told, waited = 0 }) => told?.includes("closing") && waited > 100);
    assert.deepEqual(kept, []);
  });

  const policy = ["--policy", "acknowledged", ...policyFlags, "--cap", "9s"];

  test("a report that a busy coordinator does not take is sent again", async () => {
    await using network = await Network.create();
    const cluster = await coordinator(network, "busy", 1_500);
    const server = await pod(network, [...policy, ...asks(coordinatorAt)]);
    terminate(server);
    await server.ended;
    const told = linesOf(cluster).flatMap(({ told: text }) => text?.split("\n", 1) ?? []);
    assert.deepEqual(told, ["phase: lame-duck", "phase: closing"], server.stderr);
  });

  test("the policy acknowledged stops when the cluster says that all consumers have let go", async () => {
    await using network = await Network.create();
    await coordinator(network, "release", 4_000);
    const server = await pod(network, [...policy, ...asks(coordinatorAt)]);
    await held(network, server);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "acknowledged", server.stderr);
    assert.ok(report.hold_ms >= 4_000);
  });

  for (const [mode, reason, ...flags] of [
    ["silent", "quiet"],
    ["silent", "cap", "--mode", "consistency"],
    ["incomplete", "quiet"],
    ["incomplete", "quiet", "--mode", "consistency"],
    ["strict-incomplete", "cap"],
    ["released", "quiet"],
    ["consistency", "cap"],
  ] as const)
    test(`a hold with ${["the policy acknowledged", ...flags].join(" ")} and a coordinator that is ${mode} ends by ${reason}`, async () => {
      await using network = await Network.create();
      await coordinator(network, mode);
      const server = await pod(network, [...policy, ...flags, ...asks(coordinatorAt)]);
      await held(network, server);
      assert.equal(reportOf(server.stderr).reason, reason, server.stderr);
    });

  test("a hold waits for a sender that nobody asks as long as it is assumed to send, and says so", async () => {
    await using network = await Network.create();
    await coordinator(network, "incomplete", 5_000);
    const server = await pod(network, [...policy, ...asks(coordinatorAt)]);
    terminate(server);
    await server.ended;
    const { reason, hold_ms: holdMs, explanation } = reportOf(server.stderr);
    assert.equal(reason, "idle", server.stderr);
    assert.ok(holdMs >= 5_000, server.stderr);
    assert.match(explanation, /acknowledgements until \d/);
  });

  for (const [mode, reason] of [
    ["behind", "acknowledged"],
    ["again", "cap"],
  ] as const)
    test(`a hold that was released, with a coordinator that is then ${mode}, ends by ${reason}`, async () => {
      await using network = await Network.create();
      const cluster = await coordinator(network, mode);
      const server = await pod(network, [...policy, "--settle", "3s", ...asks(coordinatorAt)]);
      terminate(server);
      await server.ended;
      assert.ok(linesOf(cluster).filter((line) => line.asked !== undefined).length > 1, server.stderr);
      assert.equal(reportOf(server.stderr).reason, reason, server.stderr);
    });

  const named = ["--coordinator", "http://coordinator.lameduck-system.svc:8070", ...we];

  /** A pod with these nameservers. */
  async function podWithNames(network: Network, servers: string[], ...flags: string[]): Promise<Running> {
    const configuration = join(folder, `${network.pid}.conf`);
    const lines = ["search shop.svc.cluster.local svc.cluster.local cluster.local", "options ndots:5"];
    writeFileSync(
      configuration,
      [...servers.map((server) => `nameserver ${server}`), ...lines, ""].join("\n"),
    );
    const bound = ["sh", "-c", `mount --bind ${configuration} /etc/resolv.conf && exec "$@"`, "sh"];
    return podBehind(bound, network, [...policyFlags, ...named, ...flags]);
  }

  async function nameServer(
    network: Network,
    mode: string,
    answers: readonly string[] = [coordinatorAt],
  ): Promise<Running> {
    const [command, ...rest] = network.asSender(
      process.execPath,
      dnsFile,
      senderAddress(2),
      answers.join(","),
      mode,
    );
    const running = new Running(command, rest);
    await running.line("listening");
    return running;
  }

  test("the coordinator's name is looked up as the C library would, and only in the hold", async () => {
    await using network = await Network.create();
    const names = await nameServer(network, "answers");
    await coordinator(network, "release", 2_500);
    const server = await podWithNames(network, [senderAddress(2)], ...strict);
    assert.deepEqual(names.lines, ["listening"]);
    await held(network, server);
    assert.equal(reportOf(server.stderr).reason, "acknowledged", server.stderr);
    assert.deepEqual(names.lines.slice(1), [
      "A coordinator.lameduck-system.svc.shop.svc.cluster.local",
      "A coordinator.lameduck-system.svc.svc.cluster.local",
      "A coordinator.lameduck-system.svc.cluster.local",
    ]);
  });

  test("the next name server is asked where the first does not answer", async () => {
    await using network = await Network.create();
    await nameServer(network, "answers");
    const cluster = await coordinator(network, "released");
    const server = await podWithNames(network, [network.pod, senderAddress(2)]);
    await held(network, server);
    assert.notDeepEqual(linesOf(cluster), [], server.stderr);
  });

  /** Nothing is sent, so that the pod's own evidence would end the hold as soon as the coordinator counts as silent. */
  async function releasedLate(server: Running, releases: Running): Promise<void> {
    await pause(1_500);
    assert.doesNotMatch(server.stderr, /hold-ended/);
    releases.kill("SIGUSR2");
    await server.ended;
    assert.equal(reportOf(server.stderr).reason, "acknowledged", server.stderr);
  }

  test("the other of two coordinators is asked where one is killed in the hold", async () => {
    await using network = await Network.create(4);
    const at = [coordinatorAt, senderAddress(4)];
    await nameServer(network, "answers", at);
    const [first, second] = await Promise.all(at.map((each) => coordinator(network, "signal", 0, each)));
    assert.ok(first && second);
    const server = await podWithNames(network, [senderAddress(2)], "--policy", "acknowledged");
    terminate(server);
    await first.until(() => first.lines.some((line) => line.includes("seen=waiting")));
    first.kill("SIGKILL");
    await releasedLate(server, second);
  });

  for (const [mode, what] of [
    ["hiccup", "fails"],
    ["doubt", "knows nothing"],
  ] as const)
    test(`a coordinator of one address that ${what} twice in a moment is asked a third time`, async () => {
      await using network = await Network.create();
      const cluster = await coordinator(network, mode);
      const server = await pod(network, [...policy, ...asks(coordinatorAt)]);
      terminate(server);
      await cluster.until(() => linesOf(cluster).length > 3);
      await releasedLate(server, cluster);
    });

  for (const mode of ["silent", "garbage", "fails"])
    test(`a name server that is ${mode} does not prolong the hold`, async () => {
      await using network = await Network.create();
      const names = await nameServer(network, mode);
      const server = await podWithNames(network, [senderAddress(2)]);
      await held(network, server);
      assert.equal(reportOf(server.stderr).reason, "quiet", server.stderr);
      assert.ok(names.lines.length > 1);
    });

  test("a name server that hangs does not keep signals from the program", async () => {
    await using network = await Network.create();
    const names = await nameServer(network, "silent");
    const server = await podWithNames(network, [senderAddress(2)]);
    terminate(server);
    await server.says("hold-began");
    await names.until(() => names.lines.length > 1);
    terminate(server, "SIGUSR1");
    assert.equal((await server.ended).code, 10, server.stderr);
  });
});
