import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isMap, LineReader, parseStreamAnswer, writeStreamAnswer } from "@lameduck/protocol";
import { OtherVersions } from "../../coordinator/src/protocol/other-versions.ts";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, fieldsOf, type Coordinating, type Scene } from "../../coordinator/test/fixture.ts";
import { type IdleWatcher, idleWatcher } from "./idle-watcher.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-versions-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token-node1\n");
after(() => rmSync(directory, { recursive: true }));

type Body = Readonly<Record<string, unknown>>;
type Rewrite = (body: Body) => Body;

const same: Rewrite = (body) => body;
const next: Rewrite = (body) => ({ ...body, version: 2 });
/** What a minor version may do. */
const more: Rewrite = (body) => ({ ...body, "new-key": { of: ["another", "version"] } });

interface Watching extends IdleWatcher {
  readonly asked: () => number;
}

/** The watcher of node1, which uses no address, before a coordinator. Between them each is made to speak another version. */
async function watching(port: number, report: Rewrite, answer: Rewrite): Promise<Watching> {
  let asked = 0;
  const sockets = new Set<Socket>();
  const changed = (text: string, rewrite: Rewrite): string =>
    JSON.stringify(rewrite(JSON.parse(text) as Body));
  const server = createServer((socket) => {
    const coordinator = connect(port, "127.0.0.1");
    for (const [from, to, ofLine] of [
      [socket, coordinator, (line: string) => (asked++, `${changed(line, report)}\n`)],
      [
        coordinator,
        socket,
        (line: string) => {
          const { status = 0, text = "" } = parseStreamAnswer(line) ?? {};
          return writeStreamAnswer({ status, text: changed(text, answer) });
        },
      ],
    ] as const) {
      sockets.add(from.on("error", () => undefined).on("close", () => to.destroy()));
      const reader = new LineReader(32_768);
      let isHead = true;
      from.on("data", (chunk: Buffer) => {
        for (const line of reader.take(chunk)) {
          to.write(isHead ? `${line}\n` : ofLine(line ?? ""));
          if (line === "\r") isHead = false;
        }
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const watcher = idleWatcher((server.address() as AddressInfo).port, tokenFile);
  return {
    failures: watcher.failures,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      await watcher[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Pod web-1, which has been there for long. */
function running(scene: Scene, ...nodes: readonly string[]): void {
  for (const node of nodes) scene.node(node);
  scene.pod("web-1");
}

/** @returns the pod's uid. */
async function withdrawn({ api, scene, coordinator }: Coordinating): Promise<string> {
  const uid = api.get("pods", "web-1")?.metadata.uid ?? "";
  scene.terminate("web-1");
  scene.withdraw("web-1");
  await until(() => coordinator.status().head > 0, "withdrawn");
  return uid;
}

async function stateOf({ ask }: Coordinating, uid: string): Promise<string | undefined> {
  const { text: answer } = await ask({ path: `/v1/pods/shop/web-1?uid=${uid}&wait=0` });
  return fieldsOf(answer)["state"];
}

/** A clock that the test sets, in steps that are no pause of the coordinator. */
class SetClock {
  #now = 1_000_000;
  readonly now = (): number => this.#now;

  async pass(milliseconds: number, meanwhile: () => Promise<unknown>): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 500) {
      this.#now += 500;
      await meanwhile();
    }
  }
}

const codesOf = (failures: readonly unknown[]): unknown[] =>
  failures.map((one) => (isMap(one) || one instanceof Error ? (one as { code?: unknown }).code : one));

for (const [who, report, answer] of [
  ["watcher", more, same],
  ["coordinator", same, more],
] as const)
  test(`a ${who} of a newer minor version is understood: pods are released`, async () => {
    await using all = await coordinating((scene) => running(scene, "node1"));
    await using watcher = await watching(all.port, report, answer);
    const uid = await withdrawn(all);
    await until(() => all.coordinator.status().released === 1, "released");
    assert.equal(await stateOf(all, uid), "released");
    assert.deepEqual(watcher.failures, []);
    assert.deepEqual(all.coordinator.status().otherVersions, []);
  });

test("a watcher of another major version counts as missing, and is named", async () => {
  const clock = new SetClock();
  await using all = await coordinating((scene) => running(scene, "node1"), { now: clock.now });
  await using watcher = await watching(all.port, next, same);
  const uid = await withdrawn(all);
  await until(() => watcher.asked() > 3, "it goes on");
  await clock.pass(15_000, () => stateOf(all, uid));
  assert.equal(await stateOf(all, uid), "incomplete");
  const { otherVersions, consumers, missing } = all.coordinator.status();
  assert.deepEqual(otherVersions, [{ who: "kube-proxy/node1", version: "2" }]);
  assert.deepEqual([consumers, missing], [[], ["node1"]]);
  const [warning = "", ...others] = all.logged.filter((line) =>
    line.includes("LAMEDUCK_OPERATOR_OTHER_VERSION"),
  );
  assert.deepEqual(others, [], "once");
  assert.match(warning, /kube-proxy\/node1: it speaks version 2 of the protocol/);
  assert.match(warning, /releases one apart/);
});

test("a watcher applies nothing that a coordinator of another major version says, and says it once", async () => {
  await using all = await coordinating((scene) => running(scene, "node1"));
  await using watcher = await watching(all.port, same, next);
  const uid = await withdrawn(all);
  await until(() => watcher.asked() > 3, "it goes on");
  assert.notEqual(await stateOf(all, uid), "released");
  assert.deepEqual(codesOf(watcher.failures), ["LAMEDUCK_OPERATOR_OTHER_VERSION"]);
});

test("a watcher whose reports a coordinator of another major version refuses says why, once", async () => {
  await using all = await coordinating((scene) => running(scene, "node1"));
  await using watcher = await watching(all.port, next, next);
  await until(() => watcher.asked() > 3, "it goes on");
  assert.deepEqual(codesOf(watcher.failures), ["LAMEDUCK_OPERATOR_OTHER_VERSION"]);
});

test("a watcher that had reported, and speaks another major version now, is left out as any silent watcher", async () => {
  const clock = new SetClock();
  await using all = await coordinating((scene) => running(scene, "node1", "node2"), {
    now: clock.now,
  });
  for (const node of ["node1", "node2"]) await all.follow(node);
  const uid = await withdrawn(all);
  await all.follow("node2");
  await assert.rejects(all.report("node1", { version: 2, applied: 99 }), /400.*version: only 1 is known/);
  assert.equal(await stateOf(all, uid), "waiting", "what it says counts for nothing");
  await clock.pass(15_000, async () => {
    await assert.rejects(all.report("node1", { version: 2 }), /400/);
    await stateOf(all, uid);
  });
  assert.equal(await stateOf(all, uid), "released");
});

test("a consumer that asks for a stream of another version gets no stream, and is named", async () => {
  await using all = await coordinating((scene) => running(scene, "node1"));
  const { port, coordinator } = all;
  for (const token of ["made-up", "token-node1"]) {
    const headers = { authorization: `Bearer ${token}`, connection: "Upgrade", upgrade: "lameduck/2" };
    const asked = request({
      host: "127.0.0.1",
      port,
      path: "/v1/consumers/kube-proxy%2Fnode1",
      headers,
    }).end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    assert.equal(response.resume().statusCode, 426);
    assert.deepEqual(
      coordinator.status().otherVersions,
      token === "made-up" ? [] : [{ who: "consumers", version: "2" }],
    );
  }
});

test("pods that ask by another major version are answered in ours, and are counted without their names", async () => {
  await using all = await coordinating((scene) => running(scene, "node1"));
  const uid = await withdrawn(all);
  for (const name of ["web-1", "web-2"])
    for (const method of ["GET", "POST"]) {
      const answer = await all.ask({ method, path: `/v2/pods/shop/${name}?uid=${uid}` });
      assert.equal(answer.status, 404);
      assert.match(answer.text, /^lameduck 1\n/);
    }
  assert.deepEqual(all.coordinator.status().otherVersions, [{ who: "pods", version: "2" }]);
  assert.equal(all.logged.filter((line) => line.includes("OTHER_VERSION")).length, 1);
});

test("a stranger makes no version known, and a token that is bound to a node makes no version known for other nodes", async () => {
  const account = "lameduck-node/lameduck-watcher";
  await using all = await coordinating((scene) => running(scene, "node1"), {
    flags: [`--consumer-account=${account}=kube-proxy`],
  });
  const { ask, api, coordinator } = all;
  const uid = await withdrawn(all);
  api.tokens.set("stranger", { account: "shop:default" });
  for (const [path, from] of [
    [`/v2/pods/shop/web-1?uid=${uid}`, "127.0.0.9"],
    ["/v2/pods/shop/web-1?uid=guessed", "127.0.0.1"],
    ["/v2/consumers/kube-proxy%2Fnode1", "127.0.0.1"],
    ["/v2/holds/shop/web-1", "127.0.0.1"],
  ] as const)
    for (const token of ["stranger", "unknown", undefined])
      assert.equal((await ask({ path, from, ...(token && { token }) })).status, 404);
  assert.deepEqual(coordinator.status().otherVersions, []);
  await all.tell("kube-proxy/node7", JSON.stringify({ version: 2 }), { token: "token-node1" });
  assert.deepEqual(coordinator.status().otherVersions, [{ who: account, version: "2" }]);
  await ask({ path: "/v2/consumers/kube-proxy%2Fnode1", token: "token-node1" });
  assert.deepEqual(
    coordinator.status().otherVersions?.map(({ who }) => who),
    [account, "consumers"],
  );
});

test("a pod of a newer minor version is understood: unknown fields of what it says are ignored", async () => {
  await using all = await coordinating((scene) => running(scene, "node1"));
  const uid = await withdrawn(all);
  const path = `/v1/pods/shop/web-1?uid=${uid}`;
  const body = "phase: closing\nnew-key: of another version\nheld-ms: 5\n";
  assert.equal((await all.ask({ method: "POST", path, body })).status, 200);
  assert.equal((await all.ask({ path: `${path}&wait=0&new=1` })).status, 200);
  assert.deepEqual(all.coordinator.terminations.get(uid)?.reported, { phase: "closing", "held-ms": "5" });
});

test("callers that change their version in turn fill no log, and callers of long ago hide no others", () => {
  let [now, lines] = [0, 0];
  const heard = new OtherVersions(
    () => now,
    () => lines++,
  );
  for (let count = 0; count < 1_000; count++) heard.heard({ who: "pods", version: String(2 + (count % 2)) });
  assert.equal(lines, 1);
  for (let count = 0; count < 200; count++) heard.heard({ who: `haproxy/${count}`, version: "2" });
  assert.equal(lines, 100, "no more than are remembered");
  now = 60_001;
  heard.heard({ who: "kube-proxy/node1", version: "2" });
  assert.deepEqual(heard.lately, [{ who: "kube-proxy/node1", version: "2" }]);
});
