import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, describe, test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import type { CheckReport } from "../src/check/report.ts";
import { ownImage } from "../src/about.ts";
import { checkText } from "../src/check/text.ts";
import { Cluster, type Stored } from "./install-cluster.ts";

const cluster = new Cluster();
before(() => cluster.start());
beforeEach(() => cluster.empty());
after(() => cluster.stop());

const node = (name: string, labels: object = {}, taints: object[] = []): void =>
  cluster.put(`/api/v1/nodes/${name}`, {
    kind: "Node",
    metadata: { labels: { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", ...labels } },
    spec: { taints },
  });

/** A pod of the Deployment of its name. */
const pod = (
  namespace: string,
  name: string,
  more: { labels?: object; spec?: object; on?: string } = {},
): void =>
  cluster.put(`/api/v1/namespaces/${namespace}/pods/${name}-1`, {
    kind: "Pod",
    metadata: {
      labels: { app: name, "pod-template-hash": "h", ...more.labels },
      ownerReferences: [{ kind: "ReplicaSet", name: `${name}-h`, uid: name, controller: true }],
    },
    spec: {
      nodeName: more.on ?? "n1",
      terminationGracePeriodSeconds: 30,
      containers: [{ name: "c", image: "web:1", ports: [{ containerPort: 80 }] }],
      ...more.spec,
    },
    status: { phase: "Running" },
  });

const service = (namespace: string, name: string, more: { spec?: object; annotations?: object } = {}): void =>
  cluster.put(`/api/v1/namespaces/${namespace}/services/${name}`, {
    kind: "Service",
    metadata: { annotations: more.annotations ?? {} },
    spec: { selector: { app: name }, clusterIP: "10.96.0.7", ...more.spec },
  });

const ingress = (name: string, className: string, annotations: object = {}): void =>
  cluster.put(`/apis/networking.k8s.io/v1/namespaces/shop/ingresses/${name}`, {
    kind: "Ingress",
    metadata: { annotations },
    spec: { ingressClassName: className, defaultBackend: { service: { name } } },
  });

const kubeProxy = (on: string): void =>
  cluster.put(`/api/v1/namespaces/kube-system/pods/kube-proxy-${on}`, {
    kind: "Pod",
    metadata: { labels: { "k8s-app": "kube-proxy" } },
    spec: { nodeName: on, containers: [{ name: "kube-proxy" }] },
    status: { phase: "Running" },
  });

/** A usual cluster: a Service with a pod, on one node with kube-proxy. */
function usual(labels: object = {}): void {
  node("n1", labels);
  kubeProxy("n1");
  pod("shop", "web");
  service("shop", "web");
  cluster.kubelets["n1"] = { shutdownGracePeriod: "60s", shutdownGracePeriodCriticalPods: "10s" };
}

async function check(...args: string[]): Promise<{ code: number | null; out: string; report: CheckReport }> {
  const { code, out, err } = await cluster.lameduck("check", "--json", "-", ...args);
  assert.notEqual(out, "", err);
  const report = JSON.parse(out) as CheckReport;
  return { code, out: checkText(report), report };
}

test("lameduck check of a usual cluster: everything is known, and the last line installs", async () => {
  usual();
  const { code, out } = await cluster.lameduck("check");
  assert.equal(code, 0, out);
  assert.doesNotMatch(out, /not known/);
  assert.match(
    out.trimEnd().split("\n").at(-1) ?? "",
    /^ {2}lameduck install --acknowledgements --enable shop --image REGISTRY\/lameduck:\S+ --kubeconfig/,
  );
  assert.match(out, /kube-proxy chooses pods on 1 node: a watcher reads it/);
  assert.match(out, /kube-proxy: 10 s \(iptables takes 1 to 10 s on a busy node\); cap 25 s, grace 55 s/);
  assert.match(
    out,
    /shop\/deployment\/web\n {4}cap 25 s \(25 s at least, more than 1\.5 x 10 s: kube-proxy\), grace 30 -> 55 s/,
  );
  assert.match(out, /shutdown of its node \(Linux; 1 of 1 asked\): gives pods 50 s .*may be killed before/);
  assert.match(out, /shop \(deployment\/web\): admitted/);
  assert.deepEqual(cluster.changes, []);
  for (const [name, words] of [
    ["shpo", /--enable: there is no namespace "shpo"/],
    ["kube-system", /--enable: pods of kube-system are never injected/],
  ] as const) {
    const wrong = await cluster.lameduck("check", "--enable", name);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, words);
  }
});

test("docs/tools/check.md shows every field of the report", async () => {
  usual();
  ingress("web", "nginx");
  cluster.forbidden = /configz/;
  const { report } = await check();
  const page = readFileSync(new URL("../../../docs/tools/check.md", import.meta.url), "utf8");
  const shown = JSON.parse(/```json\n([^]*?)```/.exec(page)?.[1] ?? "") as Record<string, unknown>;
  assert.deepEqual(Object.keys(shown), Object.keys(report));
  for (const [name, value] of Object.entries(report)) {
    const [first] = [value].flat() as unknown[];
    const [example]: unknown[] = [shown[name]].flat();
    if (typeof first === "object" && first !== null)
      for (const field of Object.keys(first)) assert.ok(field in (example as object), `${name}: ${field}`);
  }
});

describe("lameduck check says where no watcher can run, and installs no acknowledgements there", () => {
  for (const [environment, name, labels, taints, why] of [
    ["GKE Autopilot", "gk3-pool-1", { "cloud.google.com/gke-nodepool": "p" }, [], /NET_RAW/],
    ["AWS Fargate", "fargate-ip-1", { "eks.amazonaws.com/compute-type": "fargate" }, [], /no DaemonSet/],
    ["Windows", "win1", { "kubernetes.io/os": "windows" }, [], /for Linux/],
    [
      "virtual nodes",
      "aci",
      { type: "virtual-kubelet", "kubernetes.azure.com/cluster": "c" },
      [],
      /DaemonSet/,
    ],
    ["virtual nodes", "vk", {}, [{ key: "virtual-kubelet.io/provider", effect: "NoSchedule" }], /DaemonSet/],
    ["another processor", "s1", { "kubernetes.io/arch": "s390x" }, [], /no image/],
  ] as const)
    test(`${environment} (${name})`, async () => {
      usual();
      node(name, labels, [...taints]);
      const { out, report } = await check();
      const found = report.nodes?.find((one) => one.environment.includes(environment));
      assert.equal(found?.nodes, 1);
      assert.match(found.noWatcher ?? "", why);
      assert.doesNotMatch(report.install.command ?? "", /--acknowledgements/);
      assert.match(
        out,
        /without --acknowledgements: nodes choose pods for every Service, and nothing can report/,
      );
      assert.match(
        out,
        new RegExp(`1 node \\(.*${environment}.*: no watcher can run as shipped: .*\\(${name}\\)`),
      );
    });

  for (const [environment, labels] of [
    ["EKS", { "eks.amazonaws.com/nodegroup": "g" }],
    ["EKS Auto Mode", { "eks.amazonaws.com/compute-type": "auto" }],
    ["GKE", { "cloud.google.com/gke-nodepool": "p" }],
    ["AKS", { "kubernetes.azure.com/cluster": "c" }],
    ["OpenShift", { "node.openshift.io/os_id": "rhel" }],
  ] as const)
    test(`a watcher can run on nodes of ${environment}`, async () => {
      usual(labels);
      const { report } = await check();
      assert.deepEqual(
        report.nodes?.map((one) => [one.environment, one.noWatcher]),
        [[environment, undefined]],
      );
      assert.match(report.install.command ?? "", /--acknowledgements/);
      // A cloud's own autoscaler shows nothing: that is said, and is no pass.
      const isSilent = ["EKS Auto Mode", "GKE", "AKS"].includes(environment);
      assert.equal(
        report.notKnown.some(({ what }) => /autoscaler of/.test(what)),
        isSilent,
      );
    });
});

/** An ALB that two objects show, an NLB, and Spot nodes. */
function onEks(): void {
  usual({ "eks.amazonaws.com/nodegroup": "g", "eks.amazonaws.com/capacityType": "SPOT" });
  cluster.installed = { "elbv2.k8s.aws": "v1beta1" };
  cluster.put("/apis/networking.k8s.io/v1/ingressclasses/alb", {
    kind: "IngressClass",
    metadata: {},
    spec: { controller: "ingress.k8s.aws/alb" },
  });
  ingress("web", "alb", { "alb.ingress.kubernetes.io/target-type": "ip" });
  pod("shop", "edge");
  service("shop", "edge", {
    spec: { type: "LoadBalancer" },
    annotations: { "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip" },
  });
  cluster.put("/apis/elbv2.k8s.aws/v1beta1/namespaces/shop/targetgroupbindings/web", {
    kind: "TargetGroupBinding",
    metadata: { labels: { "ingress.k8s.aws/stack-name": "web" } },
    spec: { targetType: "ip", serviceRef: { name: "web" } },
  });
}

test("lameduck check on EKS: an ALB, an NLB and Spot nodes, each with what follows for cap and grace", async () => {
  onEks();
  const { out, report } = await check();
  const times = report.workloads?.map(({ name, cap, grace }) => [name, cap?.seconds, grace?.seconds]);
  assert.deepEqual(times?.sort(), [
    ["deployment/edge", 180, 210],
    ["deployment/web", 60, 90],
  ]);
  assert.match(out, /cap 60 s \(1\.5 x 40 s: AWS ALB \(IP targets\)\), grace 30 -> 90 s \(60 s cap \+ 30 s/);
  assert.match(out, /ingress-class\/alb: AWS's load balancers, shown by Ingress shop\/web: 1 Service/);
  assert.match(
    out,
    /load-balancer\/aws: a load balancer of AWS .*: 2 Services\n {4}a Deployment of the Helm chart can ask it: .*discover=\{aws\}/,
  );
  assert.match(out, /Spot instances of EKS: 120 s, less than the longest cap of 180 s/);
  assert.deepEqual(report.services, { services: 2, incomplete: 2, incompleteWithPatches: 2, isLeast: false });
  assert.doesNotMatch(report.install.command ?? "", /--acknowledgements/);
});

test("lameduck check knows an ALB by the controller of its class, and not by the name of the class", async () => {
  usual();
  for (const [name, controller] of [
    ["public", "ingress.k8s.aws/alb"],
    ["alb", "k8s.io/ingress-nginx"],
  ] as const)
    cluster.put(`/apis/networking.k8s.io/v1/ingressclasses/${name}`, {
      kind: "IngressClass",
      metadata: {},
      spec: { controller },
    });
  ingress("web", "public", { "alb.ingress.kubernetes.io/target-type": "ip" });
  const { out, report } = await check();
  assert.deepEqual(
    report.workloads?.map(({ cap, grace }) => [cap?.seconds, grace?.seconds]),
    [[60, 90]],
  );
  assert.match(out, /ingress-class\/public: AWS's load balancers, .*\n.*\n?.*within 40 s/);
  ingress("web", "alb", { "alb.ingress.kubernetes.io/target-type": "ip" });
  const nginx = await check();
  assert.equal(nginx.report.workloads?.[0]?.cap?.seconds, 25);
  assert.match(nginx.out, /ingress-class\/alb: ingress-nginx, .*\n.*\n?.*within 10 s/);
});

test("lameduck check says the same whichever list is answered first", async () => {
  onEks();
  ingress("edge", "nginx");
  ingress("also", "alb");
  const inOrder = await check();
  for (const slow of [/ingresses/, /targetgroupbindings/, /services/, /pods/, /ingressclasses/]) {
    cluster.delayMs = (path) => (slow.test(path) ? 100 : 0);
    assert.deepEqual((await check()).report, inOrder.report, `${slow} last`);
  }
});

test("lameduck check lists each kind once, and gives caps as the webhook does: by objects of other API groups, too", async (t) => {
  usual();
  cluster.installed = { "elbv2.k8s.aws": "v1beta1" };
  cluster.put("/apis/elbv2.k8s.aws/v1beta1/namespaces/shop/targetgroupbindings/web", {
    kind: "TargetGroupBinding",
    metadata: {},
    spec: { targetType: "ip", serviceRef: { name: "web" } },
  });
  const answers = t.mock.method(cluster, "answer");
  const { report } = await check();
  const [{ cap, slowest } = {}] = report.workloads ?? [];
  assert.deepEqual([cap?.seconds, slowest?.sender], [180, "a load balancer of AWS with pods as targets"]);
  const lists = answers.mock.calls
    .map(({ arguments: [request] }) => `${request.method} ${request.url?.split("?", 1)[0]}`)
    .filter((one) => /^GET \/(?:api|apis\/[^/]+)\/v\w+\/\w+$/.test(one));
  assert.ok(lists.includes("GET /api/v1/services") && lists.includes("GET /api/v1/namespaces"), lists.join());
  assert.deepEqual(
    lists.filter((one, at) => lists.indexOf(one) !== at),
    [],
  );
});

test("lameduck check: a rule of the cluster that refuses watchers keeps acknowledgements out of the line", async () => {
  usual();
  const isWatcher = (one: Stored): boolean => JSON.stringify(one).includes("--consumer=kube-proxy");
  cluster.admits = (one) =>
    isWatcher(one) ? "[autogke-disallow-hostnamespaces] hostNetwork is not allowed" : one;
  const { out, report } = await check();
  assert.deepEqual(report.watcher.verdict, "refused");
  assert.match(out, /without --acknowledgements: the watchers of nodes would be refused \(.*hostNetwork/);
  cluster.admits = (one) => (isWatcher(one) ? 'pods "x" is forbidden: violates PodSecurity "baseline"' : one);
  const standard = await check();
  assert.equal(standard.report.watcher.verdict, "not known");
  assert.equal(standard.code, 5);
});

test("lameduck check: with one client in a mesh the pods of every Service are incomplete", async () => {
  usual();
  service("bank", "api");
  pod("bank", "client", {
    spec: { containers: [{ name: "c" }, { name: "istio-proxy", args: ["proxy", "sidecar"] }] },
  });
  const { out, report } = await check();
  assert.deepEqual(report.services, { services: 2, incomplete: 2, incompleteWithPatches: 2, isLeast: false });
  assert.match(
    out,
    /mesh\/istio: Istio's sidecars, shown by Pod bank\/client-1: 2 Services\n {4}nothing .* can ask it/,
  );
  assert.match(out, /without --acknowledgements: each Service has a sender that nothing asks/);
});

test("lameduck check prints the patch by which a watcher reads a proxy, and allows its account", async () => {
  usual();
  pod("ingress-nginx", "ingress-nginx-controller", {
    spec: {
      serviceAccountName: "ingress-nginx",
      containers: [
        { name: "controller", image: "registry.k8s.io/ingress-nginx/controller:v1.12.0@sha256:aa" },
      ],
    },
  });
  cluster.put("/apis/networking.k8s.io/v1/ingressclasses/nginx", {
    kind: "IngressClass",
    metadata: {},
    spec: { controller: "k8s.io/ingress-nginx" },
  });
  ingress("web", "nginx");
  const { out, report } = await check();
  assert.deepEqual(report.services, { services: 1, incomplete: 1, incompleteWithPatches: 0, isLeast: false });
  assert.match(
    out,
    /ingress-class\/nginx: ingress-nginx, .*\n {4}a watcher can ask it \(--consumer=ingress-nginx\)/,
  );
  assert.match(out, /kubectl patch deployment\/ingress-nginx-controller -n ingress-nginx --patch-file FILE/);
  const [{ patch } = { patch: "" }] = report.proxies;
  assert.deepEqual((parse(patch) as { spec: { template: { spec: unknown } } }).spec.template.spec, {
    shareProcessNamespace: true,
    initContainers: [
      {
        name: "lameduck-watcher",
        restartPolicy: "Always",
        image: ownImage(),
        args: [
          "watcher",
          "--coordinator=http://lameduck-consumers.lameduck-system.svc:8070",
          "--token-file=/token/token",
          "--consumer=ingress-nginx",
          "--serves=ingress-class/nginx",
        ],
        volumeMounts: [{ name: "lameduck-token", mountPath: "/token", readOnly: true }],
      },
    ],
    volumes: [
      {
        name: "lameduck-token",
        projected: {
          sources: [
            { serviceAccountToken: { path: "token", audience: "lameduck", expirationSeconds: 3600 } },
          ],
        },
      },
    ],
  });
  assert.match(
    report.install.command ?? "",
    /--acknowledgements --consumer-account ingress-nginx\/ingress-nginx=ingress-nginx --enable shop/,
  );
});

describe("lameduck check: something caps the grace period", () => {
  const alb = (): void => {
    usual();
    ingress("web", "alb", { "alb.ingress.kubernetes.io/target-type": "ip" });
  };

  test("a DrainPolicy: cap and grace are shorter, and the reason says so", async () => {
    alb();
    cluster.put("/apis/lameduck.dev/v1alpha1/namespaces/shop/drainpolicies/default", {
      apiVersion: "lameduck.dev/v1alpha1",
      kind: "DrainPolicy",
      metadata: {},
      spec: { maxGracePeriodSeconds: 60 },
    });
    const { code, out } = await check();
    assert.match(
      out,
      /cap 55 s \(60 s would be right \(1\.5 x 40 s: AWS ALB .*and the grace period has no room\)/,
    );
    assert.match(out, /grace 30 -> 60 s \(maxGracePeriodSeconds; 60 s cap \+ 30 s .* would be 90 s\)/);
    assert.equal(code, 0);
  });

  test("an admission rule lowers it: the dry run shows by how much", async () => {
    alb();
    cluster.admits = (one) => ({
      ...one,
      spec: { ...(one["spec"] as object), terminationGracePeriodSeconds: 60 },
    });
    const { code, out } = await check();
    assert.match(out, /shop \(deployment\/web\): changed: .*to 60 s, where 90 s were asked for/);
    assert.equal(code, 1);
  });

  test("an admission rule refuses it: what it says is quoted", async () => {
    alb();
    cluster.admits = (one) =>
      (one["spec"] as { terminationGracePeriodSeconds: number }).terminationGracePeriodSeconds > 60
        ? 'admission webhook "validate.kyverno.svc" denied the request: at most 60 s'
        : one;
    const { code, out, report } = await check();
    assert.match(out, /shop \(deployment\/web\): refused: .*at most 60 s/);
    assert.equal(code, 1);
    assert.match(report.install.command ?? "", /--enable NAMESPACE/);
    assert.match(out, /--enable NAMESPACE: put in one; those above would refuse pods.*: shop$/m);
    assert.match(out, /maxGracePeriodSeconds of a DrainPolicy keeps below it/);
  });

  test("a rule that refuses such pods anyway says nothing of Lameduck: not known", async () => {
    alb();
    cluster.admits = () => "exceeded quota: pods";
    const { code, report } = await check();
    assert.deepEqual(report.admissions, []);
    assert.match(report.notKnown[0]?.because ?? "", /refused without Lameduck, too: .*exceeded quota/);
    assert.equal(code, 5);
  });
});

test("lameduck check without rights: nothing is fine, everything is not known, and the rights are named", async () => {
  usual();
  cluster.forbidden = /^\/api\/v1\/(?!namespaces\/)|^\/apis\/[^/]+\/[^/]+\/\w/;
  const { code, out, report } = await check();
  assert.equal(code, 5, out);
  for (const part of ["nodes", "nodeProxies", "assumed", "services", "namespaces", "workloads"] as const)
    assert.equal(report[part], null, part);
  assert.deepEqual(report.admissions, []);
  // Nobody may list what is not there, either: that is no gap.
  assert.ok(!report.notKnown.some(({ because }) => because.includes("gateway.networking")));
  for (const line of [
    /^what ends nodes:\n {2}not known$/m,
    /^nodes: not known$/m,
    /acknowledgements: not known$/m,
    /^what pods would get: not known$/m,
  ])
    assert.match(out, line);
  const [role] = parseAllDocuments(report.rights ?? "").map(
    (one) => one.toJS() as { kind: string; rules: Rule[] },
  );
  assert.equal(role?.kind, "ClusterRole");
  for (const [group, resource] of [
    ["", "pods"],
    ["", "services"],
    ["networking.k8s.io", "ingresses"],
    ["lameduck.dev", "drainpolicies"],
  ] as const)
    assert.ok(
      role.rules.some(({ apiGroups, resources }) => apiGroups[0] === group && resources.includes(resource)),
      `${resource}.${group}`,
    );
  assert.match(report.install.command ?? "", /^lameduck install --enable NAMESPACE/);
  assert.match(report.install.because.join(), /without --acknowledgements: .* not known/);
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

test("lameduck check where one list may not be read: counts are the least that is known, and a dry run needs its right", async () => {
  usual();
  cluster.installed = { "projectcontour.io": "v1" };
  cluster.forbidden = /httpproxies|\/proxy\/configz/;
  cluster.admits = () => 'pods is forbidden: User "u" cannot create resource "pods" in API group ""';
  const { code, out, report } = await check();
  assert.equal(code, 5);
  assert.match(out, /`incomplete` would be the pods of at least 0 Services \(of 1\)/);
  assert.match(out, /where httpproxies\.projectcontour\.io lead: .* may not be listed/);
  assert.match(out, /whether an injected pod is admitted in namespace shop: pods may not be created there/);
  assert.match(
    out,
    /what a shutdown of a node leaves to its pods \(Linux\): the kubelet's settings may not be read/,
  );
  assert.match(report.rights ?? "", /nodes\/proxy/);
  assert.doesNotMatch(report.install.command ?? "", /--acknowledgements/);
});

test("lameduck check: what ends nodes, and how long it waits", async () => {
  usual();
  cluster.installed = { "karpenter.sh": "v1" };
  for (const [name, terminationGracePeriod] of [
    ["spot", "1m30s"],
    ["usual", undefined],
  ] as const)
    cluster.put(`/apis/karpenter.sh/v1/nodepools/${name}`, {
      kind: "NodePool",
      metadata: {},
      spec: { template: { spec: { terminationGracePeriod } } },
    });
  const scaler = (args: string[]): object => ({
    containers: [{ name: "cluster-autoscaler", command: ["./cluster-autoscaler"], args }],
  });
  pod("kube-system", "a", { spec: scaler([]) });
  pod("kube-system", "b", { spec: scaler(["--max-graceful-termination-sec=40"]) });
  cluster.kubelets["n1"] = {};
  const { out } = await check();
  assert.match(out, /deployment\/a\): gives pods 600 s at most \(its default\)$/m);
  assert.match(out, /deployment\/b\): gives pods 40 s at most \(--max-.*; less than that/);
  assert.match(out, /NodePool spot: gives pods 90 s at most \(terminationGracePeriod: 1m30s\)$/m);
  assert.match(out, /NodePool usual: waits as long as pods take/);
  assert.match(
    out,
    /shutdown of its node .* leaves pods no time \(shutdownGracePeriod is 0: they end with their node/,
  );
  const classes = [
    { priority: 1_000, shutdownGracePeriodSeconds: 20 },
    { priority: -10, shutdownGracePeriodSeconds: 75 },
  ];
  cluster.kubelets["n1"] = { shutdownGracePeriodByPodPriority: classes };
  assert.match((await check()).out, /shutdown of its node .* gives pods 75 s at most/);
  cluster.kubelets["n1"] = { shutdownGracePeriodByPodPriority: classes.slice(0, 1) };
  assert.match((await check()).out, /shutdown of its node .* gives pods 20 s at most/);
});

test("lameduck check: an old cluster gets no line, and pods that are injected already show what they were told", async () => {
  usual();
  cluster.minor = "29+";
  const old = await check();
  assert.equal(old.code, 1);
  assert.equal(old.report.install.command, null);
  assert.match(
    old.out,
    /Lameduck cannot be installed here:\n {2}Kubernetes 1\.29 is too old: the webhook needs 1\.30/,
  );
  cluster.minor = "36";
  const command = ["/lameduck/lameduck-init", "wait", "--grace-period", "45s", "--cap", "30s"];
  pod("shop", "web", {
    spec: {
      terminationGracePeriodSeconds: 45,
      containers: [
        { name: "c", ports: [{ containerPort: 80 }], lifecycle: { preStop: { exec: { command } } } },
      ],
    },
  });
  const { metadata } = cluster.objects.get("/api/v1/namespaces/shop/pods/web-1") as Stored;
  metadata["annotations"] = { "lameduck.dev/injected": "0.1.0" };
  const { report } = await check();
  const [{ isInjected, cap, grace } = {}] = report.workloads ?? [];
  assert.equal(isInjected, true);
  assert.match(cap?.because ?? "", /as it was told when it was made; a new pod gets 25 s/);
  assert.deepEqual([cap?.seconds, grace?.seconds], [30, 45]);
});
