import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { Agent } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ask, askTls, askUnix, type Answer } from "./ask.ts";
import { inPod, startServer, until } from "./child.ts";

/** Long enough that a busy machine does not make it by itself. */
const silence = "2s";
const kubeProbe = { "user-agent": "kube-probe/1.36" };

describe("requests over HTTP/1.1", { concurrency: 3 }, () => {
  test("outside Kubernetes a server without traffic stops at once", async () => {
    await using child = await startServer({}, {});
    child.kill();
    const { code } = await child.exited;
    assert.equal(code, 0);
    assert.deepEqual(
      child.events.map((event) => event.lameduck === "phase" && event.phase),
      ["lame-duck", "closing", "closed"],
    );
    const { reason, waitedFor, unmet } = child.event("closing")!;
    assert.deepEqual([reason, waitedFor, unmet], ["delay", null, []]);
  });

  test("in a pod without traffic the floor decides", async () => {
    await using child = await startServer({}, { ...inPod, LAMEDUCK_FLOOR: "300ms" });
    child.kill();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.reason, "idle");
    assert.ok(child.event("closing")!.hold >= 300);
  });

  test("a server goes on serving new connections after SIGTERM and stops when they fall silent", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "200ms", LAMEDUCK_CONVERGENCE: silence };
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

  test("pooled clients are asked to leave after the floor, with the listener open", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_POLICY: "until-deadline", LAMEDUCK_CAP: "6s" };
    await using child = await startServer({ options: { ramp: 0 } }, env);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal((await ask(child.port, "/", agent)).connection, "keep-alive");
    const killed = performance.now();
    child.kill();
    await child.until("lame-duck");
    const during = await ask(child.port, "/", agent);
    // A machine on which the answer took so long shows nothing.
    if (performance.now() - killed < 500)
      assert.equal(
        during.connection,
        "keep-alive",
        "before the floor a hint would only bring the client back",
      );
    let { connection } = during;
    while (connection !== "close") ({ connection } = await ask(child.port, "/", agent));
    assert.equal((await ask(child.port)).status, 200, "the listener is still open");
    agent.destroy();
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.reason, "cap");
  });

  test("pooled clients are asked to leave where the application sets Connection: keep-alive itself", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "500ms", LAMEDUCK_CONVERGENCE: silence, LAMEDUCK_CAP: "60s" };
    await using child = await startServer({ options: { ramp: 0, grace: "90s" } }, env);
    const clients = ["set", "object", "array"].map((way) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      return { agent, asked: () => ask(child.port, `/keep?way=${way}`, agent) };
    });
    for (const { asked } of clients) assert.equal((await asked()).connection, "keep-alive");
    child.kill();
    const isAskedToLeave = async ({ agent, asked }: (typeof clients)[number]): Promise<void> => {
      let answer = await asked();
      while (answer.connection !== "close") answer = await asked();
      assert.equal(answer.body, "ok\n");
      agent.destroy();
    };
    await Promise.all(clients.map(isAskedToLeave));
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.reason, "quiet", "and not the cap");
  });

  test("an answer begun before the hint says close as well", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "200ms", LAMEDUCK_CONVERGENCE: "100ms" };
    await using child = await startServer({ options: { ramp: 0 } }, env);
    const agent = new Agent({ keepAlive: true });
    const asked = Date.now();
    const answer = ask(child.port, "/?wait=1000", agent);
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill();
    assert.deepEqual(await answer, { status: 200, body: "late\n", connection: "close" });
    agent.destroy();
    assert.equal((await child.exited).code, 0);
    assert.ok(child.event("closing")!.at - asked >= 950, "the request in flight held it");
  });

  test("probes are served but hold nothing", async () => {
    const env = { ...inPod, LAMEDUCK_FLOOR: "1s", LAMEDUCK_POLICY: "quiet", LAMEDUCK_WINDOW: "500ms" };
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
    assert.ok(served > 0);
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

  test("an event loop that stands still is not taken for silence", async () => {
    const env = { ...inPod, LAMEDUCK_POLICY: "quiet", LAMEDUCK_WINDOW: silence, LAMEDUCK_FLOOR: "0s" };
    await using child = await startServer({}, env);
    child.kill();
    await child.until("lame-duck");
    await ask(child.port, "/block?wait=2500");
    assert.equal((await child.exited).code, 0);
    const closing = child.event("closing")!;
    assert.ok(closing.stalled >= 2_400, `${closing.stalled}`);
    assert.ok(closing.hold >= 4_450, `${closing.hold}: 2.5 s without a turn and 2 s of silence`);
  });

  for (const kind of ["tls", "unix"] as const)
    test(`${kind}: requests in flight finish and say close, new ones are served`, async (t) => {
      const path = join(tmpdir(), `lameduck-${kind}-${process.pid}.sock`);
      t.after(() => rmSync(path, { force: true }));
      const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: silence };
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
      20_000,
      () => expected,
    );
    child.kill();
    await child.until("lame-duck");
    socket.write(question("/?wait=900") + question("/?wait=100") + question("/"));
    setTimeout(() => expecting.write("body"), 1_000);
    await until(
      () => expected.includes("4\n"),
      20_000,
      () => expected,
    );
    await until(
      () => received.split("HTTP/1.1 200").length === 4,
      20_000,
      () => received,
    );
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    socket.destroy();
    expecting.destroy();
  });

  test("a health path can fail while requests succeed, for as long as the load balancer needs", async () => {
    const options = { lbHealth: { path: "/alive", wait: "3s" } };
    await using child = await startServer({ options }, { ...inPod, LAMEDUCK_FLOOR: "100ms" });
    assert.equal((await ask(child.port, "/alive?x=1")).status, 200);
    child.kill();
    await child.until("lame-duck");
    assert.equal((await ask(child.port, "/alive?x=1")).status, 503);
    assert.equal((await ask(child.port, "/other", undefined, kubeProbe)).status, 200);
    assert.equal((await child.exited).code, 0);
    assert.ok(child.event("closing")!.hold >= 2_990);
    assert.equal(child.event("closing")?.connections, 0);
  });
});
