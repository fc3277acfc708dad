/** Names of pods: web-1, web-2 ... never twice in a run, so that every event and request can be laid to one pod. */
export class PodNames {
  #last = 0;
  readonly #generations = new Map<string, number>();

  /** A StatefulSet's pod keeps its name over generations; from the second generation on, its own name differs from the run's name for it. */
  next(workload: string, ordinal: number | undefined): { readonly name: string; readonly hostname: string } {
    if (ordinal === undefined) {
      const name = `${workload}-${++this.#last}`;
      return { name, hostname: name };
    }
    const hostname = `${workload}-${ordinal}`;
    const generation = (this.#generations.get(hostname) ?? 0) + 1;
    this.#generations.set(hostname, generation);
    return { name: generation === 1 ? hostname : `${hostname}.${generation}`, hostname };
  }
}
