import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { consumerAccount, oldestKubernetes, operatorNames } from "@lameduck/protocol";
import { parse, parseAllDocuments } from "yaml";
import { parseWatcherFlags } from "../../watcher/src/flags.ts";
import { chartDigest, chartDirectory } from "../chart/digest.ts";
import { generated } from "../chart/generated.ts";
import { defaultRetention } from "../../coordinator/src/records/writing/retention.ts";
import { parseCoordinatorFlags } from "../../coordinator/src/flags.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const read = (path: string): string => readFileSync(path, "utf8");
const rendered = (page: string): string => read(join(root, "docs", page));

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

const pages = [
  "install.yaml",
  "install-policy-only.yaml",
  "install-acknowledgements.yaml",
  "install-held-deletions.yaml",
  "install-acknowledgements-held-deletions.yaml",
  "install-surge.yaml",
  "monitoring/prometheus-operator.yaml",
] as const;

interface Apart {
  readonly selector: object;
  readonly template: {
    readonly spec: {
      readonly affinity: {
        readonly podAntiAffinity: {
          readonly preferredDuringSchedulingIgnoredDuringExecution: readonly {
            readonly podAffinityTerm: { readonly labelSelector: object; readonly matchLabelKeys?: unknown };
          }[];
        };
      };
    };
  };
}

const objectsOf = (page: string): Rendered[] =>
  parseAllDocuments(rendered(page)).flatMap((one) => (one.toJS() as Rendered | null) ?? []);

describe("the chart", () => {
  it("the chart says what the code says: npm run build && npm run render writes it", () => {
    for (const [path, text] of generated()) assert.equal(read(path), text, path);
  });

  it("the chart has the version of the repository", () => {
    const { version } = JSON.parse(read(join(root, "package.json"))) as { version: string };
    const chart = parse(read(join(chartDirectory, "Chart.yaml"))) as { version: string; appVersion: string };
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  });

  it("the chart names the same versions of Kubernetes as the code and the docs", () => {
    const { webhook, sleep, imageVolume, policy } = oldestKubernetes;
    const { kubeVersion } = parse(read(join(chartDirectory, "Chart.yaml"))) as { kubeVersion: string };
    assert.equal(kubeVersion, `>=1.${webhook}.0-0`);
    assert.match(read(join(chartDirectory, "templates", "guard.yaml")), new RegExp(`"<1\\.${policy}\\.0-0"`));
    const page = read(join(root, "docs", "operate", "compatibility.md"));
    for (const [what, minor] of [
      ["webhook, acknowledgements, held deletions, surge", webhook],
      ["the kubelet's own `sleep` hook", sleep],
      ["init volume `image-volume`", imageVolume],
      ["policy alone", policy],
    ] as const)
      assert.match(page, new RegExp(`^\\| ${what} *\\| 1\\.${minor} +\\|`, "m"), what);
  });

  it("the chart has a schema for every value that it has, and no more", () => {
    const values = parse(read(join(chartDirectory, "values.yaml"))) as object;
    const { properties } = JSON.parse(read(join(chartDirectory, "values.schema.json"))) as {
      properties: object;
    };
    const { global: _, ...own } = properties as Record<string, unknown>;
    assert.deepEqual(Object.keys(own).sort(), Object.keys(values).sort());
  });

  it("the chart takes the accounts that the coordinator takes", () => {
    assert.ok(
      read(join(chartDirectory, "values.schema.json")).includes(JSON.stringify(consumerAccount.source)),
    );
    const flags = parseCoordinatorFlags(
      ["--namespace=a", "--consumer-account=ingress/edge=haproxy,http"],
      {},
    );
    assert.deepEqual([...(flags?.consumerKinds ?? [])], [["ingress/edge", ["haproxy", "http"]]]);
    for (const wrong of ["edge", "ingress/edge=", "ingress/edge=a,,b", "ingress/edge=A"])
      assert.throws(() => parseCoordinatorFlags([`--consumer-account=${wrong}`], {}), /NAMESPACE\/NAME=KIND/);
  });

  for (const page of pages) {
    it(`docs/${page} was rendered from the chart as it is: npm run render`, () => {
      assert.match(rendered(page), new RegExp(`chart ${chartDigest()}\\.\\n`));
    });

    it(`docs/${page} is read by kubectl and Helm, which take yes and no for booleans, as by other programs`, () => {
      const asKubectl = parseAllDocuments(rendered(page), { version: "1.1" });
      assert.deepEqual(
        asKubectl.map((one): unknown => one.toJS()),
        parseAllDocuments(rendered(page)).map((one): unknown => one.toJS()),
      );
    });
  }

  it("the chart keeps replicas of one revision apart, and lets a new replica on the node of an old one", () => {
    const deployments = objectsOf("install-acknowledgements.yaml").filter(
      ({ kind }) => kind === "Deployment",
    );
    assert.equal(deployments.length, 2);
    for (const { metadata, spec } of deployments as unknown as { metadata: object; spec: Apart }[]) {
      const { template, selector } = spec;
      const [one] = template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
      assert.deepEqual(one?.podAffinityTerm.labelSelector, selector, JSON.stringify(metadata));
      assert.deepEqual(one?.podAffinityTerm.matchLabelKeys, ["pod-template-hash"]);
    }
  });

  it("the chart renders an operator that blocks nothing, runs without a privilege, and has the names that the code expects", () => {
    const objects = objectsOf("install.yaml");
    const named = (kind: string): Rendered => {
      const found = objects.find((one) => one.kind === kind);
      assert.ok(found, kind);
      return found;
    };
    for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
      const { metadata, webhooks } = named(kind) as Rendered & { webhooks: Record<string, unknown>[] };
      assert.equal(metadata.name, operatorNames.configuration);
      for (const { failurePolicy, timeoutSeconds } of webhooks)
        assert.deepEqual([failurePolicy, timeoutSeconds], ["Ignore", 2]);
    }
    const { spec } = named("Deployment") as unknown as {
      spec: { replicas: number; template: { spec: Record<string, unknown> } };
    };
    assert.equal(spec.replicas, 2);
    const pod = spec.template.spec as {
      securityContext: object;
      containers: [{ securityContext: object; ports: { containerPort: number }[] }];
    };
    assert.deepEqual(pod.securityContext, {
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      seccompProfile: { type: "RuntimeDefault" },
    });
    assert.deepEqual(pod.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    const { webhook, metrics } = operatorNames.ports;
    assert.deepEqual(
      pod.containers[0].ports.map(({ containerPort }) => containerPort),
      [webhook, metrics],
    );
    const namespaced = objects.filter(({ metadata }) => metadata.namespace !== undefined);
    assert.deepEqual(
      new Set(namespaced.map(({ metadata }) => metadata.namespace)),
      new Set([operatorNames.namespace]),
    );
  });

  it("the webhook of the chart asks about a Job's pod only where the pod wants it, and not about pods whose label declines", () => {
    const { webhooks } = objectsOf("install.yaml").find(
      ({ kind }) => kind === "MutatingWebhookConfiguration",
    ) as unknown as {
      webhooks: [{ objectSelector: object; matchConditions: [{ expression: string }] }];
    };
    const [{ objectSelector, matchConditions }] = webhooks;
    assert.match(JSON.stringify(objectSelector), /"NotIn","values":\["disabled","false"\]/);
    assert.match(matchConditions[0].expression, /annotations\['lameduck\.dev\/inject'\] == 'true'/);
  });

  it("the chart runs the coordinator only where it is asked for, without a privilege and with rights of its own", () => {
    const { coordinator, namespace } = operatorNames;
    const isCoordinators = ({ metadata }: Rendered): boolean => metadata.name === coordinator.workload;
    assert.equal(objectsOf("install.yaml").filter(isCoordinators).length, 0);
    const objects = objectsOf("install-acknowledgements.yaml");
    const own = objects.filter(isCoordinators);
    assert.deepEqual(own.map(({ kind }) => kind).sort(), [
      "ClusterRole",
      "ClusterRoleBinding",
      "Deployment",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "Role",
      "RoleBinding",
      "Service",
      "ServiceAccount",
    ]);
    const { spec } = own.find(({ kind }) => kind === "Deployment") as unknown as {
      spec: { replicas: number; template: { spec: Record<string, unknown> } };
    };
    assert.equal(spec.replicas, 2);
    const { containers, securityContext } = spec.template.spec as {
      securityContext: { runAsNonRoot: boolean };
      containers: [{ args: string[]; securityContext: object; ports: { containerPort: number }[] }];
    };
    assert.equal(securityContext.runAsNonRoot, true);
    assert.deepEqual(containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    assert.deepEqual(
      containers[0].ports.map(({ containerPort }) => containerPort),
      [coordinator.ports.protocol, coordinator.ports.metrics],
    );
    const flags = parseCoordinatorFlags(containers[0].args.slice(1), {});
    assert.deepEqual(flags?.consumerAccounts, ["lameduck-node/lameduck-watcher"]);
    assert.deepEqual(flags.consumerKinds.get("lameduck-node/lameduck-watcher"), ["kube-proxy"]);
    assert.deepEqual(flags.holdAccounts, [`${namespace}/lameduck-webhook`]);
    assert.deepEqual(flags.retention, defaultRetention);
    const headless = objects.find(
      ({ kind, metadata }) => kind === "Service" && metadata.name === coordinator.consumersService,
    ) as unknown as { spec: Record<string, unknown> };
    assert.deepEqual([headless.spec["clusterIP"], headless.spec["publishNotReadyAddresses"]], ["None", true]);
    const rules = own.find(({ kind }) => kind === "ClusterRole")?.["rules"] as {
      resources: string[];
      verbs: string[];
      resourceNames?: string[];
    }[];
    // What it changes is its own: records and Events.
    const changing = rules.filter(({ verbs }) =>
      verbs.some((verb) => !/^(get|list|watch|create)$/.test(verb)),
    );
    assert.deepEqual(
      changing.map(({ resources, resourceNames = [] }) => [...resources, ...resourceNames].join(" ")),
      ["drainreports", "events"],
    );
  });

  it("the chart renders a watcher for each node, without a right and alone in a namespace that allows what the watcher needs", () => {
    const objects = objectsOf("install-acknowledgements.yaml");
    const { namespace, workload } = operatorNames.watcher;
    const its = objects.filter(({ metadata }) => metadata.namespace === namespace);
    assert.deepEqual(
      new Set(its.map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
      new Set([`DaemonSet ${workload}`, `ServiceAccount ${workload}`]),
    );
    const levels = objects.filter(({ kind }) => kind === "Namespace") as unknown as {
      metadata: { name: string; labels: Record<string, string> };
    }[];
    const level = "pod-security.kubernetes.io/enforce";
    assert.deepEqual(
      new Map(levels.map(({ metadata: { name, labels } }) => [name, labels[level]])),
      new Map([
        [operatorNames.namespace, "restricted"],
        [namespace, "privileged"],
      ]),
    );
    const bound = objects.filter(({ kind }) => kind.endsWith("Binding")) as unknown as {
      subjects: { name: string }[];
    }[];
    assert.ok(!bound.some(({ subjects }) => subjects.some(({ name }) => name === workload)));
    const { spec } = its.find(({ kind }) => kind === "DaemonSet") as unknown as {
      spec: { template: { spec: Record<string, unknown> } };
    };
    const { containers, volumes, tolerations, hostNetwork, hostPID, automountServiceAccountToken } = spec
      .template.spec as unknown as {
      containers: [{ args: string[]; ports?: unknown; securityContext: object }];
      volumes: object[];
      [field: string]: unknown;
    };
    assert.deepEqual([hostNetwork, hostPID, automountServiceAccountToken], [true, undefined, false]);
    assert.deepEqual(tolerations, [{ operator: "Exists" }]);
    const { priorityClassName } = spec.template.spec;
    assert.equal(priorityClassName, "lameduck-node");
    const { livenessProbe } = containers[0] as { livenessProbe?: { httpGet: object } };
    const { livePort } = operatorNames.watcher;
    assert.deepEqual(livenessProbe?.httpGet, { host: "127.0.0.1", path: "/livez", port: livePort });
    assert.deepEqual(containers[0].securityContext, {
      runAsUser: 0,
      runAsGroup: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_ADMIN", "NET_RAW"] },
    });
    assert.equal(containers[0].ports, undefined);
    const { coordinator } = operatorNames;
    const token = { path: "token", audience: coordinator.audience, expirationSeconds: 3_600 };
    assert.deepEqual(volumes, [{ name: "token", projected: { sources: [{ serviceAccountToken: token }] } }]);
    const flags = parseWatcherFlags(containers[0].args.slice(1), { NODE_NAME: "node1" });
    assert.equal(flags?.livePort, livePort);
    assert.deepEqual(
      flags?.coordinators.map(({ host }) => host),
      [`${coordinator.consumersService}.${operatorNames.namespace}.svc:${coordinator.ports.protocol}`],
    );
    assert.deepEqual(
      flags?.consumers.map(({ kind, basis }) => [kind, basis]),
      [["kube-proxy", "rules"]],
    );
  });

  it("the chart lets users who may view a namespace read its policies and reports, and lets no such user write them", () => {
    for (const page of ["install.yaml", "install-policy-only.yaml"]) {
      const role = objectsOf(page).find(({ metadata }) => metadata.name === "lameduck-view");
      const { labels } = (role?.metadata ?? {}) as { labels?: Record<string, string> };
      assert.equal(labels?.["rbac.authorization.k8s.io/aggregate-to-view"], "true");
      const resources = ["drainpolicies", "drainreports"];
      const verbs = ["get", "list", "watch"];
      assert.deepEqual(role?.["rules"], [{ apiGroups: ["lameduck.dev"], resources, verbs }]);
    }
  });

  it("the chart runs nothing and grants nothing to a process where the policy does the work", () => {
    const objects = objectsOf("install-policy-only.yaml");
    const kinds = new Set(objects.map(({ kind }) => kind));
    for (const kind of [
      "Deployment",
      "Role",
      "ClusterRoleBinding",
      "ServiceAccount",
      "MutatingWebhookConfiguration",
    ])
      assert.ok(!kinds.has(kind), kind);
  });
});
