import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, get } from "node:https";
import { connect, type ClientHttp2Session } from "node:http2";
import { test } from "node:test";
import { fixture, inPod, startScript, type Child } from "./child.ts";

const env = { ...inPod, LAMEDUCK_FLOOR: "400ms", LAMEDUCK_CONVERGENCE: "100ms" };

function start(protocol: string, more: Record<string, string> = {}): Promise<Child> {
  return startScript([fixture("protocols.ts")], { ...env, ...more, PROTOCOL: protocol });
}

function open(child: Child, scheme: "http" | "https"): ClientHttp2Session {
  const session = connect(`${scheme}://127.0.0.1:${child.port}`, { rejectUnauthorized: false });
  session.on("error", () => {});
  return session;
}

async function ask(session: ClientHttp2Session, path: string): Promise<string> {
  const stream = session.request({ ":path": path });
  let body = "";
  stream.setEncoding("utf8").on("data", (text: string) => (body += text));
  stream.resume();
  await once(stream, "end");
  if (stream.rstCode !== 0) throw new Error(`reset with ${stream.rstCode}`);
  return body;
}

for (const [protocol, scheme] of [
  ["h2c", "http"],
  ["h2", "https"],
] as const)
  test(`${protocol}: streams finish, new ones are served, the client is told twice to go`, async () => {
    await using child = await start(protocol);
    const session = open(child, scheme);
    assert.equal(await ask(session, "/"), "ok\n");
    const goaways: number[] = [];
    session.on("goaway", (_code, lastStream) => goaways.push(lastStream));
    const long = ask(session, "/?wait=2500");
    child.kill();
    await child.until("lame-duck");
    assert.equal(await ask(session, "/"), "ok\n", "an established session is served");
    const fresh = open(child, scheme);
    assert.equal(await ask(fresh, "/"), "ok\n", "a new session is served");
    assert.equal(await long, "ok\n", "a stream begun before the hold finishes");
    const { code } = await child.exited;
    assert.equal(code, 0);
    if (protocol === "h2c") assert.equal(goaways[0], 2 ** 31 - 1, "whatever is on its way is still served");
    else assert.ok(goaways[0]! > 1 && goaways[0]! < 2 ** 31 - 1, "over TLS it names the last one served");
    assert.equal(child.event("closed")?.reason, "done");
    assert.equal(child.event("closing")?.connections, 1);
    session.destroy();
    fresh.destroy();
  });

test("an idle session does not hold the process", async () => {
  await using child = await start("h2c");
  const session = open(child, "http");
  await ask(session, "/");
  child.kill();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  session.destroy();
});

test("event streams over HTTP/2 are ended, not cut", async () => {
  await using child = await start("h2c");
  const session = open(child, "http");
  child.kill();
  await child.until("lame-duck");
  const stream = session.request({ ":path": "/events", accept: "text/event-stream" });
  stream.resume();
  await once(stream, "end");
  assert.equal(stream.rstCode, 0);
  assert.equal((await child.exited).code, 0);
  session.destroy();
});

test("a secure server that allows HTTP/1.1 asks those clients as well", async () => {
  await using child = await start("h2 with http1", { LAMEDUCK_POLICY: "until-deadline", LAMEDUCK_CAP: "3s" });
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const askOne = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      get({ host: "127.0.0.1", port: child.port, agent }, (response) => {
        response.resume().on("end", () => resolve(response.headers.connection));
      }).on("error", reject);
    });
  const session = open(child, "https");
  assert.equal(await ask(session, "/"), "ok\n");
  assert.equal(await askOne(), "keep-alive");
  child.kill();
  let connection = await askOne();
  while (connection !== "close") connection = await askOne();
  assert.equal((await child.exited).code, 0);
  assert.equal(child.event("closed")?.reason, "done");
  agent.destroy();
  session.destroy();
});
