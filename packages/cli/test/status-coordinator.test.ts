import assert from "node:assert/strict";
import test from "node:test";
import { ApiFailure, type KubernetesClient } from "@lameduck/kube";
import { acknowledgementLines, areWorking, readAcknowledgements } from "../src/status/coordinator.ts";

const status = {
  version: 1,
  epoch: "a",
  mode: "availability",
  head: 0,
  terminating: 2,
  released: 1,
  consumers: [],
  missing: ["node1"],
};

const pod = (name: string, more: object = {}, spec: object = { containers: [] }): object => ({
  metadata: { name, uid: name, ...more },
  spec,
});

interface Around {
  readonly answer: object;
  readonly pods?: readonly object[];
  readonly replicas?: number;
  readonly watchers?: number;
  /** Nodes for which the DaemonSet wants a pod. */
  readonly wanted?: number;
  readonly watcherPods?: readonly object[];
  readonly events?: readonly object[];
  readonly policies?: readonly object[];
}

/** What is shown of coordinators that answer so, and whether acknowledgements count as working. */
async function shown({
  answer,
  pods = [pod("coordinator-1")],
  policies = [],
  ...of
}: Around): Promise<string> {
  const { replicas = 1, watchers, wanted = 3, watcherPods = [], events = [] } = of;
  const lists = {
    networkpolicies: policies,
    events,
    "component%3Dcoordinator": pods,
    "component%3Dwatcher": watcherPods,
  };
  const template = { spec: { containers: [{ name: "c", image: "new" }] } };
  const client = {
    list: (path: string) =>
      Promise.resolve(Object.entries(lists).find(([what]) => path.includes(what))?.[1] ?? []),
    get: (path: string) => {
      const metadata = { name: "one", uid: "one" };
      if (path.endsWith("/lameduck-coordinator"))
        return Promise.resolve({
          metadata,
          spec: { replicas, template },
          status: { availableReplicas: replicas },
        });
      if (path.endsWith("/lameduck-watcher") && watchers !== undefined)
        return Promise.resolve({
          metadata,
          spec: { template },
          status: { desiredNumberScheduled: wanted, numberAvailable: watchers },
        });
      if (path.includes("/daemonsets/"))
        return Promise.reject(new ApiFailure("here", 404, "NotFound", "none"));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  } as unknown as KubernetesClient;
  const { signal } = new AbortController();
  const read = await readAcknowledgements(client, "lameduck-system", true, signal);
  assert.ok(read);
  return [...acknowledgementLines(read, "lameduck-system"), areWorking(read) ? "works" : "fails"].join("\n");
}

test("a coordinator of an earlier release, which says less, is shown", async () => {
  assert.match(
    await shown({ answer: status }),
    /reports of 0 senders, mode availability unless .*; 2 pods terminating, 1 of them/,
  );
});

test("senders that never stopped sending in the last hour are named, with the pod and why", async () => {
  const one = { name: "nginx/edge", pod: "shop/web-1", pods: 3, reason: "not reloaded", agoMs: 240_000 };
  const text = await shown({ answer: { ...status, stuck: [one] } });
  assert.match(
    text,
    /still sending: nginx\/edge to shop\/web-1 60 s after its end, 4 min ago \(not reloaded\), and to 2 more pods within the hour/,
  );
});

test("a replica that terminates is left out: it may have lost its rights already", async () => {
  const old = { metadata: { name: "coordinator-0", deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const text = await shown({ answer: status, pods: [pod("coordinator-1"), old] });
  assert.match(text, /^acknowledgements: 1 of 1 coordinators ready\n/);
  assert.doesNotMatch(text, /coordinator-0/);
});

test("who speaks another version of the protocol to it is named", async () => {
  const otherVersions = [{ who: "kube-proxy/node1", version: "2" }];
  assert.match(
    await shown({ answer: { ...status, otherVersions } }),
    /kube-proxy\/node1 speaks version 2 of the protocol/,
  );
});

test("who is behind and says why is shown with it, and so is who cannot be read", async () => {
  const common = { node: undefined, basis: "state", isSilent: false };
  const consumers = [
    { ...common, name: "nginx/edge-1", behind: 1, reason: "not reloaded since" },
    { ...common, name: "nginx/edge-2", behind: 0, reason: "not reloaded before" },
    { ...common, name: "nginx/edge-3", behind: 0, problem: "no\nprocess" },
  ];
  const text = await shown({ answer: { ...status, consumers } });
  assert.match(text, /nginx\/edge-1: not reloaded since\n/);
  assert.doesNotMatch(text, /edge-2/);
  assert.match(text, /nginx\/edge-3: no\\u000aprocess$/m);
});

test("an answer of another version is unknown, and says which command to use", async () => {
  const text = await shown({ answer: { version: 2, reporters: [] } });
  assert.match(text, /coordinator-1: unknown.*another version; use the command of its release/);
});

const sound = {
  ...status,
  missing: [],
  consumers: [{ name: "kube-proxy/node1", behind: 0, isSilent: false }],
};
const deny = { metadata: { name: "deny", uid: "d" }, spec: { podSelector: {}, policyTypes: ["Ingress"] } };
const opened = (...from: readonly object[]): object => ({
  metadata: { name: "open", uid: "o" },
  spec: { podSelector: {}, ingress: [{ ports: [{ port: 9090 }], ...(from.length > 0 ? { from } : {}) }] },
});
const pulling = pod("coordinator-1");
Object.assign(pulling, {
  status: {
    containerStatuses: [
      { name: "c", state: { waiting: { reason: "ErrImagePull", message: "no such tag" } } },
    ],
  },
});
const istio = { need: "mesh/istio", who: "Istio's sidecars", shownBy: "Pod shop/client", services: 41 };
const alb = { need: "ingress-class/alb", shownBy: "Ingress shop/web", services: 1 };
const refused = new Error("no route");
const former = pod("watcher-0", {}, { containers: [{ image: "old" }] });
Object.assign(former, { status: { conditions: [{ type: "Ready", status: "True" }] } });
const lost = pod("watcher-1", {}, { nodeName: "node5", containers: [{ image: "new" }] });
Object.assign(lost, {
  status: {
    conditions: [{ type: "Ready", status: "False" }],
    containerStatuses: [{ name: "c", ready: true, state: { running: {} } }],
  },
});
const forbidden = { lastTimestamp: "2026-01-01T00:00:00Z", message: "Error creating: exceeded quota" };

for (const [what, around, words] of [
  ["all is well", { answer: sound }, /works$/],
  ["every node has its watcher", { answer: sound, watchers: 3 }, /3 of 3 watchers ready[^]*works$/],
  ["a watcher is not ready", { answer: sound, watchers: 2 }, /2 of 3 watchers ready[^]*fails$/],
  ["no node is chosen", { answer: sound, watchers: 0, wanted: 0 }, /watcher wants no node: [^]*fails$/],
  [
    "a node of a watcher is lost",
    { answer: sound, watchers: 2, watcherPods: [lost] },
    /watcher: node node5, where it runs, is not Ready[^]*fails$/,
  ],
  [
    "pods of the watcher are refused",
    { answer: sound, watchers: 2, events: [forbidden] },
    /watcher: FailedCreate Error creating: exceeded quota[^]*fails$/,
  ],
  [
    "watchers of the image before are in force",
    { answer: sound, watchers: 3, watcherPods: [former] },
    /2 of 3 watchers ready\n {2}watcher: in force meanwhile: 1 of old[^]*fails$/,
  ],
  ["scaled to 0", { answer: sound, pods: [], replicas: 0 }, /is scaled to 0: [^]*--replicas=2\nfails$/],
  [
    "an image that cannot be pulled",
    { answer: sound, pods: [pulling] },
    /coordinator: ErrImagePull no such tag/,
  ],
  [
    "a consumer that is silent",
    { answer: { ...sound, consumers: [{ name: "kube-proxy/node1", behind: 0, isSilent: true }] } },
    /silent: kube-proxy\/node1\nfails$/,
  ],
  ["nobody reports for a node", { answer: status }, /nobody reports for node1[^]*fails$/],
  // Its pods decide by themselves: that is how it is meant to be.
  [
    "senders for which nothing reports",
    { answer: { ...sound, services: { services: 42, incomplete: 41, senders: [istio, alb] } } },
    /pods of 41 Services \(of 42\) are not released[^]*\n {6}mesh\/istio \(Istio's sidecars, shown by Pod shop\/client\): 41 Services\n {6}ingress-class\/alb \(shown by Ingress shop\/web\): 1 Services?\n[^]*sendsNothing[^]*works$/,
  ],
  [
    "the only Service has such a sender",
    { answer: { ...sound, services: { services: 1, incomplete: 1, senders: [alb] } } },
    / pods of 1 Service \(of 1\) are not released[^]*works$/,
  ],
  [
    "a kind that may not be listed",
    {
      answer: {
        ...sound,
        unread: [
          { name: "mappings", state: "waiting", problem: "the conversion failed" },
          { name: "httpproxies", state: "refused", resource: "httpproxies.projectcontour.io" },
        ],
      },
    },
    /mappings have not been read yet: nobody is released \(the conversion failed\)\n {4}httpproxies may not be read: nobody is released: let lameduck-coordinator list and watch httpproxies\.projectcontour\.io\nfails$/,
  ],
  [
    "a NetworkPolicy keeps the question out",
    { answer: refused, policies: [deny] },
    /could not be asked: no route\n {2}NetworkPolicy deny lets nobody in to port 9090[^]*fails$/,
  ],
  [
    "another policy lets others in",
    { answer: refused, policies: [deny, opened({ ipBlock: { cidr: "10.0.0.0/8" } })] },
    /NetworkPolicy deny, open lets only some in to port 9090[^]*fails$/,
  ],
  ["another policy lets everybody in", { answer: refused, policies: [deny, opened()] }, /no route\nfails$/],
] as const)
  test(`${what}: told with its cause, and in the exit code`, async () =>
    assert.match(await shown(around), words));
