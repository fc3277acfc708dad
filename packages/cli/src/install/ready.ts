import { setTimeout as delay } from "node:timers/promises";
import { count } from "@lameduck/accounting/words";
import { orUndefined, type KubernetesClient, type KubernetesObject, type Workload } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { initVolumeIn } from "./init-volume.ts";
import { found } from "./objects.ts";
import { readComponent, type ComponentStatus } from "./component.ts";
import { CliError } from "../errors.ts";

/** Time between two looks for the reason. */
const betweenLooksMs = 5_000;

interface ReadyOptions {
  readonly deployment?: string;
  /** Told why they are not, each time that it is another reason. */
  readonly say?: (line: string) => void;
}

/** Waits until all replicas of this release are there. @throws {CliError} LAMEDUCK_NOT_READY with what a pod says. */
export async function untilReady(
  client: KubernetesClient,
  namespace: string,
  milliseconds: number,
  signal: AbortSignal,
  { deployment = operatorNames.workload, say = () => undefined }: ReadyOptions = {},
): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}`;
  const until = Date.now() + milliseconds;
  let told = "";
  let next = Date.now() + betweenLooksMs;
  for (;;) {
    const { metadata, spec, status } = await client.get<Workload>(path, signal);
    const replicas = spec.replicas ?? 1;
    const isSeen = Number(status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
    if (isSeen && status?.updatedReplicas === replicas && status.availableReplicas === replicas) return;
    if (Date.now() > until)
      throw new CliError(
        "LAMEDUCK_NOT_READY",
        `deployment/${deployment} -n ${namespace}`,
        await shortfall(client, namespace, deployment, signal),
      );
    if (Date.now() > next) {
      next = Date.now() + betweenLooksMs;
      const { trouble = [] } = (await componentAt(client, namespace, deployment, signal)) ?? {};
      const now = trouble.join("; ");
      if (now !== "" && now !== told) say(`deployment/${deployment}: ${now}`);
      told = now;
    }
    await delay(500, undefined, { signal });
  }
}

/** Waits for the end of a namespace that is being deleted: it takes nothing new. @throws {CliError} LAMEDUCK_NOT_READY */
export async function untilDeleted(
  client: KubernetesClient,
  namespace: string,
  milliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  const until = Date.now() + milliseconds;
  const read = (): Promise<KubernetesObject | undefined> =>
    orUndefined(client.get<KubernetesObject>(`/api/v1/namespaces/${namespace}`, signal), 404);
  while ((await read())?.metadata.deletionTimestamp !== undefined) {
    if (Date.now() > until)
      throw new CliError("LAMEDUCK_NOT_READY", `namespace ${namespace}`, "it is still being deleted");
    await delay(500, undefined, { signal });
  }
}

/**
 * Waits until the operator has brought lameduck-init to the namespaces. The volume of a pod that is made before is empty for a
 * minute or more.
 * @returns the namespaces that it has not come to in time.
 */
export async function untilCarried(
  client: KubernetesClient,
  namespaces: readonly string[],
  milliseconds: number,
  signal: AbortSignal,
): Promise<string[]> {
  const until = Date.now() + milliseconds;
  for (;;) {
    const carried = await Promise.all(namespaces.map((one) => found(client, initVolumeIn(one))));
    const missing = namespaces.filter((_, index) => carried[index] === undefined);
    if (missing.length === 0 || Date.now() > until) return missing;
    await delay(500, undefined, { signal });
  }
}

/** How many are ready, why the others are not, and what goes on meanwhile. */
async function shortfall(
  client: KubernetesClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const found = await componentAt(client, namespace, name, signal);
  const { ready = 0, wanted = 0, former = [], trouble = [] } = found ?? {};
  const why = trouble.length === 0 ? "" : `: ${trouble.join("; ")}`;
  const meanwhile = former.length > 0 ? former.join(", ") : meanwhileNone[componentOf(name)];
  return `${ready} of ${count(wanted, "replica")} ready${why}; in force meanwhile: ${meanwhile}`;
}

const componentOf = (deployment: string): "webhook" | "coordinator" =>
  deployment === operatorNames.workload ? "webhook" : "coordinator";

const componentAt = (
  client: KubernetesClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<ComponentStatus | undefined> =>
  readComponent(client, { resource: "deployments", namespace, name, component: componentOf(name) }, signal);

const meanwhileNone = {
  webhook: "nothing, new pods start without Lameduck",
  coordinator: "no coordinator, pods decide by their own evidence",
};
