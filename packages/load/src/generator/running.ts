import type { RequestRecord, SenderEvent } from "@lameduck/accounting";
import { LoadError } from "../errors.ts";
import type { Change } from "../senders/view.ts";
import { Child, generatorProgram } from "./child.ts";
import type { FromGenerator, PodCount, PodNews, Progress, ToGenerator } from "./protocol.ts";
import { ReadTable, type RecordNews } from "./records.ts";
import type { Trial } from "./trials.ts";

/** A generator in a process of its own, with everything that it has reported so far. */
export class RunningGenerator {
  /** Resolves when it is ready to begin. */
  readonly ready: Promise<void>;
  /** Rejects when its process has died; never resolves. */
  readonly failed: Promise<never>;
  progress: Progress = { due: 0, finished: 0, lost: 0, notSent: 0, inFlight: 0 };
  trials: readonly Trial[] = [];
  /** "" where the pod is not known. */
  readonly byPod = new Map<string, PodCount>();
  readonly #child: Child<ToGenerator, FromGenerator>;
  readonly #onEvent: (event: SenderEvent) => void;
  readonly #table: ReadTable;
  readonly #onRecords: (news: RecordNews) => void;
  readonly #ready = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<number>();
  readonly #done = Promise.withResolvers<void>();

  /** @param place what an error about it names. */
  constructor(
    prepare: Omit<ToGenerator & { type: "prepare" }, "type">,
    place: string,
    onEvent: (event: SenderEvent) => void = () => undefined,
    onRecords: (news: RecordNews) => void = () => undefined,
  ) {
    const failure = Promise.withResolvers<never>();
    // A rejection that nobody awaits yet must not end the process.
    failure.promise.catch(() => undefined);
    this.failed = failure.promise;
    this.#table = new ReadTable(prepare.senders.map(({ name }) => name));
    this.#onEvent = onEvent;
    this.#onRecords = onRecords;
    this.#child = new Child({
      program: generatorProgram,
      received: (message) => this.#received(message),
      died: (how) => failure.reject(new LoadError("LAMEDUCK_GENERATOR_DIED", place, `the generator ${how}`)),
    });
    this.#child.send({ type: "prepare", ...prepare });
    this.ready = this.#orFailed(this.#ready.promise);
    this.ready.catch(() => undefined);
  }

  learn(change: Change): void {
    this.#child.send({ type: "change", change });
  }

  /** @returns when the load began, on the run's clock. */
  begin(): Promise<number> {
    this.#child.send({ type: "begin" });
    return this.#orFailed(this.#begun.promise);
  }

  /** Resolves when every request has ended, and all is reported. */
  stop(abandon: boolean): Promise<void> {
    this.#child.send({ type: "stop", abandon });
    return this.#orFailed(this.#done.promise);
  }

  get records(): RequestRecord[] {
    return this.#table.records;
  }

  close(): Promise<void> {
    return this.#child.close();
  }

  #received(message: FromGenerator): void {
    switch (message.type) {
      case "ready":
        this.#ready.resolve();
        break;
      case "begun":
        this.#begun.resolve(message.at);
        break;
      case "event":
        this.#onEvent(message.event);
        break;
      case "progress":
        this.#count(message);
        break;
      case "records":
        this.#table.take(message);
        this.#onRecords(message);
        break;
      case "done":
        this.#count(message);
        this.#done.resolve();
        break;
    }
  }

  #count({ progress, trials, byPod }: FromGenerator & { type: "progress" | "done" }): void {
    this.progress = progress;
    this.trials = trials;
    addCounts(this.byPod, byPod);
  }

  #orFailed<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.failed]);
  }
}

/** More names than a run has pods: what claims to be a pod's name may be anything. */
const mostPods = 10_000;

export function addCounts(all: Map<string, PodCount>, news: PodNews): void {
  for (const [pod, { answered, lost }] of news) {
    const known = all.get(pod);
    if (known || all.size < mostPods)
      all.set(pod, { answered: (known?.answered ?? 0) + answered, lost: (known?.lost ?? 0) + lost });
  }
}
