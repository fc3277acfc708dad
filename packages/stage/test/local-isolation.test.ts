/** What pods in namespaces reach and change of the machine they run on: what was allowed, and nothing else. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { enterStage, insideStage, openNetwork } from "../src/index.ts";
import { unreachable } from "../src/runtime/unreachable.ts";
import { observe, workload } from "./local-stage.ts";

interface Outside {
  readonly port: number;
  /** Nobody listens on it. */
  readonly closed: number;
  /** Pods may write here, ... */
  readonly kept: string;
  /** ... and here only for themselves. */
  readonly lost: string;
}

const variable = "LAMEDUCK_TEST_OUTSIDE";

if (!insideStage()) {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-test-"));
  const [kept, lost] = [join(folder, "kept"), join(folder, "lost")];
  for (const one of [kept, lost]) mkdirSync(one);
  writeFileSync(join(lost, "there"), "as it was");
  // Waits for the end of what it is told, as many protocols do.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let told = "";
    socket.on("data", (bytes) => (told += bytes));
    socket.on("end", () => socket.end(`database says ${told}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { port: closed } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const said: string[] = [];
  process.exitCode = await enterStage(import.meta.filename, [], {
    allow: [
      { host: "127.0.0.1", port },
      // The same once more, by two names.
      { host: "127.0.0.1", port },
      { host: "localhost", port },
      { host: "localhost", port: closed },
    ],
    writable: [kept],
    env: { [variable]: JSON.stringify({ port, closed, kept, lost } satisfies Outside) },
    say: (line) => said.push(line),
  });
  server.close();
  rmSync(folder, { recursive: true });
} else {
  const { leave, paths: left } = mounts();
  const network = await openNetwork();
  after(() => network.close());
  leave();
  const { port, closed, kept, lost } = JSON.parse(process.env[variable] ?? "") as Outside;
  const limit = { timeout: 60_000, skip: network.kind === "shared loopback" && "needs namespaces" };
  const own = !network.files.includes("no copy-on-write root");

  /** A server that answers with what `value` resolves to. */
  const tells = (value: string): string[] => [
    process.execPath,
    "-e",
    `const fs = require("node:fs");
     const net = require("node:net");
     const dial = (port, host, allowHalfOpen = true) => new Promise((resolve) => {
       let heard = "";
       const socket = net.connect({ port, host, allowHalfOpen });
       socket.on("data", (bytes) => (heard += bytes));
       socket.on("end", () => (resolve(heard || "nothing"), socket.end()));
       socket.on("error", ({ code }) => resolve(code));
       socket.end("hello");
     });
     require("node:http").createServer(async (q, response) => response.end(JSON.stringify(await (${value}))))
       .listen(Number(process.env.PORT), process.env.HOST);`,
  ];

  test("pods start after file systems have left the machine", limit, async (context) => {
    const observed = observe(context, network, workload(tells(`${JSON.stringify(left)}.map(fs.existsSync)`)));
    await observed.stage.ready();
    const { address, port: at } = observed.endpoints.get("web-1") ?? { address: "", port: 0 };
    const seen = (await (await fetch(`http://${address}:${at}/`)).json()) as boolean[];
    assert.ok(!seen.includes(true), "what was on them left, too");
  });

  test("a pod reaches what --allow names, and nothing else of this machine", limit, async (context) => {
    // One connection stays open: it must not outlive the pod, or keep this test from ending.
    const value = `Promise.all([
      new Promise((resolve) => net.connect({ port: ${port} }).on("connect", () => resolve("open"))),
      dial(${port}, "127.0.0.1"), dial(${port}, "localhost"), dial(${port}, "127.0.0.2"), dial(${closed}, "127.0.0.1")
    ])`;
    const observed = observe(context, network, workload(tells(value)));
    await observed.stage.ready();
    const { address, port: at } = observed.endpoints.get("web-1") ?? { address: "", port: 0 };
    assert.deepEqual(await (await fetch(`http://${address}:${at}/`)).json(), [
      "open",
      "database says hello",
      "database says hello",
      "ECONNREFUSED",
      "ECONNRESET",
    ]);
  });

  test("a pod's files are thrown away with it, except where --allow says", limit, async (context) => {
    if (!own) return context.skip(network.files);
    const shared = `/dev/shm/lameduck-test-${process.pid}`;
    const value = `(() => {
      const home = ${JSON.stringify(homedir())} + "/lameduck-was-here";
      const before = fs.existsSync(home);
      for (const [file, text] of [
        [${JSON.stringify(join(lost, "there"))}, "changed"], [${JSON.stringify(join(lost, "new"))}, "new"],
        [${JSON.stringify(join(kept, "new"))}, "kept"], [process.env.TMPDIR + "/x", "x"], [${JSON.stringify(shared)}, "x"],
        ...(fs.existsSync(${JSON.stringify(homedir())}) ? [[home, "x"]] : []),
      ]) fs.writeFileSync(file, text);
      if (process.getuid() === 0) fs.rmSync("/etc/hostname", { force: true });
      return [before, fs.readFileSync(${JSON.stringify(join(lost, "there"))}, "utf8"), process.getuid() === 0 && fs.existsSync("/etc/hostname"), fs.existsSync("/.lameduck")];
    })()`;
    const hostname = existsSync("/etc/hostname");
    const observed = observe(context, network, workload(tells(value)));
    await observed.stage.ready();
    const ask = async (pod: string): Promise<unknown> => {
      const { address, port: at } = observed.endpoints.get(pod) ?? { address: "", port: 0 };
      return (await fetch(`http://${address}:${at}/`)).json();
    };
    assert.deepEqual(await ask("web-1"), [false, "changed", false, false]);
    assert.equal(readFileSync(join(lost, "there"), "utf8"), "as it was");
    assert.equal(existsSync(join(lost, "new")), false);
    assert.equal(existsSync(shared), false);
    assert.equal(readFileSync(join(kept, "new"), "utf8"), "kept");
    assert.equal(existsSync(join(homedir(), "lameduck-was-here")), false);
    assert.equal(existsSync("/etc/hostname"), hostname);
    await observed.stage.rollout();
    assert.deepEqual(await ask("web-2"), [false, "changed", false, false], "its replacement starts afresh");
  });

  test("a pod that cannot connect somewhere gets a hint at --allow", limit, async (context) => {
    const script = 'require("node:net").connect(5432, "127.0.0.1").on("error", (error) => { throw error; });';
    const observed = observe(context, network, workload([process.execPath, "-e", script]));
    await assert.rejects(observed.stage.ready(), (error: Error & { code: string; remedy: string }) => {
      assert.equal(error.code, "LAMEDUCK_POD_CRASHED");
      assert.match(error.message, /ECONNREFUSED 127\.0\.0\.1:5432/);
      assert.match(error.remedy, /--allow 127\.0\.0\.1:5432/);
      return true;
    });
  });
}

const words: [says: string, where: string | undefined][] = [
  ["Error: connect ECONNREFUSED 127.0.0.1:5432", "127.0.0.1:5432"],
  ["Error: connect ECONNREFUSED ::1:6379", "[::1]:6379"],
  ["dial tcp [::1]:5432: connect: connection refused", "[::1]:5432"],
  ["dial tcp: lookup db.shop on 127.0.0.53:53: no such host", "db.shop:PORT"],
  ["Error: getaddrinfo EAI_AGAIN redis", "redis:PORT"],
  ['connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused', "localhost:5432"],
  ['could not translate host name "db" to address: Temporary failure in name resolution', "db:PORT"],
  ["ConnectionRefusedError: [Errno 111] Connection refused", "HOST:PORT"],
  ["listening on 0.0.0.0:8080", undefined],
];
for (const [says, where] of insideStage() ? words : [])
  test(`the line "${says}" names ${where ?? "no address that is out of reach"}`, () =>
    assert.equal(unreachable([says]), where));

/** A directory and a file with mounts of their own, which can leave. Where nobody may mount there are none. */
function mounts(): { readonly paths: readonly string[]; readonly leave: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-test-a disk-"));
  const [directory, file] = [join(folder, "directory"), join(folder, "file")];
  mkdirSync(directory);
  writeFileSync(file, "");
  const mounted = [
    ["-t", "tmpfs", "none", directory],
    ["--bind", file, file],
  ].every((args) => spawnSync("mount", ["-n", ...args]).status === 0);
  const inside = join(directory, "inside");
  if (mounted) writeFileSync(inside, "");
  const leave = (): void => {
    if (mounted) execFileSync("umount", ["-n", directory, file]);
    rmSync(folder, { recursive: true });
  };
  return { paths: mounted ? [inside] : [], leave };
}
