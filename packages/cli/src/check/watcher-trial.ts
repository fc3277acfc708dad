import { messageOf } from "@lameduck/drain/common";
import { operatorNames } from "@lameduck/protocol";
import { ApiFailure, type KubernetesClient, type Pod } from "@lameduck/kube";
import { manifestsOf } from "../install/manifest.ts";
import { dryRun, isWithoutRight } from "./admission.ts";
import type { NotKnown } from "./not-known.ts";

/** Whether the rules of this cluster let the watcher of a node run, as far as a dry run can show it. */
export interface WatcherTrial {
  readonly verdict: "admitted" | "refused" | "not known";
  readonly because: string | undefined;
}

const longestMessage = 300;
/** It is in every cluster. The watcher's own namespace is there only once Lameduck is. */
const place = "default";

/** Makes the watcher's pod as a dry run: rules for the whole cluster may refuse its network or its capabilities. */
export async function tryWatcher(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<{ readonly trial: WatcherTrial; readonly notKnown: NotKnown[] }> {
  const answer = await dryRun(client, place, watcherPod(namespace), signal);
  if (!(answer instanceof ApiFailure))
    return { trial: { verdict: "admitted", because: undefined }, notKnown: [] };
  const said = messageOf(answer).slice(0, longestMessage);
  const unknown = (because: string): Awaited<ReturnType<typeof tryWatcher>> => ({
    trial: { verdict: "not known", because },
    notKnown: [{ what: "whether the watchers of nodes would be admitted", because }],
  });
  if (isWithoutRight(answer))
    return unknown(`pods may not be created in namespace ${place}, where a dry run asks`);
  // A standard of this namespace, a quota: the watcher's own namespace has others.
  if (/PodSecurity|exceeded quota|must specify/.test(said))
    return unknown(`namespace ${place}, where a dry run asks, has rules of its own: ${said}`);
  return { trial: { verdict: "refused", because: said }, notKnown: [] };
}

interface WatcherSpec {
  readonly template: { readonly metadata: object; readonly spec: Readonly<Record<string, unknown>> };
}

/** As it is installed, without what only its own namespace has. */
function watcherPod(namespace: string): Pod {
  const objects = manifestsOf({ mode: "webhook", namespace, acknowledgements: true });
  const [{ template }] = objects.flatMap(({ kind, metadata, spec: own }) =>
    kind === "DaemonSet" && metadata.name === operatorNames.watcher.workload ? [own as WatcherSpec] : [],
  ) as [WatcherSpec];
  const { serviceAccountName: _, priorityClassName: __, ...spec } = template.spec;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...template.metadata, generateName: "lameduck-check-" },
    spec,
  } as unknown as Pod;
}
