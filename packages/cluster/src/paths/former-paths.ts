import { everyServiceIn } from "@lameduck/senders";
import { placesOf } from "./places.ts";

/** Required where not all that leads to a pod is known. No consumer serves it, so that such a pod is never released. */
export const somethingLeftOut = "objects-left-out";
/** For so long at least what has led to a Service counts. A proxy sends on until it has applied that it does not lead there any more. */
const lastingMs = 60_000;
/** Of Services that one route leads to: twice as many as are kept. Beyond that the pods of the namespace are not released. */
const mostPerNamespace = 2_000;

interface FormerPath {
  readonly service: string;
  readonly path: string;
  readonly until: number;
}

/** What has led to each Service a moment ago: an Ingress that is deleted together with its pods, or that leads to others now. */
export class FormerPaths {
  readonly #all = new Map<string, FormerPath>();
  /** None ends before. Every round of decisions asks. */
  #firstEnd = Infinity;
  readonly #ofService = new Map<string, Map<string, FormerPath>>();
  readonly #counts = new Map<string, number>();

  /**
   * @param service as "NAMESPACE/NAME".
   * @param assumedMs how long who sends by the path is assumed to go on.
   */
  add(service: string, path: string, now: number, assumedMs = 0): void {
    const namespace = namespaceOf(service);
    const isFull = (this.#counts.get(namespace) ?? 0) >= mostPerNamespace;
    if (isFull && !this.#all.has(`${service} ${path}`))
      this.#put(everyServiceIn(namespace), somethingLeftOut, now, assumedMs);
    else this.#put(service, path, now, assumedMs);
  }

  *of(service: string): Generator<string> {
    for (const at of placesOf(service)) yield* this.#ofService.get(at)?.keys() ?? [];
  }

  /** @returns whether any has ended. */
  forget(now: number): boolean {
    if (now < this.#firstEnd) return false;
    const before = this.#all.size;
    this.#firstEnd = Infinity;
    for (const former of this.#all.values())
      if (former.until > now) this.#firstEnd = Math.min(this.#firstEnd, former.until);
      else this.#drop(former);
    return this.#all.size < before;
  }

  #put(service: string, path: string, now: number, assumedMs: number): void {
    const known = this.#ofService.get(service)?.get(path);
    if (known) this.#drop(known);
    // What was left out before may last longer than what is left out now.
    const until = Math.max(known?.until ?? 0, now + Math.max(lastingMs, assumedMs));
    const former = { service, path, until };
    this.#firstEnd = Math.min(this.#firstEnd, until);
    const namespace = namespaceOf(service);
    this.#all.set(`${service} ${path}`, former);
    this.#ofService.set(service, (this.#ofService.get(service) ?? new Map()).set(path, former));
    this.#counts.set(namespace, (this.#counts.get(namespace) ?? 0) + 1);
  }

  #drop({ service, path }: FormerPath): void {
    const namespace = namespaceOf(service);
    const paths = this.#ofService.get(service);
    this.#all.delete(`${service} ${path}`);
    paths?.delete(path);
    if (paths?.size === 0) this.#ofService.delete(service);
    const left = (this.#counts.get(namespace) ?? 1) - 1;
    if (left > 0) this.#counts.set(namespace, left);
    else this.#counts.delete(namespace);
  }
}

function namespaceOf(service: string): string {
  return service.slice(0, service.indexOf("/"));
}
