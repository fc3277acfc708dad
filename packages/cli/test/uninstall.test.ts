import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { initVolume, Cluster, enabled } from "./install-cluster.ts";

const cluster = new Cluster();
before(() => cluster.start());
beforeEach(() => cluster.empty());
after(() => cluster.stop());

const shop = "/api/v1/namespaces/shop";

describe("a namespace that was there before Lameduck", () => {
  test("a namespace that was there before Lameduck keeps its labels at the installation, and is not deleted at the end", async () => {
    const installed = await cluster.lameduck("install", "--yes", "--lameduck-namespace", "shop");
    assert.equal(installed.code, 0, installed.err);
    assert.equal(cluster.objects.get(shop)?.metadata["labels"], undefined);
    // The operator goes on until its grace period is over.
    const secret = `${shop}/secrets/lameduck-webhook-tls`;
    const rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings/lameduck-webhook";
    cluster.put(secret, { kind: "Secret", metadata: {} });
    cluster.onDelete = (path) => {
      if (path === secret && cluster.objects.has(rights))
        setImmediate(() => cluster.put(secret, { kind: "Secret", metadata: {} }));
    };
    const { code, err } = await cluster.lameduck("uninstall", "--yes", "--lameduck-namespace", "shop");
    assert.equal(code, 0, err);
    assert.deepEqual([...cluster.objects.keys()], [shop]);
  });

  test("a namespace that was there before Lameduck is not deleted by somebody who takes --lameduck-namespace for the namespace to be left alone", async () => {
    await cluster.lameduck("install", "--yes", "--enable", "shop", "--timeout", "1s");
    for (const command of ["install", "uninstall"]) {
      cluster.changes = [];
      const { code, err } = await cluster.lameduck(command, "--yes", "--lameduck-namespace", "shop");
      assert.match(err, /--lameduck-namespace: Lameduck is installed in namespace lameduck-system/);
      assert.equal(code, 2);
      assert.deepEqual(cluster.changes, []);
    }
  });
});

test("a pod that is made while a person is asked keeps its hook", async () => {
  await cluster.lameduck("install", "--yes");
  cluster.put(initVolume, {
    kind: "ConfigMap",
    metadata: { annotations: { "lameduck.dev/init-volume-sum": "1" } },
  });
  cluster.onDelete = (path) => {
    if (path.endsWith("mutatingwebhookconfigurations/lameduck.dev"))
      cluster.addPod("late", { annotations: { "lameduck.dev/injected": "0.1.0" } });
  };
  const { code, err } = await cluster.lameduck("uninstall", "--yes");
  assert.equal(code, 0, err);
  assert.ok(cluster.objects.has(initVolume), err);
  assert.match(err, /kept for 1 running pod,/);
});

test("a labelled namespace that goes meanwhile is no failure", async () => {
  await cluster.lameduck("install", "--yes");
  cluster.put(shop, { kind: "Namespace", metadata: { labels: enabled } });
  cluster.onDelete = () => cluster.objects.delete(shop);
  const { code, err } = await cluster.lameduck("uninstall", "--yes");
  assert.equal(code, 0, err);
});

test("a namespace to be enabled that is not there is told before anything is changed", async () => {
  for (const mode of [[], ["--policy-only"]]) {
    const { code, err } = await cluster.lameduck("install", "--yes", "--enable", "shpo", ...mode);
    assert.equal(code, 2, err);
    assert.match(err, /--enable: there is no namespace "shpo"/);
    assert.deepEqual(cluster.changes, []);
  }
});
