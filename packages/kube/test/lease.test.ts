import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "@lameduck/kube";
import { FakeApi, type Answer, type Item } from "./fake-api.ts";

/** Leases as an API server keeps them: created once, replaced by whoever knows their latest version. */
class LeaseApi extends FakeApi {
  static override async start(): Promise<LeaseApi> {
    const api = new LeaseApi();
    await api.listen();
    return api;
  }

  protected override act(method: string, resource: string, name: string, _sub: string, body: Item): Answer {
    const known = this.get(resource, name || body.metadata.name);
    const conflict = { status: 409, body: { reason: "Conflict", message: "somebody was faster" } };
    if (method === "POST") {
      if (known) return conflict;
      return { status: 201, body: this.put(resource, body.metadata.name, { spec: body["spec"] }) };
    }
    if (known?.metadata.resourceVersion !== body.metadata.resourceVersion) return conflict;
    return { status: 200, body: this.change(resource, name, { spec: body["spec"] }) };
  }
}

const resource = "coordination.k8s.io/leases";

async function two(): Promise<
  { api: LeaseApi; a: Lease; b: Lease; pass: (seconds: number) => void } & AsyncDisposable
> {
  const api = await LeaseApi.start();
  const client = api.client();
  let time = 1_000_000;
  const lease = (holder: string): Lease =>
    new Lease(client, { namespace: "shop", name: "one", holder, seconds: 15, now: () => time });
  return {
    api,
    a: lease("a"),
    b: lease("b"),
    pass: (seconds) => void (time += seconds * 1_000),
    [Symbol.asyncDispose]: async () => {
      client.close();
      await api.stop();
    },
  };
}

test("a Lease is held by one of two candidates, also when both ask at one moment", async () => {
  await using all = await two();
  const { a, b, api } = all;
  assert.equal((await Promise.all([a.ask(), b.ask()])).filter(Boolean).length, 1);
  assert.equal([a, b].filter(({ isHeld }) => isHeld).length, 1);
  assert.equal(api.items(resource).length, 1);
});

test("a candidate that renews a Lease keeps it, and one that falls silent gives it up before another takes it", async () => {
  await using all = await two();
  const { a, b, pass } = all;
  await a.ask();
  assert.equal(await b.ask(), false);
  for (let times = 0; times < 4; times++) {
    pass(5);
    assert.equal(await a.ask(), true);
    assert.equal(await b.ask(), false);
  }
  pass(14);
  assert.equal(a.isHeld, true);
  assert.equal(await b.ask(), false);
  pass(1.5);
  assert.equal(a.isHeld, false, "the holder stops before another begins");
  assert.equal(await b.ask(), true);
  assert.equal(await a.ask(), false);
});

test("a Lease that is given back is free at once, and counts how often it changed hands", async () => {
  await using all = await two();
  const { a, b, api } = all;
  await a.ask();
  await a.release();
  assert.equal(a.isHeld, false);
  assert.equal(await b.ask(), true);
  const { spec } = api.get(resource, "one") as unknown as {
    spec: { holderIdentity: string; leaseTransitions: number };
  };
  assert.deepEqual([spec.holderIdentity, spec.leaseTransitions], ["b", 1]);
});

test("a candidate goes on asking for a Lease while the API server fails, and gives it back at the end", async () => {
  await using all = await two();
  const { api } = all;
  const client = api.client();
  const problems: unknown[] = [];
  let failures = 2;
  api.fault = ({ method }) => (method === "GET" && failures-- > 0 ? { status: 500, body: {} } : undefined);
  const stop = new AbortController();
  const lease = new Lease(client, {
    namespace: "shop",
    name: "one",
    holder: "a",
    everyMs: 5,
    onProblem: (error) => problems.push(error),
  });
  const kept = lease.keep(stop.signal);
  const end = Date.now() + 20_000;
  while (!lease.isHeld) {
    assert.ok(Date.now() < end, "held in the end");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(problems.length, 2);
  stop.abort();
  await kept;
  client.close();
  const { spec } = api.get(resource, "one") as unknown as { spec: { holderIdentity: string } };
  assert.equal(spec.holderIdentity, "");
});
