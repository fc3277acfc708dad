import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { parseAllDocuments } from "yaml";
import { ownImage } from "../src/about.ts";
import { peerOf } from "../src/install/metrics-from.ts";
import { initVolume, Cluster, withoutInit, type Stored } from "./install-cluster.ts";

const cluster = new Cluster();
before(() => cluster.start());
beforeEach(() => cluster.empty());
after(() => cluster.stop());

describe("lameduck install", () => {
  test("a dry run of lameduck install prints the objects, says what it would do, and changes nothing", async () => {
    const { code, out, err } = await cluster.lameduck(
      "install",
      "--dry-run",
      "--enable",
      "shop",
      "--lameduck-namespace",
      "ducks",
    );
    assert.equal(code, 0, err);
    const objects = parseAllDocuments(out).map((one) => one.toJS() as Stored);
    assert.equal(objects[0]?.kind, "Namespace");
    assert.ok(objects.every(({ metadata }) => [undefined, "ducks"].includes(metadata.namespace)));
    assert.doesNotMatch(out, /lameduck-system/);
    // kubectl takes a bare yes for a boolean.
    const asKubectl = parseAllDocuments(out, { version: "1.1" });
    assert.deepEqual(
      asKubectl.map((one): unknown => one.toJS()),
      objects,
    );
    assert.match(err, /would create Deployment ducks\/lameduck-webhook/);
    assert.match(err, /would label namespace shop/);
    assert.deepEqual(cluster.changes, []);
  });

  test("an image that is published nowhere is refused before anything is changed, and told in dry runs", async () => {
    const told =
      /lameduck\.example\/lameduck:\S+ is not published yet: no node can pull it.*npm run image.*--image/;
    const refused = await cluster.asTyped("install", "--yes", "--enable", "shop");
    assert.match(refused.err, told);
    assert.match(refused.err, /\[LAMEDUCK_NO_IMAGE\]/);
    assert.equal(refused.code, 2);
    assert.deepEqual(cluster.changes, []);
    const dry = await cluster.asTyped("install", "--dry-run");
    assert.match(dry.err, told);
    assert.equal(dry.code, 0);
    assert.equal(
      (await cluster.asTyped("install", "--yes", "--policy-only")).code,
      0,
      "the policy needs no image",
    );
    const own = ["install", "--yes", "--disable", "policy-only", "--image", "r.example/x:1"];
    const unknownRegistry = /^note: r\.example\/x:1 names a registry that cannot exist /m;
    assert.match((await cluster.asTyped(...own, "--dry-run")).err, unknownRegistry);
    const named = await cluster.asTyped(...own);
    assert.match(named.err, unknownRegistry, "nodes may have it");
    assert.equal(named.code, 0);
    assert.equal((await cluster.asTyped("install", "--yes")).code, 0, "the image that is there is kept");
    cluster.changes.length = 0;
    const back = await cluster.asTyped("install", "--yes", "--disable", "image");
    assert.match(back.err, told, "nodes have another image than the default");
    assert.equal(back.code, 2);
    assert.deepEqual(cluster.changes, []);
  });

  test("an image that no node could pull for its name is refused before anything is changed", async () => {
    const digest = `@sha256:${"0a".repeat(32)}`;
    const dry = (image: string) => cluster.asTyped("install", "--dry-run", "--image", image);
    const line = await dry(ownImage());
    assert.match(line.err, /--image: REGISTRY in "REGISTRY\/lameduck:\S+" stands for a registry: /);
    for (const image of ["", "r.example/x: 1", "r.example/Duck:1", "r.example/x:", "https://r.example/x:1"]) {
      const { code, err } = await dry(image);
      assert.match(err, /--image: ".*" is no reference of an image.*\[LAMEDUCK_BAD_OPTION\]/, image);
      assert.equal(code, 2);
    }
    for (const image of [
      "duck",
      "localhost:5000/a/b_c--d:V1.2",
      `[fd00::1]:5000/x${digest}`,
      `a.b/c:d${digest}`,
    ]) {
      const { code, err } = await dry(image);
      assert.equal(code, 0, image);
      assert.doesNotMatch(err, /cannot exist/, image);
    }
    assert.deepEqual(cluster.changes, []);
  });

  test("--enable refuses a namespace whose pods are never injected, before anything is changed", async () => {
    for (const name of ["kube-system", "lameduck-system"]) {
      const { code, err } = await cluster.lameduck("install", "--yes", "--timeout", "1s", "--enable", name);
      assert.match(err, new RegExp(`--enable: pods of ${name} are never injected \\[LAMEDUCK_BAD_OPTION\\]`));
      assert.equal(code, 2);
    }
    assert.deepEqual(cluster.changes, []);
  });

  test("lameduck install brings what others need first and the webhooks that send pods there last, then labels", async () => {
    cluster.put(initVolume, { kind: "ConfigMap", metadata: {} });
    const { code, err } = await cluster.lameduck(
      "install",
      "--yes",
      "--enable",
      "shop",
      "--image",
      "r.example/x:1",
    );
    assert.equal(code, 0, err);
    assert.match(cluster.changes[0] ?? "", /namespaces\/lameduck-system$/);
    assert.match(cluster.changes.at(-1) ?? "", /namespaces\/shop$/);
    const webhooks = cluster.changes.findIndex((one) => one.includes("mutatingwebhookconfigurations"));
    assert.ok(webhooks > cluster.changes.findIndex((one) => one.includes("deployments")));
    const deployment = JSON.stringify(cluster.objects.get(operator));
    assert.match(deployment, /"image":"r\.example\/x:1"/);
    const again = await cluster.lameduck("install", "--yes");
    assert.match(again.err, /^keeps image r\.example\/x:1 /m);
    assert.match(again.err, /Deployment lameduck-system\/lameduck-webhook: as it was/);
  });

  test("a dry run of lameduck install names only the objects that differ, with their fields, and an installation names every namespace that it enables", async () => {
    cluster.put("/api/v1/namespaces/bank", { kind: "Namespace", metadata: {} });
    for (const name of ["shop", "bank"])
      cluster.put(`/api/v1/namespaces/${name}/configmaps/lameduck-init`, { kind: "ConfigMap", metadata: {} });
    const { code, err } = await cluster.lameduck("install", "--yes", "--enable", "shop", "--enable", "bank");
    assert.equal(code, 0, err);
    for (const name of ["shop", "bank"])
      assert.match(err, new RegExp(`^ {2}kubectl rollout restart deployment -n ${name}$`, "m"));
    const same = await cluster.lameduck("install", "--dry-run", "--enable", "shop");
    assert.match(same.err, /^nothing would change$/m);
    assert.doesNotMatch(same.err, /^would/m);
    const other = await cluster.lameduck(
      "install",
      "--dry-run",
      "--image",
      "r.example/x:2",
      "--held-deletions",
    );
    const told = other.err.split("\n").filter((line) => line.startsWith("would"));
    assert.ok(told.some((line) => line.startsWith("would create ValidatingWebhookConfiguration held-")));
    assert.ok(
      told.some((line) => /^would change Deployment .*containers\.0\.image/.test(line)),
      other.err,
    );
    assert.ok(!told.some((line) => line.includes("Service ")), other.err);
  });

  test("lameduck install without --policy-only keeps an installed policy alone, and says how to go on to the webhook", async () => {
    await cluster.lameduck("install", "--yes", "--policy-only");
    const kept = await cluster.lameduck("install", "--yes");
    assert.match(kept.err, /^keeps the policy alone \(--disable policy-only/m);
    assert.equal(cluster.objects.get(operator), undefined);
    const changed = await cluster.lameduck("install", "--yes", "--disable", "policy-only");
    assert.equal(changed.code, 0, changed.err);
    assert.ok(cluster.objects.has(operator));
    const wrong = await cluster.lameduck("install", "--yes", "--disable", "webhook");
    assert.match(wrong.err, /--disable: "webhook" is none of acknowledgements, /);
  });

  test(
    "--policy-only runs nothing, brings lameduck-init to the namespaces, and takes the webhook away last",
    {
      skip: withoutInit,
    },
    async () => {
      await cluster.lameduck("install", "--yes");
      cluster.changes = [];
      const { code, err } = await cluster.lameduck("install", "--yes", "--policy-only", "--enable", "shop");
      assert.equal(code, 0, err);
      const { binaryData } = cluster.objects.get(initVolume) as Stored & {
        binaryData: Record<string, string>;
      };
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

  test("--policy-only says that it replaces no sleep, where a DrainPolicy asks for that", async () => {
    const ask = async (): Promise<string> =>
      (await cluster.lameduck("install", "--yes", "--policy-only", "--dry-run")).err;
    assert.doesNotMatch(await ask(), /sleep/);
    for (const namespace of ["lameduck-system", "shop"])
      cluster.put(`/apis/lameduck.dev/v1alpha1/namespaces/${namespace}/drainpolicies/default`, {
        apiVersion: "lameduck.dev/v1alpha1",
        kind: "DrainPolicy",
        metadata: {},
        spec: { existingSleep: "replace" },
      });
    const said = await ask();
    assert.match(
      said,
      /note: a policy replaces no sleep, whatever existingSleep of a DrainPolicy says: the webhook/,
    );
    assert.match(said, /note: a policy replaces no sleep, .* \(namespace shop\): the webhook/);
  });

  test("--policy-only makes pods sleep where nodes have a processor that lameduck-init has no binary for", async () => {
    cluster.put("/api/v1/nodes/n", {
      kind: "Node",
      metadata: { labels: { "kubernetes.io/arch": "s390x" } },
    });
    const { code, err } = await cluster.lameduck("install", "--yes", "--policy-only");
    assert.equal(code, 0, err);
    const policy = JSON.stringify(
      cluster.objects.get(
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/inject.lameduck.dev",
      ),
    );
    assert.match(policy, /"name":"architecture"/);
    assert.doesNotMatch(policy, /s390x/);
  });

  test("--acknowledgements adds the coordinator, lameduck status shows what it says, and it stays until --disable", async () => {
    const coordinator = "/apis/apps/v1/namespaces/lameduck-system/deployments/lameduck-coordinator";
    const { code, err } = await cluster.lameduck("install", "--yes", "--acknowledgements");
    assert.equal(code, 0, err);
    assert.ok(cluster.objects.has(coordinator));
    assert.ok(cluster.objects.has("/api/v1/namespaces/lameduck-node"));
    const pods = "/api/v1/namespaces/lameduck-system/pods";
    const policies = "/apis/networking.k8s.io/v1/namespaces/lameduck-system/networkpolicies";
    const labels = { "app.kubernetes.io/name": "lameduck", "app.kubernetes.io/component": "coordinator" };
    for (const name of ["one", "two"])
      cluster.put(`${pods}/${name}`, { kind: "Pod", metadata: { labels }, spec: { containers: [] } });
    cluster.put(`${policies}/all`, { kind: "NetworkPolicy", metadata: {}, spec: { podSelector: {} } });
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
      unread: [{ name: "endpointslices", state: "unheard" }],
    });
    const { out, code: found } = await cluster.lameduck("status");
    assert.equal(found, 1);
    assert.match(out, /^acknowledgements: 2 of 2 coordinators ready, 5 of 5 watchers ready$/m);
    assert.match(out, /NetworkPolicy lameduck-coordinator, all lets nobody in to port 9090.*--metrics-from/);
    assert.match(
      out,
      /one: reports of 2 senders, mode availability unless .*; 4 pods terminating, 1 of them released/,
    );
    assert.match(out, /nobody reports for node3: pods that they may send to decide by themselves/);
    assert.match(out, /silent: kube-proxy\/node2\n {4}kube-proxy\/node2: no such program: nft/);
    assert.match(out, /endpointslices are not kept up to date: nobody is released/);
    assert.match(out, /two: unknown, it could not be asked/);
    const again = await cluster.lameduck("install", "--yes");
    assert.match(again.err, /^keeps acknowledgements \(--disable acknowledgements takes it away\)$/m);
    assert.ok(cluster.objects.has(coordinator));
    const other = await cluster.lameduck("install", "--yes", "--policy-only");
    assert.match(other.err, /--policy-only: would remove what is installed: add --disable acknowledgements/);
    await cluster.lameduck("install", "--yes", "--disable", "acknowledgements");
    assert.ok(!cluster.objects.has(coordinator) && !cluster.objects.has("/api/v1/namespaces/lameduck-node"));
    assert.ok(cluster.objects.has(operator));
    const wrong = await cluster.lameduck("install", "--yes", "--acknowledgements", "--policy-only");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /--acknowledgements: needs processes of ours/);
  });

  test("--consumer-account lets further accounts report, as the chart's value does", async () => {
    const coordinator = "/apis/apps/v1/namespaces/ducks/deployments/lameduck-coordinator";
    const own = ["install", "--yes", "--lameduck-namespace", "ducks", "--acknowledgements"];
    const account = (name: string): string[] => ["--consumer-account", name];
    const accountsIn = (): string[] => {
      const { spec } = cluster.objects.get(coordinator) as unknown as {
        spec: { template: { spec: { containers: [{ args: string[] }] } } };
      };
      const { args } = spec.template.spec.containers[0];
      return args.filter((one) => one.startsWith("--consumer-account="));
    };
    const { code, err } = await cluster.lameduck(
      ...own,
      ...account("edge/haproxy"),
      ...account("lameduck-system/nginx.x=nginx,http"),
    );
    assert.equal(code, 0, err);
    const watcher = "--consumer-account=lameduck-node/lameduck-watcher=kube-proxy";
    const further = ["edge/haproxy", "lameduck-system/nginx.x=nginx,http"].map(
      (one) => `--consumer-account=${one}`,
    );
    assert.deepEqual(accountsIn(), [watcher, ...further]);
    await cluster.lameduck(...own);
    assert.deepEqual(accountsIn(), [watcher, ...further], "they stay");
    await cluster.lameduck(...own, "--disable", "consumer-accounts");
    assert.deepEqual(accountsIn(), [watcher]);
    for (const [name, words] of [
      ["haproxy", /"haproxy" is not of the form NAMESPACE\/NAME/],
      ["edge/haproxy=", /not of the form NAMESPACE\/NAME/],
      ["edge/$(POD_NAME)", /not of the form NAMESPACE\/NAME/],
    ] as const) {
      const wrong = await cluster.lameduck(...own, ...account(name));
      assert.equal(wrong.code, 2);
      assert.match(wrong.err, words);
    }
    const off = ["--disable", "acknowledgements"];
    const without = await cluster.lameduck(
      "install",
      "--yes",
      "--lameduck-namespace",
      "ducks",
      ...off,
      ...account("edge/haproxy"),
    );
    assert.equal(without.code, 2);
    assert.match(without.err, /--consumer-account: needs --acknowledgements/);
  });

  test("--acknowledgements lets the accounts of proxies report that are there, prints their patches, and a later installation keeps them", async () => {
    for (const [path, kind, spec] of [
      [
        "/apis/networking.k8s.io/v1/ingressclasses/nginx",
        "IngressClass",
        { controller: "k8s.io/ingress-nginx" },
      ],
      ["/api/v1/namespaces/edge/services/web", "Service", { clusterIP: "10.96.0.7" }],
      [
        "/api/v1/namespaces/edge/pods/controller",
        "Pod",
        {
          serviceAccountName: "ingress",
          containers: [{ name: "controller", image: "registry.k8s.io/ingress-nginx/controller:v1.12.0" }],
        },
      ],
    ] as const)
      cluster.put(path, { kind, metadata: {}, spec, status: { phase: "Running" } });
    const accounts = (): string =>
      JSON.stringify(
        cluster.objects.get("/apis/apps/v1/namespaces/lameduck-system/deployments/lameduck-coordinator"),
      );
    const first = await cluster.lameduck("install", "--yes", "--acknowledgements");
    assert.equal(first.code, 0, first.err);
    assert.match(
      first.err,
      /^chooses account edge\/ingress=ingress-nginx: a watcher beside ingress-nginx may report/m,
    );
    assert.match(first.err, /kubectl patch pod\/controller -n edge .*\n {2}spec:\n/);
    assert.match(first.err, /--consumer=ingress-nginx\n.*--serves=ingress-class\/nginx/);
    assert.match(accounts(), /edge\/ingress=ingress-nginx/);
    const again = await cluster.lameduck("install", "--yes");
    assert.match(again.err, /^keeps accounts edge\/ingress=ingress-nginx /m);
    assert.doesNotMatch(again.err, /chooses/);
    await cluster.lameduck("install", "--yes", "--acknowledgements", "--disable", "consumer-accounts");
    assert.doesNotMatch(accounts(), /edge\/ingress/);
    cluster.forbidden = /^\/api\/v1\/pods$/;
    const blind = await cluster.lameduck("install", "--yes", "--acknowledgements");
    assert.match(blind.err, /^note: not all readers could be chosen: pods may not be listed/m);
  });

  test("--node-reader is what the watchers of nodes read, as with the chart's value, and it stays", async () => {
    const agent = { nodeName: "n1", containers: [{ name: "cilium-agent" }] };
    cluster.put("/api/v1/namespaces/kube-system/pods/cilium", {
      kind: "Pod",
      metadata: {},
      spec: agent,
      status: { phase: "Running" },
    });
    const path = "/apis/apps/v1/namespaces/lameduck-node/daemonsets/lameduck-watcher";
    const spec = (): PodSpec =>
      (cluster.objects.get(path) as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
    const usual = await cluster.lameduck("install", "--yes", "--acknowledgements");
    assert.match(
      usual.err,
      /^note: Cilium's agent.* on 1 node, .*: no pod is released; --node-reader cilium/m,
    );
    assert.ok(spec().containers[0].args.includes("--consumer=kube-proxy"));
    const reader = "cilium=/run/c/cilium.sock";
    const { err } = await cluster.lameduck("install", "--yes", "--acknowledgements", "--node-reader", reader);
    assert.doesNotMatch(err, /no pod is released/);
    assert.ok(spec().containers[0].args.includes(`--consumer=${reader}`));
    assert.deepEqual(spec().containers[0].securityContext.capabilities, { drop: ["ALL"] });
    assert.deepEqual(spec().containers[0].volumeMounts.at(-1), {
      name: "cilium",
      mountPath: "/run/c",
      readOnly: true,
    });
    assert.deepEqual(spec().volumes[0], { name: "cilium", hostPath: { path: "/run/c", type: "Directory" } });
    const coordinator = "/apis/apps/v1/namespaces/lameduck-system/deployments/lameduck-coordinator";
    assert.match(JSON.stringify(cluster.objects.get(coordinator)), /lameduck-node\/lameduck-watcher=cilium"/);
    const again = await cluster.lameduck("install", "--yes");
    assert.match(again.err, /^keeps node reader cilium=\/run\/c\/cilium\.sock \(--disable node-reader/m);
    await cluster.lameduck("install", "--yes", "--disable", "node-reader");
    assert.ok(spec().containers[0].args.includes("--consumer=kube-proxy"));
    for (const [args, words] of [
      [["--acknowledgements", "--node-reader", "calico"], /"calico" is neither/],
      [["--acknowledgements", "--node-reader", "cilium", "--disable", "node-reader"], /asks for the same/],
      [["--policy-only", "--node-reader", "cilium"], /needs processes of ours/],
      [["--node-reader", "cilium", "--disable", "acknowledgements"], /needs --acknowledgements/],
    ] as const) {
      const wrong = await cluster.lameduck("install", "--yes", ...args);
      assert.equal(wrong.code, 2, wrong.err);
      assert.match(wrong.err, words);
    }
  });

  test("a dry run of lameduck install prints cap and grace period of new pods, and how they come about", async () => {
    const put = (path: string, kind: string, spec: object, metadata: object = {}): void =>
      cluster.put(path, { kind, metadata, spec });
    put("/api/v1/namespaces/shop/services/web", "Service", { selector: { app: "web" } });
    put(
      "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web",
      "Ingress",
      { ingressClassName: "alb", defaultBackend: { service: { name: "web" } } },
      { annotations: { "alb.ingress.kubernetes.io/target-type": "ip" } },
    );
    cluster.addPod("web");
    const { err } = await cluster.lameduck("install", "--dry-run", "--enable", "shop");
    assert.match(
      err,
      /^what new pods .* get:\n {2}shop\/pod\/web\n {4}cap 60 s \(1\.5 x 40 s: AWS ALB .*\), grace 30 -> 90 s \(60 s cap \+ 30 s/m,
    );
    const nobody = await cluster.lameduck("install", "--dry-run");
    assert.doesNotMatch(nobody.err, /what new pods/);
    if (withoutInit !== false) return;
    // The API server does not see what leads to a pod.
    const policy = await cluster.lameduck("install", "--dry-run", "--policy-only", "--enable", "shop");
    assert.match(policy.err, /cap 25 s \(25 s at least, more than 1\.5 x 15 s: nobody knows the senders\)/);
  });

  test("--metrics-from opens the port of the metrics, as the chart's value does", async () => {
    const policies = "/apis/networking.k8s.io/v1/namespaces/lameduck-system/networkpolicies";
    const own = ["install", "--yes", "--acknowledgements"];
    const openedBy = (name: string): unknown[] => {
      const policy = cluster.objects.get(`${policies}/${name}`) as unknown as {
        spec: { ingress: { from?: unknown }[] };
      };
      return policy.spec.ingress.flatMap(({ from }) => from ?? []);
    };
    const peers = ["10.0.0.0/24", "fd00::/64", "monitoring"].flatMap((peer) => ["--metrics-from", peer]);
    const { code, err } = await cluster.lameduck(...own, ...peers);
    assert.equal(code, 0, err);
    for (const name of ["lameduck-webhook", "lameduck-coordinator"])
      assert.deepEqual(openedBy(name), [
        { ipBlock: { cidr: "10.0.0.0/24" } },
        { ipBlock: { cidr: "fd00::/64" } },
        { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } },
      ]);
    await cluster.lameduck(...own, "--metrics-from", "monitoring");
    assert.equal(openedBy("lameduck-webhook").length, 3, "they stay, each once");
    await cluster.lameduck(...own, "--disable", "metrics-from");
    assert.deepEqual(openedBy("lameduck-coordinator"), []);
    const wrong = await cluster.lameduck(...own, "--metrics-from", "10.0.0.1");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /--metrics-from: "10\.0\.0\.1" is neither a CIDR nor a namespace/);
    for (const peer of ["10.0.0.0/33", "10.0.0.0/8/8", "Monitoring", ""])
      assert.throws(() => peerOf(peer), { code: "LAMEDUCK_BAD_OPTION" }, peer);
  });

  test("--held-deletions adds its webhook, and --disable takes it away and gives pods their labels back", async () => {
    const configuration =
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/held-deletions.lameduck.dev";
    const { code, err } = await cluster.lameduck("install", "--yes", "--held-deletions");
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
    await cluster.lameduck("install", "--yes");
    assert.ok(cluster.objects.has(configuration), "it stays");
    const again = await cluster.lameduck("install", "--yes", "--disable", "held-deletions");
    assert.match(again.err, /Pod shop\/web-1: has its labels back/);
    assert.ok(!cluster.objects.has(configuration));
    assert.deepEqual(cluster.objects.get(pod)?.metadata["labels"], { app: "web", team: "a" });
    assert.doesNotMatch(JSON.stringify(cluster.objects.get(operator)), /"--held-deletions"/);
    const wrong = await cluster.lameduck("install", "--yes", "--held-deletions", "--policy-only");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /--held-deletions: needs processes of ours/);
  });

  test("--surge adds its webhook and its rights, which stay until --disable takes them away", async () => {
    const added = [
      "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      "rbac.authorization.k8s.io/v1/clusterroles",
    ];
    const there = (): number =>
      added.filter((one) => cluster.objects.has(`/apis/${one}/surge.lameduck.dev`)).length;
    const args = (): string => JSON.stringify(cluster.objects.get(operator));
    const { code, err } = await cluster.lameduck("install", "--yes", "--surge");
    assert.equal(code, 0, err);
    assert.equal(there(), 2);
    assert.match(args(), /"--audit-every=10m","--surge"\]/);
    const again = await cluster.lameduck("install", "--yes");
    assert.match(again.err, /^keeps surges before evictions \(--disable surge takes it away\)$/m);
    assert.match(again.err, /Deployment lameduck-system\/lameduck-webhook: as it was/);
    const wrong = await cluster.lameduck("install", "--yes", "--policy-only");
    assert.match(wrong.err, /--policy-only: would remove what is installed: add --disable surge/);
    await cluster.lameduck("install", "--yes", "--disable", "surge");
    assert.equal(there(), 0);
    assert.doesNotMatch(args(), /--surge/);
    await cluster.lameduck("install", "--yes", "--surge");
    await cluster.lameduck("uninstall", "--yes");
    assert.equal(there(), 0);
  });

  test("lameduck install right after an uninstallation waits for the end of the namespace, which takes nothing new", async () => {
    const path = "/api/v1/namespaces/lameduck-system";
    cluster.put(path, { kind: "Namespace", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
    const { code, err } = await cluster.lameduck("install", "--yes");
    assert.equal(code, 0, err);
    assert.match(err, /Namespace lameduck-system: created/);
  });

  test("an operator that does not come up is told with what its pod says", async () => {
    cluster.isReady = false;
    cluster.put("/api/v1/namespaces/lameduck-system/pods/a", {
      kind: "Pod",
      metadata: {
        labels: { "app.kubernetes.io/name": "lameduck", "app.kubernetes.io/component": "webhook" },
      },
      spec: { containers: [] },
      status: {
        containerStatuses: [{ name: "w", state: { waiting: { reason: "ErrImagePull", message: "no" } } }],
      },
    });
    const { code, err } = await cluster.lameduck("install", "--yes", "--timeout", "1s");
    assert.equal(code, 4);
    assert.match(
      err,
      /0 of 2 replicas ready: ErrImagePull no; in force meanwhile: nothing, .* \[LAMEDUCK_NOT_READY\]/,
    );
  });

  for (const [name, prepare, args, words, code] of [
    ["an older cluster", () => (cluster.minor = "35"), ["--policy-only"], /1\.35; .* 1\.36 or newer/, 4],
    [
      "a release of Helm",
      () =>
        cluster.put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/lameduck.dev", {
          kind: "MutatingWebhookConfiguration",
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
    test(`lameduck install changes nothing with ${name}`, async () => {
      prepare();
      const result = await cluster.lameduck("install", "--yes", ...args);
      assert.match(result.err, words);
      assert.equal(result.code, code);
      assert.deepEqual(cluster.changes, []);
    });

  test("lameduck install changes nothing without a terminal to ask at", async () => {
    const { code, err } = await cluster.lameduck("install");
    assert.match(err, /LAMEDUCK_NOT_CONFIRMED/);
    assert.equal(code, 2);
    assert.deepEqual(cluster.changes, []);
  });
});

const operator = "/apis/apps/v1/namespaces/lameduck-system/deployments/lameduck-webhook";

interface PodSpec {
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly volumeMounts: readonly object[];
      readonly securityContext: { readonly capabilities: object };
    },
  ];
  readonly volumes: readonly object[];
}
