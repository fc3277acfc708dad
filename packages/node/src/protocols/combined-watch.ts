import type { Server as NetServer } from "node:net";
import type { Patience, ServerWatch } from "../servers/traffic.ts";

/** One server of several watches: TLS beneath, HTTP/2 and HTTP/1.1 for clients that know no better above. */
export class CombinedWatch implements ServerWatch {
  readonly #watches: readonly ServerWatch[];

  constructor(watches: readonly ServerWatch[]) {
    this.#watches = watches;
  }

  get listeners(): readonly NetServer[] {
    return this.#watches[0]?.listeners ?? [];
  }

  get listening(): boolean {
    return this.#watches.some((watch) => watch.listening);
  }

  get accepted(): number {
    return this.#sum((watch) => watch.accepted);
  }

  get open(): number {
    return this.#sum((watch) => watch.open);
  }

  hold(): void {
    for (const watch of this.#watches) watch.hold();
  }

  hint(share: number): void {
    for (const watch of this.#watches) watch.hint(share);
  }

  beforeHandlers(): void {
    for (const watch of this.#watches) watch.beforeHandlers();
  }

  tick(): void {
    for (const watch of this.#watches) watch.tick();
  }

  stopListening(): void {
    for (const watch of this.#watches) watch.stopListening();
  }

  restless(quiet: number): number {
    return this.#sum((watch) => watch.restless(quiet));
  }

  endIdle(): void {
    for (const watch of this.#watches) watch.endIdle();
  }

  endStreams(patience: Patience): void {
    for (const watch of this.#watches) watch.endStreams(patience);
  }

  cut(): { requests: number; connections: number } {
    const cut = { requests: 0, connections: 0 };
    for (const watch of this.#watches) {
      const { requests, connections } = watch.cut();
      cut.requests += requests;
      cut.connections += connections;
    }
    return cut;
  }

  detach(): void {
    for (const watch of this.#watches) watch.detach();
  }

  #sum(of: (watch: ServerWatch) => number): number {
    return this.#watches.reduce((sum, watch) => sum + of(watch), 0);
  }
}
