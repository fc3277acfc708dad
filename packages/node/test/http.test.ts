import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ask, askTls, askUnix, idleConnection, type Answer } from "./ask.ts";
import { fixture, inPod, startScript, startServer, until } from "./child.ts";

const kubeProbe = { "user-agent": "kube-probe/1.36" };

test("outside Kubernetes a server without traffic stops at once", async () => {
  await using child = await startServer({}, {});
  child.kill();
  const { code } = await child.exited;
  assert.equal(code, 0);
  assert.deepEqual(
    child.events.map((event) => event.lameduck === "phase" && event.phase),
    ["lame-duck", "closing", "closed"],
  );
  const closing = child.event("closing");
  assert.equal(closing?.reason, "delay");
  assert.ok(closing.hold < 1_000, `${closing.hold}`);
});

test("in a pod without traffic the floor decides", async () => {
  await using child = await startServer({}, { ...inPod, LAMEDUCK_FLOOR: "300ms" });
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.reason, "idle");
  assert.ok(child.event("closing")!.hold >= 300);
});

test("goes on serving new connections after SIGTERM and stops when they fall silent", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "200ms", LAMEDUCK_CONVERGENCE: "300ms" };
  await using child = await startServer({}, env);
  for (let count = 0; count < 20; count++) await ask(child.port);
  child.kill();
  await child.until("lame-duck");
  const from = performance.now();
  let served = 0;
  while (performance.now() - from < 1_000) {
    assert.equal((await ask(child.port)).status, 200);
    served++;
  }
  assert.equal((await child.exited).code, 0);
  const closing = child.event("closing");
  assert.equal(closing?.reason, "quiet");
  assert.equal(closing.connections, served);
  assert.ok(closing.hold >= 1_000 && closing.lastArrival !== null);
  assert.equal(child.event("closed")?.reason, "done");
});

test("asks pooled clients to leave after the floor, with the listener open", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_POLICY: "until-deadline", LAMEDUCK_CAP: "3s" };
  await using child = await startServer({ options: { ramp: 0 } }, env);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  assert.equal((await ask(child.port, "/", agent)).connection, "keep-alive");
  child.kill();
  await child.until("lame-duck");
  const during = await ask(child.port, "/", agent);
  assert.equal(during.connection, "keep-alive", "before the floor a hint would only bring the client back");
  let connection: string | undefined = "keep-alive";
  while (connection !== "close") ({ connection } = await ask(child.port, "/", agent));
  assert.equal((await ask(child.port)).status, 200, "the listener is still open");
  agent.destroy();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.reason, "cap");
});

test("asks pooled clients to leave where the application sets Connection: keep-alive itself", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_CONVERGENCE: "100ms", LAMEDUCK_CAP: "60s" };
  await using child = await startServer({ options: { ramp: 0, grace: "90s" } }, env);
  const pooled = async (way: string): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let answer = await ask(child.port, `/keep?way=${way}`, agent);
    assert.equal(answer.connection, "keep-alive");
    while (answer.connection !== "close") answer = await ask(child.port, `/keep?way=${way}`, agent);
    assert.equal(answer.body, "ok\n");
    agent.destroy();
  };
  const clients = Promise.all(["set", "object", "array"].map(pooled));
  child.kill();
  await clients;
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.reason, "quiet", "and not the cap");
});

test("an answer begun before the hint says close as well", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "200ms", LAMEDUCK_CONVERGENCE: "100ms" };
  await using child = await startServer({ options: { ramp: 0 } }, env);
  const agent = new Agent({ keepAlive: true });
  const answer = ask(child.port, "/?wait=1000", agent);
  await new Promise((resolve) => setTimeout(resolve, 100));
  child.kill();
  assert.deepEqual(await answer, { status: 200, body: "late\n", connection: "close" });
  agent.destroy();
  assert.equal((await child.exited).code, 0);
  assert.ok(child.event("closing")!.hold >= 700, "the request in flight held it");
});

test("probes are served but hold nothing", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_POLICY: "quiet", LAMEDUCK_WINDOW: "500ms" };
  await using child = await startServer({ options: { probes: { paths: ["/healthz"] } } }, env);
  const agent = new Agent({ keepAlive: true });
  child.kill();
  let served = 0;
  while (!child.event("closing")) {
    await Promise.all([
      ask(child.port, "/", undefined, kubeProbe),
      ask(child.port, "/healthz?full=1"),
      ask(child.port, "/healthz", agent),
    ]).then(
      () => served++,
      () => {},
    );
  }
  agent.destroy();
  assert.equal((await child.exited).code, 0);
  assert.ok(served > 10);
  assert.equal(child.event("closing")?.reason, "idle");
  assert.equal(child.event("closing")?.connections, 0);
});

test("a connection without a request counts, one that closes without a request does not", async () => {
  const env = { ...inPod, LAMEDUCK_POLICY: "quiet", LAMEDUCK_WINDOW: "2s", LAMEDUCK_FLOOR: "0s" };
  await using child = await startServer({}, env);
  child.kill();
  await child.until("lame-duck");
  const scan = connect(child.port, "127.0.0.1");
  scan.on("connect", () => scan.destroy());
  const slow = connect(child.port, "127.0.0.1");
  slow.on("error", () => {});
  slow.write("GET / HT");
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.connections, 1);
  slow.destroy();
});

test("a blocked event loop is not taken for silence", async () => {
  const env = { ...inPod, LAMEDUCK_POLICY: "quiet", LAMEDUCK_WINDOW: "400ms", LAMEDUCK_FLOOR: "0s" };
  await using child = await startServer({}, env);
  child.kill();
  await child.until("lame-duck");
  await ask(child.port, "/block?wait=800");
  assert.equal((await child.exited).code, 0);
  const closing = child.event("closing")!;
  assert.ok(closing.blind >= 700, `${closing.blind}`);
  assert.ok(closing.hold >= 1_150, `${closing.hold}: 800 ms of blindness and 400 ms of silence`);
});

test("a request that hangs is cut before the deadline, and the log says so", async () => {
  const env = { ...inPod, LAMEDUCK_GRACE_PERIOD: "3s", LAMEDUCK_RESERVE: "1s" };
  await using child = await startServer({ hooks: [["closed", "flush", 10]] }, env);
  const hanging = httpRequest({ host: "127.0.0.1", port: child.port, path: "/hang" }).end();
  hanging.on("error", () => {}).on("response", (response) => response.on("error", () => {}).resume());
  await new Promise((resolve) => hanging.once("response", resolve));
  const from = performance.now();
  child.kill();
  const { code, at } = await child.exited;
  assert.equal(code, 0);
  assert.ok(at - from < 3_000, `${at - from}`);
  assert.match(child.stdout, /hook flush/);
  assert.equal(child.event("closing")?.reason, "cap");
  const closed = child.event("closed");
  assert.equal(closed?.reason, "deadline");
  assert.deepEqual(closed.cut, { requests: 1, connections: 1 });
});

test("hooks run in order, each in its own time, whatever became of the others", async () => {
  const hooks = [
    ["closed", "pool", 20],
    ["closing", "queue", "throws"],
    ["lame-duck", "registry", 10],
    ["closed", "logs", "hangs"],
    ["closed", "last", 1],
  ];
  await using child = await startServer({ hooks }, {});
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.deepEqual(child.stdout.match(/(?<=hook )\w+/g), ["registry", "queue", "pool", "logs", "last"]);
  assert.deepEqual(
    child.event("closed")?.hooks.map(({ name, result }) => `${name} ${result}`),
    ["registry done", "queue failed", "pool done", "logs timed out", "last done"],
  );
});

test("a second SIGTERM is logged and changes nothing; SIGINT ends the hold", async () => {
  await using child = await startServer({}, { ...inPod, LAMEDUCK_FLOOR: "20s", LAMEDUCK_SIGNALS: "SIGTERM" });
  child.kill();
  await child.until("lame-duck");
  child.kill();
  await child.until(() => child.events.some((event) => event.lameduck === "notice"));
  assert.equal(child.event("closing"), undefined);
  child.kill("SIGINT");
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.reason, "forced");
});

test("only a signal that came before is one that comes again", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "1500ms", LAMEDUCK_SIGNALS: "SIGTERM,SIGUSR2" };
  await using child = await startServer({}, env);
  const heard = (): string[] =>
    child.events.flatMap((event) => (event.lameduck === "notice" ? [event.message] : []));
  child.kill();
  await child.until("lame-duck");
  for (const [index, signal] of (["SIGUSR2", "SIGUSR2", "SIGTERM"] as const).entries()) {
    child.kill(signal);
    await child.until(() => heard().length > index);
  }
  const nothing = "during lame-duck: changes nothing";
  assert.deepEqual(heard(), [
    `SIGUSR2, ${nothing}`,
    `SIGUSR2 again, ${nothing}`,
    `SIGTERM again, ${nothing}`,
  ]);
  assert.equal((await child.exited).code, 0);
});

test("a second SIGINT ends the process", async () => {
  await using child = await startServer({}, { ...inPod, LAMEDUCK_SIGNALS: "SIGTERM" });
  const hanging = httpRequest({ host: "127.0.0.1", port: child.port, path: "/hang" }).end();
  hanging.on("error", () => {}).on("response", (response) => response.on("error", () => {}).resume());
  await new Promise((resolve) => hanging.once("response", resolve));
  child.kill("SIGINT");
  await child.until("closing");
  child.kill("SIGINT");
  assert.equal((await child.exited).code, 130);
});

test("SIGTERM handlers of others run when the hold is over", async () => {
  await using child = await startServer(
    { ownHandler: "close" },
    { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_CONVERGENCE: "100ms" },
  );
  child.kill();
  await child.until("lame-duck");
  assert.equal((await ask(child.port)).status, 200);
  assert.doesNotMatch(child.stdout, /own handler/);
  assert.equal((await child.exited).code, 0);
  assert.match(child.stdout, /own handler/);
  assert.equal(child.event("closed")?.reason, "done");
});

test("a handler of others that exits ends the story with a closed event, too", async () => {
  await using child = await startServer({ ownHandler: "exit" }, { ...inPod, LAMEDUCK_FLOOR: "100ms" });
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.exitCode, 0);
});

test("an uncaught error during the termination costs neither requests nor hooks", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_GRACE_PERIOD: "8s", LAMEDUCK_SIGNALS: "SIGTERM" };
  await using child = await startServer({ hooks: [["closed", "flush", 1]] }, env);
  const answer = ask(child.port, "/?wait=1000");
  child.kill();
  await child.until("lame-duck");
  const crash = ask(child.port, "/crash").catch((error: Error) => error.message);
  await child.until(() => child.events.some((event) => event.lameduck === "notice"));
  assert.equal((await answer).status, 200);
  child.kill("SIGINT");
  assert.equal((await child.exited).code, 1);
  assert.match(child.stdout, /hook flush/);
  assert.match(child.stderr, /as asked/);
  await crash;
});

for (const kind of ["tls", "unix"] as const)
  test(`${kind}: requests in flight finish and say close, new ones are served`, async (t) => {
    const path = join(tmpdir(), `lameduck-${process.pid}.sock`);
    t.after(() => rmSync(path, { force: true }));
    const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "100ms" };
    const wanted = kind === "tls" ? { tls: true } : { unix: path };
    await using child = await startServer({ ...wanted, options: { ramp: 0 } }, env);
    const askOne = (target: string): Promise<Answer> =>
      kind === "tls" ? askTls(child.port, target) : askUnix(path, target);
    assert.equal((await askOne("/")).status, 200);
    const long = askOne("/?wait=1200");
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill();
    await child.until("lame-duck");
    assert.equal((await askOne("/")).status, 200);
    assert.deepEqual(await long, { status: 200, body: "late\n", connection: "close" });
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
  });

test("pipelined requests are answered to the last, and Expect: 100-continue as ever", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "700ms", LAMEDUCK_CONVERGENCE: "100ms" };
  await using child = await startServer({ options: { ramp: 0 } }, env);
  const socket = connect(child.port, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => (received += text));
  socket.on("error", () => {});
  const question = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const expecting = connect(child.port, "127.0.0.1");
  let expected = "";
  expecting.setEncoding("utf8").on("data", (text: string) => (expected += text));
  const head = "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";
  expecting.write(head);
  await until(
    () => expected.includes("100 Continue"),
    5_000,
    () => expected,
  );
  child.kill();
  await child.until("lame-duck");
  socket.write(question("/?wait=900") + question("/?wait=100") + question("/"));
  setTimeout(() => expecting.write("body"), 1_000);
  await until(
    () => expected.includes("4\n"),
    5_000,
    () => expected,
  );
  await until(
    () => received.split("HTTP/1.1 200").length === 4,
    5_000,
    () => received,
  );
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  socket.destroy();
  expecting.destroy();
});

test("silent and half-open connections, uploads and slow readers end well before the deadline", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "200ms", LAMEDUCK_CONVERGENCE: "50ms" };
  await using child = await startServer({ options: { ramp: 0 } }, env);
  const silent = connect(child.port, "127.0.0.1");
  const half = connect(child.port, "127.0.0.1");
  half.write("GET / HTTP/1.1\r\nHos");
  const idle = new Agent({ keepAlive: true });
  await ask(child.port, "/", idle);
  const upload = connect(child.port, "127.0.0.1");
  let answer = "";
  upload.setEncoding("utf8").on("data", (text: string) => (answer += text));
  upload.write("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n1234");
  for (const socket of [silent, half, upload]) socket.on("error", () => {});
  await child.until(() => silent.readyState === "open" && half.bytesWritten > 0);
  child.kill();
  await child.until("lame-duck");
  setTimeout(() => upload.write("5678"), 1_000);
  assert.equal((await child.exited).code, 0);
  assert.match(answer, /8\n/);
  assert.match(answer, /connection: close/i);
  assert.deepEqual(child.event("closed")?.cut, { requests: 0, connections: 0 });
  assert.ok(child.event("closed")!.elapsed < 15_000, `${child.event("closed")!.elapsed}`);
  for (const socket of [silent, half, upload]) socket.destroy();
  idle.destroy();
});

test("SIGTERM before listen() ends the process at once", async () => {
  await using child = await startScript([fixture("early.ts")], inPod, ({ stdout }) =>
    stdout.includes("ready"),
  );
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.reason, "forced");
  assert.ok(child.event("closing")!.hold < 1_500);
});

test("several servers end together, under one decision", async () => {
  const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "100ms" };
  await using child = await startServer({ servers: 3 }, env);
  child.kill();
  await child.until("lame-duck");
  for (const port of child.ports) assert.equal((await ask(port)).status, 200);
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closing")?.connections, 3);
});

test("ten thousand idle connections cost no time", async () => {
  const env = {
    ...inPod,
    LAMEDUCK_FLOOR: "300ms",
    LAMEDUCK_CONVERGENCE: "50ms",
    LAMEDUCK_POLICY: "quiet",
    LAMEDUCK_WINDOW: "200ms",
  };
  await using child = await startServer({}, env);
  const sockets: Socket[] = [];
  for (let count = 0; count < 10_000; count += 500)
    sockets.push(...(await Promise.all(Array.from({ length: 500 }, () => idleConnection(child.port)))));
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  assert.ok(child.event("closed")!.elapsed < 10_000, `${child.event("closed")!.elapsed}`);
  for (const socket of sockets) socket.destroy();
});

test("a health path can fail while requests succeed, for as long as the load balancer needs", async () => {
  const options = { lbHealth: { path: "/alive", wait: "1200ms" } };
  await using child = await startServer({ options }, { ...inPod, LAMEDUCK_FLOOR: "100ms" });
  assert.equal((await ask(child.port, "/alive?x=1")).status, 200);
  child.kill();
  await child.until("lame-duck");
  assert.equal((await ask(child.port, "/alive?x=1")).status, 503);
  assert.equal((await ask(child.port, "/other", undefined, kubeProbe)).status, 200);
  assert.equal((await child.exited).code, 0);
  assert.ok(child.event("closing")!.hold >= 1_190);
  assert.equal(child.event("closing")?.connections, 0);
});
