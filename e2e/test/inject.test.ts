import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { hasStatus } from "@lameduck/kube";
import {
  admissionPolicy,
  initVolumeKeys,
  drainPolicyCrd,
  inject,
  podToInject,
  applyPatch,
  settingsFor,
  validatePolicy,
} from "@lameduck/inject";
import { apiVersion, injectLabel } from "@lameduck/protocol";
import { builtInit, type Cluster, nodeImage, until, whyNot } from "../cluster/index.ts";
import { generatedPods } from "../inject/pods.ts";
import { wrongSpecs } from "../inject/wrong-policies.ts";
import { apply, quietCluster } from "./support.ts";

const reason = await whyNot();

const facts = {
  lameduckVersion: "0.1.0",
  convergenceSeconds: undefined,
  architectures: undefined,
  coordinator: {
    address: "http://lameduck-coordinator.lameduck-system.svc:8070",
    mode: "consistency",
  } as const,
};
const clusterPolicy = {
  apiVersion,
  kind: "DrainPolicy",
  metadata: { name: "default" },
  spec: { instrumentNode: true, initImage: "registry.example/lameduck:0.1.0" },
};

interface Made {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: unknown;
}

/** Nothing of Lameduck runs in this cluster: all that it has is the policy. */
describe("the injection on a real API server", { skip: reason ?? false }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await quietCluster({ nodes: 1 });
    const [policy, binding] = admissionPolicy(settingsFor({ clusterPolicy }).settings, facts);
    await cluster.kubectl(["create", "-f", "-"], JSON.stringify(policy));
    await cluster.kubectl(["create", "-f", "-"], JSON.stringify(binding));
    await apply(
      cluster,
      drainPolicyCrd,
      namespace("plain", {}),
      namespace("held", { [injectLabel]: "enabled" }),
    );
    const ready = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "is-it-there", annotations: { "lameduck.dev/serves": "true" } },
    };
    const spec = { containers: [{ name: "app", image: "registry.example/app" }] };
    await until(
      async () => "lameduck.dev/injected" in ((await make("held", { ...ready, spec })).annotations ?? {}),
      {
        what: "the policy to be in force",
        timeoutMs: 60_000,
      },
    );
  });
  after(() => cluster[Symbol.asyncDispose]());

  /** As the API server would keep it: defaulted and validated. */
  const make = async (
    where: string,
    pod: unknown,
  ): Promise<{ readonly spec: unknown; readonly annotations: Made["metadata"]["annotations"] }> => {
    const { metadata, spec } = await cluster.api.post<Made>(
      `/api/v1/namespaces/${where}/pods?dryRun=All`,
      pod,
    );
    return { spec, annotations: metadata.annotations };
  };

  it("the injection makes the same of 200 generated pods by its patch and by its policy", async () => {
    let injected = 0;
    for (const pod of generatedPods(200)) {
      const { annotations: podAnnotations } = pod["metadata"] as Made["metadata"];
      const { settings } = settingsFor({ clusterPolicy, podAnnotations });
      const { patch, reasons } = inject(podToInject(pod), settings, {
        ...facts,
        exposedBy: undefined,
        version: { major: 1, minor: 36 },
      });
      if (patch.length > 0) injected++;
      assert.deepEqual(
        await make("held", pod),
        await make("plain", applyPatch(pod, patch)),
        `${JSON.stringify(pod)}: ${JSON.stringify(reasons)}`,
      );
    }
    assert.ok(injected > 80 && injected < 180, `${injected} of 200 were injected`);
  });

  it("the injection refuses each field of a DrainPolicy that is wrong, by its name, as validatePolicy does", async () => {
    const path = `/apis/${apiVersion}/namespaces/plain/drainpolicies?dryRun=All`;
    await until(
      async () =>
        cluster.api.post(path, clusterPolicy).then(
          () => true,
          () => false,
        ),
      {
        what: "the API server to know DrainPolicies",
        timeoutMs: 60_000,
      },
    );
    for (const [field, spec] of wrongSpecs) {
      const policy = { ...clusterPolicy, spec };
      assert.ok(
        validatePolicy(policy).some((problem) => problem.field === `spec.${field}` && problem.remedy !== ""),
        `validatePolicy: ${JSON.stringify(spec)}`,
      );
      await assert.rejects(
        cluster.api.post(path, policy),
        (error) => hasStatus(error, 400, 422) && String(error).includes(field),
        `API server: ${JSON.stringify(spec)}`,
      );
    }
    await assert.rejects(
      cluster.api.post(path, { ...clusterPolicy, metadata: { name: "other" } }),
      /metadata\.name/,
    );
  });

  it("the injection starts a pod whose init volume is missing, and ends it as without Lameduck", async () => {
    await apply(cluster, serving("without", "held"));
    await cluster.kubectl(["wait", "-n", "held", "--for=condition=Ready", "pod/without", "--timeout=90s"]);
    await cluster.kubectl(["delete", "-n", "held", "pod/without", "--timeout=90s"]);
    const events = await cluster.kubectl([
      "get",
      "events",
      "-n",
      "held",
      "--field-selector",
      "involvedObject.name=without",
    ]);
    assert.match(events, /FailedPreStopHook/);
  });

  it("the injection holds a pod whose image knows nothing of Lameduck, from a ConfigMap", async () => {
    const binary = readFileSync(builtInit).toString("base64");
    const key = initVolumeKeys[process.arch === "arm64" ? "arm64" : "amd64"];
    await cluster.api.post("/api/v1/namespaces/held/configmaps", {
      metadata: { name: "lameduck-init" },
      binaryData: { [key]: binary },
    });
    await apply(cluster, serving("with", "held"));
    await cluster.kubectl(["wait", "-n", "held", "--for=condition=Ready", "pod/with", "--timeout=90s"]);
    const logs = cluster.kubectl(["logs", "-n", "held", "-f", "with"]);
    await cluster.kubectl(["delete", "-n", "held", "pod/with", "--timeout=90s"]);
    assert.match(await logs, /holding until traffic has moved away, for 25s at most/);
    assert.match(await logs, /held for/);
  });

  it("the injection holds a pod that is a few seconds old no longer than to its next probe", async () => {
    const probes = { readinessProbe: { httpGet: { path: "/readyz", port: 8080 }, periodSeconds: 10 } };
    const alone = { env: [{ name: "LAMEDUCK_COORDINATOR", value: "" }] };
    await apply(cluster, serving("young", "held", { ...probes, ...alone }));
    await cluster.kubectl(["wait", "-n", "held", "--for=condition=Ready", "pod/young", "--timeout=90s"]);
    const logs = cluster.kubectl(["logs", "-n", "held", "-f", "young"]);
    await cluster.kubectl(["delete", "-n", "held", "pod/young", "--timeout=90s"]);
    assert.match(await logs, /held for/);
    assert.doesNotMatch(await logs, /cap/, await logs);
  });
});

function namespace(name: string, labels: Readonly<Record<string, string>>): never {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } } as never;
}

/** A program that no line of ours is in, as nobody asks for the library here. */
function serving(name: string, where: string, fields: object = {}): never {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: where, annotations: { "lameduck.dev/instrument-node": "false" } },
    spec: {
      containers: [
        {
          name: "server",
          image: nodeImage,
          args: ["/app/server.mjs"],
          ports: [{ containerPort: 8080 }],
          readinessProbe: { httpGet: { path: "/readyz", port: 8080 }, periodSeconds: 1 },
          ...fields,
        },
      ],
    },
  } as never;
}
