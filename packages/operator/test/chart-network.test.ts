import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { operatorNames } from "@lameduck/protocol";
import { parseAllDocuments } from "yaml";

const page = "install-acknowledgements-held-deletions.yaml";
const path = join(import.meta.dirname, "..", "..", "..", "docs", page);
const { namespace, workload, coordinator, watcher } = operatorNames;
/** Its Service's, then kubeadm's and most others', minikube's and microk8s's. */
const apiServerPorts = [443, 6443, 8443, 16443];

type Labels = Readonly<Record<string, string>>;

interface Rule {
  readonly ports: readonly { readonly port: string | number; readonly protocol?: string }[];
  readonly from?: readonly object[];
  readonly to?: readonly { readonly podSelector: { readonly matchLabels: Labels } }[];
}

interface Policy {
  readonly podSelector: { readonly matchLabels: Labels };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly Rule[];
  readonly egress: readonly Rule[];
}

interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly hostNetwork?: boolean;
    readonly containers: readonly [
      {
        readonly args: readonly string[];
        readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
      },
    ];
  };
}

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: unknown;
}

const objects = parseAllDocuments(readFileSync(path, "utf8")).flatMap(
  (one) => (one.toJS() as Rendered | null) ?? [],
);
const policies = objects.filter(({ kind }) => kind === "NetworkPolicy");

function templateOf(name: string): PodTemplate {
  const found = objects.find(
    ({ kind, metadata }) => /^(?:Deployment|DaemonSet)$/.test(kind) && metadata.name === name,
  );
  assert.ok(found, name);
  return (found.spec as { template: PodTemplate }).template;
}

const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);

/** The policies of a pod: it may do what one of them allows. */
function policiesOf(pod: PodTemplate, of: string = namespace): readonly Policy[] {
  return policies
    .filter(({ metadata }) => metadata.namespace === of)
    .map(({ spec }) => spec as Policy)
    .filter(({ podSelector }) => matches(podSelector.matchLabels, pod.metadata.labels));
}

/** The port's number, as the pod that has it names it. */
function numberOf(port: string | number, pod: PodTemplate): number | undefined {
  if (typeof port === "number") return port;
  return pod.spec.containers[0].ports?.find(({ name }) => name === port)?.containerPort;
}

/** "8443 from anywhere" */
function lettingIn(pod: PodTemplate): readonly string[] {
  return policiesOf(pod).flatMap(({ ingress }) =>
    ingress.flatMap(({ ports, from }) =>
      ports.map(({ port }) => `${numberOf(port, pod)} from ${from ? JSON.stringify(from) : "anywhere"}`),
    ),
  );
}

/** Whether the pod may open a connection to a port of another. */
function reaches(pod: PodTemplate, port: number, other?: PodTemplate): boolean {
  return policiesOf(pod).some(({ egress }) =>
    egress.some(
      ({ ports, to }) =>
        ports.some((one) => numberOf(one.port, other ?? pod) === port && one.protocol !== "UDP") &&
        (!to ||
          (other && to.some(({ podSelector }) => matches(podSelector.matchLabels, other.metadata.labels)))),
    ),
  );
}

const flag = (pod: PodTemplate, name: string): string =>
  pod.spec.containers[0].args.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3) ?? "";

describe("the chart's NetworkPolicies", () => {
  const webhook = templateOf(workload);
  const collecting = templateOf(coordinator.workload);
  const node = templateOf(watcher.workload);

  it("are one for each pod of the namespace, and none of another pod", () => {
    for (const pod of [webhook, collecting]) {
      const [own, ...others] = policiesOf(pod);
      assert.deepEqual(own?.policyTypes, ["Ingress", "Egress"]);
      assert.deepEqual(others, []);
    }
    assert.equal(policies.length, 2);
  });

  it("let in what is served to others, and not the metrics", () => {
    assert.deepEqual(lettingIn(webhook), [`${operatorNames.ports.webhook} from anywhere`]);
    assert.deepEqual(lettingIn(collecting), [`${coordinator.ports.protocol} from anywhere`]);
  });

  it("let the webhook out to the API server and to the coordinator", () => {
    for (const port of apiServerPorts) assert.ok(reaches(webhook, port));
    const { hostname, port } = new URL(flag(webhook, "coordinator"));
    assert.equal(hostname, `${coordinator.service}.${namespace}.svc`);
    assert.ok(reaches(webhook, Number(port), collecting));
  });

  it("let replicas of the coordinator out to the API server and to each other, and nowhere else", () => {
    for (const port of apiServerPorts) assert.ok(reaches(collecting, port));
    assert.equal(flag(collecting, "peers"), `${coordinator.consumersService}.${namespace}.svc`);
    assert.ok(reaches(collecting, coordinator.ports.protocol, collecting));
    assert.ok(!reaches(collecting, coordinator.ports.protocol, webhook));
  });

  it("let names be looked up, also where DNS listens on another port than its Service", () => {
    for (const pod of [webhook, collecting]) {
      const ports = policiesOf(pod).flatMap(({ egress }) => egress.flatMap((rule) => rule.ports));
      for (const number of [53, 5353, 8053]) {
        const dns = ports.filter(({ port }) => port === number).map(({ protocol = "TCP" }) => protocol);
        assert.deepEqual(dns.sort(), ["TCP", "UDP"]);
      }
    }
  });

  it("leave the watcher alone, which is on its node's network and calls the coordinator", () => {
    assert.equal(node.spec.hostNetwork, true);
    assert.deepEqual(policiesOf(node, watcher.namespace), []);
    const { port } = new URL(flag(node, "coordinator"));
    assert.equal(Number(port), coordinator.ports.protocol);
  });
});
