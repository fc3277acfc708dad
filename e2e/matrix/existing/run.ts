import { ApiFailure, KubernetesClient, type ClusterConnection } from "@lameduck/kube";
import {
  checkRights,
  findTarget,
  neededRules,
  rolloutResult,
  runRollout,
  type TargetReference,
  drain,
  remove,
  restart,
  scale,
  type Action,
} from "@lameduck/rollout";
import { inClusterRules, InClusterLoad, parseRoutes } from "@lameduck/load";
import { mergeRuns, type RemedyResult } from "@lameduck/accounting";
import { badOption, ClusterError, until } from "../../cluster/index.ts";
import { deployment, service } from "../../cluster/workload.ts";
import { clusterRemedy, graceSeconds, type ClusterRemedy } from "../remedies.ts";
import { deliveredInit, delivery } from "./deliver.ts";

export interface ExistingOptions {
  readonly connection: ClusterConnection;
  /** Has Node 22.18 or newer as `node` in its PATH. */
  readonly image: string;
  readonly scenarios: readonly string[];
  readonly remedies: readonly string[];
  readonly times: number;
  readonly replicas: number;
  readonly requestsPerSecond: number;
  /** Pods that share the load. */
  readonly clients: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface ExistingResult {
  readonly scenario: string;
  readonly results: readonly RemedyResult[];
}

type Files = Awaited<ReturnType<typeof delivery>>["pod"];

const namespace = "lameduck-matrix";
const target: TargetReference = { kind: "deployment", name: "web", namespace };
const path = `/api/v1/namespaces/${namespace}`;

/**
 * The scenarios on a cluster of the user's, in a namespace of their own that is removed in the end. Nothing of the cluster's nodes is touched, so that senders
 * are not watched: there is no oracle, and pods and requests are joined by what `lameduck rollout` sees.
 */
export async function runOnExisting(options: ExistingOptions): Promise<ExistingResult[]> {
  const { scenarios, remedies, connection, say } = options;
  // A name that nobody knows is found before anything is made.
  const wanted = scenarios.map((scenario) => ({
    scenario,
    own: remedies.map((name) => known(scenario, name)),
  }));
  const client = new KubernetesClient(connection);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => client.close());
  await client.post("/api/v1/namespaces", { metadata: { name: namespace } }).catch((error: unknown) => {
    if (!(error instanceof ApiFailure) || error.status !== 409) throw error;
    throw new ClusterError("LAMEDUCK_CLUSTER_BUSY", `namespace ${namespace}`, "it is there already");
  });
  stack.defer(async () => {
    await client.delete(`/api/v1/namespaces/${namespace}`);
    say(`namespace ${namespace} removed`);
  });
  const files = await delivery();
  await client.post(`${path}/configmaps`, files.configMap, options.signal);
  await client.post(`${path}/services`, service(target.name), options.signal);
  const all: ExistingResult[] = [];
  for (const { scenario, own } of wanted) {
    const results: RemedyResult[] = [];
    for (const remedy of own) results.push(await runRemedy(client, options, scenario, remedy, files.pod));
    all.push({ scenario, results });
  }
  return all;
}

async function runRemedy(
  client: KubernetesClient,
  options: ExistingOptions,
  scenario: string,
  remedy: ClusterRemedy,
  files: Files,
): Promise<RemedyResult> {
  const runs: RemedyResult[] = [];
  for (let time = 1; time <= options.times; time++) {
    await deploy(client, options, remedy, files);
    const { name, description } = remedy;
    runs.push({ ...(await runOnce(client, options, scenario)), remedy: name, description });
    await removeApp(client);
    options.say(`  ${scenario} ${name} ${time}/${options.times}`);
  }
  return mergeRuns(runs, 1);
}

function known(scenario: string, name: string): ClusterRemedy {
  const remedy = clusterRemedy(name, deliveredInit);
  if (remedy === undefined) throw badOption("--remedies", `"${name}" is not known`);
  if (remedy.pod.image !== undefined)
    throw badOption("--remedies", `"${name}" needs an image that only the test cluster has`);
  if (!(scenario in portableScenarios))
    throw badOption(
      "--scenarios",
      `"${scenario}" needs the test cluster; elsewhere ${Object.keys(portableScenarios).join(", ")} can be run`,
    );
  return remedy;
}

const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;

async function deploy(
  client: KubernetesClient,
  { image, replicas, signal }: ExistingOptions,
  { pod }: ClusterRemedy,
  files: Files,
): Promise<void> {
  const { environment, ...rest } = pod;
  const object = deployment({
    name: target.name,
    replicas,
    image,
    gracePeriodSeconds: graceSeconds,
    // An image of somebody else's may have an entry point of its own.
    command: ["node"],
    ...rest,
    ...files,
    environment: { SLOW_MS: "300", ...environment },
  });
  await client.post(deployments, object, signal);
  await until(
    async () => {
      const { status } = await client.get<{ status: { availableReplicas?: number } }>(
        `${deployments}/${target.name}`,
      );
      return status.availableReplicas === replicas;
    },
    { what: `${replicas} pods available in ${namespace}`, timeoutMs: 180_000, everyMs: 500, signal },
  );
}

async function removeApp(client: KubernetesClient): Promise<void> {
  await client.delete(`${deployments}/${target.name}`, { propagationPolicy: "Background" });
  await until(
    async () =>
      (await client.get<{ items: readonly unknown[] }>(`${path}/pods?labelSelector=app%3D${target.name}`))
        .items.length === 0,
    { what: `the pods of ${target.name} gone`, timeoutMs: 90_000, everyMs: 500 },
  );
}

async function runOnce(
  client: KubernetesClient,
  options: ExistingOptions,
  scenario: string,
): Promise<RemedyResult> {
  const { replicas, requestsPerSecond, clients, image, say, signal } = options;
  const found = await findTarget(client, target);
  const { items: pods } = await client.get<{ items: readonly { spec: { nodeName: string } }[] }>(
    `${path}/pods?labelSelector=app%3D${target.name}`,
  );
  const node = pods[0]?.spec.nodeName ?? "";
  const make = portableScenarios[scenario];
  if (make === undefined) throw new Error(`no scenario ${scenario}`);
  const action = make(target, { replicas, node });
  const { allowed } = await checkRights(client, target, neededRules(target, action, inClusterRules([])));
  const { spec } = await client.get<{ spec: { clusterIP: string } }>(`${path}/services/${target.name}`);
  const run = await runRollout(
    {
      client,
      target: found,
      action,
      allowed,
      load: (clock) =>
        InClusterLoad.start({
          kube: client,
          clock,
          namespace,
          routes: parseRoutes([`ClusterIP=http://${spec.clusterIP}/`]),
          parallel: clients,
          image,
          rate: requestsPerSecond,
          pooledShare: 0.5,
          timeout: 10_000,
          maxDuration: 600_000,
          maxRequests: 1_000_000,
          seed: 1,
          avoidNodes: scenario === "drain-node" ? [node] : [],
          say,
          signal,
        }),
      warmUpMs: 3_000,
      settleMs: 10_000,
      timeoutMs: 300_000,
    },
    { onProgress: () => undefined, say, signal },
  );
  if (run.outcome.kind === "failed") throw run.outcome.error;
  if (run.outcome.kind !== "finished")
    throw new Error(`${scenario}: ${run.outcome.kind}: ${run.outcome.words}`);
  return rolloutResult(run, { action, seed: 1 });
}

interface ActionOptions {
  readonly replicas: number;
  /** A node that may be drained. */
  readonly node: string;
}

/** The scenarios that need nothing but the API of a cluster; the others stop components, which only the test cluster lets us. */
const portableScenarios: Readonly<
  Record<string, (target: TargetReference, options: ActionOptions) => Action>
> = {
  rollout: (target) => restart(target),
  "scale-down": (target, { replicas }) => scale(target, Math.ceil(replicas / 2)),
  delete: (target, { replicas }) => remove(target, { how: "delete", pods: Math.ceil(replicas / 4) }),
  evict: (target, { replicas }) => remove(target, { how: "evict", pods: Math.ceil(replicas / 4) }),
  "drain-node": (target, { node }) => drain(target, node),
};
