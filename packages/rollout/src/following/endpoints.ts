import type { Change, EndpointSlice } from "@lameduck/kube";

/** What the EndpointSlices of the target's Services said, and when (Date.now()). Every sender reads them before it acts. */
export class EndpointHistory {
  readonly #slices = new Map<string, EndpointSlice>();
  /** Times without any endpoint that a sender could choose. */
  readonly #empty: { readonly from: number; to: number | undefined }[] = [];
  /** When a pod was withdrawn, which is when it was ready in no slice any more. A name may come back, and go again. */
  readonly #withdrawn: { readonly pod: string; readonly at: number }[] = [];
  readonly #listed = new Set<string>();
  #known = false;

  get empty(): readonly { readonly from: number; readonly to: number | undefined }[] {
    return this.#empty;
  }

  /** When a pod was withdrawn at or after a time; undefined when it was not. */
  withdrawnFrom(pod: string, from: number): number | undefined {
    return this.#withdrawn.find((one) => one.pod === pod && one.at >= from)?.at;
  }

  take({ type, object, at }: Change<EndpointSlice>): void {
    if (type === "gone") this.#slices.delete(object.metadata.uid);
    else this.#slices.set(object.metadata.uid, object);
    this.#compare(at);
  }

  #compare(at: number): void {
    const endpoints = [...this.#slices.values()].flatMap(({ endpoints: all }) => all ?? []);
    const ready = new Set<string>();
    let usable = 0;
    for (const { conditions = {}, targetRef, addresses } of endpoints) {
      const { ready: isReady = true, serving = isReady, terminating = false } = conditions;
      const pod = targetRef?.name ?? addresses[0] ?? "";
      if (isReady) ready.add(pod);
      // Where no endpoint is ready, kube-proxy and others fall back to endpoints that terminate and still serve (KEP-1669).
      if (isReady || (serving && terminating)) usable++;
    }
    for (const pod of this.#listed)
      if (!ready.has(pod)) {
        this.#listed.delete(pod);
        this.#withdrawn.push({ pod, at });
      }
    for (const pod of ready) this.#listed.add(pod);
    this.#noteEmptiness(usable, at);
  }

  #noteEmptiness(usable: number, at: number): void {
    const last = this.#empty.at(-1);
    const open = last !== undefined && last.to === undefined;
    // Before the first endpoint was seen it is unknown whether there is none.
    if (usable > 0) this.#known = true;
    if (usable === 0 && this.#known && !open) this.#empty.push({ from: at, to: undefined });
    if (usable > 0 && open) last.to = at;
  }
}
