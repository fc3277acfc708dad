import type { Basis } from "@lameduck/protocol";
import { unreadable, type Consumer } from "../consumer.ts";
import type { BoundGroup } from "./bound-groups.ts";

/**
 * An object that is gone was deleted when its controller had taken all addresses out of the group; a network load balancer sends on
 * meanwhile. The coordinator asks for two minutes more what has led to a pod.
 */
const keptMs = 240_000;
/** From the surest to the least sure. */
const bases: readonly Basis[] = ["rules", "state", "syncs", "time"];

interface Known {
  readonly reader: Consumer | { readonly problem: string };
  /** Objects that name it; it goes some time after the last one. */
  readonly namedBy: Set<string>;
  goneAt: number;
}

/** All groups that have a Service's pods, as one consumer: it lets go when all of them have. */
export class ServiceGroups implements Consumer {
  readonly kind: string;
  readonly every = 500;
  readonly pacesItself = true;
  /** All Services of a cluster are told of each pod, and most of them are not read for it at once. After 3 s they would count as silent. */
  readonly heartbeatMs = 2_000;
  readonly #groups = new Map<string, Known>();
  readonly #whyNotWhole: () => string | undefined;
  readonly #now: () => number;

  /** @param whyNotWhole why there may be groups that are not known here. */
  constructor(
    kind: string,
    whyNotWhole: () => string | undefined,
    now: () => number = () => performance.now(),
  ) {
    this.kind = kind;
    this.#whyNotWhole = whyNotWhole;
    this.#now = now;
  }

  get size(): number {
    return this.#groups.size;
  }

  get basis(): Basis {
    const all = this.#readers().map(({ basis }) => bases.indexOf(basis));
    return bases[Math.max(1, ...all)] ?? "time";
  }

  /** What an object names now, in place of what it named before. */
  name(object: string, groups: readonly BoundGroup[]): void {
    for (const [id, known] of this.#groups) {
      const wasLast = known.namedBy.delete(object) && known.namedBy.size === 0;
      if (!wasLast || groups.some((group) => group.id === id)) continue;
      // It stood for groups that the object did not name yet, or not so that they could be read.
      if ("problem" in known.reader && groups.length > 0) this.#groups.delete(id);
      else known.goneAt = this.#now();
    }
    for (const { id, reader } of groups) {
      const known = this.#groups.get(id) ?? {
        reader: typeof reader === "function" ? reader() : reader,
        namedBy: new Set(),
        goneAt: Infinity,
      };
      known.namedBy.add(object);
      known.goneAt = Infinity;
      this.#groups.set(id, known);
    }
  }

  /** Drops groups that have long been named by nothing. */
  forget(): void {
    const now = this.#now();
    // One that nobody can read may send on as well as the others.
    for (const [id, { goneAt }] of this.#groups) if (now - goneAt >= keptMs) this.#groups.delete(id);
  }

  async stillUsed(addresses: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const why = this.#groups.size === 0 ? "it has no group any more" : this.#whyNotWhole();
    if (why !== undefined) throw unreadable(this.kind, why);
    for (const [id, { reader }] of this.#groups)
      if ("problem" in reader) throw unreadable(id, reader.problem);
    const found = await Promise.all(this.#readers().map((reader) => reader.stillUsed(addresses, signal)));
    return new Set(found.flatMap((used) => [...used]));
  }

  reason(): string | undefined {
    return this.#readers()
      .map((reader) => reader.reason?.())
      .find((reason) => reason !== undefined);
  }

  rest(): void {
    for (const reader of this.#readers()) reader.rest?.();
  }

  #readers(): readonly Consumer[] {
    return [...this.#groups.values()].flatMap(({ reader }) => ("problem" in reader ? [] : [reader]));
  }
}
