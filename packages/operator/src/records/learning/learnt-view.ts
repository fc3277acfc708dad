import { learntText } from "@lameduck/drain";
import { type KubernetesClient, type KubernetesObject, Source } from "@lameduck/kube";
import { workloadOf } from "../../coordinator/state/objects.ts";
import { operatorNames } from "../../names.ts";
import { isMap } from "../../policy/validate.ts";
import { workloadText } from "../../coordinator/termination.ts";
import { clusterEntry, fewestLessons, withDefault } from "./cluster-lessons.ts";
import { keyOf, learntIn, longestKey, mostWorkloads } from "./lessons.ts";

interface LearntObject extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Characters of what one workload has learnt: some 400 where the coordinator wrote it. */
const longestEntry = 2_000;

/** No more than the coordinator writes: others may write the ConfigMap, too. */
function boundedEntries(data: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own = Object.entries(data).filter(
    ([key, { length }]) => key.length <= longestKey && length <= longestEntry,
  );
  return Object.fromEntries(own.slice(0, mostWorkloads));
}

/** What terminations have taught, by namespace and workload, for the pods that are made: the ConfigMaps `lameduck-learnt`. */
export class LearntView {
  readonly #source: Source<LearntObject>;
  readonly #learnt = new Map<string, Readonly<Record<string, string>>>();
  readonly #ownNamespace: string;

  /** @param ownNamespace the operator's, where what the whole cluster has taught is. */
  constructor(
    client: KubernetesClient,
    ownNamespace: string,
    onProblem: (part: string, error: unknown) => void,
  ) {
    this.#ownNamespace = ownNamespace;
    this.#source = new Source<LearntObject>(client, {
      name: "learnt",
      path: "/api/v1/configmaps",
      query: { fieldSelector: `metadata.name=${operatorNames.learntConfigMap}` },
      keep: ({ metadata: { name, namespace = "", uid, resourceVersion = "" }, data = {} }) => ({
        metadata: { name, namespace, uid, resourceVersion },
        data: boundedEntries(data),
      }),
      onChange: ({ type, object }) => {
        const { namespace = "" } = object.metadata;
        if (type === "gone") this.#learnt.delete(namespace);
        else this.#learnt.set(namespace, object.data ?? {});
      },
      onProblem,
    });
  }

  start(): void {
    this.#source.start();
  }

  stop(): Promise<void> {
    return this.#source.stop();
  }

  /** The value of LAMEDUCK_LEARNT: of the pod's workload, else of the cluster. Undefined where nothing was learnt that this release can read. */
  of(namespace: string, pod: unknown): string | undefined {
    const learnt = this.#ofWorkload(namespace, pod) ?? this.#ofCluster();
    // Rendered from the parsed numbers: anyone with access to the ConfigMap may have added other text.
    return learnt && learntText(learnt);
  }

  #ofWorkload(namespace: string, pod: unknown): ReturnType<typeof learntIn> {
    const entries = this.#learnt.get(namespace);
    if (!entries || !isMap(pod) || !isMap(pod["metadata"])) return undefined;
    const workload = workloadOf(pod as unknown as KubernetesObject);
    return workload && learntIn(entries[keyOf(workloadText({ workload, name: "" }))]);
  }

  #ofCluster(): ReturnType<typeof learntIn> {
    const learnt = learntIn(this.#learnt.get(this.#ownNamespace)?.[clusterEntry]);
    return learnt && learnt.terminations >= fewestLessons ? withDefault(learnt) : undefined;
  }
}
