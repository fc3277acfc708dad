import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { probesFor } from "../src/install/trial.ts";
import { Cluster, enabled, withoutInit } from "./install-cluster.ts";

const cluster = new Cluster();
before(() => cluster.start());
beforeEach(() => cluster.empty());
after(() => cluster.stop());

const admission = "/apis/admissionregistration.k8s.io/v1";
const policy = `${admission}/mutatingadmissionpolicies/inject.lameduck.dev`;
const webhook = `${admission}/mutatingwebhookconfigurations/lameduck.dev`;
const byPolicy = ["install", "--yes", "--policy-only", "--enable", "shop"];

/** As API servers say that they are there. */
function apiServers(...lags: number[]): void {
  cluster.lags = lags;
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver" };
  const renewed = lags.map((_, index) => [`apiserver-${index}`, "2026-01-01T12:00:00.000000Z"] as const);
  for (const [name, renewTime] of [...renewed, ["apiserver-gone", "2026-01-01T11:30:00.000000Z"] as const])
    cluster.put(`${leases}/${name}`, { kind: "Lease", metadata: { labels }, spec: { renewTime } });
}

describe("lameduck install waits until new pods are injected", { skip: withoutInit }, () => {
  test("by a policy that the API server applies later", async () => {
    apiServers(3);
    const { code, err } = await cluster.lameduck(...byPolicy);
    assert.equal(code, 0, err);
    assert.match(err, /policy inject\.lameduck\.dev: waiting until it is in force/);
    assert.match(err, /: in force: it saw 1 of 1 dry-run pods in namespace shop \(one API server\)/);
    assert.equal(cluster.dryRunsBy.size, 4);
  });

  test("by each of several API servers, which connections of their own reach", async () => {
    apiServers(0, 4, 0);
    const { code, err } = await cluster.lameduck(...byPolicy);
    assert.equal(code, 0, err);
    assert.match(err, /it saw 15 of 15 dry-run pods .*\(3 API servers, chosen by the balancer before them\)/);
    assert.ok(cluster.dryRunsBy.size > 15 + 3 * 4 - 3, `${cluster.dryRunsBy.size} connections`);
    assert.ok([...cluster.dryRunsBy.values()].every((requests) => requests === 1));
  });

  test("by the new revision of a policy, and not by the one before", async () => {
    const revision = (): string | undefined =>
      /0\.1\.0-[0-9a-f]{12}/.exec(JSON.stringify(cluster.objects.get(policy)))?.[0];
    await cluster.lameduck(...byPolicy);
    cluster.former = revision();
    assert.ok(cluster.former);
    cluster.put("/apis/lameduck.dev/v1alpha1/namespaces/lameduck-system/drainpolicies/default", {
      apiVersion: "lameduck.dev/v1alpha1",
      kind: "DrainPolicy",
      metadata: {},
      spec: { capSeconds: 40 },
    });
    apiServers(3);
    cluster.dryRunsBy.clear();
    const { code, err } = await cluster.lameduck(...byPolicy);
    assert.equal(code, 0, err);
    assert.notEqual(revision(), cluster.former);
    assert.equal(cluster.dryRunsBy.size, 4);
  });

  test("lameduck install leaves the webhook alone while the policy that replaces it is not in force", async () => {
    apiServers(0);
    await cluster.lameduck("install", "--yes");
    apiServers(0, Infinity);
    const { code, err } = await cluster.lameduck(...byPolicy, "--timeout", "1s");
    assert.equal(code, 4, err);
    assert.match(
      err,
      /policy inject\.lameduck\.dev: it saw 4 of 8 dry-run pods .* \(2 API servers.*\[LAMEDUCK_NOT_READY\]/,
    );
    assert.ok(cluster.objects.has(webhook));
    apiServers(0, 0);
    assert.equal((await cluster.lameduck(...byPolicy)).code, 0);
    assert.ok(!cluster.objects.has(webhook));
  });

  test("by the webhook", async () => {
    apiServers(2);
    const { code, err } = await cluster.lameduck("install", "--yes", "--enable", "shop", "--timeout", "1s");
    assert.equal(code, 0, err);
    assert.match(err, /webhook: in force: it saw 1 of 1 dry-run pods/);
    assert.equal(cluster.dryRunsBy.size, 3);
  });

  for (const [name, prepare, args, words] of [
    [
      "no namespace is labelled",
      () => undefined,
      byPolicy.slice(0, 3),
      /not tried: no namespace is labelled/,
    ],
    ["pods are refused", () => (cluster.refusal = "exceeded quota"), byPolicy, /not tried: .*exceeded quota/],
    ["only kube-system is labelled", labelKubeSystem, byPolicy.slice(0, 3), /not tried: no names/],
  ] as const)
    test(`lameduck install says that it does not know, where ${name}`, async () => {
      prepare();
      const { code, err } = await cluster.lameduck(...args);
      assert.equal(code, 0, err);
      assert.match(err, words);
      assert.match(err, /note: see with lameduck status that it is in force before you restart/);
    });
});

function labelKubeSystem(): void {
  cluster.put("/api/v1/namespaces/kube-system", { kind: "Namespace", metadata: { labels: enabled } });
}

describe("lameduck status tells whether new pods are injected", { skip: withoutInit }, () => {
  test("lameduck status ends with 1 where an API server does not apply the policy", async () => {
    await cluster.lameduck(...byPolicy);
    assert.equal((await cluster.lameduck("status")).code, 0);
    apiServers(0, Infinity);
    const { code, out } = await cluster.lameduck("status");
    assert.match(out, /policy inject\.lameduck\.dev: not in force: it saw 4 of 8 dry-run pods/);
    assert.equal(code, 1);
    const { trials } = JSON.parse((await cluster.lameduck("status", "--json", "-")).out) as {
      trials: unknown[];
    };
    assert.deepEqual(trials, [
      { by: "policy", name: "inject.lameduck.dev", apiServers: 2, namespace: "shop", asked: 8, seen: 4 },
    ]);
  });

  test("by the webhook, and not by its configuration alone", async () => {
    await cluster.lameduck("install", "--yes");
    cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
    cluster.lags = [Infinity];
    assert.match((await cluster.lameduck("status")).out, /webhook: not in force: it saw 0 of 15/);
    cluster.lags = [0];
    assert.match((await cluster.lameduck("status")).out, /webhook: in force: it saw 15 of 15/);
  });
});

test("as many probes are made as reach every API server with a chance of 99 %", () => {
  const missed = (servers: number, probes: number): number => servers * (1 - 1 / servers) ** probes;
  for (const servers of [2, 3, 5, 9]) {
    assert.ok(missed(servers, probesFor(servers)) <= 0.01, `${servers}`);
    assert.ok(missed(servers, probesFor(servers) - 1) > 0.01, `${servers}`);
  }
  assert.equal(probesFor(1), 1);
});
