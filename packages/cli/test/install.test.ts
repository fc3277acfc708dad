import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { parseAllDocuments } from "yaml";
import { run, type Ended } from "./running.ts";

const dist = join(import.meta.dirname, "..", "..", "init", "dist");
const withoutInit =
  !["x64", "arm64"].every((arch) => existsSync(join(dist, `lameduck-init-${arch}`))) &&
  "lameduck-init is not built: npm run build:init";

interface Stored {
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** As much of an API server as installing needs: objects by their path. */
class Cluster {
  readonly objects = new Map<string, Stored>();
  minor = "36";
  /** Of the operator, as soon as it is deployed. */
  isReady = true;
  changes: string[] = [];

  answer(request: IncomingMessage, body: string): [status: number, answer: unknown] {
    const url = new URL(request.url ?? "/", "http://cluster");
    const path = url.pathname;
    if (path === "/version") return [200, { major: "1", minor: this.minor }];
    if (request.method !== "GET") this.changes.push(`${request.method} ${path}`);
    if (request.method === "PATCH") return this.#patch(path, JSON.parse(body) as Stored);
    if (request.method === "DELETE") return this.objects.delete(path) ? [200, { kind: "Status" }] : missing;
    const object = this.objects.get(path);
    // It has gone when it is looked for again.
    if (object?.metadata["deletionTimestamp"] !== undefined) this.objects.delete(path);
    if (object) return [200, object];
    return isCollection(path) ? [200, { items: this.#list(path, url.searchParams) }] : missing;
  }

  put(path: string, object: Omit<Stored, "metadata"> & { metadata: object }): void {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    this.objects.set(path, {
      ...object,
      metadata: {
        uid: path,
        resourceVersion: "1",
        name,
        ...(namespace ? { namespace } : {}),
        ...object.metadata,
      },
    } as Stored);
  }

  #patch(path: string, given: Stored): [number, unknown] {
    const before = this.objects.get(path);
    // Labels of namespaces are merged, everything else is applied.
    if (given.kind === undefined) {
      if (before === undefined) return missing;
      const labels = { ...(before.metadata["labels"] as object), ...(given.metadata["labels"] as object) };
      const kept = Object.entries(labels).filter(([, value]) => value !== null);
      this.put(path, { ...before, metadata: { ...before.metadata, labels: Object.fromEntries(kept) } });
      return [200, this.objects.get(path)];
    }
    const same = JSON.stringify(before?.["applied"]) === JSON.stringify(given);
    const version = Number(before?.metadata.resourceVersion ?? 0) + (same ? 0 : 1);
    const status =
      given.kind === "Deployment" ? { updatedReplicas: 2, availableReplicas: this.isReady ? 2 : 0 } : {};
    const metadata = { ...given.metadata, resourceVersion: String(version) };
    this.put(path, { ...given, metadata, status, applied: given });
    return [before ? 200 : 201, this.objects.get(path)];
  }

  #list(path: string, query: URLSearchParams): Stored[] {
    const plural = path.slice(path.lastIndexOf("/") + 1);
    const within = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    const selectors = (query.get("labelSelector") ?? "").split(",").map((one) => one.split("="));
    return [...this.objects].flatMap(([own, object]) => {
      const isOfKind = own.split("/").at(-2) === plural;
      const labels = (object.metadata["labels"] ?? {}) as Record<string, string>;
      const isSelected = selectors.every(([key = "", value]) =>
        value === undefined ? key === "" || key in labels : labels[key] === value,
      );
      const name = /metadata\.name=(.+)/.exec(query.get("fieldSelector") ?? "")?.[1];
      return isOfKind &&
        isSelected &&
        (within === undefined || object.metadata.namespace === within) &&
        (name === undefined || object.metadata.name === name)
        ? [object]
        : [];
    });
  }
}

const missing: [number, unknown] = [
  404,
  { kind: "Status", status: "Failure", reason: "NotFound", message: "none" },
];
const isCollection = (path: string): boolean =>
  /(namespaces|pods|deployments|services|nodes|configmaps|drainpolicies|admissionpolicies|admissionpolicybindings)$/.test(
    path,
  );

const folder = mkdtempSync(join(tmpdir(), "lameduck-install-"));
let cluster: Cluster;
let server: Server;

before(async () => {
  server = createServer((request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes));
    request.on("end", () => {
      const [status, answer] = cluster.answer(request, body);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
});

beforeEach(() => {
  cluster = new Cluster();
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: {} });
});

after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const lameduck = (...args: string[]): Promise<Ended> =>
  run([...args, "--kubeconfig", join(folder, "kubeconfig")]);

const enabled = { "lameduck.dev/inject": "enabled" };
const carrier = "/api/v1/namespaces/shop/configmaps/lameduck-init";

function addPod(name: string, pod: { annotations?: object; lifecycle?: object; grace?: number } = {}): void {
  const { annotations = {}, lifecycle, grace = 30 } = pod;
  cluster.put(`/api/v1/namespaces/shop/pods/${name}`, {
    kind: "Pod",
    metadata: { labels: { app: "web" }, annotations },
    spec: {
      terminationGracePeriodSeconds: grace,
      containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }], lifecycle }],
    },
    status: { phase: "Running" },
  });
}

describe("lameduck install", () => {
  test("a dry run prints the objects, says what it would do, and changes nothing", async () => {
    const { code, out, err } = await lameduck("install", "--dry-run", "--enable", "shop", "-n", "ducks");
    assert.equal(code, 0, err);
    const objects = parseAllDocuments(out).map((one) => one.toJS() as Stored);
    assert.equal(objects[0]?.kind, "Namespace");
    assert.ok(objects.every(({ metadata }) => [undefined, "ducks"].includes(metadata.namespace)));
    assert.doesNotMatch(out, /lameduck-system/);
    assert.match(err, /would create Deployment ducks\/lameduck-webhook/);
    assert.match(err, /would label namespace shop/);
    assert.deepEqual(cluster.changes, []);
  });

  test("installs what others need first and what sends pods to it last, then labels", async () => {
    cluster.put(carrier, { kind: "ConfigMap", metadata: {} });
    const { code, err } = await lameduck("install", "--yes", "--enable", "shop", "--image", "r.example/x:1");
    assert.equal(code, 0, err);
    assert.match(cluster.changes[0] ?? "", /namespaces\/lameduck-system$/);
    assert.match(cluster.changes.at(-1) ?? "", /namespaces\/shop$/);
    const webhooks = cluster.changes.findIndex((one) => one.includes("mutatingwebhookconfigurations"));
    assert.ok(webhooks > cluster.changes.findIndex((one) => one.includes("deployments")));
    const deployment = JSON.stringify(cluster.objects.get(operator));
    assert.match(deployment, /"image":"r\.example\/x:1"/);
    const again = await lameduck("install", "--yes", "--image", "r.example/x:1");
    assert.match(again.err, /Deployment lameduck-system\/lameduck-webhook: as it was/);
  });

  test(
    "--policy-only runs nothing, brings lameduck-init to the namespaces, and takes the webhook away last",
    {
      skip: withoutInit,
    },
    async () => {
      await lameduck("install", "--yes");
      cluster.changes = [];
      const { code, err } = await lameduck("install", "--yes", "--policy-only", "--enable", "shop");
      assert.equal(code, 0, err);
      const { binaryData } = cluster.objects.get(carrier) as Stored & { binaryData: Record<string, string> };
      assert.equal(
        Buffer.from(binaryData["lameduck-init-amd64"] ?? "", "base64")
          .subarray(1, 4)
          .toString(),
        "ELF",
      );
      assert.equal(cluster.objects.get(operator), undefined);
      const removal = cluster.changes.findIndex((one) => one.startsWith("DELETE"));
      assert.ok(cluster.changes.slice(removal).every((one) => !one.includes("admissionpolic")));
      assert.equal(cluster.objects.has("/api/v1/namespaces/lameduck-system"), true);
    },
  );

  test("--acknowledgements adds the coordinator, status shows what it says, and without the option it goes again", async () => {
    const coordinator = "/apis/apps/v1/namespaces/lameduck-system/deployments/lameduck-coordinator";
    const { code, err } = await lameduck("install", "--yes", "--acknowledgements");
    assert.equal(code, 0, err);
    assert.ok(cluster.objects.has(coordinator));
    assert.ok(cluster.objects.has("/api/v1/namespaces/lameduck-node"));
    const pods = "/api/v1/namespaces/lameduck-system/pods";
    const labels = { "app.kubernetes.io/name": "lameduck", "app.kubernetes.io/component": "coordinator" };
    for (const name of ["one", "two"])
      cluster.put(`${pods}/${name}`, { kind: "Pod", metadata: { labels }, spec: { containers: [] } });
    cluster.put(`${pods}/one:9090/proxy/status`, {
      kind: "Status",
      metadata: {},
      version: 1,
      epoch: "e",
      mode: "availability",
      head: 3,
      terminating: 4,
      released: 1,
      consumers: [
        { name: "kube-proxy/node1", basis: "rules", behind: 0, isSilent: false },
        {
          name: "kube-proxy/node2",
          basis: "rules",
          behind: 2,
          isSilent: true,
          problem: "no such program: nft",
        },
      ],
      missing: ["node3"],
    });
    const { out } = await lameduck("status");
    assert.match(out, /one: 2 consumers report, mode availability; 4 pods terminate, 1 of them released/);
    assert.match(out, /nobody reports for node3: pods that they may send to decide by themselves/);
    assert.match(out, /silent: kube-proxy\/node2\n {4}kube-proxy\/node2: no such program: nft/);
    assert.match(out, /two: unknown, it could not be asked/);
    await lameduck("install", "--yes");
    assert.ok(!cluster.objects.has(coordinator) && !cluster.objects.has("/api/v1/namespaces/lameduck-node"));
    assert.ok(cluster.objects.has(operator));
    const wrong = await lameduck("install", "--yes", "--acknowledgements", "--policy-only");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /--acknowledgements: needs processes of ours/);
  });

  test("--held-deletions adds its webhook, and without the option it goes again and pods get their labels back", async () => {
    const configuration =
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/held-deletions.lameduck.dev";
    const { code, err } = await lameduck("install", "--yes", "--held-deletions");
    assert.equal(code, 0, err);
    assert.ok(cluster.objects.has(configuration));
    assert.match(JSON.stringify(cluster.objects.get(operator)), /"--held-deletions"/);
    const mark = {
      step: "withdrawn",
      by: "delete",
      labels: { app: "web" },
      began: 1,
      stepBegan: 1,
      until: 1,
    };
    const pod = "/api/v1/namespaces/shop/pods/web-1";
    cluster.put(pod, {
      kind: "Pod",
      metadata: {
        labels: { "lameduck.dev/held": "withdrawn", team: "a" },
        annotations: { "lameduck.dev/held": JSON.stringify(mark) },
      },
    });
    const again = await lameduck("install", "--yes");
    assert.match(again.err, /Pod shop\/web-1: has its labels back/);
    assert.ok(!cluster.objects.has(configuration));
    assert.deepEqual(cluster.objects.get(pod)?.metadata["labels"], { app: "web", team: "a" });
    assert.doesNotMatch(JSON.stringify(cluster.objects.get(operator)), /"--held-deletions"/);
    const wrong = await lameduck("install", "--yes", "--held-deletions", "--policy-only");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /--held-deletions: needs processes of ours/);
  });

  test("right after an uninstallation it waits for the end of the namespace, which takes nothing new", async () => {
    const path = "/api/v1/namespaces/lameduck-system";
    cluster.put(path, { kind: "Namespace", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
    const { code, err } = await lameduck("install", "--yes");
    assert.equal(code, 0, err);
    assert.match(err, /Namespace lameduck-system: created/);
  });

  test("an operator that does not come up is told with what its pod says", async () => {
    cluster.isReady = false;
    cluster.put("/api/v1/namespaces/lameduck-system/pods/a", {
      kind: "Pod",
      metadata: { labels: { "app.kubernetes.io/name": "lameduck" } },
      status: {
        containerStatuses: [{ name: "w", state: { waiting: { reason: "ErrImagePull", message: "no" } } }],
      },
    });
    const { code, err } = await lameduck("install", "--yes", "--timeout", "1s");
    assert.equal(code, 4);
    assert.match(err, /0 of 2 replicas are ready: ErrImagePull no \[LAMEDUCK_NOT_READY\]/);
  });

  for (const [name, prepare, args, words, code] of [
    ["an older cluster", () => (cluster.minor = "35"), ["--policy-only"], /1\.35; .* 1\.36 or newer/, 4],
    [
      "a release of Helm",
      () =>
        cluster.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/drainpolicies.lameduck.dev", {
          kind: "CustomResourceDefinition",
          metadata: {
            annotations: { "meta.helm.sh/release-name": "duck", "meta.helm.sh/release-namespace": "ns" },
          },
        }),
      [],
      /release ns\/duck: .*\[LAMEDUCK_OF_HELM\]/,
      4,
    ],
    ["no consent", () => undefined, ["--no-yes"], /unknown option/, 2],
    ["a namespace that cannot be", () => undefined, ["--enable", "../x"], /--enable: .* no name/, 2],
  ] as const)
    test(`${name}: nothing is changed`, async () => {
      prepare();
      const result = await lameduck("install", "--yes", ...args);
      assert.match(result.err, words);
      assert.equal(result.code, code);
      assert.deepEqual(cluster.changes, []);
    });

  test("nobody can be asked: nothing is changed", async () => {
    const { code, err } = await lameduck("install");
    assert.match(err, /LAMEDUCK_NOT_CONFIRMED/);
    assert.equal(code, 2);
    assert.deepEqual(cluster.changes, []);
  });
});

const operator = "/apis/apps/v1/namespaces/lameduck-system/deployments/lameduck-webhook";

describe("lameduck status", () => {
  test("nothing is installed", async () => {
    const { code, out } = await lameduck("status");
    assert.match(out, /^not installed: lameduck install\n/);
    assert.equal(code, 1);
  });

  test("says which pods run with it, which without and why, and what a raised grace period costs", async () => {
    await lameduck("install", "--yes");
    cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
    cluster.put("/api/v1/namespaces/shop/services/web", {
      kind: "Service",
      metadata: {},
      spec: { selector: { app: "web" } },
    });
    addPod("new", { annotations: { "lameduck.dev/injected": "0.1.0" }, grace: 55 });
    addPod("old");
    addPod("out", { annotations: { "lameduck.dev/inject": "false" } });
    const { code, out } = await lameduck("status");
    assert.match(out, /the API server does not call it: its configuration names no authority yet/);
    assert.match(out, /namespace shop: 1 of 3 pods run with Lameduck \(0\.1\.0\)/);
    assert.match(out, /pod\/old: 1 without: it was made before Lameduck or its Service was there/);
    assert.match(out, /pod\/out: 1 without: annotation lameduck\.dev\/inject is "false"/);
    assert.match(out, /1 injected pods have more than 30 s, 55 s at most/);
    assert.equal(code, 1);
    const { out: json } = await lameduck("status", "--json");
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

test("lameduck status --flags shows the workloads that the audit says will lose requests", async () => {
  cluster.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: { labels: enabled } });
  const template = {
    metadata: { labels: { app: "web" } },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: "web",
          image: "web:1",
          ports: [{ containerPort: 80 }],
          lifecycle: { preStop: { sleep: { seconds: 20 } } },
        },
      ],
    },
  };
  cluster.put("/apis/apps/v1/namespaces/shop/deployments/web", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {},
    spec: { selector: { matchLabels: { app: "web" } }, template },
  });
  cluster.put("/api/v1/namespaces/shop/services/web", {
    kind: "Service",
    metadata: {},
    spec: { selector: { app: "web" } },
  });
  const { out, err } = await lameduck("status", "--flags");
  assert.match(
    out,
    /namespace shop: \d+ errors of the audit\n {2}deployment\/web: .*\(prestop-exceeds-grace\)/,
    err,
  );
  const { out: json } = await lameduck("status", "--flags", "--json");
  const { flagged } = JSON.parse(json) as { flagged: { name: string; flags: object[] }[] };
  assert.deepEqual([flagged[0]?.name, (flagged[0]?.flags.length ?? 0) > 0], ["shop", true]);
});

describe("lameduck uninstall", () => {
  test("keeps what running pods use, and a second time leaves nothing", { skip: withoutInit }, async () => {
    await lameduck("install", "--yes", "--policy-only", "--enable", "shop");
    await lameduck("install", "--yes");
    addPod("new", { annotations: { "lameduck.dev/injected": "0.1.0" } });
    cluster.changes = [];
    const first = await lameduck("uninstall", "--yes");
    assert.equal(first.code, 0, first.err);
    assert.match(first.err, /ConfigMap shop\/lameduck-init: kept for 1 running pods/);
    assert.match(cluster.changes.find((one) => one.startsWith("DELETE")) ?? "", /webhookconfigurations/);
    assert.deepEqual([...cluster.objects.keys()].sort(), [
      "/api/v1/namespaces/shop",
      carrier,
      "/api/v1/namespaces/shop/pods/new",
    ]);
    assert.deepEqual(cluster.objects.get("/api/v1/namespaces/shop")?.metadata["labels"], {});
    cluster.objects.delete("/api/v1/namespaces/shop/pods/new");
    await lameduck("uninstall", "--yes");
    assert.deepEqual([...cluster.objects.keys()], ["/api/v1/namespaces/shop"]);
  });

  test("a dry run changes nothing", async () => {
    await lameduck("install", "--yes");
    cluster.changes = [];
    const { err } = await lameduck("uninstall", "--dry-run");
    assert.match(err, /would remove MutatingWebhookConfiguration lameduck\.dev/);
    assert.deepEqual(cluster.changes, []);
  });
});
