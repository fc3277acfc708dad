import { hasStatus, type KubernetesClient, type KubernetesObject, type Pod } from "@lameduck/kube";
import { OperatorError, initFile, operatorNames } from "@lameduck/protocol";
import { WakeableDelay } from "../wakeable-delay.ts";
import { initVolumeSumAnnotation, type InitVolumeFiles } from "./files.ts";

/** `mended`: somebody had changed it. `refused`: the API server does not take it. */
export type InitVolumeAction = "applied" | "removed" | "mended" | "refused";

export interface InitVolumeNews {
  readonly namespace: string;
  /** Of the ConfigMap, where it is there. */
  readonly uid: string | undefined;
  readonly reason: "InitVolumeChanged" | "InitVolumeRefused";
  readonly message: string;
}

/** With the fields that each writer owns: the names of keys, and none of their values. */
interface InitVolume extends KubernetesObject {
  readonly metadata: KubernetesObject["metadata"] & {
    readonly managedFields?: readonly {
      readonly manager?: string;
      readonly fieldsV1?: object;
      readonly time?: string;
    }[];
  };
}

interface InitVolumeContent extends KubernetesObject {
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
}

interface CopierOptions {
  /** What the nodes of the cluster need now. */
  readonly files: () => InitVolumeFiles;
  /** Namespaces that are injected; undefined where they cannot be read. Nothing is copied or removed then. */
  readonly enabled: () => ReadonlySet<string> | undefined;
  /** Whether this replica is the one that copies. */
  readonly isLeader: () => boolean;
  readonly onWrite: (action: InitVolumeAction, namespace: string) => void;
  /** To be told to whoever looks at the namespace. */
  readonly onNews: (news: InitVolumeNews) => void;
  readonly onProblem: (error: unknown) => void;
  /** Milliseconds between two looks at everything; default a minute. */
  readonly every?: number;
}

const { initConfigMap: name, fieldManager } = operatorNames;

/**
 * Keeps the ConfigMap with lameduck-init in every namespace that is injected. In a namespace that no longer is, it stays until
 * no pod mounts it: a container that restarts would find its hook without it.
 */
export class InitVolumeCopier {
  readonly #client: KubernetesClient;
  readonly #options: CopierOptions;
  readonly #stopping = new AbortController();
  readonly #delay = new WakeableDelay();
  /** By namespace: the resourceVersion at which its files were known to be ours. */
  readonly #seen = new Map<string, string | undefined>();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubernetesClient, options: CopierOptions) {
    this.#client = client;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Something may have changed. */
  reconcileSoon(): void {
    this.#delay.wake();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { isLeader, enabled, every = 60_000 } = this.#options;
    while (!signal.aborted) {
      const copies = isLeader() && enabled() !== undefined;
      if (copies) await this.#attempt(() => this.reconcile());
      // Who does not copy looks now and then whether it is the one that should.
      await this.#delay.wait(copies ? every : Math.min(every, 1_000), signal);
    }
  }

  /** Compares what is there with what should be, everywhere, and puts it right. */
  async reconcile(): Promise<void> {
    const found = await this.#client.listMetadata(`/api/v1/configmaps?fieldSelector=metadata.name%3D${name}`);
    const initVolumes = new Map<string, InitVolume>(found.map((one) => [one.metadata.namespace ?? "", one]));
    const enabled = this.#options.enabled();
    if (enabled === undefined) return;
    for (const namespace of enabled) {
      const there = initVolumes.get(namespace);
      const files = this.#options.files();
      const isForeign = there !== undefined && sumOf(there) === undefined;
      if (isForeign && holds(there, files)) continue;
      const isSame =
        sumOf(there) === files.sum && there?.metadata.resourceVersion === this.#seen.get(namespace);
      if (!isSame)
        await this.#attempt(() =>
          isForeign ? foreignConfigMap(namespace) : this.#apply(namespace, files, there),
        );
    }
    for (const namespace of this.#seen.keys()) if (!enabled.has(namespace)) this.#seen.delete(namespace);
    for (const [namespace, initVolume] of initVolumes)
      // One without our sum is somebody else's.
      if (!enabled.has(namespace) && sumOf(initVolume) !== undefined)
        await this.#attempt(() => this.#remove(namespace, initVolume));
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    await work().catch((error: unknown) => this.#options.onProblem(error));
  }

  /**
   * Whoever has changed the files since is overruled: hooks execute them. Applying what is there already changes nothing, and leaves
   * the keys that others have added: these are taken out, since the next release may need their room.
   */
  async #apply(namespace: string, files: InitVolumeFiles, before: InitVolume | undefined): Promise<void> {
    const { onWrite, onNews } = this.#options;
    const metadata = {
      name,
      namespace,
      labels: { "app.kubernetes.io/managed-by": "lameduck" },
      annotations: { [initVolumeSumAnnotation]: files.sum },
    };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: files.binaryData };
    try {
      const applied = await this.#client.apply<InitVolumeContent>(this.#path(namespace), body, fieldManager);
      const added = addedTo(applied, files);
      const after = added
        ? await this.#client.patch<KubernetesObject>(this.#path(namespace), added, "merge-patch")
        : applied;
      const { resourceVersion, uid } = after.metadata;
      this.#seen.set(namespace, resourceVersion);
      if (before?.metadata.resourceVersion === resourceVersion) return;
      const wasChanged = sumOf(before) === files.sum;
      onWrite(wasChanged ? "mended" : "applied", namespace);
      if (wasChanged)
        onNews({
          namespace,
          uid,
          reason: "InitVolumeChanged",
          message: `ConfigMap ${name} was changed${changedBy(before)}, and is as Lameduck wrote it again: preStop hooks execute what is in it`,
        });
    } catch (error) {
      // A namespace that is being deleted takes nothing new.
      if (hasStatus(error, 404) || (hasStatus(error, 403) && error.message.includes("being terminated")))
        return;
      if (hasStatus(error, 400, 403, 409, 413, 422)) {
        onWrite("refused", namespace);
        const message = `ConfigMap ${name} cannot be written, so that hooks of injected pods do nothing: ${error.message}`;
        onNews({ namespace, uid: before?.metadata.uid, reason: "InitVolumeRefused", message });
      }
      throw error;
    }
  }

  async #remove(namespace: string, { metadata }: KubernetesObject): Promise<void> {
    const pods = await this.#client.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
    if (pods.some(mountsInitVolume)) return;
    const { uid, resourceVersion } = metadata;
    try {
      await this.#client.delete(this.#path(namespace), { preconditions: { uid, resourceVersion } });
      this.#options.onWrite("removed", namespace);
    } catch (error) {
      if (!hasStatus(error, 404, 409)) throw error;
    }
  }

  #path(namespace: string): string {
    return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  }
}

/** It would lose it with the namespace's label otherwise. */
function foreignConfigMap(namespace: string): Promise<never> {
  const place = `ConfigMap ${namespace}/${name}`;
  return Promise.reject(
    new OperatorError(
      "LAMEDUCK_OPERATOR_FOREIGN_INIT_VOLUME",
      place,
      "somebody else made it, so it stays as it is",
    ),
  );
}

/** It runs, and has lameduck-init from the ConfigMap. */
export function mountsInitVolume({ spec, status }: Pod): boolean {
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  return !hasEnded && (spec.volumes ?? []).some(({ configMap }) => configMap?.name === name);
}

function sumOf(initVolume: KubernetesObject | undefined): string | undefined {
  return initVolume?.metadata.annotations?.[initVolumeSumAnnotation];
}

/** Whether somebody has made it by hand with what pods need. */
function holds({ metadata }: InitVolume, { binaryData }: InitVolumeFiles): boolean {
  const owned = JSON.stringify((metadata.managedFields ?? []).map(({ fieldsV1 }) => fieldsV1));
  const binaries = Object.keys(binaryData).filter((key) => key.startsWith(initFile));
  return binaries.length > 0 && binaries.every((key) => owned.includes(`"f:${key}"`));
}

/** What removes the keys that are not ours; undefined where there are none. */
function addedTo(
  { binaryData = {}, data = {} }: InitVolumeContent,
  files: InitVolumeFiles,
): object | undefined {
  const removed = (keys: readonly string[]): object => Object.fromEntries(keys.map((key) => [key, null]));
  const others = Object.keys(binaryData).filter((key) => files.binaryData[key] === undefined);
  const texts = Object.keys(data);
  return others.length + texts.length === 0
    ? undefined
    : { binaryData: removed(others), data: removed(texts) };
}

/** " by kubectl-edit" */
function changedBy(before: InitVolume | undefined): string {
  const others = (before?.metadata.managedFields ?? []).filter(({ manager }) => manager !== fieldManager);
  const [last] = others.toSorted((a, b) => (b.time ?? "").localeCompare(a.time ?? ""));
  return last?.manager === undefined ? "" : ` by ${last.manager}`;
}
