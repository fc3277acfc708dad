import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { createServer, type LookupFunction } from "node:net";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { learn, learnText, learntText, parseTrace, replay, type Trace } from "@lameduck/drain";
import { printable } from "@lameduck/drain/common";
import { parseAnswer } from "../src/coordinator/answer.ts";
import { Requests } from "../src/coordinator/request.ts";
import { parseSettings } from "../src/options/settings.ts";
import { ask } from "./ask.ts";
import { inPod, startServer, type Child } from "./child.ts";
import { answerOf, Coordination, ofPod } from "./coordination.ts";
import { Balancer } from "./network.ts";

const volume = mkdtempSync(join(tmpdir(), "lameduck-coordinator-"));
after(() => rmSync(volume, { recursive: true }));
let files = 0;

/** A server that some have asked before. */
async function asked(env: Record<string, string>, wanted: object = {}): Promise<Child> {
  const child = await startServer(wanted, env);
  for (let request = 0; request < 5; request++) {
    await ask(child.port);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return child;
}

/** The same, and it has got SIGTERM. */
async function terminated(env: Record<string, string>, wanted: object = {}): Promise<Child> {
  const child = await asked(env, wanted);
  child.kill();
  await child.until("lame-duck");
  return child;
}

function notices(child: Child): string[] {
  return child.events.flatMap((event) =>
    event.lameduck === "notice" && event.notice === "coordinator" ? [event.message] : [],
  );
}

const waiting = answerOf("waiting", { consumers: "4/5", behind: "kube-proxy/node5 (rules)" });
const released = answerOf("released", {
  "released-ms": "0",
  consumers: "5/5",
  last: "kube-proxy/node5",
  mode: "availability",
});

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
  assert.match(explanation, /released by 5 of 5 consumers at \d\.\d \(kube-proxy\/node5 last\)/);
  assert.match(coordination.asked[0]!, /^\/v1\/pods\/shop\/web-1\?uid=5b0c&wait=0$/);
  assert.deepEqual(notices(child), []);
});

test("it tells how the termination goes, until its end", async () => {
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
  assert.equal(learnText(undefined, stopped?.["lesson"] ?? "")?.terminations, 1);
});

/** What the decision would have been without a word of the coordinator. */
function alone({ header, lines, end, unknown }: Trace): number {
  const kept = lines.filter(({ type }) => type !== "released" && type !== "unreleased");
  return replay({ header, lines: kept, end, unknown }).stop ?? Infinity;
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
    const { hold, reason, released: by } = child.event("closing")!;
    assert.deepEqual([reason, by], ["quiet", null]);
    assert.ok(hold - alone(parseTrace(readFileSync(path, "utf8"), path)) < 100);
    assert.equal(notices(child).length, 1, child.stderr);
    assert.match(notices(child)[0]!, /; the pod's own evidence decides$/);
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
  const child = await terminated({ ...coordination.environment, LAMEDUCK_TRACE: path, LAMEDUCK_FLOOR: "3s" });
  await child.until(() => coordination.asked.some((url) => url.includes("seen=released")));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await ask(child.port);
  await child.exited;
  const { hold, reason, released: by, overruledBy, explanation } = child.event("closing")!;
  assert.deepEqual([reason, by, overruledBy], ["quiet", null, "127.0.0.1"]);
  assert.match(explanation, /release overruled by 127\.0\.0\.1 at \d\.\d/);
  assert.equal(coordination.last("overruled"), "127.0.0.1");
  assert.match(
    notices(child).join("\n"),
    /^released by 5\/5 consumers, and 127\.0\.0\.1 has connected since; the pod's own evidence decides$/,
  );
  assert.ok(hold - alone(parseTrace(readFileSync(path, "utf8"), path)) < 100);
});

const short = { LAMEDUCK_POLICY: "acknowledged", LAMEDUCK_GRACE_PERIOD: "9s", LAMEDUCK_RESERVE: "3s" };

test("acknowledged, and a connection overrules the release: evidence decides, though it is said again and again", async () => {
  await using coordination = await Coordination.start((response) => response.end(released));
  const child = await startServer(
    {},
    { ...coordination.environment, ...short, LAMEDUCK_GRACE_PERIOD: "20s" },
  );
  child.kill();
  await child.until(() => coordination.asked.length > 3);
  await ask(child.port);
  await child.exited;
  assert.equal(child.event("closing")?.reason, "quiet");
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

test("a question and what the pod says are sent at the same time, also where its name takes a while", async () => {
  await using coordination = await Coordination.start(waiting);
  const { port } = coordination;
  let lookups = 0;
  const resolve = (_host: string, _options: object, callback: (...result: unknown[]) => void): void => {
    lookups++;
    setTimeout(() => callback(null, [{ address: "127.0.0.1", family: 4 }]), 200);
  };
  const place = { host: "coordinator", port, path: "/v1/pods/shop/web-1?uid=5b0c", tokenFile: undefined };
  const requests = new Requests(place, new AbortController().signal, resolve as unknown as LookupFunction);
  const answers = await Promise.all([
    requests.send("&wait=0", undefined, 1_000),
    requests.send("", "phase: closing\n", 1_000),
  ]);
  assert.deepEqual(answers, [waiting, "lameduck 1\n"]);
  assert.equal(lookups, 1);
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
  assert.match(explanation, /^floor 1\.0, released by 5 of 5 consumers/);
});

test("acknowledged, and the coordinator fails: with availability evidence decides, with consistency the cap", async () => {
  await using coordination = await Coordination.start((response) => response.writeHead(500).end());
  const env = { ...coordination.environment, ...short };
  const [available, consistent] = await Promise.all([
    terminated(env),
    terminated({ ...env, LAMEDUCK_MODE: "consistency" }),
  ]);
  await Promise.all([available.exited, consistent.exited]);
  assert.equal(available.event("closing")?.reason, "quiet");
  assert.equal(consistent.event("closing")?.reason, "cap");
  assert.match(notices(consistent).join("\n"), /; the hold waits, to its cap$/);
});

/** Acknowledged, and nothing is sent: its own evidence would end the hold as soon as the coordinator counts as silent. */
async function releasedLate(
  environment: Record<string, string>,
  failing: (child: Child) => Promise<Coordination>,
) {
  const child = await startServer(
    {},
    { ...environment, ...short, LAMEDUCK_FLOOR: "50ms", LAMEDUCK_GRACE_PERIOD: "60s" },
  );
  child.kill();
  const answering = await failing(child);
  await pause(1_500);
  assert.equal(child.event("closing"), undefined);
  answering.say(released);
  await child.exited;
  assert.equal(child.event("closing")?.reason, "acknowledged");
  assert.deepEqual(notices(child), []);
}

test("a coordinator that fails twice in a moment is asked a third time", async () => {
  await using coordination = await Coordination.start(waiting);
  await releasedLate(coordination.environment, async (child) => {
    await child.until(() => coordination.asked.length > 1);
    let failures = 0;
    coordination.say((response) => {
      if (++failures <= 2) response.socket?.resetAndDestroy();
      else {
        response.end(waiting);
        coordination.say(waiting);
      }
    });
    await child.until(() => failures > 2);
    return coordination;
  });
});

test("one of two coordinators is killed in the hold, and its Service leads to it for a moment longer", async () => {
  const first = await Coordination.start(waiting);
  await using second = await Coordination.start(waiting);
  const service = await new Balancer(first.port).listen();
  await releasedLate(
    { ...ofPod, LAMEDUCK_COORDINATOR: `http://127.0.0.1:${service.port}` },
    async (child) => {
      await child.until(() => first.asked.length > 1);
      await first[Symbol.asyncDispose]();
      await pause(100);
      service.target = second.port;
      return second;
    },
  );
  assert.notDeepEqual(second.asked, []);
  await service.close();
});

test("after a failure the next address of the name is asked", async () => {
  await using coordination = await Coordination.start(waiting);
  const { port } = coordination;
  const place = { host: "coordinator", port, path: "/v1/pods/shop/web-1?uid=5b0c", tokenFile: undefined };
  const resolve = (_host: string, _options: object, callback: (...result: unknown[]) => void): void => {
    const addresses = ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 }));
    callback(null, addresses);
  };
  const resets = createServer((socket) => void socket.on("data", () => socket.resetAndDestroy())).listen(
    port,
    "127.0.0.2",
  );
  resets.unref();
  await once(resets, "listening");
  const requests = new Requests(place, new AbortController().signal, resolve as unknown as LookupFunction);
  await assert.rejects(requests.send("&wait=0", undefined, 1_000));
  assert.equal(await requests.send("&wait=0", undefined, 1_000), waiting);
});

test("a coordinator that dies after the release takes nothing back", async () => {
  await using coordination = await Coordination.start(answerOf("released", { "released-ms": "0" }));
  const child = await terminated({ ...coordination.environment, LAMEDUCK_FLOOR: "50ms" });
  await child.until(() => coordination.asked.some((url) => url.includes("seen=released")));
  coordination.say((response) => void response.socket?.destroy());
  await child.exited;
  assert.equal(child.event("closing")?.reason, "acknowledged");
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

test("variables of Services named lameduck-coordinator, lameduck-pod and lameduck-mode are no coordinator", () => {
  const ofServices = Object.fromEntries(
    ["COORDINATOR", "POD", "MODE", "LEARNT"].flatMap((name) => [
      [`LAMEDUCK_${name}_PORT`, "tcp://198.18.0.9:8070"],
      [`LAMEDUCK_${name}_SERVICE_HOST`, "198.18.0.9"],
      [`LAMEDUCK_${name}_SERVICE_PORT`, "8070"],
      [`LAMEDUCK_${name}_PORT_8070_TCP`, "tcp://198.18.0.9:8070"],
      [`LAMEDUCK_${name}_PORT_8070_TCP_ADDR`, "198.18.0.9"],
    ]),
  );
  const { coordinator, warnings } = parseSettings({ environment: { ...inPod, ...ofServices } });
  assert.deepEqual([coordinator, warnings], [undefined, []]);
});

test("what a platform has injected wrongly is one line, and the pod starts", () => {
  const address = "http://198.18.0.9:8070";
  for (const [name, value] of [
    ["LAMEDUCK_COORDINATOR", "tcp://198.18.0.9:8070"],
    ["LAMEDUCK_COORDINATOR", "198.18.0.9:8070"],
    ["LAMEDUCK_COORDINATOR", "https://198.18.0.9"],
    ["LAMEDUCK_POD_UID", " "],
    ["LAMEDUCK_LEARNT", "1:2:3"],
  ] as const) {
    const environment = {
      ...ofPod,
      LAMEDUCK_COORDINATOR: address,
      LAMEDUCK_POLICY: "acknowledged",
      [name]: value,
    };
    const { warnings, coordinator, drain } = parseSettings({ environment });
    assert.equal(warnings.length, 1, warnings.join("\n"));
    assert.equal(coordinator?.place === undefined, name !== "LAMEDUCK_LEARNT");
    assert.equal(drain.policy.kind === "acknowledged" && drain.policy.consumers, "cluster");
  }
  const { coordinator } = parseSettings({
    environment: { ...ofPod, LAMEDUCK_COORDINATOR: "http://[fd00::1]:8070" },
  });
  assert.deepEqual([coordinator?.place?.host, coordinator?.place?.port], ["fd00::1", 8070]);
});

test("what earlier terminations taught comes by a variable, unless code says it", () => {
  const weights = Array.from({ length: 80 }, (_, index) => (index === 0 ? 1 : 0));
  const environment = { ...inPod, LAMEDUCK_LEARNT: learntText(learn(undefined, weights)) };
  const priorOf = (options: object): number | undefined => {
    const { policy } = parseSettings({ environment, ...options }).drain;
    return policy.kind === "adaptive" ? policy.prior?.[0] : undefined;
  };
  assert.ok(Number(priorOf({})) > 0.2);
  assert.equal(priorOf({ learnt: learn(undefined, weights.toReversed()) })! < 0.2, true);
});

test("any text is an answer of version 1 or none, and nothing of it breaks a line", () => {
  const line = fc.oneof(
    fc.string(),
    fc
      .tuple(fc.constantFrom("state", "consumers", "behind", "released-ms", "mode", "last"), fc.string())
      .map((pair) => pair.join(": ")),
    fc.constantFrom(
      "state: released",
      "state: waiting",
      "released-ms: -1",
      "released-ms: 1e99",
      "consumers: 1/2",
    ),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const answer = parseAnswer(["lameduck 1", ...lines].join("\n"));
      if (!answer) return;
      assert.ok(answer.releasedFor >= 0 && answer.releasedFor <= 3_600_000);
      for (const text of [answer.behind, answer.last, answer.consumers])
        assert.equal(text ?? "", printable(text ?? ""));
    }),
    { numRuns: 1_000 },
  );
});
