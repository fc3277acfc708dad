import {
  inject,
  podToInject,
  replaceableSleep,
  settingsFor,
  type ClusterFacts,
  type SettingSources,
} from "@lameduck/inject";
import { coordinatorVariable, injectedAnnotation } from "@lameduck/protocol";
import { serviceSelects, type Pod, type Service } from "@lameduck/kube";
import { workloadTextOf } from "../cluster/reading.ts";

/** One pod of a labelled namespace. */
export interface JudgedPod {
  readonly name: string;
  readonly workload: string;
  /** Version of Lameduck that is injected; undefined where none is. */
  readonly version: string | undefined;
  /** Why it runs without it; undefined where it runs with it. */
  readonly why: string | undefined;
  /** A restart would change it. */
  readonly isOlder: boolean;
  readonly graceSeconds: number;
  /** It is injected, and was made before pods were told of a coordinator: it asks none. The kubelet's sleep never does. */
  readonly asksNobody: boolean;
  /** Its hooks only sleep, so long: a hold could come in their place. */
  readonly sleepSeconds?: number | undefined;
}

export interface Surroundings {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ofLameduck: string;
  readonly services: readonly Service[];
  readonly policies: Omit<SettingSources, "podAnnotations">;
  readonly facts: Omit<ClusterFacts, "exposedBy">;
}

/** What injection has made of a pod, or would make of it today. */
export function judge(pod: Pod, around: Surroundings): JudgedPod {
  const { metadata, spec } = pod;
  const common = {
    name: metadata.name,
    workload: workloadTextOf(pod),
    graceSeconds: spec.terminationGracePeriodSeconds ?? 30,
  };
  const version = metadata.annotations?.[injectedAnnotation];
  if (version !== undefined)
    return { ...common, version, why: undefined, isOlder: false, asksNobody: asksNobody(pod) };
  const why = whyNot(pod, around);
  const view = podToInject(pod);
  return {
    ...common,
    version,
    why: why ?? "it was made before Lameduck or its Service was there, or while Lameduck was away",
    isOlder: why === undefined,
    asksNobody: false,
    sleepSeconds: "code" in view ? undefined : replaceableSleep(view),
  };
}

/** An empty variable is a choice: it asks nobody on purpose. */
function asksNobody({ spec: { containers } }: Pod): boolean {
  const text = JSON.stringify(containers);
  return !text.includes(`"name":"${coordinatorVariable}"`) && !text.includes('"preStop":{"sleep"');
}

function whyNot(pod: Pod, around: Surroundings): string | undefined {
  const { namespace, labels, ofLameduck, services, policies, facts } = around;
  const view = podToInject(pod, { name: namespace, labels, ownNamespace: ofLameduck });
  const { settings } = settingsFor({ ...policies, podAnnotations: pod.metadata.annotations });
  const exposedBy = services
    .filter(({ spec }) => serviceSelects(spec?.selector, pod.metadata.labels ?? {}))
    .map(({ metadata }) => `Service ${metadata.name}`);
  const { patch, reasons } = inject(view, settings, { ...facts, exposedBy });
  return patch.length > 0 ? undefined : [...new Set(reasons.map(({ text }) => text))].join("; ");
}
