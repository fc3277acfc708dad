import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { nodeName } from "./network/addresses.ts";
import { isReady as isReadyNode, type KubernetesClient, type Node } from "@lameduck/kube";
import { clientOf, isReady } from "./client.ts";
import { lastWords, start, stateOf, type ComponentPlan, type RunningComponent } from "./component.ts";
import { controllers, domainNameServer, etcdAndApiServer, issueCredentials } from "./control-plane.ts";
import { publishDomainNames } from "./network/domain-names.ts";
import { isEnforcing, policyEnforcers } from "./network/policies.ts";
import { ClusterError } from "./errors.ts";
import { createNodeCgroup } from "./host/cgroups.ts";
import { connect } from "./host/network.ts";
import { freePort } from "./host/ports.ts";
import { requireProgram } from "./host/requirements.ts";
import { furnishNode, openSandbox, type Sandbox } from "./host/sandbox.ts";
import { until } from "./host/until.ts";
import { giveStore, waitForContainerd } from "./images/store.ts";
import { nodeRoot, planNode } from "./node.ts";
import type { Settings } from "./options.ts";
import { prepare, prepareKubeRouter } from "./prepare.ts";
import { writeState, type ClusterState } from "./state.ts";
import { identify } from "./host/processes.ts";

export interface BringUp {
  readonly directory: string;
  readonly settings: Settings;
  readonly detached: boolean;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** From nothing to all nodes Ready. Whoever calls it tears down when it throws. */
export async function bringUp({
  directory,
  settings,
  detached,
  say,
  signal,
}: BringUp): Promise<ClusterState> {
  const { programs, store } = await prepare(say);
  const runc = await requireProgram("runc");
  const kubeRouter = settings.networkPolicies ? await prepareKubeRouter(say) : undefined;
  signal.throwIfAborted();

  const begun = performance.now();
  const progress = (what: string): void =>
    say(`${((performance.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${what}`);
  await mkdir(join(directory, "log"), { recursive: true });
  const hostPort = await freePort();
  const numbers = Array.from({ length: settings.nodes }, (_, index) => index + 1);
  const [credentials, { fabric, nodes }] = await Promise.all([
    issueCredentials(join(directory, "pki"), settings.nodes, hostPort),
    openMachines(directory, programs.pause, numbers, store),
  ]);
  progress(`${numbers.length} nodes and the fabric: namespaces, network, certificates`);

  const sandboxes = [fabric, ...nodes];
  const components: RunningComponent[] = [];
  const launch = async (plan: ComponentPlan): Promise<void> => {
    signal.throwIfAborted();
    const sandbox = sandboxes.find(({ name }) => name === plan.sandbox);
    if (sandbox === undefined) throw new Error(`no sandbox ${plan.sandbox}`);
    components.push(await start(plan, sandbox));
  };
  const { auditLog } = settings;
  const controlPlane = { state: directory, programs, credentials, hostPort, auditLog };
  for (const plan of await etcdAndApiServer(controlPlane)) await launch(plan);
  const nodePlans = await Promise.all(
    numbers.map((number) =>
      planNode({
        number,
        state: directory,
        programs,
        runc,
        credentials,
        proxyMode: settings.proxyMode,
        proxyLag: settings.proxyLag[number - 1] ?? "1s",
      }),
    ),
  );
  for (const plan of nodePlans) await launch(plan.containerd);
  const kubeconfig = credentials.kubeconfig["host"] ?? "";
  const api = clientOf(kubeconfig);
  try {
    const waiting = { signal, logs: join(directory, "log") };
    await until(() => ready(api, components), { ...waiting, what: "API server ready" });
    progress("API server ready");
    for (const plan of controllers(controlPlane)) await launch(plan);
    await Promise.all(nodes.map((node) => waitForContainerd(node, programs, join(directory, "log"))));
    for (const plan of nodePlans) await launch(plan.kubelet);
    for (const plan of nodePlans) await launch(plan.kubeProxy);
    await publishDomainNames(api);
    await launch(await domainNameServer(controlPlane));
    progress("controllers, kubelets, kube-proxies and CoreDNS started");
    await until(() => allUsable(api, settings.nodes, components), {
      ...waiting,
      what: `${settings.nodes} nodes Ready`,
    });
    progress(`${numbers.map(nodeName).join(", ")} Ready`);
    if (kubeRouter !== undefined) {
      const enforcers = { state: directory, kubeRouter, authority: credentials.authority, numbers };
      for (const plan of await policyEnforcers(api, enforcers)) await launch(plan);
      await until(() => allEnforcing(nodes, components), { ...waiting, what: "NetworkPolicies enforced" });
      progress("NetworkPolicies enforced");
    }
  } finally {
    api.close();
  }
  const owner = detached ? undefined : await identify(process.pid);
  const state: ClusterState = {
    settings,
    complete: true,
    programs,
    kubeconfig,
    sandboxes,
    components,
    ...(owner === undefined ? {} : { owner }),
  };
  await writeState(directory, state);
  return state;
}

async function openMachines(
  directory: string,
  holder: string,
  numbers: readonly number[],
  store: string,
): Promise<{ fabric: Sandbox; nodes: Sandbox[] }> {
  const [fabric, ...nodes] = await Promise.all(
    ["fabric", ...numbers.map(nodeName)].map((name) => openSandbox(name, holder, directory)),
  );
  if (fabric === undefined) throw new Error("no fabric");
  await Promise.all([
    connect(fabric, nodes),
    ...numbers.map(async (number, index) => {
      const root = nodeRoot(directory, number);
      await giveStore(store, root);
      const node = nodes[index];
      if (node !== undefined) await furnishNode(node, root);
      await createNodeCgroup(nodeName(number));
    }),
  ]);
  return { fabric, nodes };
}

async function ready(api: KubernetesClient, components: readonly RunningComponent[]): Promise<boolean> {
  await allAlive(components);
  return isReady(api);
}

/** Ready nodes, and the service account without which no pod is admitted. */
async function allUsable(
  api: KubernetesClient,
  count: number,
  components: readonly RunningComponent[],
): Promise<boolean> {
  await allAlive(components);
  const nodes = await api.list<Node>("/api/v1/nodes");
  if (nodes.filter(isReadyNode).length < count) return false;
  await api.get("/api/v1/namespaces/default/serviceaccounts/default");
  return true;
}

async function allEnforcing(
  nodes: readonly Sandbox[],
  components: readonly RunningComponent[],
): Promise<boolean> {
  await allAlive(components);
  return (await Promise.all(nodes.map(isEnforcing))).every(Boolean);
}

async function allAlive(components: readonly RunningComponent[]): Promise<void> {
  for (const component of components)
    if ((await stateOf(component)) === "ended")
      throw new ClusterError(
        "LAMEDUCK_CLUSTER_COMPONENT_ENDED",
        component.plan.name,
        `ended while the cluster came up; ${await lastWords(component.plan)}`,
      );
}
