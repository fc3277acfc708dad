/** Consumers that one reports for. A watcher reports for one, or for a few kinds of them; that of a cloud's load balancers for each Service. */
const mostNames = 2_000;

/** The consumers for which each pod reports, or each account whose tokens are bound to none: one of them must not use up the room of all. */
export class NameQuota {
  readonly #byOwner = new Map<string, Set<string>>();

  /** @returns whether it may report by this name. */
  take(owner: string, name: string): boolean {
    const own = this.#byOwner.get(owner) ?? new Set();
    if (!own.has(name) && own.size >= mostNames) return false;
    this.#byOwner.set(owner, own.add(name));
    return true;
  }

  forget(isKnown: (name: string) => boolean): void {
    for (const [owner, names] of this.#byOwner) {
      for (const name of names) if (!isKnown(name)) names.delete(name);
      if (names.size === 0) this.#byOwner.delete(owner);
    }
  }
}
