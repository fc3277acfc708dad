import { shownUrl } from "../routes/url.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { RequestRecord } from "@lameduck/accounting";
import type { Pod } from "@lameduck/kube";
import type { LoadSeen } from "../routes/load-source.ts";
import { InClusterError } from "./errors.ts";
import type { LoadJob } from "./job.ts";
import { LoadPod } from "./load-pod.ts";
import { notesOf } from "./notes.ts";
import type { InClusterOptions } from "./options.ts";
import { loadContainer, standingOf, whyNotBegun } from "./start.ts";

/** Time for the log of a container that has ended to say why. */
const lastWordsMs = 10_000;

/** The pods of the load, from the moment each is there. */
export class LoadPods {
  readonly #options: InClusterOptions;
  readonly #job: LoadJob;
  readonly #epoch: number;
  readonly #pods = new Map<string, LoadPod>();
  #asked = 0;

  constructor(options: InClusterOptions, job: LoadJob) {
    this.#options = options;
    this.#job = job;
    this.#epoch = options.clock.fromEpoch(0);
  }

  get all(): readonly LoadPod[] {
    return [...this.#pods.values()];
  }

  /** Why a log cannot be read to its end. */
  get failure(): Error | undefined {
    return this.all.find(({ log }) => log.failure)?.log.failure;
  }

  get size(): number {
    return this.#pods.size;
  }

  get addresses(): ReadonlyMap<string, string> {
    return new Map(this.all.flatMap(({ hello }) => Object.entries(hello?.addresses ?? {})));
  }

  sum(of: (pod: LoadPod) => number): number {
    return this.all.reduce((sum, pod) => sum + of(pod), 0);
  }

  /** The Job is being sent: no pod starts before. */
  asked(): void {
    this.#asked = this.#options.clock.now();
  }

  /** Looks for pods of the Job; each is followed from the moment it is there. */
  async find(waited: number, signal: AbortSignal): Promise<void> {
    for (const found of await this.#job.pods(signal)) {
      const pod = this.#followed(found.metadata);
      if (pod.hello) continue;
      const problem = whyNotBegun(found, waited);
      if (hasEnded(found)) {
        // Why it ended stands in its log, also where it ended before it was first seen.
        pod.log.finish();
        await Promise.race([pod.log.ended, delay(lastWordsMs, undefined, { ref: false })]);
      }
      if (pod.failed)
        throw new InClusterError(
          "LAMEDUCK_IN_CLUSTER_URL",
          shownUrl(new URL(pod.failed.url)),
          pod.failed.problem,
        );
      if (problem) throw problem;
    }
  }

  /** Progress of the pods that have not begun. */
  async standing(signal: AbortSignal): Promise<string> {
    const { kube, namespace } = this.#options;
    const waiting = (await this.#job.pods(signal)).filter(
      ({ metadata }) => !this.#pods.get(metadata.uid)?.hello,
    );
    return (await Promise.all(waiting.map((pod) => standingOf(kube, namespace, pod)))).join("; ");
  }

  /** Of containers that have ended the log is read once more, and no longer. */
  async finishEnded(signal: AbortSignal): Promise<void> {
    for (const pod of await this.#job.pods(signal))
      if (hasEnded(pod)) this.#pods.get(pod.metadata.uid)?.log.finish();
  }

  /** Everything they reported. */
  seen(pods: readonly LoadPod[]): LoadSeen {
    const records: RequestRecord[] = [];
    let connections = 0;
    for (const pod of pods) {
      const own = pod.records(connections, records.length);
      for (const record of own) {
        records.push(record);
        connections = Math.max(connections, record.connection ?? 0);
      }
    }
    const missing = pods.reduce((sum, pod) => sum + pod.missing, 0);
    return { records, missing, notes: notesOf(pods, this.#options.parallel) };
  }

  #followed({ name, uid }: Pod["metadata"]): LoadPod {
    const known = this.#pods.get(uid);
    if (known) return known;
    const { kube, clock, routes } = this.#options;
    const pod = new LoadPod({
      kube,
      name,
      path: this.#job.podPath(name),
      clock,
      epoch: this.#epoch,
      routes: routes.map((route) => route.name),
      asked: this.#asked,
    });
    this.#pods.set(uid, pod);
    return pod;
  }
}

function hasEnded({ status }: Pod): boolean {
  return loadContainer(status)?.state?.terminated !== undefined;
}
