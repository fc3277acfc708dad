import { EventEmitter, once } from "node:events";
import { type Change, type KubernetesClient, type Source } from "@lameduck/kube";
import { followed, following, slimSlice, type SlimSlice } from "@lameduck/cluster";

/** Which pods are ready endpoints of which Service, by list and watch. */
export class EndpointView {
  readonly #source: Source<SlimSlice>;
  readonly #slices = new Map<string, SlimSlice>();
  /** Uids of slices by "NAMESPACE/SERVICE". */
  readonly #ofService = new Map<string, Set<string>>();
  readonly #news = new EventEmitter().setMaxListeners(0);

  constructor(client: KubernetesClient, onProblem: (part: string, error: unknown) => void) {
    const follow = following(client, { onProblem });
    this.#source = follow(followed.endpointSlices, slimSlice, (change) => this.#take(change));
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
  async changed(signal: AbortSignal): Promise<void> {
    await once(this.#news, "change", { signal }).catch(() => undefined);
  }

  #readyOf(service: string): ReadonlySet<string> {
    const slices = [...(this.#ofService.get(service) ?? [])].flatMap((uid) => this.#slices.get(uid) ?? []);
    const endpoints = slices.flatMap((slice) => slice.endpoints);
    return new Set(endpoints.filter(({ isReady }) => isReady).map(({ pod }) => pod));
  }

  #take({ type, object }: Change<SlimSlice>): void {
    const { uid } = object.metadata;
    const before = this.#slices.get(uid)?.service;
    if (before !== undefined) {
      const known = this.#ofService.get(before);
      known?.delete(uid);
      if (known?.size === 0) this.#ofService.delete(before);
    }
    if (type === "there") {
      this.#slices.set(uid, object);
      this.#ofService.set(object.service, (this.#ofService.get(object.service) ?? new Set()).add(uid));
    } else this.#slices.delete(uid);
    this.#news.emit("change");
  }
}
