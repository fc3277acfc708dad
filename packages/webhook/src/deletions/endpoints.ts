import { type Change, type KubernetesClient, type KubernetesObject, Source } from "@lameduck/kube";
import { keepMetadata } from "@lameduck/cluster";

interface Slice extends KubernetesObject {
  readonly endpoints?:
    | readonly {
        readonly conditions?: { readonly ready?: boolean };
        readonly targetRef?: { readonly uid?: string };
      }[]
    | null;
}

interface KeptSlice {
  readonly service: string;
  readonly ready: ReadonlySet<string>;
}

const serviceLabel = "kubernetes.io/service-name";

/** Which pods are ready endpoints of which Service, by list and watch: the uids only. */
export class EndpointView {
  readonly #source: Source<Slice>;
  readonly #slices = new Map<string, KeptSlice>();
  /** Uids of slices by "NAMESPACE/SERVICE". */
  readonly #ofService = new Map<string, Set<string>>();
  readonly #waiting = new Set<() => void>();

  constructor(client: KubernetesClient, onProblem: (part: string, error: unknown) => void) {
    this.#source = new Source<Slice>(client, {
      name: "endpointslices",
      path: "/apis/discovery.k8s.io/v1/endpointslices",
      keep: ({ metadata, endpoints }) => ({ metadata: keepMetadata(metadata), endpoints: endpoints ?? [] }),
      onChange: (change) => this.#take(change),
      onProblem,
    });
  }

  start(): void {
    this.#source.start();
  }

  async stop(): Promise<void> {
    await this.#source.stop();
  }

  get isKnown(): boolean {
    return this.#source.state === "synced";
  }

  /** Whether one of these Services has the pod as a ready endpoint. @param services "NAMESPACE/SERVICE" */
  hasReadyEndpoint(services: readonly string[], uid: string): boolean {
    return services.some((service) => this.#readyOf(service).has(uid));
  }

  /** Whether the pod is the last ready endpoint of one of these Services, but for those of `going`. */
  isLastReady(services: readonly string[], uid: string, going: ReadonlySet<string>): boolean {
    return services.some((service) => {
      const ready = this.#readyOf(service);
      return ready.has(uid) && [...ready].every((one) => one === uid || going.has(one));
    });
  }

  /** Resolves with the next change of any slice, or with the signal. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }

  #readyOf(service: string): ReadonlySet<string> {
    const slices = [...(this.#ofService.get(service) ?? [])];
    return new Set(slices.flatMap((uid) => [...(this.#slices.get(uid)?.ready ?? [])]));
  }

  #take({ type, object }: Change<Slice>): void {
    const { uid, namespace = "", labels = {} } = object.metadata;
    const service = `${namespace}/${labels[serviceLabel] ?? ""}`;
    const before = this.#slices.get(uid);
    if (before) this.#ofService.get(before.service)?.delete(uid);
    this.#slices.delete(uid);
    if (type === "there") {
      // Unset means ready.
      const ready = (object.endpoints ?? []).flatMap(({ conditions, targetRef }) =>
        conditions?.ready !== false && targetRef?.uid !== undefined ? [targetRef.uid] : [],
      );
      this.#slices.set(uid, { service, ready: new Set(ready) });
      const own = this.#ofService.get(service) ?? new Set();
      this.#ofService.set(service, own.add(uid));
    } else if (this.#ofService.get(service)?.size === 0) this.#ofService.delete(service);
    for (const wake of this.#waiting) wake();
  }
}
