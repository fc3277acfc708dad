import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { hasStatus, isReady, type Pod } from "@lameduck/kube";
import { drainPolicyCrd } from "@lameduck/inject";
import { heldMark, holdLabel } from "@lameduck/protocol";
import type { RemedyResult } from "@lameduck/accounting";
import { type Cluster, until, whyNot } from "../cluster/index.ts";
import { attempt, type Outcome } from "../cluster/host/run.ts";
import { signalProcess } from "../cluster/host/processes.ts";
import { deployment, service } from "../cluster/workload.ts";
import { software } from "../injected/software.ts";
import { runScenario } from "../matrix/run.ts";
import { type Scenario } from "../matrix/scenarios.ts";
import { leastKubeconfig, operatorsObjects, startBeside, type Running } from "./operator-beside.ts";
import { apply, drain, quietCluster, rolledOut } from "./support.ts";
import {
  type Budget,
  type Configuration,
  type Slice,
  budget,
  budgetPath,
  configurationPath,
  convergence,
  longestCall,
  losing,
  policy,
  seconds,
  timed,
} from "./deletions-stage.ts";

const reason = await whyNot();
const nginx = software["nginx"]!;

/** The operator's process, with its least rights, beside the API server; pods that nobody has injected. */
describe("deletions that are held", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let kubeconfig: string;
  let operator: Running;

  before(async () => {
    cluster = await quietCluster({ nodes: 3, proxyLag: ["1s", "2s", "3s"] });
    await apply(cluster, drainPolicyCrd, ...operatorsObjects({ holdsDeletions: true }));
    await until(() => apply(cluster, policy).then(() => true), { what: "DrainPolicies known" });
    kubeconfig = await leastKubeconfig(cluster);
    operator = await start();
    await until(isTold, { what: "the API server told whom to trust, and which path to call" });
  });
  after(async () => {
    if (process.env["E2E_VERBOSE"] === "1") process.stderr.write(operator.log());
    operator?.child.kill("SIGKILL");
    await cluster?.[Symbol.asyncDispose]();
  });

  const start = (): Promise<Running> => startBeside(cluster, kubeconfig, ["--held-deletions"]);
  const isTold = async (): Promise<boolean> => {
    const { webhooks } = await cluster.api.get<Configuration>(configurationPath);
    return webhooks.every(
      ({ clientConfig: { url, caBundle } }) => caBundle !== undefined && /\/hold\/[0-9a-f]{64}$/.test(url),
    );
  };
  const hold = (isOn: boolean): Promise<string> =>
    cluster.kubectl([
      "label",
      "namespace",
      "default",
      isOn ? `${holdLabel}=enabled` : `${holdLabel}-`,
      "--overwrite",
    ]);
  const pods = (selector = ""): Promise<readonly Pod[]> =>
    cluster.api.list<Pod>(`/api/v1/namespaces/default/pods?labelSelector=${encodeURIComponent(selector)}`);
  const stays = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined && isReady(pod);
  const ready = (): Promise<Pod> =>
    until(async () => (await pods("app=held")).find(stays), { what: "a pod ready" });
  const marked = async (name: string): Promise<Pod> =>
    until(async () => (await pods(heldMark)).find(({ metadata }) => metadata.name === name), {
      what: `${name} held`,
      everyMs: 50,
      logs: operator.log(),
    });
  const restored = (name: string): Promise<unknown> =>
    until(async () => !(await pods(heldMark)).some(({ metadata }) => metadata.name === name), {
      what: `${name} as it was, or gone`,
      timeoutMs: 100_000,
    });
  const remove = (name: string, ...more: readonly string[]): Promise<Outcome & { readonly took: number }> =>
    timed(() =>
      attempt(cluster.program("kubectl"), [
        "--kubeconfig",
        cluster.kubeconfig,
        "delete",
        "pod",
        name,
        "--wait=false",
        ...more,
      ]),
    );
  /** Held, but for what a test has left; the deployment that the next one needs. */
  const deployed = async (replicas: number): Promise<void> => {
    await hold(true);
    await apply(
      cluster,
      service("held"),
      deployment({ name: "held", replicas, ...nginx.pod, environment: {} }),
    );
    await rolledOut(cluster, "held");
  };

  /** Losses of one scenario under constant load, old pods to their very end. */
  async function lost(scenario: Scenario): Promise<RemedyResult> {
    const { result } = await runScenario(cluster, {
      remedy: nginx,
      scenario,
      route: "cluster-ip",
      times: 1,
      replicas: 4,
      requestsPerSecond: 60,
      pooledShare: 0,
      rolling: { surge: "50%", unavailable: "0" },
      say: () => undefined,
    });
    process.stderr.write(
      `# ${scenario.name}: ${result.lost} of ${result.sent} requests lost, ${result.terminations} terminations\n`,
    );
    return result;
  }

  for (const scenario of losing)
    it(`the scenario ${scenario.name} loses requests, and none when the deletions are held`, async () => {
      await hold(false);
      assert.ok((await lost(scenario)).lost > 0, "a test that can fail");
      await hold(true);
      assert.equal((await lost({ ...scenario, name: `${scenario.name}, held` })).lost, 0, operator.log());
    });

  it("the hold of a deletion has no gentler way, as the cluster puts back other ways to withdraw a pod", async () => {
    await deployed(2);
    const { metadata } = await ready();
    const path = `/api/v1/namespaces/default/pods/${metadata.name}`;
    const condition = { type: "Ready", status: "False", reason: "Held" };
    await cluster.api.patch(`${path}/status`, { status: { conditions: [condition] } });
    const byKubelet = await timed(() =>
      until(async () => stays(await cluster.api.get<Pod>(path)) && {}, { what: "Ready again" }),
    );
    const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    const slice = async (): Promise<Slice | undefined> =>
      (await cluster.api.list<Slice>(`${slices}?labelSelector=kubernetes.io%2Fservice-name%3Dheld`))[0];
    const before = await slice();
    assert.ok(before);
    const none = [{ op: "replace", path: "/endpoints/0/conditions/ready", value: false }];
    await cluster.api.patch(`${slices}/${before.metadata.name}`, none, "json-patch");
    const byController = await timed(() =>
      until(async () => (await slice())?.endpoints.every(({ conditions }) => conditions.ready) && {}, {
        what: "the endpoint ready again",
        everyMs: 20,
      }),
    );
    process.stderr.write(
      `# Ready=False was put back after ${seconds(byKubelet.took)}, a changed EndpointSlice after ${seconds(byController.took)}\n`,
    );
  });

  it("the hold of a deletion withdraws the pod, keeps its other labels, and answers within the time", async () => {
    await deployed(2);
    const { metadata } = await ready();
    const deleting = remove(metadata.name);
    const held = await marked(metadata.name);
    assert.equal(held.metadata.labels?.["app"], undefined);
    assert.equal(held.metadata.labels?.["pod-template-hash"], metadata.labels?.["pod-template-hash"]);
    const { status, took, stderr } = await deleting;
    assert.equal(status, 0, stderr);
    assert.ok(took > convergence * 1_000 && took < longestCall, `${took} ms`);
    const calls = (): string[] =>
      operator
        .log()
        .split("\n")
        .filter((line) => line.includes(metadata.name) && line.includes('"deletion"'));
    await until(() => Promise.resolve(calls().length >= 2), {
      what: "the API server asks again after the change",
    });
    assert.ok(
      calls().some((line) => /"held":0(\.\d)?,/.test(line)),
      "and is let through at once",
    );
  });

  it("the hold of a deletion lets urgent deletions through at once", async () => {
    await deployed(2);
    for (const args of [["--force", "--grace-period=0"], ["--now"], ["--dry-run=server"]]) {
      const { took, status, stderr } = await remove((await ready()).metadata.name, ...args);
      assert.equal(status, 0, stderr);
      assert.ok(took < 4_000, `${args.join(" ")}: ${took} ms`);
      await rolledOut(cluster, "held");
    }
    const all = "/api/v1/namespaces/default/pods?labelSelector=app%3Dheld";
    const { took } = await timed(() => cluster.api.delete<object>(all));
    assert.ok(took < convergence * 1_000, `a whole collection: ${took} ms`);
    await rolledOut(cluster, "held");
    const opted = await ready();
    await cluster.kubectl(["annotate", "pod", opted.metadata.name, `${holdLabel}=false`]);
    assert.ok((await remove(opted.metadata.name)).took < 4_000);
  });

  it("the hold of a deletion puts the labels of a pod back when its caller leaves", async () => {
    await deployed(2);
    const { metadata } = await ready();
    const child = spawn(cluster.program("kubectl"), [
      "--kubeconfig",
      cluster.kubeconfig,
      "delete",
      "pod",
      metadata.name,
    ]);
    await marked(metadata.name);
    child.kill("SIGKILL");
    await restored(metadata.name);
    const after_ = (await pods()).find(({ metadata: { name } }) => name === metadata.name);
    if (after_ && after_.metadata.deletionTimestamp === undefined)
      assert.deepEqual(after_.metadata.labels, metadata.labels);
  });

  it("the hold of a deletion evicts a node's pods within their budget, others first", async () => {
    await deployed(3);
    await apply(cluster, budget);
    // What earlier tests have deleted is none of this one's.
    const whole = await until(
      async () => {
        const all = await pods();
        return all.length === 3 && all.every(stays) && all;
      },
      { what: "three pods, and no other" },
    );
    const node = whole[0]?.spec.nodeName ?? "";
    const replaced = new Set(
      whole.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.uid),
    );
    assert.ok(replaced.size > 0);
    const { took, status, stderr } = await timed(() => drain(cluster, node, "150s"));
    await cluster.kubectl(["uncordon", node]);
    assert.equal(status, 0, stderr);
    process.stderr.write(`# drain of a node with ${replaced.size} pods: ${seconds(took)}\n`);
    assert.match(operator.log(), /"action":"evict","outcome":"later"/);
    assert.match(operator.log(), /"action":"evict","outcome":"waited"/);
    await cluster.kubectl(["delete", "pdb", "held"]);
  });

  it("the hold of a deletion answers an eviction that its budget forbids by 429, at once and every time", async () => {
    await deployed(1);
    await apply(cluster, budget);
    await until(async () => (await cluster.api.get<Budget>(budgetPath)).status?.expectedPods === 1, {
      what: "counted",
    });
    const { metadata } = await ready();
    await cluster.kubectl(["patch", "pdb", "held", "--type=merge", "-p", '{"spec":{"maxUnavailable":0}}']);
    for (let time = 0; time < 4; time++) {
      const { took, status } = await timed(() => evict(metadata.name));
      assert.equal(status, 429);
      assert.ok(took < 5_000, `${took} ms`);
      await sleep(1_000);
    }
    await cluster.kubectl(["delete", "pdb", "held"]);
  });

  it("the hold of a deletion blocks nobody when it is killed in the middle, and the next one puts back what was left", async () => {
    await deployed(2);
    const { metadata } = await ready();
    const deleting = remove(metadata.name);
    await marked(metadata.name);
    await signalProcess(operator.process, "SIGKILL");
    try {
      const { took, status } = await deleting;
      assert.equal(status, 0);
      assert.ok(took < longestCall, `${took} ms`);
      const without = await remove((await ready()).metadata.name);
      assert.ok(without.took < 4_000, "nobody holds it");
    } finally {
      operator = await start();
    }
    // As if the process had died between the change and the deletion.
    const left = await ready();
    const mark = {
      step: "withdrawn",
      by: "delete",
      labels: { app: "held" },
      began: 0,
      stepBegan: 0,
      until: 0,
    };
    const patch = {
      metadata: {
        labels: { app: null, [heldMark]: "withdrawn" },
        annotations: { [heldMark]: JSON.stringify(mark) },
      },
    };
    await cluster.api.patch(`/api/v1/namespaces/default/pods/${left.metadata.name}`, patch, "merge-patch");
    await restored(left.metadata.name);
    await rolledOut(cluster, "held");
  });

  it("a wrong caBundle costs the hold until it is put right, and nothing else", async () => {
    await deployed(2);
    const path = configurationPath;
    const other = Buffer.from(await readFile(join(cluster.directory, "pki", "ca.crt"))).toString("base64");
    const bundle = async (): Promise<string | undefined> =>
      (await cluster.api.get<Configuration>(path)).webhooks[0]?.clientConfig.caBundle;
    const right = await until(async () => bundle(), { what: "trusted" });
    await cluster.api.patch(
      path,
      [{ op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: other }],
      "json-patch",
    );
    const { status, took } = await remove((await ready()).metadata.name);
    assert.equal(status, 0);
    assert.ok(took < longestCall);
    await until(async () => (await bundle()) === right, { what: "put right" });
  });

  it("an API server that restarts in the middle leaves no pod withdrawn", async () => {
    await deployed(2);
    const { metadata } = await ready();
    const deleting = remove(metadata.name);
    await marked(metadata.name);
    await cluster.restart("apiserver");
    await cluster.apiReady();
    assert.ok((await deleting).took < longestCall * 2);
    await restored(metadata.name);
  });

  async function evict(name: string): Promise<{ readonly status: number }> {
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: "default" } };
    try {
      await cluster.api.post(`/api/v1/namespaces/default/pods/${name}/eviction`, body);
      return { status: 201 };
    } catch (error) {
      if (hasStatus(error, 429, 500)) return { status: error.status };
      throw error;
    }
  }
});
