import { setImmediate as turn } from "node:timers/promises";
import type { KubernetesClient, Pod } from "@lameduck/kube";
import { audit } from "../audit.ts";
import { imagesOf } from "../model/images.ts";
import { noConfig } from "../suppress/config.ts";
import { nothingSuppressed } from "../suppress/suppress.ts";
import { readNamespace } from "./namespace.ts";
import { fileOf, type LiveObject } from "./objects.ts";

/** A workload that the audit says will lose requests. */
export interface Flag {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly rule: string;
  readonly message: string;
}

export interface FlaggedWorkloads {
  readonly flags: readonly Flag[];
  /** How many were looked at. */
  readonly workloads: number;
  /** Types that may not be listed, or of which there is too much: not all of them were looked at. */
  readonly notRead: readonly string[];
}

export interface FlagOptions {
  /** Such as "apps/Deployment". */
  readonly types: readonly string[];
  /** Minor version of the cluster. */
  readonly kubernetes: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Audited before others get their turn: some 60 ms. */
const atOnce = { workloads: 20, characters: 500_000 };

/**
 * The errors of the audit over what runs in a namespace. A workload's pods say what it is like, not its template: what admission has put into them is
 * there, as Lameduck's hook or a sidecar.
 */
export async function flagsIn(
  client: KubernetesClient,
  namespace: string,
  { types, kubernetes, signal }: FlagOptions,
): Promise<FlaggedWorkloads> {
  const { workloads, others, pods, notRead } = await readNamespace(client, namespace, types, signal);
  const surroundings = others.map(fileOf);
  const flags: Flag[] = [];
  for (const batch of batches(workloads.map((one) => asItRuns(one, pods)))) {
    await turn(undefined, { signal });
    const uids = new Map(batch.map(({ kind, metadata: { name, uid } }) => [`${kind}/${name}`, uid]));
    const { findings } = audit([...batch.map(fileOf), ...surroundings], {
      images: imagesOf([]),
      facts: noConfig.assume,
      kubernetes,
      notRead: new Set(notRead),
      suppressions: nothingSuppressed,
    });
    for (const { severity, object, rule, message } of findings) {
      const { kind, name } = object;
      const uid = uids.get(`${kind}/${name}`);
      if (severity === "error" && uid !== undefined) flags.push({ kind, name, uid, rule, message });
    }
  }
  return { flags, workloads: workloads.length, notRead };
}

function* batches(workloads: readonly LiveObject[]): Generator<readonly LiveObject[]> {
  let batch: LiveObject[] = [];
  let characters = 0;
  for (const one of workloads) {
    batch.push(one);
    characters += JSON.stringify(one).length;
    if (batch.length < atOnce.workloads && characters < atOnce.characters) continue;
    yield batch;
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** With its youngest pod in place of its template; a workload without pods as it is. */
function asItRuns(workload: LiveObject, pods: ReadonlyMap<string, Pod>): LiveObject {
  const pod = pods.get(`${workload.kind}/${workload.metadata.name}`);
  if (!pod) return workload;
  const { labels, annotations } = pod.metadata;
  const { spec } = workload as LiveObject & { readonly spec?: object };
  const template = { metadata: { labels, annotations }, spec: pod.spec };
  return { ...workload, spec: { ...spec, template } } as LiveObject;
}
