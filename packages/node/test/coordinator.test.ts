import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { parseTrace, replay, type Trace } from "@lameduck/drain";
import { ask } from "./ask.ts";
import { startServer } from "./child.ts";
import {
  answerOf,
  asked,
  Coordination,
  notices,
  released,
  short,
  terminated,
  waiting,
} from "./coordination.ts";

const volume = mkdtempSync(join(tmpdir(), "lameduck-coordinator-"));
after(() => rmSync(volume, { recursive: true }));
let files = 0;

// Most of them wait for the end of a hold.
describe("what the coordinator answers", { concurrency: 6 }, () => {
  test("a pod that all consumers have let go of stops, and says who let go last", async () => {
    await using coordination = await Coordination.start(waiting);
    const child = await asked({ ...coordination.environment, LAMEDUCK_FLOOR: "50ms" });
    assert.equal(coordination.connections, 0, "before SIGTERM");
    child.kill();
    await child.until(() => coordination.asked.some((url) => url.includes("seen=waiting")));
    coordination.say(released);
    await child.exited;
    const { reason, released: by, explanation, overruledBy } = child.event("closing")!;
    assert.equal(reason, "acknowledged");
    assert.equal(by?.consumers, "5/5");
    assert.equal(overruledBy, null);
    assert.match(explanation, /released by 5 of 5 senders at \d\.\d \(kube-proxy\/node5 last\)/);
    assert.match(coordination.asked[0]!, /^\/v1\/pods\/shop\/web-1\?uid=5b0c&wait=0$/);
    assert.deepEqual(notices(child), []);
  });

  test("a coordinator of a newer minor version is understood, whatever it adds", async () => {
    const newer = released.replace("lameduck 1", "lameduck 1.7");
    await using coordination = await Coordination.start(`${newer}new-key: of another version\n`);
    const child = await terminated({ ...coordination.environment, LAMEDUCK_FLOOR: "50ms" });
    await child.exited;
    assert.equal(child.event("closing")?.reason, "acknowledged");
    assert.deepEqual(notices(child), []);
  });

  test("a coordinator that was asked to end the hold ends it: forced", async () => {
    await using coordination = await Coordination.start(waiting);
    const child = await asked({ ...coordination.environment, LAMEDUCK_FLOOR: "20s" });
    child.kill();
    await child.until(() => coordination.asked.some((url) => url.includes("seen=waiting")));
    coordination.say(`${waiting}end: now\n`);
    await child.exited;
    assert.equal(child.event("closing")?.reason, "forced");
    assert.equal(coordination.last("reason"), "forced");
  });

  test("a coordinator that was asked to end the hold ends it, also where it knows nothing else of the pod", async () => {
    await using coordination = await Coordination.start("lameduck 1\nstate: unknown\nend: now\n");
    const child = await asked({ ...coordination.environment, LAMEDUCK_FLOOR: "20s" });
    child.kill();
    await child.exited;
    assert.equal(child.event("closing")?.reason, "forced");
  });

  test("the pod tells the coordinator how its termination goes, until its end", async () => {
    await using coordination = await Coordination.start(released);
    const child = await terminated(coordination.environment);
    await child.exited;
    const phases = coordination.said.map((each) => each["phase"]);
    assert.deepEqual(phases, ["lame-duck", "closing", "closed"]);
    const [begun, stopped] = coordination.said;
    assert.deepEqual(begun, {
      phase: "lame-duck",
      program: "library",
      policy: "adaptive",
      reason: "SIGTERM",
      "floor-ms": "1000",
      senders: "127.0.0.1",
    });
    const { hold, reason, explanation } = child.event("closing")!;
    assert.equal(stopped?.["held-ms"], String(hold));
    assert.equal(stopped?.["reason"], reason);
    assert.equal(stopped?.["oldest-wait"], explanation);
    assert.ok(Number(stopped?.["last-arrival-ms"]) >= hold);
  });

  /** What the decision would have been without a word of the coordinator. */
  function alone(trace: Trace): number {
    const lines = trace.lines.filter(({ type }) => type !== "released" && type !== "unreleased");
    return replay({ ...trace, lines }).stop ?? Infinity;
  }

  const hostile: Record<string, (response: ServerResponse) => void> = {
    "answers garbage": (response) => response.end("\u0000\u0001 state: released\n"),
    "speaks version 2": (response) => response.end(released.replace("lameduck 1", "lameduck 2")),
    "answers without end": (response) => {
      response.write("lameduck 1\n");
      const more = setInterval(() => response.write("x".repeat(4_000)), 5);
      response.on("close", () => clearInterval(more));
    },
    redirects: (response) => response.writeHead(302, { location: "http://198.18.0.99/" }).end(released),
    "knows no such pod": (response) => response.writeHead(404).end(released),
    "forbids it": (response) => response.writeHead(403).end(released),
    "says nothing": () => {},
    resets: (response) => void response.socket?.resetAndDestroy(),
    upgrades: (response) =>
      void response.socket?.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
      ),
    "does not know all consumers": (response) =>
      response.end(answerOf("incomplete", { behind: "kube-proxy/node9 (missing)" })),
  };

  for (const [what, reply] of Object.entries(hostile))
    test(`a coordinator that ${what} leaves the decision to the pod's own evidence`, async () => {
      await using coordination = await Coordination.start(reply);
      const path = join(volume, `${++files}.jsonl`);
      const child = await terminated({ ...coordination.environment, LAMEDUCK_TRACE: path });
      assert.equal((await child.exited).code, 0);
      const { hold, reason, released: by, stalled } = child.event("closing")!;
      assert.deepEqual([reason, by], ["quiet", null]);
      // A machine that is late ends the hold late.
      assert.ok(hold - alone(parseTrace(readFileSync(path, "utf8"), path)) < 100 + stalled);
      assert.equal(notices(child).length, 1, child.stderr);
      assert.match(notices(child)[0]!, /; the pod's own evidence decides$/);
      if (what.startsWith("speaks")) assert.match(notices(child)[0]!, /it speaks version 2 of the protocol/);
    });

  test("a sender that nobody asks is waited for as long as it is assumed to send, though nothing comes", async () => {
    const behind = "mesh/istio (missing; Istio's sidecars; 3 s are assumed)";
    await using coordination = await Coordination.start(
      answerOf("incomplete", { "withdrawn-ms": "100", behind, "assumed-ms": "2900" }),
    );
    const settings = { LAMEDUCK_POLICY: "acknowledged", LAMEDUCK_FLOOR: "50ms" };
    const child = await startServer({}, { ...coordination.environment, ...settings });
    child.kill();
    await child.exited;
    const { hold, explanation } = child.event("closing")!;
    assert.ok(hold >= 2_900, explanation);
    assert.match(explanation, /acknowledgements until \d/);
    assert.ok(notices(child)[0]?.includes(behind), child.stderr);
  });

  test("a coordinator that is not there is one line, and evidence decides", async () => {
    const gone = await Coordination.start("");
    const { environment } = gone;
    await gone[Symbol.asyncDispose]();
    const child = await terminated(environment);
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closing")?.reason, "quiet");
    assert.match(notices(child).join("\n"), /^the coordinator does not answer \(.*ECONNREFUSED.*$/);
  });

  test("a coordinator that releases at once is overruled by a connection, told so, and not believed again", async () => {
    await using coordination = await Coordination.start(released);
    const path = join(volume, `${++files}.jsonl`);
    const child = await terminated({
      ...coordination.environment,
      LAMEDUCK_TRACE: path,
      LAMEDUCK_FLOOR: "3s",
    });
    await child.until(() => coordination.asked.some((url) => url.includes("seen=released")));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await ask(child.port);
    await child.exited;
    const { hold, reason, released: by, overruledBy, explanation, stalled } = child.event("closing")!;
    assert.deepEqual([reason, by, overruledBy], ["quiet", null, "127.0.0.1"]);
    assert.match(explanation, /release overruled by 127\.0\.0\.1 at \d\.\d/);
    assert.equal(coordination.last("overruled"), "127.0.0.1");
    assert.match(
      notices(child).join("\n"),
      /^released by 5\/5 senders, and 127\.0\.0\.1 has connected since; the pod's own evidence decides$/,
    );
    assert.ok(hold - alone(parseTrace(readFileSync(path, "utf8"), path)) < 100 + stalled);
  });

  test("acknowledged, and a connection overrules the release: evidence decides, though it is said again and again", async () => {
    await using coordination = await Coordination.start((response) => response.end(released));
    const child = await startServer(
      {},
      { ...coordination.environment, ...short, LAMEDUCK_GRACE_PERIOD: "60s" },
    );
    child.kill();
    await child.until(() => coordination.asked.length > 0);
    // Later than a connection that was on its way.
    await pause(300);
    await ask(child.port);
    await child.exited;
    assert.equal(child.event("closing")?.reason, "quiet");
    assert.ok(coordination.asked.length > 3, `${coordination.asked.length} questions`);
  });

  test("what the pod says of its end is complete, also where nobody took what it said before", async () => {
    await using coordination = await Coordination.start(released);
    coordination.refused = 3;
    const child = await terminated({ ...coordination.environment, LAMEDUCK_FLOOR: "3s" });
    await child.exited;
    assert.deepEqual(
      coordination.said.map((each) => [each["phase"], each["program"], each["policy"]]),
      [
        ["closing", "library", "adaptive"],
        ["closed", "library", "adaptive"],
      ],
    );
  });

  test("acknowledged waits for the release, however silent it is", async () => {
    await using coordination = await Coordination.start(waiting);
    const child = await startServer(
      {},
      { ...coordination.environment, ...short, LAMEDUCK_GRACE_PERIOD: "60s" },
    );
    child.kill();
    await child.until(() => coordination.asked.some((url) => url.includes("seen=waiting")));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal(child.event("closing"), undefined);
    coordination.say(released);
    await child.exited;
    const { reason, explanation } = child.event("closing")!;
    assert.equal(reason, "acknowledged");
    assert.match(explanation, /^floor 1\.0, released by 5 of 5 senders/);
  });

  test("acknowledged, and the coordinator fails: with availability evidence decides, with consistency the cap", async () => {
    await using coordination = await Coordination.start((response) => response.writeHead(500).end());
    const env = { ...coordination.environment, ...short };
    const [available, consistent] = await Promise.all([
      terminated({ ...env, LAMEDUCK_GRACE_PERIOD: "60s" }),
      terminated({ ...env, LAMEDUCK_MODE: "consistency" }),
    ]);
    await Promise.all([available.exited, consistent.exited]);
    assert.equal(available.event("closing")?.reason, "quiet");
    assert.equal(consistent.event("closing")?.reason, "cap");
    assert.match(notices(consistent).join("\n"), /; the hold waits, to its cap$/);
  });

  test("the token is read for each request, and sent", async () => {
    await using coordination = await Coordination.start(released);
    const file = join(volume, "token");
    writeFileSync(file, "secret-1\n");
    const child = await terminated({ ...coordination.environment, LAMEDUCK_COORDINATOR_TOKEN_FILE: file });
    await child.exited;
    assert.equal(coordination.authorization, "Bearer secret-1");
  });

  test("`coordinator: false` asks nobody", async () => {
    await using coordination = await Coordination.start(released);
    const child = await terminated(coordination.environment, { options: { coordinator: false } });
    await child.exited;
    assert.equal(coordination.connections, 0);
  });
});
