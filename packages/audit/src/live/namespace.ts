import { hasStatus, workloadNameOf, type KubernetesClient, type Pod } from "@lameduck/kube";
import { makesPods, workloadTypes } from "../model/object.ts";
import { asApplied, liveObjects, type LiveObject } from "./objects.ts";

/** What runs in a namespace, and what leads to it. */
interface LiveNamespace {
  readonly workloads: readonly LiveObject[];
  readonly others: readonly LiveObject[];
  /** The youngest of each workload, by its kind and name. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** Types that may not be listed, or of which there is too much to be read. */
  readonly notRead: readonly string[];
}

/** A tenant who may write one namespace must not fill the memory. */
const mostCharsOfWorkloads = 8_000_000;
const mostCharsOfOthers = 500_000;
/** The audit of one object cannot be interrupted: some 100 ms for so many characters. */
const mostCharsOfObject = 250_000;
const pageSize = 100;

/** @param types such as "apps/Deployment". */
export async function readNamespace(
  client: KubernetesClient,
  namespace: string,
  types: readonly string[],
  signal: AbortSignal | undefined,
): Promise<LiveNamespace> {
  const workloads: LiveObject[] = [];
  const others: LiveObject[] = [];
  const pods = new Map<string, Pod>();
  const lengths = new Map<string, number>();
  const notRead = new Set<string>();
  const left = { workloads: mostCharsOfWorkloads, others: mostCharsOfOthers };
  for (const type of types) {
    const isWorkload = workloadTypes.includes(type);
    const kind = isWorkload ? "workloads" : "others";
    const keep = (object: LiveObject): undefined => {
      const maker = isWorkload ? workloadNameOf(object) : undefined;
      // An object that a controller made is left out where the controller itself is read.
      const owner = maker && (type === "/Pod" || makesPods(maker.kind)) ? maker : undefined;
      if (owner && type !== "/Pod") return;
      const key = owner && `${owner.kind}/${owner.name}`;
      if (key !== undefined && !isYounger(object as LiveObject & Pod, pods.get(key))) return;
      const slim = asApplied(object);
      const { length } = JSON.stringify(slim);
      if (length > Math.min(left[kind], mostCharsOfObject)) {
        notRead.add(type);
        return;
      }
      left[kind] += (key === undefined ? 0 : (lengths.get(key) ?? 0)) - length;
      if (key !== undefined) {
        pods.set(key, slim as LiveObject & Pod);
        lengths.set(key, length);
      } else (isWorkload ? workloads : others).push(slim);
    };
    try {
      for await (const _ of liveObjects(client, type, namespace, keep, { signal, limit: pageSize }));
    } catch (error) {
      // Kinds that are not installed are not there to be audited.
      if (hasStatus(error, 404)) continue;
      if (!hasStatus(error, 403)) throw error;
      notRead.add(type);
    }
  }
  return { workloads, others, pods, notRead: [...notRead] };
}

function isYounger({ metadata, status }: Pod, than: Pod | undefined): boolean {
  const { deletionTimestamp, creationTimestamp = "" } = metadata;
  const runs = deletionTimestamp === undefined && !/Succeeded|Failed/.test(status?.phase ?? "");
  return runs && creationTimestamp >= (than?.metadata.creationTimestamp ?? "");
}
