/** Milliseconds for which counts what has led to a Service. A proxy sends on until it has applied that it does not lead there any more. */
const lasting = 60_000;
/** Of Services that one route leads to: twice as many as are kept. Beyond that the pods of the namespace are not released. */
const mostPerNamespace = 2_000;

interface FormerLead {
  readonly service: string;
  readonly lead: string;
  readonly until: number;
}

/** What has led to each Service a moment ago: an Ingress that is deleted together with its pods, or that leads to others now. */
export class FormerLeads {
  /** In the order of their ends. */
  readonly #all = new Map<string, FormerLead>();
  readonly #ofService = new Map<string, Map<string, FormerLead>>();
  readonly #counts = new Map<string, number>();
  readonly #tooMany: string;

  /** @param tooMany the lead that stands for those of a namespace that are too many. */
  constructor(tooMany: string) {
    this.#tooMany = tooMany;
  }

  /** @param service as "NAMESPACE/NAME". */
  add(service: string, lead: string, now: number): void {
    const namespace = namespaceOf(service);
    const isFull = (this.#counts.get(namespace) ?? 0) >= mostPerNamespace;
    if (isFull && !this.#all.has(`${service} ${lead}`)) this.#put(wholeOf(namespace), this.#tooMany, now);
    else this.#put(service, lead, now);
  }

  *of(service: string): Generator<string> {
    for (const at of [service, wholeOf(namespaceOf(service))]) yield* this.#ofService.get(at)?.keys() ?? [];
  }

  /** @returns whether any has ended. */
  forget(now: number): boolean {
    const before = this.#all.size;
    for (const former of this.#all.values()) {
      if (former.until > now) break;
      this.#drop(former);
    }
    return this.#all.size < before;
  }

  #put(service: string, lead: string, now: number): void {
    const known = this.#ofService.get(service)?.get(lead);
    if (known) this.#drop(known);
    const former = { service, lead, until: now + lasting };
    const namespace = namespaceOf(service);
    this.#all.set(`${service} ${lead}`, former);
    this.#ofService.set(service, (this.#ofService.get(service) ?? new Map()).set(lead, former));
    this.#counts.set(namespace, (this.#counts.get(namespace) ?? 0) + 1);
  }

  #drop({ service, lead }: FormerLead): void {
    const namespace = namespaceOf(service);
    const leads = this.#ofService.get(service);
    this.#all.delete(`${service} ${lead}`);
    leads?.delete(lead);
    if (leads?.size === 0) this.#ofService.delete(service);
    const left = (this.#counts.get(namespace) ?? 1) - 1;
    if (left > 0) this.#counts.set(namespace, left);
    else this.#counts.delete(namespace);
  }
}

function namespaceOf(service: string): string {
  return service.slice(0, service.indexOf("/"));
}

/** Stands for all Services of a namespace. */
function wholeOf(namespace: string): string {
  return `${namespace}/`;
}
