import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { nodeImage } from "../cluster/images/catalogue.ts";
import { type Cluster, type Manifest, until, whyNot } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { resultsOf, RolloutProgram, type Running } from "./rollout-program.ts";
import { apply, quietCluster, rolledOut } from "./support.ts";

const reason = await whyNot();
const keepsServing = { SHUTDOWN: "lameduck" };
const load = ["--rps", "50", "--warm-up", "1s", "--settle", "1s", "--yes"];

/** Workloads that are neither alone nor plain: what they are made of must not be touched, waited for or counted wrongly. */
describe("lameduck rollout and the workloads of others", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let folder: string;
  let lameduck: RolloutProgram;

  before(async () => {
    cluster = await quietCluster({ nodes: 2 });
    folder = await mkdtemp(join(tmpdir(), "lameduck-workloads-"));
    lameduck = await RolloutProgram.on(cluster, folder);
    const db = statefulSet("db", 3, 2);
    await apply(
      cluster,
      overlapping("ours", 2),
      overlapping("theirs", 2),
      service("shared"),
      db,
      service("db"),
      deployment({ name: "paused", replicas: 2, environment: keepsServing }),
      service("paused"),
      deployment({ name: "scaled", replicas: 2, environment: keepsServing }),
      service("scaled"),
    );
    for (const name of ["ours", "theirs", "paused", "scaled"]) await rolledOut(cluster, name);
    await cluster.kubectl(["rollout", "status", "statefulset/db", "--timeout=90s"]);
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const uids = async (selector: string, namespace = "default"): Promise<string[]> => {
    const path = "jsonpath={.items[*].metadata.uid}";
    const text = await cluster.kubectl(["get", "pods", "-n", namespace, "-l", selector, "-o", path]);
    return text.split(" ").sort();
  };
  const field = (object: string, path: string): Promise<string> =>
    cluster.kubectl(["get", object, "-o", `jsonpath={${path}}`]);

  for (const [how, args] of [
    ["restarted", ["--restart"]],
    ["deleted", ["--delete", "--pods", "all"]],
  ] as const)
    it(`a Deployment is ${how} without another one whose labels overlap`, async () => {
      const others = await uids("part=theirs");
      const before = await uids("part=ours");
      const file = join(folder, `${how}.json`);
      const url = ["--url", await lameduck.address("shared")];
      const { code, err } = await lameduck.run(["deployment/ours", ...args, ...url, ...load, "--json", file]);
      assert.equal(code, 0, err);
      assert.match(err, /note: .*(overlap|select)/i);
      assert.deepEqual(await uids("part=theirs"), others);
      assert.ok((await uids("part=ours")).every((uid) => !before.includes(uid)));
      assert.equal((await resultsOf(file)).results.remedies[0]?.terminations, 2);
    });

  it("a StatefulSet with a partition is rolled as far as the partition lets it", async () => {
    const file = join(folder, "partition.json");
    const url = ["--url", await lameduck.address("db")];
    const { code, err, out } = await lameduck.run([
      "statefulset/db",
      "--restart",
      ...url,
      ...load,
      "--json",
      file,
    ]);
    assert.match(err, /note: partition 2: of its 3 pods a restart replaces 1, /);
    const { results, observed } = await resultsOf(file);
    assert.equal(observed.outcome.kind, "finished", err);
    assert.equal(results.remedies[0]?.lost, 0, out);
    assert.equal(code, 0, err + out);
    assert.deepEqual(
      results.remedies[0]?.each.map(({ pod }) => pod),
      ["db-2"],
    );
    const all = { spec: { updateStrategy: { rollingUpdate: { partition: 3 } } } };
    await cluster.kubectl(["patch", "statefulset/db", "-p", JSON.stringify(all)]);
    const refused = await lameduck.run(["statefulset/db", "--restart", "--yes"]);
    assert.match(
      refused.err,
      /its partition is 3, and it has 3 pods: a restart replaces none, .*\[LAMEDUCK_CANNOT_ROLL\]/,
    );
  });

  it("a paused Deployment is not restarted, and its pods can be deleted with a change that waits", async () => {
    await cluster.kubectl(["rollout", "pause", "deployment/paused"]);
    await cluster.kubectl(["set", "env", "deployment/paused", "LATER=1"]);
    const refused = await lameduck.run(["deployment/paused", "--restart", "--yes"]);
    assert.match(refused.err, /it is paused.*\[LAMEDUCK_CANNOT_ROLL\]/);
    assert.equal(refused.code, 2);
    const url = ["--url", await lameduck.address("paused")];
    const { code, err } = await lameduck.run(["deployment/paused", "--delete", ...url, ...load]);
    assert.equal(code, 0, err);
    assert.equal(await field("deployment/paused", ".status.availableReplicas"), "2");
  });

  it("an autoscaler that scales meanwhile has the last word", async () => {
    // The test cluster has no metrics: the object is there, and the test makes the calls to the scale subresource that it would make.
    await apply(cluster, autoscaler("scaled"));
    const url = ["--url", await lameduck.address("scaled")];
    const finished = async (running: Running, file: string): Promise<string> => {
      const { code, err, out } = await running.ended;
      const { results, observed } = await resultsOf(file);
      const [result] = results.remedies;
      assert.equal(observed.outcome.kind, "finished", err);
      assert.equal(result?.lost, 0, out);
      // The old ReplicaSet may have been asked for a pod that had to go before anybody called it.
      assert.equal(code, (result?.untested ?? 0) > 0 ? 5 : 0, err + out);
      return err;
    };
    const [growing, shrinking] = [join(folder, "growing.json"), join(folder, "shrinking.json")];
    const grown = lameduck.start(["deployment/scaled", "--restart", ...url, ...load, "--json", growing]);
    await grown.said(/^rolling/m);
    await scaleTo(cluster, "scaled", 4);
    await finished(grown, growing);
    assert.equal(await field("deployment/scaled", ".status.availableReplicas"), "4");

    const shrunk = lameduck.start([
      "deployment/scaled",
      "--scale",
      "2",
      ...url,
      ...load,
      "--json",
      shrinking,
    ]);
    await shrunk.said(/^rolling/m);
    await until(async () => (await field("deployment/scaled", ".spec.replicas")) === "2", {
      what: "two replicas wanted",
    });
    await scaleTo(cluster, "scaled", 3);
    assert.match(await finished(shrunk, shrinking), /note: HorizontalPodAutoscaler scaled scales it, too/);
    assert.equal(await field("deployment/scaled", ".status.availableReplicas"), "3");
  });

  it("a restart whose pods a quota refuses ends when the controller gives it up, with the quota's words", async () => {
    await apply(cluster, namespace("tight"), quota("tight", 2), strict("web", "tight"));
    await cluster.kubectl(["rollout", "status", "deployment/web", "-n", "tight", "--timeout=90s"]);
    const { code, err } = await lameduck.run(["deployment/web", "-n", "tight", "--restart", "--yes"]);
    assert.equal(code, 4, err);
    assert.match(err, /did not finish: progress deadline exceeded/);
    assert.match(err, /FailedCreate: .*exceeded quota: small/);
  });

  it("a load that a quota refuses is told at once, before anything is touched", async () => {
    const before = await uids("app=web", "tight");
    const began = Date.now();
    const url = ["--url", "http://web.tight.svc.cluster.local/", "--in-cluster", "1", "--image", nodeImage];
    const { code, err } = await lameduck.run(["deployment/web", "-n", "tight", "--delete", ...url, ...load]);
    assert.equal(code, 4, err);
    assert.match(err, /exceeded quota: small.*\[LAMEDUCK_IN_CLUSTER_NOT_STARTED\]/);
    // The pods that a Job may not make were waited for, three minutes.
    assert.ok(Date.now() - began < 90_000, `${Date.now() - began} ms`);
    assert.deepEqual(await uids("app=web", "tight"), before);
    assert.equal((await left(cluster, "tight")).trim(), "");
  });

  it("a restricted namespace and a mesh that puts its container first do not disturb the load in the cluster", async () => {
    await apply(
      cluster,
      namespace("meshed", "restricted"),
      strict("web", "meshed"),
      inNamespace(service("web"), "meshed"),
    );
    await apply(cluster, ...sidecarFirst("meshed"));
    await cluster.kubectl(["rollout", "status", "deployment/web", "-n", "meshed", "--timeout=90s"]);
    // Policies are taken up within moments, not at once.
    await until(async () => (await dryRun(cluster, "meshed")).startsWith("mesh "), {
      what: "the policy in force",
    });
    const file = join(folder, "meshed.json");
    const url = ["--url", "service=http://web.meshed.svc.cluster.local/", "-H", "X-Secret: hush"];
    const inside = ["--in-cluster", "2", "--image", nodeImage];
    const running = lameduck.start([
      "deployment/web",
      "-n",
      "meshed",
      "--restart",
      ...url,
      ...inside,
      ...load,
      "--json",
      file,
    ]);
    await running.said(/^rolling/m);
    const containers = ["get", "pods", "-n", "meshed", "-l", "lameduck.dev/load", "-o"];
    const names = await cluster.kubectl([...containers, "jsonpath={.items[*].spec.containers[*].name}"]);
    const kinds = await left(cluster, "meshed");
    const { code, err } = await running.ended;
    assert.equal(names, "mesh load mesh load");
    assert.match(kinds, /secret\/lameduck-load-/);
    assert.doesNotMatch(kinds, /configmap\//);
    assert.equal(code, 0, err);
    const [result] = (await resultsOf(file)).results.remedies;
    assert.equal(result?.terminations, 2);
    assert.ok((result?.sent ?? 0) > 100, `${result?.sent} sent`);
    await until(async () => (await left(cluster, "meshed")).trim() === "", { what: "everything removed" });
  });
});

function labelled(object: Manifest): { spec: { selector: object; template: Template } } {
  return object as unknown as { spec: { selector: object; template: Template } };
}

interface Template {
  metadata: { labels: Record<string, string> };
  spec: { securityContext?: object; containers: { securityContext?: object }[] };
}

/** A Deployment whose selector takes in the pods of every other one made so. */
function overlapping(name: string, replicas: number): Manifest {
  const object = deployment({ name, replicas, environment: keepsServing });
  const { spec } = labelled(object);
  spec.selector = { matchLabels: { app: "shared" } };
  spec.template.metadata.labels = { app: "shared", part: name };
  return object;
}

function statefulSet(name: string, replicas: number, partition: number): Manifest {
  const object = deployment({ name, replicas, environment: keepsServing });
  const { spec } = object as unknown as { spec: object };
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition } };
  return {
    ...object,
    kind: "StatefulSet",
    spec: { ...spec, serviceName: name, updateStrategy },
  };
}

function inNamespace(object: Manifest, name: string): Manifest {
  return { ...object, metadata: { ...object.metadata, namespace: name } };
}

/** Two pods that Pod Security "restricted" admits, and a deadline that a test can wait for. */
function strict(name: string, where: string): Manifest {
  const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  const object = deployment({ name, replicas: 2, environment: keepsServing, strategy });
  const { template } = labelled(object).spec;
  template.spec.securityContext = {
    runAsNonRoot: true,
    runAsUser: 65532,
    seccompProfile: { type: "RuntimeDefault" },
  };
  for (const container of template.spec.containers) container.securityContext = confined;
  Object.assign(labelled(object).spec, { progressDeadlineSeconds: 5 });
  return inNamespace(object, where);
}

const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

function namespace(name: string, level?: string): Manifest {
  const labels = level === undefined ? {} : { "pod-security.kubernetes.io/enforce": level };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

function quota(where: string, pods: number): Manifest {
  const metadata = { name: "small", namespace: where };
  return {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata,
    spec: { hard: { pods: String(pods) } },
  };
}

function autoscaler(name: string): Manifest {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name };
  const spec = { scaleTargetRef, minReplicas: 2, maxReplicas: 4 };
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec,
  };
}

/** As the autoscaler's controller does it. */
async function scaleTo(cluster: Cluster, name: string, replicas: number): Promise<void> {
  const patch = JSON.stringify({ spec: { replicas } });
  await cluster.kubectl(["patch", `deployment/${name}`, "--subresource=scale", "--type=merge", "-p", patch]);
}

/** What a mesh's webhook does to the pods of the load, done by a policy: a container of its own before the others. */
function sidecarFirst(where: string): Manifest[] {
  const name = "mesh";
  const container = `Object.spec.containers{
    name: "mesh", image: "${nodeImage}", args: ["-e", "setInterval(() => {}, 1000)"],
    securityContext: Object.spec.containers.securityContext{
      allowPrivilegeEscalation: false,
      capabilities: Object.spec.containers.securityContext.capabilities{ drop: ["ALL"] }
    }
  }`;
  const patch = `[JSONPatch{ op: "add", path: "/spec/containers/0", value: ${container} }]`;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  const apiVersion = "admissionregistration.k8s.io/v1";
  const selector = { matchLabels: { "kubernetes.io/metadata.name": where } };
  return [
    {
      apiVersion,
      kind: "MutatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: {
          namespaceSelector: selector,
          objectSelector: { matchExpressions: [{ key: "lameduck.dev/load", operator: "Exists" }] },
          resourceRules: [rule],
        },
        failurePolicy: "Fail",
        reinvocationPolicy: "Never",
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: patch } }],
      },
    },
    {
      apiVersion,
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name },
    },
  ];
}

/** Names of the containers that a pod like the load's would have. */
async function dryRun(cluster: Cluster, where: string): Promise<string> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "probe", namespace: where, labels: { "lameduck.dev/load": "probe" } },
    spec: {
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
      containers: [{ name: "load", image: nodeImage, securityContext: confined }],
    },
  };
  const path = "jsonpath={.spec.containers[*].name}";
  return `${await cluster.kubectl(["create", "--dry-run=server", "-f", "-", "-o", path], JSON.stringify(pod))} `;
}

/** Whatever of the load is there. */
function left(cluster: Cluster, where: string): Promise<string> {
  return cluster.kubectl([
    "get",
    "jobs,configmaps,secrets",
    "-n",
    where,
    "-l",
    "lameduck.dev/load",
    "-o",
    "name",
  ]);
}
