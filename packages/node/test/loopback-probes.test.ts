import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  isRegular,
  loopbackPeer,
  LoopbackProbes,
  type LoopbackPeer,
} from "../src/protocols/loopback-probes.ts";
import { Child, cleanEnvironment, fixture, inPod, startScript } from "./child.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
const skip = !existsSync("/proc/self/fd") && "no /proc";

interface Asked {
  address?: string;
  method?: string;
  url?: string;
  headers?: Record<string, string>;
}

const curl = { host: "localhost:8080", "user-agent": "curl/8.5.0", accept: "*/*" };

/** Of requests that come so many milliseconds after the beginning, which are taken for probes, and who counts as undecided then. */
function taken(peer: LoopbackPeer, times: readonly number[], asked: Asked = {}) {
  let now = 0;
  const probes = new LoopbackProbes(
    () => now,
    () => peer,
  );
  const { address = "127.0.0.1", method = "GET", url = "/healthz", headers = {} } = asked;
  const all: Record<string, string> = { ...curl, ...headers };
  const request = {
    method,
    url,
    headers: all,
    rawHeaders: Object.entries(all).flat(),
  } as unknown as IncomingMessage;
  const socket = { remoteAddress: address, remoteFamily: "IPv4", remotePort: 1 } as Socket;
  const seen = times.map((at) => {
    now = at;
    return probes.takes(socket, request);
  });
  return { probes: seen.filter(Boolean).length, undecided: probes.undecided() };
}

const regular = [0, 10_020, 20_000, 30_110, 40_000];

test("what a tool asks over loopback at regular intervals is a probe, and what is not yet regular is traffic", () => {
  assert.deepEqual(taken("alone", regular), { probes: 5, undecided: [] });
  assert.deepEqual(taken("alone", [0, 10_000]), { probes: 2, undecided: ["127.0.0.1"] });
  assert.deepEqual(
    taken("alone", [0, 3_000, 10_000, 13_050, 20_000]),
    { probes: 5, undecided: [] },
    "two of one period",
  );
  const irregular = taken("alone", [0, 4_000, 5_500, 12_000, 13_000, 19_000]);
  assert.ok(irregular.probes < 6);
  assert.equal(taken("alone", [0, 50, 100, 150, 200]).probes, 1, "as fast as traffic");
  assert.ok(isRegular([0, 1_000, 2_000]) && !isRegular([0, 500, 1_000]) && !isRegular([0, 1_000]));
});

test("what a process from outside the container asks is a probe from the first", () => {
  assert.deepEqual(taken("executed", [0]), { probes: 1, undecided: [] });
});

test("what a sidecar proxy may have passed on is traffic, however regular", () => {
  const none = { probes: 0, undecided: [] };
  for (const peer of ["alone", "executed"] as const)
    for (const asked of [
      { headers: { "x-request-id": "1" } },
      { headers: { "x-forwarded-for": "198.18.0.1" } },
      { headers: { "x-envoy-attempt-count": "1" } },
      { headers: { host: "shop.example" } },
      { address: "127.0.0.6" },
      { address: "198.18.0.1" },
      { method: "POST" },
    ] as Asked[])
      assert.deepEqual(taken(peer, regular, asked), none, JSON.stringify(asked));
  assert.deepEqual(taken("unknown", regular), none);
  assert.deepEqual(
    taken("alone", regular, { headers: { "user-agent": "node" } }),
    none,
    "no tool for probes",
  );
});

/** What loopbackPeer() says of whoever asks first. */
async function peerOf(start: (port: number) => ChildProcess): Promise<LoopbackPeer> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const child = start((server.address() as AddressInfo).port);
  const [request, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  const peer = loopbackPeer(request.socket);
  response.end();
  child.kill("SIGKILL");
  server.close();
  return peer;
}

function asks(port: number, more: Record<string, string> = {}): ChildProcess {
  const env = cleanEnvironment({ PORT: String(port), ...more });
  return spawn(process.execPath, [fixture("loopback.mjs")], { env, stdio: "ignore" });
}

test("a process with no other connection is told from one that may be a proxy", { skip }, async () => {
  assert.equal(await peerOf((port) => asks(port)), "alone");
  assert.equal(await peerOf((port) => asks(port, { PROXY: "tcp" })), "unknown");
  assert.equal(await peerOf((port) => asks(port, { PROXY: "unix" })), "unknown");
});

const canEnter =
  spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "nsenter", "--version"]).status === 0;

test(
  "what a process asks that was put into the container from outside holds nothing",
  { skip: skip || (!canEnter && "unshare and nsenter, as root") },
  async () => {
    const inside = [process.execPath, "--import", register, fixture("plain.cjs")];
    const env = cleanEnvironment({ ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CAP: "4s" });
    const args = ["--pid", "--fork", "--mount-proc", "--kill-child", ...inside];
    const container = new Child(spawn("unshare", args, { env, stdio: "pipe" }));
    try {
      await container.until(() => container.port > 0);
      const main = spawnSync("pgrep", ["-P", String(container.process.pid)], {
        encoding: "utf8",
      }).stdout.trim();
      const enter = ["-t", main, "-p", "-m", process.execPath, fixture("loopback.mjs")];
      const prober = spawn("nsenter", enter, {
        env: cleanEnvironment({ PORT: String(container.port), EVERY: "1500" }),
        stdio: ["ignore", "pipe", "ignore"],
      });
      await once(prober.stdout, "data");
      process.kill(Number(main), "SIGTERM");
      await container.until("closed");
      prober.kill("SIGKILL");
      assert.deepEqual(
        [container.event("closing")?.reason, container.event("closing")?.senders],
        ["idle", 0],
        container.stderr,
      );
    } finally {
      container.process.kill("SIGKILL");
    }
  },
);

test(
  "a proxy that asks each second, and says no more of itself than a probe, holds the pod",
  { skip },
  async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CAP: "3s" };
    await using child = await startScript(["--import", register, fixture("plain.cjs")], env);
    const proxy = spawn(process.execPath, [fixture("loopback.mjs")], {
      env: cleanEnvironment({ PORT: String(child.port), PROXY: "tcp" }),
      stdio: ["ignore", "pipe", "ignore"],
    });
    let asked = 0;
    while (asked < 4) {
      const [text] = (await once(proxy.stdout, "data")) as [Buffer];
      asked += text.toString().split("asked").length - 1;
    }
    child.kill();
    assert.equal((await child.exited).code, 0);
    proxy.kill("SIGKILL");
    assert.equal(child.event("closing")?.reason, "cap");
  },
);
