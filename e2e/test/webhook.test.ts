import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { drainPolicyCrd } from "@lameduck/inject";
import { injectedAnnotation, operatorNames } from "@lameduck/protocol";
import { hasStatus } from "@lameduck/kube";
import { builtInit, type Cluster, type Manifest, requireInit, until, whyNot } from "../cluster/index.ts";
import { signalProcess } from "../cluster/host/processes.ts";
import { leastKubeconfig, operatorsObjects, startBeside, type Running } from "./operator-beside.ts";
import { apply, quietCluster } from "./support.ts";

const reason = await whyNot();
const { namespace } = operatorNames;
/** The API server gives a review 2 s, and asks twice at most. What takes so long has been blocked. Milliseconds. */
const blocked = 10_000;

interface Created {
  readonly injected: boolean;
  readonly took: number;
}

/** The operator's process, with its least rights, beside the API server, and everything that may become of it. */
describe("the webhook on a real API server", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let kubeconfig: string;
  let initVolumes: string;
  let operator: Running;

  before(async () => {
    await requireInit();
    cluster = await quietCluster({ nodes: 1 });
    initVolumes = join(cluster.directory, "initVolumes");
    await mkdir(initVolumes);
    for (const name of ["lameduck-init-amd64", "lameduck-init-arm64"])
      await copyFile(builtInit, join(initVolumes, name));
    await apply(cluster, drainPolicyCrd, ...operatorsObjects(), ...shop());
    kubeconfig = await leastKubeconfig(cluster);
    operator = await start();
    await injects();
  });
  after(async () => {
    operator?.child.kill("SIGKILL");
    await cluster?.[Symbol.asyncDispose]();
  });

  const start = (): Promise<Running> =>
    startBeside(cluster, kubeconfig, [
      `--init-directory=${initVolumes}`,
      "--certificate-lifetime=10s",
      "--authority-lifetime=30s",
      "--audit-every=2s",
    ]);

  /** A pod as somebody makes it; admission cannot tell a dry run. */
  async function create(annotations: object = {}): Promise<Created> {
    const began = performance.now();
    const { metadata } = await cluster.api.post<{ metadata: { annotations?: Record<string, string> } }>(
      "/api/v1/namespaces/shop/pods?dryRun=All",
      pod({ generateName: "web-", annotations }),
    );
    const injected = metadata.annotations?.[injectedAnnotation] !== undefined;
    return { injected, took: performance.now() - began };
  }

  const injects = (): Promise<boolean> =>
    until(async () => (await create()).injected, {
      what: "pods injected",
      everyMs: 50,
      logs: operator.log(),
    });

  /** Makes pods one after another until something is over. */
  async function createUntil(isOver: () => boolean): Promise<Created[]> {
    const all: Created[] = [];
    while (!isOver()) all.push(await create());
    return all;
  }

  const noneBlocked = (all: readonly Created[]): void => {
    const slowest = Math.max(...all.map(({ took }) => took));
    assert.ok(slowest < blocked, `of ${all.length} pods one took ${Math.round(slowest)} ms`);
  };

  it("the webhook injects, and copies the init volume, with the rights that it says it needs", async () => {
    const found = await until(
      () =>
        cluster.api.get<{ binaryData: Record<string, string> }>(
          "/api/v1/namespaces/shop/configmaps/lameduck-init",
        ),
      { what: "the init volume" },
    );
    // Of the processors that the nodes have.
    const own = `lameduck-init-${process.arch === "arm64" ? "arm64" : "amd64"}`;
    assert.deepEqual(Object.keys(found.binaryData), [own]);
    const init = await readFile(builtInit);
    assert.equal(found.binaryData[own], init.toString("base64"));
    assert.doesNotMatch(operator.log(), /forbidden/i);
  });

  it("the webhook tells of a workload that will lose requests, with the rights that it says it needs", async () => {
    const hook = { preStop: { exec: { command: ["sleep", "60"] } } };
    const { spec } = pod({ labels: { app: "web" } }) as { spec: { containers: [object] } };
    const containers = [{ ...spec.containers[0], ports: [{ containerPort: 8080 }], lifecycle: hook }];
    const metadata = { name: "losing", namespace: "shop" };
    const labels = { app: "web" };
    const policy = { metadata: { name: "default", namespace: "shop" }, spec: {} };
    await apply(
      cluster,
      { apiVersion: "lameduck.dev/v1alpha1", kind: "DrainPolicy", ...policy },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata,
        spec: {
          replicas: 0,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      },
    );
    const told = (): Promise<string> =>
      cluster.kubectl(["get", "drainpolicies", "-n", "shop", "--no-headers", "default"]);
    const isTold = async (): Promise<boolean> => / True +True /.test(await told());
    await until(isTold, { what: "the condition", logs: operator.log() });
    const described = (): Promise<string> =>
      cluster.kubectl(["describe", "deployment", "losing", "-n", "shop"]);
    const isDescribed = async (): Promise<boolean> =>
      /Warning +LosesRequests .*\(prestop-exceeds-grace\)/.test(await described());
    await until(isDescribed, { what: "the Event", logs: operator.log() });
    assert.doesNotMatch(operator.log(), /"part":"(?:flags|policies)"/);
    await cluster.kubectl(["delete", "deployment/losing", "drainpolicy/default", "-n", "shop"]);
  });

  it("the webhook rejects policies and workloads by field, and never a pod", async () => {
    const rejected = async (path: string, body: object): Promise<string> => {
      try {
        await cluster.api.post(`${path}?dryRun=All`, body);
        return "";
      } catch (error) {
        assert.ok(hasStatus(error, 422), String(error));
        return error.message;
      }
    };
    const template = { metadata: { labels: { app: "web" }, annotations: { "lameduck.dev/cap": "20" } } };
    const deployment = {
      metadata: { name: "web" },
      spec: { selector: { matchLabels: { app: "web" } }, template: { ...template, spec: pod({}).spec } },
    };
    assert.match(
      await rejected("/apis/apps/v1/namespaces/shop/deployments", deployment),
      /lameduck\.dev\/cap: "20" .*add the unit: 20s/,
    );
    const policy = {
      apiVersion: "lameduck.dev/v1alpha1",
      kind: "DrainPolicy",
      metadata: { name: "default" },
    };
    const policies = "/apis/lameduck.dev/v1alpha1/namespaces/shop/drainpolicies";
    assert.match(await rejected(policies, { ...policy, spec: { capSeconds: "soon" } }), /spec\.capSeconds/);
    assert.equal((await create({ "lameduck.dev/cap": "20" })).injected, true);
    await cluster.api.post(policies, { ...policy, spec: { capSeconds: 20 } });
    await until(
      async () =>
        (await cluster.kubectl(["get", "drainpolicy", "-n", "shop"])).match(/default .*True/) !== null,
      { what: "the policy accepted" },
    );
  });

  it("the webhook rotates certificate and authority while pods are made, and injects every one of them", async () => {
    const authorities = new Set<string>();
    const certificates = new Set<string>();
    const look = async (): Promise<void> => {
      const { data } = await cluster.api.get<{ data: Record<string, string> }>(
        `/api/v1/namespaces/${namespace}/secrets/${operatorNames.certificateSecret}`,
      );
      authorities.add(data["ca.crt"] ?? "");
      certificates.add(data["tls.crt"] ?? "");
    };
    const all: Created[] = [];
    const end = performance.now() + 90_000;
    while (authorities.size < 2 || certificates.size < 5) {
      assert.ok(
        performance.now() < end,
        `${authorities.size} authorities, ${certificates.size} certificates`,
      );
      all.push(await create());
      await look();
    }
    assert.equal(all.filter(({ injected }) => !injected).length, 0, `of ${all.length} pods`);
    noneBlocked(all);
  });

  it("a wrong caBundle costs the injection until it is put right, and nothing else", async () => {
    const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${operatorNames.configuration}`;
    const other = Buffer.from(await readFile(join(cluster.directory, "pki", "ca.crt"))).toString("base64");
    const wrong = [{ op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: other }];
    let isRight = false;
    const all = createUntil(() => isRight);
    await cluster.api.patch(path, wrong, "json-patch");
    await until(
      async () => {
        const { webhooks } = await cluster.api.get<{ webhooks: { clientConfig: { caBundle: string } }[] }>(
          path,
        );
        return webhooks[0]?.clientConfig.caBundle !== other;
      },
      { what: "put right" },
    );
    await injects();
    isRight = true;
    noneBlocked(await all);
  });

  it("a webhook that hangs, and answers after five seconds, blocks nobody", async () => {
    const wake = async (): Promise<void> => {
      await signalProcess(operator.process, "SIGCONT");
      // nsenter stops itself with what it waits for.
      operator.child.kill("SIGCONT");
    };
    await signalProcess(operator.process, "SIGSTOP");
    let awake = false;
    const all = createUntil(() => awake);
    setTimeout(() => void wake().then(() => (awake = true)), 5_000);
    const created = await all;
    noneBlocked(created);
    assert.ok(
      created.some(({ injected }) => !injected),
      "it did hang",
    );
    await injects();
  });

  it("a webhook that is killed in the middle blocks nobody, and the next one goes on with the same authority", async () => {
    let isBack = false;
    const all = createUntil(() => isBack);
    await signalProcess(operator.process, "SIGKILL");
    await once(operator.child, "close");
    const without = await create();
    assert.equal(without.injected, false, "all replicas are down");
    operator = await start();
    await injects();
    isBack = true;
    noneBlocked(await all);
    assert.doesNotMatch(operator.log(), /told of the authority.*told of the authority/s);
  });

  it("the webhook keeps the init volume while a pod mounts it, and takes it away with the last", async () => {
    const initVolume = (): Promise<string> =>
      cluster.kubectl([
        "get",
        "configmap",
        operatorNames.initConfigMap,
        "-n",
        "shop",
        "--ignore-not-found",
        "-o",
        "name",
      ]);
    // One that is never scheduled, and so needs no image.
    const held = pod({ name: "held" }, { schedulingGates: [{ name: "lameduck.dev/test" }] });
    await cluster.api.post("/api/v1/namespaces/shop/pods", held);
    await cluster.kubectl(["label", "namespace", "shop", "lameduck.dev/inject-"]);
    await until(async () => !(await create()).injected, { what: "the namespace is not injected any more" });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    assert.notEqual(await initVolume(), "", "mounted, so it stays");
    await cluster.kubectl(["delete", "pod", "held", "-n", "shop", "--grace-period=0", "--force"]);
    // Any change of a namespace makes it look again.
    await until(
      async () => {
        await cluster.kubectl(["annotate", "namespace", "shop", `test=${performance.now()}`, "--overwrite"]);
        return (await initVolume()) === "";
      },
      { what: "the init volume gone", everyMs: 500 },
    );
  });

  it("the webhook ends by its own library", async () => {
    await signalProcess(operator.process, "SIGTERM");
    await once(operator.child, "close");
    assert.match(operator.log(), /"phase":"closed"|lameduck: closed/);
    assert.equal((await create()).injected, false);
  });
});

function pod(metadata: object, spec: object = {}): { metadata: object; spec: object } {
  return {
    metadata: { labels: { app: "web" }, ...metadata },
    spec: {
      containers: [{ name: "web", image: "lameduck.test/none:1", ports: [{ containerPort: 8080 }] }],
      ...spec,
    },
  };
}

function shop(): Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop", labels: { "lameduck.dev/inject": "enabled" } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "shop" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "shop" } },
  ];
}
