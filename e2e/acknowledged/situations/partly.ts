import type { KubernetesObject } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { until, type Cluster } from "../../cluster/index.ts";
import { apply } from "../../test/support.ts";
import {
  coordinatorPods,
  coordinatorReady,
  scaleCoordinator,
  watcherOn,
  watchersReady,
} from "../installation.ts";

const { namespace, coordinator, watcher } = operatorNames;
const deploymentPath = `/apis/apps/v1/namespaces/${namespace}/deployments/${coordinator.workload}`;
const daemonSetPath = `/apis/apps/v1/namespaces/${watcher.namespace}/daemonsets/${watcher.workload}`;

interface Variable {
  readonly name: string;
  readonly value?: string;
}

interface Container {
  readonly image: string;
  readonly env?: readonly Variable[];
}

interface Workload extends KubernetesObject {
  readonly spec: {
    readonly updateStrategy?: object;
    readonly template: { readonly spec: { readonly containers: readonly [Container] } };
  };
}

type Change = (container: Container) => Partial<Container>;

/** Another image. */
export const withImage =
  (image: string): Change =>
  () => ({ image });

/** The options of the container's own Node, and one more. */
export const withNodeOption =
  (option: string): Change =>
  ({ env = [] }) => {
    const name = "NODE_OPTIONS";
    const before = env.find((one) => one.name === name)?.value ?? "";
    return {
      env: [...env.filter((one) => one.name !== name), { name, value: `${before} ${option}`.trim() }],
    };
  };

export interface PartlyChanged {
  readonly coordinator: Change;
  readonly watcher: Change;
  /** Whose watchers are changed. */
  readonly nodes: readonly string[];
}

/** Changes one of the coordinator's two replicas, and some watchers. Returns what makes them like the others again. */
export async function changePartly(
  cluster: Cluster,
  { coordinator: ofCoordinator, watcher: ofWatcher, nodes }: PartlyChanged,
): Promise<() => Promise<void>> {
  await using undo = new AsyncDisposableStack();
  undo.defer(await changeOneCoordinator(cluster, ofCoordinator));
  undo.defer(await changeWatchers(cluster, nodes, ofWatcher));
  const later = undo.move();
  return () => later.disposeAsync();
}

/** The changed replica is in a Deployment of its own, with the same labels. */
async function changeOneCoordinator(cluster: Cluster, change: Change): Promise<() => Promise<void>> {
  const name = `${coordinator.workload}-second`;
  const { metadata, spec } = await cluster.api.get<Workload>(deploymentPath);
  const second = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels: metadata.labels ?? {} },
    spec: { ...spec, replicas: 1, template: changed(spec.template, change) },
  };
  await apply(cluster, second);
  await coordinatorReady(cluster, name);
  await scaleCoordinator(cluster, 1);
  return async () => {
    await scaleCoordinator(cluster, 2);
    await cluster.kubectl(["delete", `deployment/${name}`, "-n", namespace, "--wait=true"]);
    await until(async () => (await coordinatorPods(cluster)).length === 2, { what: "two coordinators" });
    await coordinatorReady(cluster);
  };
}

async function changeWatchers(
  cluster: Cluster,
  nodes: readonly string[],
  change: Change,
): Promise<() => Promise<void>> {
  const { spec } = await cluster.api.get<Workload>(daemonSetPath);
  const { updateStrategy, template } = spec;
  const onDelete = { type: "OnDelete", rollingUpdate: null };
  await patchDaemonSet(cluster, { updateStrategy: onDelete, template: changed(template, change) });
  for (const node of nodes) {
    const { pod } = await watcherOn(cluster, node);
    await cluster.kubectl(["delete", "pod", pod, "-n", watcher.namespace, "--wait=true"]);
  }
  await watchersThere(cluster);
  return async () => {
    await patchDaemonSet(cluster, { updateStrategy, template });
    await watchersReady(cluster);
  };
}

function changed(template: Workload["spec"]["template"], change: Change): object {
  const [container] = template.spec.containers;
  return {
    ...template,
    spec: { ...template.spec, containers: [{ ...container, ...change(container) }] },
  };
}

async function patchDaemonSet(cluster: Cluster, spec: object): Promise<void> {
  await cluster.api.patch(daemonSetPath, { spec }, "merge-patch");
}

/** `kubectl rollout status` says nothing where pods are replaced by hand. */
async function watchersThere(cluster: Cluster): Promise<void> {
  const wanted = cluster.nodeNames.length;
  const ready = async (): Promise<boolean> => {
    const { status } = await cluster.api.get<{ status: { numberReady?: number } }>(daemonSetPath);
    const pods = await cluster.api.list<KubernetesObject>(`/api/v1/namespaces/${watcher.namespace}/pods`);
    return (
      status.numberReady === wanted &&
      pods.length === wanted &&
      pods.every(({ metadata }) => metadata.deletionTimestamp === undefined)
    );
  };
  await until(ready, { what: `watchers of ${wanted} nodes` });
}
