/** What ends by itself within the grace period is finished, as a plain close() would let it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, createServer, type AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
const env = { ...inPod, LAMEDUCK_FLOOR: "300ms", LAMEDUCK_CONVERGENCE: "100ms" };
const events = "text/event-stream";

interface Ending {
  readonly body: string;
  readonly isWhole: boolean;
}

/** Resolves with the answer's beginning; `ended` with its end. */
async function begin(
  port: number,
  method: string,
  path: string,
  accept = "*/*",
): Promise<{ ended: Promise<Ending> }> {
  const sending = request({ host: "127.0.0.1", port, method, path, agent: false, headers: { accept } });
  sending.end();
  const ended = (async (): Promise<Ending> => {
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    let body = "";
    response.setEncoding("utf8").on("data", (text: string) => (body += text));
    await new Promise((resolve) => response.on("end", resolve).on("error", resolve));
    return { body, isWhole: response.complete };
  })();
  if (!path.includes("wait")) await once(sending, "response");
  return { ended };
}

async function beginHttp2(port: number, method: string, path: string): Promise<{ ended: Promise<Ending> }> {
  const session = connectHttp2(`http://127.0.0.1:${port}`).on("error", () => {});
  const stream = session.request({ ":method": method, ":path": path }, { endStream: true });
  let body = "";
  stream.setEncoding("utf8").on("data", (text: string) => (body += text));
  const ended = new Promise<Ending>((resolve) => {
    stream.on("error", () => {}).on("close", () => resolve({ body, isWhole: stream.rstCode === 0 }));
  });
  await once(stream, "response");
  return { ended };
}

function assertDone(child: Child): void {
  const closed = child.event("closed");
  assert.deepEqual([closed?.reason, closed?.cut], ["done", { requests: 0, connections: 0 }], child.stderr);
}

describe("what ends by itself", { concurrency: 3 }, () => {
  for (const way of ["code", "register"])
    test(`${way}: answers in parts are finished, whatever their type, and only an EventSource's is ended`, async () => {
      const args = way === "code" ? [] : ["--import", register];
      await using child = await startScript([...args, fixture("own-end.ts")], {
        ...env,
        CODE: way === "code" ? "1" : "",
      });
      const [port = 0, port2 = 0] = child.ports;
      const finite = await Promise.all([
        begin(port, "POST", "/?parts=30", events),
        begin(port, "POST", "/?parts=30", `application/json, ${events}`),
        begin(port, "PUT", "/?parts=30"),
        begin(port, "GET", "/?parts=30"),
        begin(port, "GET", "/?parts=30&type=application/x-ndjson"),
        begin(port, "GET", "/?parts=30&type=application/octet-stream", "*/*"),
        begin(port, "GET", "/?parts=0&wait=2500&type=application/json", `application/json, ${events}`),
        beginHttp2(port2, "POST", "/?parts=30"),
        beginHttp2(port2, "GET", "/?parts=30"),
      ]);
      const endless = await Promise.all([begin(port, "GET", "/", events), begin(port, "GET", "/")]);
      child.kill();
      for (const { body, isWhole } of await Promise.all(finite.map(({ ended }) => ended))) {
        assert.match(body, /whole|\[DONE\]/);
        assert.ok(isWhole);
      }
      for (const { body, isWhole } of await Promise.all(endless.map(({ ended }) => ended))) {
        assert.match(body, /part\n\n$/);
        assert.ok(isWhole);
      }
      assert.equal((await child.exited).code, 0);
      assertDone(child);
      assert.notEqual(child.event("closing")?.reason, "cap");
    });

  test("a request that waits for its 100 (Continue) counts once, and is over when it is answered", async () => {
    await using child = await startScript([fixture("own-end.ts")], { ...env, CODE: "1" });
    const sending = request({
      host: "127.0.0.1",
      port: child.port,
      method: "POST",
      path: "/?parts=0",
      headers: { expect: "100-continue", "content-length": 5 },
      agent: false,
    });
    sending.on("continue", () => sending.end("12345"));
    sending.flushHeaders();
    const answered = once(sending, "response");
    // Served, as far as anybody can tell from outside, when a later one has been.
    await (
      await begin(child.port, "GET", "/?parts=0")
    ).ended;
    child.kill();
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    assert.equal((await child.exited).code, 0);
    assertDone(child);
    const { reason, inFlight } = child.event("closing")!;
    assert.notEqual(reason, "cap");
    assert.equal(inFlight, 0);
  });

  test("an upgraded connection is no request in flight, though a response is left on it", async () => {
    await using child = await startScript([fixture("own-end.ts")], { ...env, CODE: "1" });
    const socket = connect(child.port, "127.0.0.1").on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await once(socket, "data");
    child.kill();
    const [frame] = (await once(socket, "data")) as [Buffer];
    assert.deepEqual([...frame], [0x88, 2, 0x03, 0xe9]);
    socket.write("bye");
    assert.equal((await child.exited).code, 0);
    assertDone(child);
    assert.notEqual(child.event("closing")?.reason, "cap");
  });

  test("a tunnel that is at work is not ended", async (t) => {
    const target = createServer((socket) => {
      let sent = 0;
      const timer = setInterval(() => (++sent < 25 ? socket.write("part\n") : socket.end("done\n")), 100);
      socket.on("close", () => clearInterval(timer)).on("error", () => {});
    });
    t.after(() => target.close());
    await once(target.listen(0, "127.0.0.1"), "listening");
    await using child = await startScript([fixture("own-end.ts")], { ...env, CODE: "1" });
    const socket = connect(child.port, "127.0.0.1").on("error", () => {});
    let received = "";
    socket.setEncoding("utf8").on("data", (text: string) => (received += text));
    const address = `127.0.0.1:${(target.address() as AddressInfo).port}`;
    socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
    await once(socket, "data");
    child.kill();
    await once(socket, "close");
    assert.match(received, /done\n$/);
    assert.equal((await child.exited).code, 0);
    assertDone(child);
  });

  test("outside Kubernetes a stream that is silent does not make a restart wait, and one at work is finished", async () => {
    await using child = await startScript([fixture("own-end.ts")], { CODE: "1" });
    const silent = await begin(child.port, "POST", "/?every=60000", events);
    const finished = await begin(child.port, "POST", "/?parts=12", events);
    child.kill();
    assert.match((await finished.ended).body, /DONE/);
    assert.ok((await silent.ended).isWhole);
    assert.equal((await child.exited).code, 0);
    assertDone(child);
    assert.ok(child.endedBeforeCap, child.stderr);
  });
});
