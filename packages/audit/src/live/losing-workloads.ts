import { setImmediate as turn } from "node:timers/promises";
import type { KubernetesClient, Pod } from "@lameduck/kube";
import type { Stream } from "@lameduck/manifests";
import { auditInSteps } from "../audit.ts";
import { imagesOf } from "../model/images.ts";
import type { InputFile } from "../reading.ts";
import { noConfig } from "../suppress/config.ts";
import { nothingSuppressed } from "../suppress/suppress.ts";
import { readNamespace } from "./namespace.ts";
import { fileOf, type LiveObject } from "./objects.ts";

/** A workload that the audit says will lose requests. */
export interface WorkloadFinding {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly rule: string;
  readonly message: string;
}

export interface AuditedWorkloads {
  readonly findings: readonly WorkloadFinding[];
  /** How many were looked at. */
  readonly workloads: number;
  /** Types that may not be listed, or of which there is too much: not all of them were looked at. */
  readonly notRead: readonly string[];
}

interface LosingWorkloadsOptions {
  /** Such as "apps/Deployment". */
  readonly types: readonly string[];
  /** Minor version of the cluster. */
  readonly kubernetes: number | undefined;
  /** Characters that are audited, what is around the workloads once for each batch of them. */
  readonly mostAudited?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Audited together: what is around the workloads is read once for all of them. */
const atOnce = { workloads: 20, characters: 500_000 };
/** Milliseconds after which others get their turn. */
const longestTurnMs = 10;
/** A tenant who may write one namespace must not keep the processor busy. */
const mostAuditedChars = 20_000_000;

/**
 * The errors of the audit over what runs in a namespace. A workload's pods say what it is like, not its template: what admission has put into them is
 * there, as Lameduck's hook or a sidecar.
 */
export async function findLosingWorkloads(
  client: KubernetesClient,
  namespace: string,
  { types, kubernetes, mostAudited = mostAuditedChars, signal }: LosingWorkloadsOptions,
): Promise<AuditedWorkloads> {
  const { workloads, others, pods, notRead } = await readNamespace(client, namespace, types, signal);
  const surroundings = others.map(fileOf);
  const around = surroundings.reduce((sum, { text }) => sum + text.length, 0);
  const leftOut = new Set<string>();
  const findings: WorkloadFinding[] = [];
  const known = new WeakMap<InputFile, Stream>();
  let audited = 0;
  for (const { batch, characters } of batches(workloads.map((one) => asItRuns(one, pods)))) {
    audited += characters + around;
    if (audited > mostAudited) {
      for (const one of batch) leftOut.add(typeOf(one));
      continue;
    }
    const uids = new Map(batch.map(({ kind, metadata: { name, uid } }) => [`${kind}/${name}`, uid]));
    const steps = auditInSteps([...batch.map(fileOf), ...surroundings], {
      images: imagesOf([]),
      facts: noConfig.assume,
      kubernetes,
      notRead: new Set(notRead),
      suppressions: nothingSuppressed,
      known,
    });
    const found = await inTurns(steps, signal);
    for (const { severity, object, rule, message } of found.findings) {
      const { kind, name } = object;
      const uid = uids.get(`${kind}/${name}`);
      if (severity === "error" && uid !== undefined) findings.push({ kind, name, uid, rule, message });
    }
  }
  return { findings, workloads: workloads.length, notRead: [...new Set([...notRead, ...leftOut])] };
}

/** Whoever asks the webhook must not wait for it. */
async function inTurns<T>(steps: Generator<void, T>, signal: AbortSignal | undefined): Promise<T> {
  for (let began = -Infinity; ;) {
    if (performance.now() - began > longestTurnMs) {
      await turn(undefined, { signal });
      began = performance.now();
    }
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** "apps/Deployment" */
const typeOf = ({ apiVersion, kind }: LiveObject): string =>
  `${apiVersion.includes("/") ? apiVersion.split("/")[0] : ""}/${kind}`;

interface Batch {
  readonly batch: readonly LiveObject[];
  readonly characters: number;
}

function* batches(workloads: readonly LiveObject[]): Generator<Batch> {
  let batch: LiveObject[] = [];
  let characters = 0;
  for (const one of workloads) {
    batch.push(one);
    characters += JSON.stringify(one).length;
    if (batch.length < atOnce.workloads && characters < atOnce.characters) continue;
    yield { batch, characters };
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield { batch, characters };
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
