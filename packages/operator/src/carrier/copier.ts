import { hasStatus, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { OperatorError } from "../errors.ts";
import { operatorNames } from "../names.ts";
import { Pause } from "../process/pause.ts";
import { carrierSumAnnotation, type CarrierFiles } from "./files.ts";

export interface MountingPod extends KubernetesObject {
  readonly spec?: { readonly volumes?: readonly { readonly configMap?: { readonly name?: string } }[] };
  readonly status?: { readonly phase?: string };
}

export interface CopierOptions {
  readonly files: CarrierFiles;
  /** Namespaces that are injected; undefined where they cannot be read. Nothing is copied or removed then. */
  readonly enabled: () => ReadonlySet<string> | undefined;
  /** Whether this replica is the one that copies. */
  readonly isLeader: () => boolean;
  readonly onWrite: (action: "applied" | "removed", namespace: string) => void;
  readonly onProblem: (error: unknown) => void;
  /** Milliseconds between two looks at everything; default a minute. */
  readonly every?: number;
}

const { carrierConfigMap: name, fieldManager } = operatorNames;

/**
 * Keeps the ConfigMap with lameduck-init in every namespace that is injected. In a namespace that no longer is, it stays until
 * no pod mounts it: a container that restarts would find its hook without it.
 */
export class CarrierCopier {
  readonly #client: KubernetesClient;
  readonly #options: CopierOptions;
  readonly #stopping = new AbortController();
  readonly #pause = new Pause();
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
    this.#pause.end();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { isLeader, enabled, every = 60_000 } = this.#options;
    while (!signal.aborted) {
      const copies = isLeader() && enabled() !== undefined;
      if (copies) await this.#attempt(() => this.reconcile());
      // Who does not copy looks now and then whether it is the one that should.
      await this.#pause.begin(copies ? every : Math.min(every, 1_000), signal);
    }
  }

  /** Compares what is there with what should be, everywhere, and puts it right. */
  async reconcile(): Promise<void> {
    const found = await this.#client.listMetadata(`/api/v1/configmaps?fieldSelector=metadata.name%3D${name}`);
    const carriers = new Map(found.map((one) => [one.metadata.namespace ?? "", one]));
    const enabled = this.#options.enabled();
    if (enabled === undefined) return;
    for (const namespace of enabled) {
      const there = carriers.get(namespace);
      if (sumOf(there) !== this.#options.files.sum)
        await this.#attempt(() =>
          there !== undefined && sumOf(there) === undefined
            ? foreignConfigMap(namespace)
            : this.#apply(namespace),
        );
    }
    for (const [namespace, carrier] of carriers)
      // One without our sum is somebody else's.
      if (!enabled.has(namespace) && sumOf(carrier) !== undefined)
        await this.#attempt(() => this.#remove(namespace, carrier));
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    await work().catch((error: unknown) => this.#options.onProblem(error));
  }

  async #apply(namespace: string): Promise<void> {
    const { files, onWrite } = this.#options;
    const metadata = {
      name,
      namespace,
      labels: { "app.kubernetes.io/managed-by": "lameduck" },
      annotations: { [carrierSumAnnotation]: files.sum },
    };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: files.binaryData };
    try {
      await this.#client.apply(this.#path(namespace), body, fieldManager);
      onWrite("applied", namespace);
    } catch (error) {
      // A namespace that is being deleted takes nothing new.
      if (!hasStatus(error, 404) && !(hasStatus(error, 403) && error.message.includes("being terminated")))
        throw error;
    }
  }

  async #remove(namespace: string, { metadata }: KubernetesObject): Promise<void> {
    const pods = await this.#client.list<MountingPod>(`/api/v1/namespaces/${namespace}/pods`);
    if (pods.some(mountsCarrier)) return;
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
      "LAMEDUCK_OPERATOR_FOREIGN_CARRIER",
      place,
      "somebody else made it, so it stays as it is",
    ),
  );
}

/** It runs, and has lameduck-init from the ConfigMap. */
export function mountsCarrier({ spec, status }: MountingPod): boolean {
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  return !hasEnded && (spec?.volumes ?? []).some(({ configMap }) => configMap?.name === name);
}

function sumOf(carrier: KubernetesObject | undefined): string | undefined {
  return carrier?.metadata.annotations?.[carrierSumAnnotation];
}
