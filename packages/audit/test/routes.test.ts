import assert from "node:assert/strict";
import { test } from "node:test";
import { convergenceOf, sendersOf, audit } from "../src/index.ts";
import { options as settings } from "./options.ts";

const gateway = "gateway.networking.k8s.io";
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: web }] }
`;
const rules = "[{ backendRefs: [{ name: web, port: 53 }] }]";

const others = rules.replace("{ name", "{ group: other.example, kind: Service, name");

for (const [kind, version, leads] of [
  ["HTTPRoute", "v1", rules],
  ["GRPCRoute", "v1", rules],
  ["TLSRoute", "v1alpha2", rules],
  ["TCPRoute", "v1alpha2", rules],
  ["UDPRoute", "v1alpha2", rules],
  ["HTTPRoute", "v1", others],
] as const)
  test(`a gateway sends to the pods that a ${kind} leads to: ${leads}`, () => {
    const text = `
{ apiVersion: ${gateway}/${version}, kind: ${kind}, metadata: { name: r }, spec: { rules: ${leads} } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: web } } }
---${web}`;
    const { inventory, failures } = audit([{ name: "all.yaml", text }], settings);
    assert.deepEqual([[...inventory.skipped], failures], [[], []]);
    assert.deepEqual(
      inventory.workloads.flatMap(sendersOf).map(({ name }) => name),
      leads === rules ? ["kube-proxy", "gateway"] : ["kube-proxy"],
    );
  });

test("each Service is searched once for what leads to it, and not once for each Ingress", () => {
  const names = Array.from({ length: 30 }, (_, index) => `s${index}`);
  const text = names
    .map(
      (name) => `
{ apiVersion: v1, kind: Service, metadata: { name: ${name} }, spec: { selector: { app: web } } }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name} }
spec: { defaultBackend: { service: { name: ${name} } } }
---`,
    )
    .join("");
  const { inventory } = audit([{ name: "all.yaml", text: `${text}\n${web}` }], settings);
  const [workload] = inventory.workloads;
  assert.ok(workload);
  let reads = 0;
  const services = workload.services.map((service) => ({
    ...service,
    get field() {
      reads++;
      return service.field;
    },
  }));
  assert.equal(sendersOf({ ...workload, services }).length, 60);
  assert.ok(reads < 300, `${reads} reads of 30 Services`);
});

test("a Service that Argo Rollouts has switched selects the Rollout's pods, and no Deployment's", () => {
  const selector = `{ app: web, rollouts-pod-template-hash: 7d }`;
  const service = `{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: ${selector} } }`;
  const served = (text: string): number | undefined =>
    audit([{ name: "all.yaml", text: `${service}\n---\n${text}` }], settings).inventory.workloads[0]?.services
      .length;
  assert.equal(served(web), 0);
  assert.equal(served(web.replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")), 1);
});

for (const [beside, expected] of [
  ["istio-proxy", "Istio's sidecars"],
  ["logs", "kube-proxy"],
] as const)
  test(`a pod with a Service and a container ${beside} is called by ${expected} longest`, () => {
    const text = `
{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: web } } }
---${web.replace("[{ name: web, image: web }]", `[{ name: web, image: web }, { name: ${beside}, image: beside }]`)}`;
    const { inventory } = audit([{ name: "all.yaml", text }], settings);
    const [workload] = inventory.workloads;
    assert.ok(workload);
    assert.equal(convergenceOf(workload, {})?.sender?.name, expected);
  });

test("of two environments in one folder each has its own classes, and its own default class", () => {
  const environment = (name: string, controller: string): { name: string; text: string }[] => {
    const meta = `name: NAME, namespace: ${name}`;
    const route = (one: string, spec: string): string => `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { ${meta.replace("NAME", one)}, annotations: { alb.ingress.kubernetes.io/target-type: ip } }
spec: { ${spec}defaultBackend: { service: { name: web } } }
---`;
    const classes = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: NAME, annotations: { ingressclass.kubernetes.io/is-default-class: "true" } }
spec: { controller: ${controller} }
---`;
    return [
      { name: `${name}/classes.yaml`, text: classes.replace("NAME", "public") },
      {
        name: `${name}/web.yaml`,
        text: `${route("named", "ingressClassName: public, ")}${route("unnamed", "")}
{ apiVersion: v1, kind: Service, metadata: { ${meta.replace("NAME", "web")} }, spec: { selector: { app: web } } }
---${web.replace("name: web", meta.replace("NAME", "web"))}`,
      },
    ];
  };
  const files = [
    ...environment("test", "k8s.io/ingress-nginx"),
    ...environment("prod", "ingress.k8s.aws/alb"),
  ];
  const { inventory, failures } = audit(files, settings);
  assert.deepEqual(failures, []);
  const names = (of: string): readonly string[] =>
    inventory.workloads
      .filter(({ object }) => object.namespace === of)
      .flatMap(sendersOf)
      .map(({ name }) => name);
  assert.deepEqual(names("test"), ["kube-proxy", "ingress proxy (public)", "ingress proxy (public)"]);
  assert.deepEqual(names("prod"), ["kube-proxy", "AWS ALB (IP targets)", "AWS ALB (IP targets)"]);
});

test("a class that is no text costs its object, and not the workload", () => {
  const text = `
{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: web } } }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec: { ingressClassName: 5, defaultBackend: { service: { name: web } } }
---${web}`;
  const { inventory, failures } = audit([{ name: "all.yaml", text }], settings);
  assert.match(failures.map(({ message }) => message).join(), /^all\.yaml:7:.*must be a text/);
  assert.deepEqual(
    inventory.workloads.flatMap(sendersOf).map(({ name }) => name),
    ["kube-proxy"],
  );
});
