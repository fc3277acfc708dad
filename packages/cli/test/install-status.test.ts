import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import type { TerminatingPod } from "@lameduck/coordinator";
import { initVolumeFiles } from "@lameduck/webhook";
import { terminatingLines, terminatingNow } from "../src/status/terminating.ts";
import { initVolume, Cluster, enabled, withoutInit } from "./install-cluster.ts";

const cluster = new Cluster();
before(() => cluster.start());
beforeEach(() => cluster.empty());
after(() => cluster.stop());

describe("lameduck status", () => {
  test("lameduck status says that Lameduck is not installed, and ends with exit code 1", async () => {
    const { code, out } = await cluster.lameduck("status");
    assert.match(out, /^not installed: lameduck install\n/);
    assert.equal(code, 1);
  });

  test("lameduck status names a namespace whose label is neither yes nor no", async () => {
    for (const [name, value] of Object.entries({ shop: "true", bank: "disabled" }))
      cluster.put(`/api/v1/namespaces/${name}`, {
        kind: "Namespace",
        metadata: { labels: { "lameduck.dev/inject": value } },
      });
    const { out } = await cluster.lameduck("status");
    assert.match(out, /^namespace shop: labelled lameduck\.dev\/inject=true, which nobody reads; enabled/m);
    assert.doesNotMatch(out, /bank/);
  });

  test("lameduck status says which pods run with Lameduck, which without and why, and what a raised grace period costs", async () => {
    await cluster.lameduck("install", "--yes");
    cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
    cluster.put("/api/v1/namespaces/shop/services/web", {
      kind: "Service",
      metadata: {},
      spec: { selector: { app: "web" } },
    });
    const type = "LosesRequests";
    cluster.put("/apis/lameduck.dev/v1alpha1/namespaces/shop/drainpolicies/default", {
      kind: "DrainPolicy",
      metadata: {},
      status: { conditions: [{ type, status: "True", message: "1 of 2 workloads: deployment/web: no" }] },
    });
    cluster.addPod("new", { annotations: { "lameduck.dev/injected": "0.1.0" }, grace: 55 });
    cluster.addPod("old");
    cluster.addPod("out", { annotations: { "lameduck.dev/inject": "false" } });
    const { code, out } = await cluster.lameduck("status");
    assert.match(out, /the API server does not call it: its configuration names no authority yet/);
    assert.match(out, /namespace shop: 1 of 3 pods with Lameduck \(0\.1\.0\)/);
    assert.match(out, /^ {2}will lose requests: 1 of 2 workloads: deployment\/web: no$/m);
    assert.match(out, /pod\/old: 1 without: it was made before Lameduck or its Service was there/);
    assert.match(out, /pod\/out: 1 without: annotation lameduck\.dev\/inject is "false"/);
    assert.match(out, /1 injected pod with more than 30 s, 55 s at most/);
    assert.equal(code, 1);
    const { out: json } = await cluster.lameduck("status", "--json", "-");
    const { namespaces } = JSON.parse(json) as {
      namespaces: [{ pods: { name: string; isOlder: boolean }[] }];
    };
    assert.deepEqual(
      namespaces[0].pods.map(({ name, isOlder }) => [name, isOlder]),
      [
        ["new", false],
        ["old", true],
        ["out", false],
      ],
    );
  });
});

test("lameduck status says which cap and grace period pods were told, and how they come about", async () => {
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  cluster.put("/api/v1/namespaces/shop/services/web", {
    kind: "Service",
    metadata: {},
    spec: { selector: { app: "web" } },
  });
  cluster.put("/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web", {
    kind: "Ingress",
    metadata: { annotations: { "alb.ingress.kubernetes.io/target-type": "ip" } },
    spec: { ingressClassName: "alb", defaultBackend: { service: { name: "web" } } },
  });
  const told = (cap: string): object => ({
    preStop: { exec: { command: ["/lameduck/lameduck-init", "wait", "--cap", cap] } },
  });
  const annotations = { "lameduck.dev/injected": "0.1.0" };
  cluster.addPod("today", { annotations, lifecycle: told("60s"), grace: 90 });
  cluster.addPod("before", { annotations, lifecycle: told("25s"), grace: 55 });
  const { out } = await cluster.lameduck("status");
  assert.match(
    out,
    /shop\/pod\/today\n {4}cap 60 s \(1\.5 x 40 s: AWS ALB \(IP targets\)\), grace 90 s \(60 s cap \+ 30 s for/,
  );
  assert.match(
    out,
    /shop\/pod\/before\n {4}cap 25 s \(as it was told when it was made; a new pod gets 60 s \(.*AWS ALB/,
  );
  const { out: json } = await cluster.lameduck("status", "--json", "-");
  const { namespaces } = JSON.parse(json) as { namespaces: [{ held: { cap: { seconds: number } }[] }] };
  assert.deepEqual(
    namespaces[0].held.map(({ cap }) => cap.seconds).sort((a, b) => a - b),
    [25, 60],
  );
});

test("lameduck status says how much time holds have saved in place of sleeps, and where that is not known", async () => {
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  const line = async (): Promise<string> =>
    (await cluster.lameduck("status")).out.split("\n").find((one) => /sleep/.test(one)) ?? "";
  const annotations = { "lameduck.dev/injected": "0.1.0" };
  cluster.addPod("plain", { annotations });
  assert.equal(await line(), "");
  cluster.addPod("web", { annotations: { ...annotations, "lameduck.dev/former-sleep": "15s" } });
  cluster.forbidden = /drainreports/;
  assert.match(await line(), /^ {2}sleeps were replaced in 1 pod; .* not known: there are no records/);
  cluster.forbidden = undefined;
  const report = (name: string, hold: object, hoursAgo = 1): void =>
    cluster.put(`/apis/lameduck.dev/v1alpha1/namespaces/shop/drainreports/${name}`, {
      kind: "DrainReport",
      metadata: {},
      deletedAt: new Date(Date.now() - hoursAgo * 3_600_000).toISOString(),
      hold,
    });
  report("mute", { formerSleepMs: 15_000 });
  report("other", { ms: 9_000 });
  assert.match(await line(), /replaced in 1 pod; .* not known: no such pod has reported its end/);
  report("a", { formerSleepMs: 15_000, ms: 4_000 });
  report("b", { formerSleepMs: 35_000, ms: 6_000 });
  report("old", { formerSleepMs: 35_000, ms: 6_000 }, 25);
  assert.equal(
    await line(),
    "  in the last 24h 2 terminations held 5.0 s on average in place of a sleep of 25.0 s: 40.0 s saved; of 1 more it is not known",
  );
});

test("lameduck status says how much time holds would have saved in place of sleeps that stay, and where that is not known", async () => {
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  const line = async (): Promise<string> =>
    (await cluster.lameduck("status")).out.split("\n").find((one) => /in the last 24h/.test(one)) ?? "";
  const lifecycle = { preStop: { exec: { command: ["sh", "-c", "sleep 15"] } } };
  cluster.put("/api/v1/namespaces/shop/pods/web", {
    kind: "Pod",
    metadata: {},
    spec: { containers: [{ name: "c", ports: [{ containerPort: 80 }], lifecycle }] },
    status: { phase: "Running" },
  });
  const report = (name: string, fields: object): void =>
    cluster.put(`/apis/lameduck.dev/v1alpha1/namespaces/shop/drainreports/${name}`, {
      kind: "DrainReport",
      metadata: {},
      deletedAt: new Date().toISOString(),
      workload: "pod/web",
      hold: {},
      moments: {},
      ...fields,
    });
  report("other", { workload: "pod/other", moments: { released: 1_000 } });
  assert.equal(await line(), "");
  report("mute", {});
  assert.match(await line(), /1 pod slept at the end; whether holds would have saved time is not known/);
  report("a", { moments: { released: 4_000 } });
  report("b", { moments: { released: 6_000 } });
  assert.equal(
    await line(),
    "  in the last 24h 2 terminations slept 15.0 s on average, and all senders had stopped sending after 5.0 s: existingSleep: replace would have saved 20.0 s; of 1 more it is not known",
  );
});

test("lameduck status --pods lists the terminating pods, for how long each may take, and what a pod that has ended waits for", async () => {
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  const ends = new Date(Date.now() + 50_000).toISOString();
  const leaving = { deletionTimestamp: ends, deletionGracePeriodSeconds: 55 };
  const state = { terminated: { exitCode: 0 } };
  for (const [name, metadata, status] of [
    ["web", { ...leaving, annotations: { "lameduck.dev/injected": "0.1.0" } }, {}],
    ["own", leaving, {}],
    ["kept", { ...leaving, finalizers: ["a/b"] }, { containerStatuses: [{ name: "c", state }] }],
  ] as const)
    cluster.put(`/api/v1/namespaces/shop/pods/${name}`, {
      kind: "Pod",
      metadata,
      spec: { containers: [] },
      status: { phase: "Running", ...status },
    });
  assert.doesNotMatch((await cluster.lameduck("status")).out, /terminating/);
  const { out } = await cluster.lameduck("status", "--pods");
  assert.match(out, /^terminating: 3 pods$/m);
  const [, since, left] =
    /shop\/web \(pod\/web\): for (\d+) s, at most (\d+) s more; its own evidence decides/.exec(out) ?? [];
  const grace = Number(since) + Number(left);
  assert.ok(Math.abs(grace - leaving.deletionGracePeriodSeconds) <= 1, `${since} s and ${left} s`);
  assert.match(out, /shop\/own .* no Lameduck was injected/);
  assert.match(out, /shop\/kept \(pod\/kept\): for \d+ s; .* waits for finalizers: a\/b/);
});

test("lameduck status --pods counts from the first deletion where the coordinator knows it, and says where it does not", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  const state = { terminated: { exitCode: 0 } };
  const ended = {
    metadata: {
      name: "web",
      namespace: "shop",
      uid: "u",
      deletionTimestamp: "2026-01-01T00:00:50Z",
      deletionGracePeriodSeconds: 0,
      finalizers: ["a/b"],
    },
    spec: { containers: [] },
    status: { containerStatuses: [{ name: "c", state }] },
  };
  const known = { deletedAt: "2026-01-01T00:00:20Z", waitsFor: [], waitsForMore: 0 };
  const line = (of?: object): string =>
    [...terminatingLines([terminatingNow(ended, of as TerminatingPod | undefined, now)], 0)].join("\n");
  assert.match(line(known), /for 40 s; its containers have ended/);
  assert.match(line(), /for at least 10 s; its containers have ended/);
});

test("lameduck status names pods that were made before acknowledgements were on, and fails", async () => {
  await cluster.lameduck("install", "--acknowledgements", "--yes");
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  const annotations = { "lameduck.dev/injected": "0.1.0" };
  for (const [name, container] of Object.entries({
    told: { env: [{ name: "LAMEDUCK_COORDINATOR", value: "http://c" }] },
    declines: { env: [{ name: "LAMEDUCK_COORDINATOR", value: "" }] },
    sleeps: { lifecycle: { preStop: { sleep: { seconds: 15 } } } },
    before: {},
  }))
    cluster.put(`/api/v1/namespaces/shop/pods/${name}`, {
      kind: "Pod",
      metadata: { annotations },
      spec: { containers: [{ name: "c", ...container }] },
      status: { phase: "Running" },
    });
  const { out } = await cluster.lameduck("status");
  assert.match(
    out,
    /pod\/before: 1 made before acknowledgements were on: no coordinator is asked\n {4}kubectl/,
  );
  assert.doesNotMatch(out, /(?:told|declines|sleeps): 1 made/);
});

test("lameduck status -n looks at one namespace alone, with the rights of its tenants", async () => {
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  cluster.addPod("one", { annotations: { "lameduck.dev/injected": "0.1.0" } });
  cluster.forbidden = /^(?!\/version|.*\/namespaces\/shop)/;
  const { code, out, err } = await cluster.lameduck("status", "-n", "shop");
  assert.equal(code, 0, err);
  assert.match(out, /^only namespace shop is looked at/);
  assert.match(out, /^namespace shop: 1 of 1 pod with Lameduck \(0\.1\.0\)$/m);
  const missing = await cluster.lameduck("status", "-n", "shpo");
  assert.equal(missing.code, 4, missing.err);
  const whole = await cluster.lameduck("status");
  assert.match(whole.err, /status -n NAMESPACE looks at one namespace/);
});

describe("lameduck status looks into the ConfigMap with lameduck-init", () => {
  const name = "lameduck-init";
  const binary = Buffer.from("ELF").toString("base64");
  const put = (metadata: object, binaryData: object): void => {
    cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
    cluster.put(initVolume, { kind: "ConfigMap", metadata, binaryData });
  };
  const { sum } = initVolumeFiles([["lameduck-init-amd64", Buffer.from("ELF")]]);
  const ours = { annotations: { "lameduck.dev/init-volume-sum": sum } };

  for (const [what, metadata, binaryData, problem] of [
    ["as Lameduck has written it", ours, { "lameduck-init-amd64": binary }, undefined],
    ["made by hand", {}, { "lameduck-init-arm64": binary }, undefined],
    ["changed since", ours, { "lameduck-init-amd64": "AAAA" }, /ConfigMap lameduck-init was changed since/],
    ["somebody else's", {}, { other: binary }, /ConfigMap lameduck-init is somebody else's/],
  ] as const)
    test(`lameduck status ${problem ? "tells of" : "says nothing of"} a ConfigMap that is ${what}`, async () => {
      put(metadata, binaryData);
      const { out } = await cluster.lameduck("status");
      if (problem) assert.match(out, problem);
      else assert.doesNotMatch(out, /ConfigMap/);
    });

  test("lameduck status tells what the operator says of the ConfigMap, as long as it is so", async () => {
    const message = "ConfigMap lameduck-init cannot be written: exceeded quota: small";
    cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
    cluster.put("/api/v1/namespaces/shop/events/one", {
      kind: "Event",
      metadata: {},
      reason: "InitVolumeRefused",
      message,
      lastTimestamp: "2026-01-01T00:00:00Z",
    });
    assert.match((await cluster.lameduck("status")).out, /is not there yet.*\n {2}.*exceeded quota: small/);
    put(ours, { "lameduck-init-amd64": binary });
    assert.doesNotMatch((await cluster.lameduck("status")).out, /quota/);
  });

  test("lameduck status tells as JSON that a pod needs a ConfigMap that is not there", async () => {
    await cluster.lameduck("install", "--yes");
    put({}, { other: binary });
    cluster.addPod("new", { annotations: { "lameduck.dev/injected": "0.1.0" }, mounts: name });
    const { out } = await cluster.lameduck("status", "--json", "-");
    const { namespaces } = JSON.parse(out) as { namespaces: object[] };
    assert.partialDeepStrictEqual(namespaces, [{ initVolume: "foreign", needsInitVolume: true }]);
  });
});

test("lameduck does not ask about many namespaces all at once", async () => {
  for (let index = 0; index < 80; index++) {
    const namespace = `/api/v1/namespaces/n${index}`;
    cluster.put(namespace, { kind: "Namespace", metadata: { labels: enabled } });
    cluster.put(`${namespace}/configmaps/lameduck-init`, {
      kind: "ConfigMap",
      metadata: { annotations: { "lameduck.dev/init-volume-sum": "1" } },
    });
  }
  for (const command of [["status"], ["uninstall", "--dry-run"]]) {
    cluster.connections = 0;
    const { out, err } = await cluster.lameduck(...command);
    assert.match(out + err, /n79/);
    assert.ok(cluster.connections <= 50, `${command.join(" ")}: ${cluster.connections} connections`);
  }
});

describe("lameduck uninstall", () => {
  test(
    "lameduck uninstall keeps what running pods use, and a second time leaves nothing",
    { skip: withoutInit },
    async () => {
      await cluster.lameduck("install", "--yes", "--policy-only", "--enable", "shop");
      await cluster.lameduck("install", "--yes", "--disable", "policy-only");
      cluster.addPod("new", { annotations: { "lameduck.dev/injected": "0.1.0" } });
      cluster.changes = [];
      const first = await cluster.lameduck("uninstall", "--yes");
      assert.equal(first.code, 0, first.err);
      assert.match(first.err, /ConfigMap shop\/lameduck-init: kept for 1 running pod,/);
      assert.match(cluster.changes.find((one) => one.startsWith("DELETE")) ?? "", /webhookconfigurations/);
      assert.deepEqual([...cluster.objects.keys()].sort(), [
        "/api/v1/namespaces/shop",
        initVolume,
        "/api/v1/namespaces/shop/pods/new",
      ]);
      assert.deepEqual(cluster.objects.get("/api/v1/namespaces/shop")?.metadata["labels"], {});
      cluster.objects.delete("/api/v1/namespaces/shop/pods/new");
      const labels = {
        "lameduck.dev/held-deletions": "enabled",
        "lameduck.dev/inject": "disabled",
        team: "a",
      };
      cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels } });
      await cluster.lameduck("uninstall", "--yes");
      assert.deepEqual([...cluster.objects.keys()], ["/api/v1/namespaces/shop"]);
      assert.deepEqual(cluster.objects.get("/api/v1/namespaces/shop")?.metadata["labels"], { team: "a" });
    },
  );

  test("a dry run of lameduck uninstall changes nothing", async () => {
    await cluster.lameduck("install", "--yes");
    cluster.changes = [];
    const { err } = await cluster.lameduck("uninstall", "--dry-run");
    assert.match(err, /would remove MutatingWebhookConfiguration lameduck\.dev/);
    assert.deepEqual(cluster.changes, []);
  });
});
