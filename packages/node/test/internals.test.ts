/** A termination in a Node that lacks one of the internals that we lean on, and one that lacks them all. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { Agent } from "node:http";
import { connect } from "node:http2";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript, type Child } from "./child.ts";

type Protocol = "http" | "https" | "h2c" | "h2 with http1";

/** As internals.ts writes them, and where they matter. */
const internals: Record<string, readonly Protocol[]> = {
  "process.emit = emit": ["http"],
  _getActiveHandles: ["http"],
  "server: owner": ["http"],
  _connections: ["http"],
  "_handle:": ["http", "h2c"],
  _connectionKey: ["http"],
  getpeername: ["http"],
  _parent: ["https"],
  _httpMessage: ["http", "https"],
  _header: ["http"],
  setMaxListeners: ["h2c"],
  moduleLoadList: ["http"],
  headersTimeout: ["h2 with http1"],
  "http.server.request.start": ["http", "https", "h2 with http1"],
  shouldKeepAlive: ["http"],
  writeHead: ["http"],
};

const without = new URL("fixtures/without.mjs", import.meta.url).href;
const environment = {
  ...inPod,
  LAMEDUCK_POLICY: "fixed",
  LAMEDUCK_DELAY: "2s",
  LAMEDUCK_FLOOR: "300ms",
  LAMEDUCK_GRACE_PERIOD: "9s",
};

function start(protocol: Protocol, missing: string): Promise<Child> {
  const isHttp1 = protocol === "http" || protocol === "https";
  const wanted = isHttp1
    ? {
        FIXTURE: JSON.stringify({
          tls: protocol === "https",
          ...(missing === "_handle:" && { ownHandler: "close" }),
        }),
      }
    : { PROTOCOL: protocol, OPTIONS: "{}" };
  const script = fixture(isHttp1 ? "server.ts" : "protocols.ts");
  return startScript(["--import", without, script], { ...environment, ...wanted, WITHOUT: missing });
}

/** One request on a connection of its own or of the agent's. Resolves with the body, rejects when it is lost. */
function get(protocol: Protocol, port: number, path: string, agent?: Agent): Promise<string> {
  if (protocol === "http") return ask(port, path, agent).then(({ body }) => body);
  return new Promise((resolve, reject) => {
    let body = "";
    if (protocol !== "h2c") {
      const options = { port, path, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
      const sent = request(options, (response) => {
        response.setEncoding("utf8").on("data", (text: string) => (body += text));
        response.on("end", () => resolve(body)).on("error", reject);
      });
      sent.on("error", reject).end();
      return;
    }
    const session = connect(`http://127.0.0.1:${port}`).on("error", reject);
    const stream = session.request({ ":path": path }).on("error", reject).setEncoding("utf8");
    stream.on("data", (text: string) => (body += text));
    stream.on("close", () => {
      session.close();
      if (stream.rstCode === 0) resolve(body);
      else reject(new Error(`reset with ${stream.rstCode}`));
    });
  });
}

async function terminates(protocol: Protocol, missing: string): Promise<void> {
  await using child = await start(protocol, missing);
  const agent = new Agent({ keepAlive: true });
  await get(protocol, child.port, "/", agent);
  const before = get(protocol, child.port, "/?wait=1500");
  // Is being served, as far as anybody can tell from outside, when a later one has been.
  await get(protocol, child.port, "/");
  child.kill();
  await child.until("lame-duck");
  const meanwhile = get(protocol, child.port, "/?wait=2600");
  assert.ok(await get(protocol, child.port, "/", agent));
  assert.ok(await before, "a request begun before SIGTERM is finished");
  assert.ok(await meanwhile, "a request begun during the hold is finished, though it outlasts it");
  const { code } = await child.exited;
  agent.destroy();
  assert.equal(code, 0, child.stderr);
  assert.equal(child.event("closed")?.reason, "done", child.stderr);
  assert.deepEqual(child.event("closed")?.cut, { requests: 0, connections: 0 });
  assert.doesNotMatch(child.stderr, /Error|"notice"/);
}

describe("without one of Node's internals", { concurrency: 4 }, () => {
  test("where process.emit cannot be replaced a handler of others has its signal at once, and only once", async () => {
    const wanted = { FIXTURE: JSON.stringify({ ownHandler: "log" }), WITHOUT: "process.emit = emit" };
    const script = ["--import", without, fixture("server.ts")];
    await using child = await startScript(script, { ...environment, ...wanted });
    child.kill();
    await child.until("lame-duck");
    await child.until(() => child.stdout.includes("own handler"));
    assert.equal(child.event("closing"), undefined);
    assert.ok(await get("http", child.port, "/"));
    assert.equal((await child.exited).code, 0);
    assert.equal(child.stdout.match(/own handler/g)?.length, 1);
  });

  test("where Node does not tell of servers that begin to listen, a process without code is as without us", async () => {
    const register = new URL("../src/register.ts", import.meta.url).href;
    const wanted = { ...environment, WITHOUT: "tracing:net.server.listen:asyncStart" };
    await using child = await startScript(
      ["--import", without, "--import", register, fixture("plain.cjs")],
      wanted,
    );
    assert.ok(await get("http", child.port, "/"));
    child.kill();
    assert.equal((await child.exited).signal, "SIGTERM");
    assert.equal(child.stderr, "");
  });

  test("no other file reads what Node keeps to itself", () => {
    const folder = new URL("../src/", import.meta.url);
    for (const name of globSync("**/*.ts", { cwd: fileURLToPath(folder) }).filter(
      (each) => each !== "internals.ts",
    ))
      for (const line of readFileSync(new URL(name, folder), "utf8").split("\n"))
        assert.doesNotMatch(
          line,
          /^(?! *(\*|\/[*/])).*(\bunsubscribe\b|shouldKeepAlive|\bwriteHead:)|[.{"] ?_[a-zA-Z]+|\bprocess\.(emit = (?!this\.#emit;)|binding)/,
          name,
        );
  });

  const source = readFileSync(new URL("../src/internals.ts", import.meta.url), "utf8");
  for (const [missing, protocols] of Object.entries(internals))
    for (const protocol of protocols)
      test(`without ${missing} a server of ${protocol} stops in order`, async () => {
        assert.ok(source.includes(missing));
        await terminates(protocol, missing);
      });

  for (const protocol of ["http", "https", "h2c", "h2 with http1"] as const)
    test(`without all of them a server of ${protocol} stops in order`, () =>
      terminates(protocol, Object.keys(internals).join(";")));
});
