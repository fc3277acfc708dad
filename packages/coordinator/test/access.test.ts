import assert from "node:assert/strict";
import { connect } from "node:net";
import test from "node:test";
import { parseCoordinatorAnswer } from "@lameduck/protocol";
import { vectorsOf } from "../../protocol/test/vectors.ts";
import { coordinating, fieldsOf, type Coordinating } from "./fixture.ts";

interface Two extends AsyncDisposable {
  readonly all: Coordinating;
  readonly mine: string;
  readonly other: string;
}

/** Two pods at two addresses, and two nodes. */
async function twoPods(): Promise<Two> {
  let [mine, other] = ["", ""];
  const all = await coordinating((scene) => {
    scene.node("node1");
    scene.node("node2");
    mine = scene.pod("mine", "127.0.0.5");
    other = scene.pod("other", "127.0.0.6");
  });
  return { all, mine, other, [Symbol.asyncDispose]: () => all[Symbol.asyncDispose]() };
}

test("a pod that shows itself by its address or by a token bound to it is told of itself and of no other pod", async () => {
  await using two = await twoPods();
  const { all, mine, other } = two;
  const { ask, api } = all;
  const path = (name: string, uid: string): string => `/v1/pods/shop/${name}?uid=${uid}`;
  const status = async (...asked: Parameters<typeof ask>): Promise<number> => (await ask(...asked)).status;
  assert.equal(await status({ path: path("mine", mine), from: "127.0.0.5" }), 200);
  assert.equal(await status({ path: path("other", other), from: "127.0.0.5" }), 403, "another's address");
  assert.equal(await status({ path: path("other", mine), from: "127.0.0.5" }), 404, "another's name");
  assert.equal(await status({ path: path("mine", "guessed"), from: "127.0.0.5" }), 404, "a uid that is none");
  const unknown = await ask({ path: path("none", "none"), from: "127.0.0.5" });
  const refused = await ask({ path: path("other", other), from: "127.0.0.5" });
  assert.equal(unknown.text, refused.text, "neither says anything");
  api.tokens.set("of-mine", { account: "shop:default", podUid: mine });
  assert.equal(await status({ path: path("mine", mine), from: "127.0.0.9", token: "of-mine" }), 200);
  assert.equal(await status({ path: path("other", other), from: "127.0.0.9", token: "of-mine" }), 403);
  api.tokens.set("for-the-api", { account: "shop:default", podUid: mine, audiences: ["https://kubernetes"] });
  assert.equal(await status({ path: path("mine", mine), from: "127.0.0.9", token: "for-the-api" }), 403);
});

test("a pod that speaks for another pod is refused, and the hold of that pod goes on", async () => {
  await using two = await twoPods();
  const { all, other } = two;
  const path = `/v1/pods/shop/other?uid=${other}`;
  const body = "phase: closed\noverruled: 127.0.0.5\n";
  assert.equal((await all.ask({ method: "POST", path, body, from: "127.0.0.5" })).status, 403);
  const { text } = await all.ask({ path, from: "127.0.0.6" });
  assert.equal(fieldsOf(text)["state"], "waiting");
  const metrics = await fetch(`http://127.0.0.1:${all.metricsPort}/metrics`).then((answer) => answer.text());
  assert.doesNotMatch(metrics, /^lameduck_releases_overruled_total\{/m);
  assert.match(metrics, /^lameduck_refused_total\{path="pods",status="403"\} 1$/m);
});

test("a reporter must show a token for this audience, of an allowed account, and of the node that it speaks for", async () => {
  await using two = await twoPods();
  const { api, report, tell } = two.all;
  const watcher = "lameduck-node:lameduck-watcher";
  api.tokens.set("elsewhere", { account: watcher, node: "node1", audiences: ["https://kubernetes"] });
  api.tokens.set("stranger", { account: "shop:default", node: "node1" });
  await assert.rejects(report("node1", {}, "elsewhere"), /^Error: 401/);
  await assert.rejects(report("node1", {}, "unheard-of"), /^Error: 401/);
  await assert.rejects(report("node1", {}, "stranger"), /^Error: 403/);
  await assert.rejects(report("node1", {}, "token-node2"), /^Error: 403.*another node/);
  await assert.rejects(report("node1", { node: "node2" }), /^Error: 400.*has that node's name/);
  const naked = await tell("kube-proxy/node1", "{}");
  assert.equal(naked.status, 401);
  assert.deepEqual(two.all.coordinator.status().consumers, []);
  const metrics = await fetch(`http://127.0.0.1:${two.all.metricsPort}/metrics`).then((one) => one.text());
  assert.match(metrics, /^lameduck_reports_total\{outcome="unauthorized"\} 3$/m);
  assert.match(metrics, /^lameduck_reports_total\{outcome="forbidden"\} 2$/m);
  const { reviews } = api;
  for (let again = 0; again < 5; again++) await assert.rejects(report("node1", {}, "unheard-of"));
  await report("node1");
  await report("node1");
  assert.equal(api.reviews, reviews, "a token is asked for once, also one that is refused");
});

test("a token that is bound to no node reports for no node, whatever its account and its kind", async () => {
  const flags = ["--consumer-account=ingress/haproxy", "--consumer-account=lameduck-node/lameduck-watcher"];
  await using all = await coordinating((scene) => scene.node("node1"), { flags });
  const { api, tell, report } = all;
  // As `kubectl create token` makes them.
  api.tokens.set("made", { account: "ingress:haproxy" });
  api.tokens.set("of-watchers", { account: "lameduck-node:lameduck-watcher" });
  api.tokens.set("of-a-pod", { account: "lameduck-node:lameduck-watcher", podUid: "unheard-of" });
  for (const token of ["made", "of-watchers", "of-a-pod"])
    await assert.rejects(report("node1", {}, token), /^Error: 403.*no node that is known/);
  const asNode = { version: 1, kind: "edge", node: "node1", basis: "state", serves: ["node"] };
  const body = JSON.stringify({ ...asNode, epoch: null, applied: 0, known: 0, wait: 0 });
  const { status } = await tell("edge/node1", body, { token: "made" });
  assert.equal(status, 403, "nor by another kind");
  assert.deepEqual(all.coordinator.status().missing, ["node1"]);
});

test("a report that cannot be true is refused: a number that no withdrawal has, or the name of another consumer", async () => {
  await using two = await twoPods();
  const { api, report, tell, scene } = two.all;
  const { epoch } = await report("node1");
  await assert.rejects(report("node1", { epoch, applied: 1 }), /^Error: 400.*the last number is 0/);
  assert.equal((await report("node1", { epoch: "of-before", applied: 99 })).head, 0, "another run's numbers");
  const edges = ["edge-a", "edge-b"].map((name) => scene.pod(name));
  for (const [at, podUid] of edges.entries())
    api.tokens.set(`edge${at}`, { account: "lameduck-node:lameduck-watcher", podUid });
  const asEdge = (token: string): Promise<number> =>
    tell(
      "haproxy/edge",
      JSON.stringify({ version: 1, kind: "haproxy", basis: "state", epoch, applied: 0, known: 0, wait: 0 }),
      { token },
    ).then(({ status }) => status);
  const end = Date.now() + 10_000;
  while ((await asEdge("edge0")) !== 200) assert.ok(Date.now() < end);
  assert.equal(await asEdge("edge1"), 403);
});

test("reports are taken and refused as the vectors of the protocol say, and none of them ends the stream", async () => {
  await using all = await coordinating((scene) => scene.node("node1"));
  all.api.tokens.set("any", { account: "lameduck-node:lameduck-watcher", node: "node1" });
  const epoch = all.coordinator.status().epoch;
  for (const { name, text, report, version, refused = `version: only 1 is known` } of vectorsOf(
    "consumer-reports",
  )) {
    // Numbers of another run mean nothing, so that any may be told.
    const { status, text: answer } = await all.tell(`${report?.kind ?? "kube-proxy"}/node1`, text, {
      token: "any",
    });
    if (report) assert.deepEqual(parseCoordinatorAnswer(answer), { epoch, head: 0, withdrawn: [] }, name);
    else assert.ok(status === 400 && answer.includes(refused), `${name}: ${status} ${answer}`);
    if (version !== undefined)
      assert.equal(all.coordinator.status().otherVersions?.at(-1)?.version, version, name);
  }
});

test("the state of a held deletion is told to the webhook's account alone", async () => {
  await using two = await twoPods();
  const { all, mine } = two;
  const { api, ask } = all;
  api.tokens.set("webhook", { account: "lameduck-system:lameduck-webhook" });
  api.tokens.set("stranger", { account: "shop:default", podUid: mine });
  const path = `/v1/holds/shop/mine?uid=${mine}`;
  assert.equal((await ask({ path, from: "127.0.0.5" })).status, 401);
  assert.equal((await ask({ path, token: "stranger" })).status, 403);
  assert.equal((await ask({ path: `/v1/holds/shop/mine?uid=x`, token: "webhook" })).status, 404);
  const { status, text } = await ask({ path, token: "webhook" });
  assert.deepEqual([status, fieldsOf(text)["state"]], [200, "waiting"]);
});

test("the replicas pass on to each other what pods say, and nobody else can", async () => {
  await using two = await twoPods();
  const { all, mine } = two;
  all.api.tokens.set("replica", { account: "lameduck-system:lameduck-coordinator" });
  const path = `/v1/pods/shop/mine?uid=${mine}`;
  const sent = { method: "POST", path, body: "phase: lame-duck\n", token: "replica" };
  assert.equal((await all.ask(sent)).status, 200);
  assert.equal((await all.ask({ path, token: "replica" })).status, 403, "and they learn nothing by it");
});

test("a request that is too large, too slow or no HTTP is dropped, and other requests are answered meanwhile", async () => {
  await using two = await twoPods();
  const { all, mine } = two;
  const { ask, port } = all;
  const path = `/v1/pods/shop/mine?uid=${mine}`;
  const large = { method: "POST", path, from: "127.0.0.5", body: "x".repeat(9_000) };
  assert.equal((await ask(large)).status, 413);
  const long = await all.tell("kube-proxy/node1", "x".repeat(40_000), { token: "token-node1" });
  assert.equal(long.status, 413);
  const ended = (first: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1");
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      socket.on("close", () => resolve(text));
      socket.on("error", () => undefined);
      socket.write(first);
    });
  const slow = ended(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nphase`);
  const trickle = ended("GET /v1/pods/ HTTP/1.1\r\nx: ");
  const headed = ended(`GET ${path} HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_000)}\r\n\r\n`);
  const noise = ended("\u0016\u0003\u0001nothing\r\n\r\n");
  assert.equal((await ask({ path, from: "127.0.0.5" })).status, 200);
  for (const text of await Promise.all([slow, trickle, headed, noise]))
    assert.doesNotMatch(text, /^HTTP\/1\.1 200/);
});

test("an address that shows many made-up tokens does not make the coordinator ask the API server about all of them", async () => {
  await using two = await twoPods();
  const { api, tell } = two.all;
  const before = api.reviews;
  const shows = async (token: string, from: string): Promise<number> =>
    (await tell("kube-proxy/node1", "{}", { from, token })).status;
  for (let index = 0; index < 100; index++) assert.equal(await shows(`made-up-${index}`, "127.0.0.5"), 401);
  assert.ok(api.reviews - before < 100, `${api.reviews - before} reviews`);
  // Others are judged as before.
  assert.equal(await shows("token-node1", "127.0.0.6"), 400);
});

test("one address does not take all connections to the coordinator", async () => {
  await using two = await twoPods();
  const { port, ask } = two.all;
  const sockets = Array.from({ length: 510 }, () =>
    connect({ port, host: "127.0.0.1", localAddress: "127.0.0.5" }),
  );
  try {
    const closed = await new Promise<number>((resolve) => {
      let count = 0;
      for (const socket of sockets)
        socket.on("error", () => undefined).once("close", () => ++count === 10 && resolve(count));
    });
    assert.equal(closed, 10);
    assert.equal((await ask({ path: "/v1/pods/shop/none?uid=none", from: "127.0.0.6" })).status, 404);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("one address does not take all connections to the metrics, where the kubelet probes", async () => {
  await using two = await twoPods();
  const { metricsPort: port } = two.all;
  const sockets = Array.from({ length: 60 }, () =>
    connect({ port, host: "127.0.0.1", localAddress: "127.0.0.5" }),
  );
  try {
    await new Promise<void>((resolve) => {
      let count = 0;
      for (const socket of sockets)
        socket.on("error", () => undefined).once("close", () => ++count === 10 && resolve());
    });
    assert.equal((await fetch(`http://127.0.0.1:${port}/livez`)).status, 200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("a pod that has ended speaks by no address, because another pod may have its address by now", async () => {
  await using two = await twoPods();
  const { all, mine } = two;
  const path = `/v1/pods/shop/mine?uid=${mine}`;
  assert.equal((await all.ask({ path, from: "127.0.0.5" })).status, 200);
  all.api.change("pods", "mine", { status: { phase: "Failed" } });
  let status = 200;
  for (let tries = 0; status === 200 && tries < 200; tries++)
    status = (await all.ask({ path, from: "127.0.0.5" })).status;
  assert.equal(status, 403);
});
