/**
 * What a place answers as long as nothing happens to it, by classes of statuses (2xx, 3xx, 4xx). What it answers afterwards is held to that: a
 * proxy that has lost its backend may well say 404. Where nothing was learned nothing is judged.
 */
export class StatusClasses {
  readonly #known = new Set<number>();

  constructor(statuses: readonly number[] = []) {
    for (const status of statuses) this.learn(status);
  }

  learn(status: number): void {
    this.#known.add(classOf(status));
  }

  knows(status: number): boolean {
    return this.#known.size === 0 || this.#known.has(classOf(status));
  }

  /** "LEARNED_2XX", for the record of a request that was answered otherwise. */
  get code(): string {
    return `LEARNED_${[...this.#known]
      .sort((one, other) => one - other)
      .map((one) => `${one}XX`)
      .join("_")}`;
  }
}

function classOf(status: number): number {
  return Math.floor(status / 100);
}

/** "2xx or 4xx", of that code. */
export function spellClasses(code: string): string {
  return code
    .replace(/^LEARNED_/, "")
    .toLowerCase()
    .replaceAll("_", " or ");
}
