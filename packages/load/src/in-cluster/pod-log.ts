import { setTimeout as delay } from "node:timers/promises";
import { hasStatus, isTransient, startupRefusalsMs } from "@lameduck/kube";
import type { Kube } from "./options.ts";
import { containerName } from "./manifests.ts";
import type { PodMessage } from "./transport/line.ts";
import { Receiver } from "./transport/receiver.ts";

/** Pods say something every second: a stream that is silent for that long leads nowhere. */
const longestSilenceMs = 5_000;
const firstWaitMs = 100;
const longestWaitMs = 1_000;

/**
 * Follows the log of one pod to its end. A stream may be cut, by a restart of the API server or a lost connection. The kubelet keeps the log, so the
 * stream is opened again a little before where it was. Lines are numbered: a line that is known already is left out.
 */
export class PodLog {
  readonly #kube: Kube;
  readonly #path: string;
  readonly #receiver: Receiver;
  readonly #over = new AbortController();
  /** Resolves when nothing more will come: the pod has said everything, or has gone. */
  readonly ended: Promise<void>;
  /** Everything the pod had to say has come. */
  #complete = false;
  #whole = false;
  /** Streams opened after the first. */
  reconnects = 0;
  /** Why it cannot be read any more, though there may be more of it. */
  failure: Error | undefined;
  #opened: number | undefined;
  #final = false;

  /** @param path of the pod's object */
  constructor(kube: Kube, path: string, take: (message: PodMessage) => void) {
    this.#kube = kube;
    this.#path = path;
    this.#receiver = new Receiver((message) => {
      take(message);
      if (message.type === "end" || message.type === "failed") this.#complete = true;
    });
    this.ended = this.#follow().catch((error: unknown) => {
      this.failure = error instanceof Error ? error : new Error(String(error));
    });
  }

  /** Lines that were lost. */
  get skipped(): number {
    return this.#receiver.skipped;
  }

  /** Its container has ended: one more read of the log brings everything. */
  finish(): void {
    this.#final = true;
  }

  close(): Promise<void> {
    this.#over.abort();
    return this.ended;
  }

  async #follow(): Promise<void> {
    let wait = firstWaitMs;
    for (let streams = 0; !this.#complete && !this.#over.signal.aborted; streams++) {
      if (streams > 0) this.reconnects = streams;
      const before = this.#receiver.latest;
      const final = this.#final;
      try {
        if ((await this.#stream()) && final) return;
      } catch (error) {
        const isUnknown = hasStatus(error, 404);
        if (isUnknown && (final || (await this.#isGone()))) return;
        if (!isUnknown && !this.#mayPass(error)) throw error;
      }
      this.#receiver.cut();
      if (this.#receiver.gap) {
        // Asked for the whole log once: what is not in it has been rotated away.
        if (this.#whole) this.#receiver.skip();
        this.#whole = !this.#whole;
      }
      wait = this.#receiver.latest === before ? Math.min(wait * 2, longestWaitMs) : firstWaitMs;
      if (!this.#complete) await delay(wait, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }

  /** The pod and its log are gone for good. A kubelet that has not heard of its new pod yet answers the same. */
  async #isGone(): Promise<boolean> {
    const [, pods, name] = /^(.*)\/(.*)$/.exec(this.#path) ?? [];
    const path = `${pods}?fieldSelector=metadata.name%3D${name}`;
    try {
      const { items } = await this.#kube.get<{ items: unknown[] }>(path, this.#over.signal);
      return items.length === 0;
    } catch {
      return false;
    }
  }

  #mayPass(error: unknown): boolean {
    // 400: its container waits to be started.
    if (isTransient(error) || hasStatus(error, 400)) return true;
    return (
      hasStatus(error, 401, 403) &&
      this.#opened !== undefined &&
      Date.now() - this.#opened < startupRefusalsMs
    );
  }

  /** @returns whether it ended in order, as that of a container that has ended does. */
  async #stream(): Promise<boolean> {
    const cut = new AbortController();
    const response = await this.#kube.stream(
      `${this.#path}/log?container=${containerName}&follow=true${this.#since()}`,
      AbortSignal.any([cut.signal, this.#over.signal]),
    );
    let timer: NodeJS.Timeout | undefined;
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => cut.abort(), longestSilenceMs);
    };
    try {
      watch();
      response.setEncoding("utf8");
      for await (const text of response as AsyncIterable<string>) {
        watch();
        this.#opened = Date.now();
        this.#receiver.push(text);
        // Behind a gap there is nothing to wait for here.
        if (this.#complete || this.#receiver.gap) return false;
      }
      return true;
    } catch {
      // However it was cut, it is opened again.
      return false;
    } finally {
      clearTimeout(timer);
      response.destroy();
    }
  }

  /** A little before the last line known: the API counts whole seconds, and the line was written before it was logged. */
  #since(): string {
    const { latest } = this.#receiver;
    if (latest === undefined || this.#whole) return "";
    const time = new Date(Math.floor(latest / 1_000) * 1_000 - 1_000).toISOString();
    return `&sinceTime=${encodeURIComponent(time)}`;
  }
}
