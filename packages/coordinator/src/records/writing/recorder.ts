import { setTimeout as delay } from "node:timers/promises";
import {
  hasStatus,
  isTransient,
  orUndefined,
  startupRefusalsMs,
  type KubernetesClient,
} from "@lameduck/kube";
import type { TerminationListener, TerminationView } from "../../termination-view.ts";
import { describeTermination, type NewReport } from "../report/describe.ts";
import { reportsOf } from "../report/drain-report.ts";
import { FollowedTerminations, type Followed } from "../report/followed.ts";
import { TokenBucket, type WorkloadName } from "@lameduck/cluster";
import { defaultRetention, type RetentionLimits } from "./retention.ts";
import { StoredReports } from "./stored-reports.ts";

/** A termination that has ended, to be recorded. */
export interface Ended {
  readonly uid: string;
  readonly report: NewReport;
  readonly workload: WorkloadName | undefined;
  /** It was seen from its beginning, and the times of its consumers tell how fast they are. */
  readonly isMeasured: boolean;
  readonly at: number;
}

/** `known`: another replica has written it. `unserved`: nothing sends to the pod, so that it needs no record. */
export type RecordOutcome = "written" | "known" | "refused" | "dropped" | "unserved";

interface RecorderOptions {
  /** Whether this replica is the one that writes. */
  readonly isLeader: () => boolean;
  readonly retention?: RetentionLimits;
  /** Called once for each termination by the replica that records it, whether the API server took the record or not. */
  readonly onRecord?: (ended: Ended) => void;
  readonly onOutcome?: (outcome: RecordOutcome) => void;
  readonly onRemove?: () => void;
  readonly onProblem: (error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** By which terminations have their times; default `now`. */
  readonly clock?: () => number;
  /** Between two looks; default a second. */
  readonly everyMs?: number;
}

/** Writes a second, and removals a second: 1,000 terminations a minute are 17. */
const perSecond = 20;
const burst = 100;
/** Concurrent writes, in case the API server is slow. */
const atOnce = 8;
/** Between two lists of what is there, and between two looks at what is too much. */
const relistMs = 600_000;
const tidyMs = 1_000;

/** One minute at 10,000 terminations a minute. Beyond this the oldest are dropped, and counted. */
const mostWaiting = 10_000;
/** A replica that does not write keeps terminations so long: the writer may be killed before it writes. */
const keptForMs = 90_000;

/** Writes a DrainReport for each termination that ends, and keeps their number within bounds. */
export class Recorder {
  readonly #client: KubernetesClient;
  readonly #options: RecorderOptions;
  readonly #followed: FollowedTerminations;
  readonly #ended: EndedTerminations;
  readonly #stored: StoredReports;
  /** What has become known of terminations after their end. */
  readonly #amended: NewReport[] = [];
  readonly #now: () => number;
  readonly #writes: TokenBucket;
  readonly #removals: TokenBucket;
  readonly #stopping = new AbortController();
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #wasLeader = false;
  #tidiedAt = -Infinity;

  constructor(client: KubernetesClient, options: RecorderOptions) {
    const { now = Date.now, clock = now, retention = defaultRetention } = options;
    this.#client = client;
    this.#options = options;
    this.#now = now;
    this.#followed = new FollowedTerminations(now, clock);
    this.#ended = new EndedTerminations(now, () => options.onOutcome?.("dropped"));
    this.#stored = new StoredReports(client, retention, now);
    this.#writes = new TokenBucket(perSecond, burst);
    this.#removals = new TokenBucket(perSecond, burst);
  }

  /** Reports in the cluster, as far as this replica knows; and terminations that have ended and are not recorded yet. */
  get counts(): { readonly kept: number; readonly waiting: number } {
    return { kept: this.#stored.size, waiting: this.#ended.size };
  }

  readonly hear: TerminationListener = (termination, what) => {
    const followed = this.#followed.hear(termination, what);
    if (what === "ended") this.#end(termination, followed);
    if (what !== "stuck" || !this.#options.isLeader()) return;
    this.#amended.push(describeTermination(termination, followed));
    this.#wake();
  };

  #end(termination: TerminationView, followed: Followed): void {
    if (isUnserved(termination, followed)) {
      if (this.#options.isLeader()) this.#options.onOutcome?.("unserved");
      return;
    }
    const report = describeTermination(termination, followed);
    const { uid, workload } = termination;
    const isMeasured = followed.isWhole && termination.isMeasured;
    this.#ended.add({ uid, report, workload, isMeasured });
    this.#wake();
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Writes the terminations that have ended, as far as the API server takes them within a second. */
  async stop(): Promise<void> {
    const end = performance.now() + 1_000;
    while (this.#options.isLeader() && this.#ended.size > 0 && performance.now() < end) await delay(20);
    this.#stopping.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { isLeader, onProblem, everyMs = 1_000 } = this.#options;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      const leads = isLeader();
      if (leads && !this.#wasLeader) this.#stored.forget();
      this.#wasLeader = leads;
      try {
        if (leads) await this.#pass();
        else this.#ended.forgetOld();
      } catch (error) {
        if (signal.aborted) return;
        onProblem(error);
        // The API server is away, or refuses. The queue is bounded.
        await delay(everyMs, undefined, { signal }).catch(() => undefined);
      }
      const isIdle = !leads || this.#ended.size === 0;
      if (isIdle) await Promise.race([woken, delay(everyMs, undefined, { signal }).catch(() => undefined)]);
    }
  }

  async #pass(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#ended.size > 0 && this.#options.isLeader()) {
      const allowed = this.#ended.first(atOnce).filter(() => this.#writes.take() === 0);
      if (allowed.length === 0) await delay(1_000 / perSecond, undefined, { signal });
      await allSettled(allowed.map((one) => this.#record(one)));
    }
    await this.#amend();
    await this.#stored.read(relistMs, signal);
    await this.#tidy();
  }

  /** Adds to reports that are written. @throws where a retry may help. */
  async #amend(): Promise<void> {
    for (let [report] = this.#amended; report !== undefined; [report] = this.#amended) {
      const { metadata, stuckConsumers, summary } = report;
      const path = `${reportsOf(metadata.namespace)}/${metadata.name}`;
      const body = { stuckConsumers, summary: { text: summary.text } };
      try {
        // It may have been removed, or there was nothing to record.
        await orUndefined(this.#client.patch(path, body, "merge-patch", this.#stopping.signal), 404);
      } catch (error) {
        if (isTransient(error) || this.#stopping.signal.aborted) throw error;
        this.#options.onProblem(error);
      }
      this.#amended.shift();
    }
  }

  async #tidy(): Promise<void> {
    if (this.#now() - this.#tidiedAt < tidyMs) return;
    this.#tidiedAt = this.#now();
    for (const one of this.#stored.superfluous()) {
      if (this.#removals.take() > 0) return;
      await this.#stored.remove(one, this.#stopping.signal);
      this.#options.onRemove?.();
    }
  }

  async #record(ended: Ended): Promise<void> {
    const { onRecord, onOutcome } = this.#options;
    const outcome = await this.#write(ended.report, this.#now() - ended.at);
    this.#ended.done(ended);
    // The replica that wrote it has also published it.
    if (outcome !== "known") onRecord?.(ended);
    onOutcome?.(outcome);
  }

  /** @throws where a retry may help. */
  async #write(report: NewReport, waited: number): Promise<RecordOutcome> {
    const { namespace, name } = report.metadata;
    try {
      await this.#client.post(reportsOf(namespace), report, this.#stopping.signal);
    } catch (error) {
      if (hasStatus(error, 409)) return "known";
      // No answer, or a refusal by a server that has not read its roles yet: a retry may help.
      const isStarting = hasStatus(error, 401, 403) && waited < startupRefusalsMs;
      if (isTransient(error) || isStarting || this.#stopping.signal.aborted) throw error;
      // A final refusal: the namespace is being deleted, or the kind is not installed.
      this.#options.onProblem(error);
      return "refused";
    }
    this.#stored.add({ namespace, name, createdAt: this.#now() });
    return "written";
  }
}

/** Whether nothing sends to the pod, and nothing in it asked or reported. */
function isUnserved({ reported }: TerminationView, { consumers }: Followed): boolean {
  return consumers === undefined && Object.keys(reported).length === 0;
}

/** Waits for all. @throws the first failure. */
async function allSettled(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

/** Terminations that have ended and are not recorded yet, as far as this replica knows. */
class EndedTerminations {
  readonly #now: () => number;
  readonly #onDrop: () => void;
  readonly #waiting = new Map<string, Ended>();

  constructor(now: () => number, onDrop: () => void) {
    this.#now = now;
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(one: Omit<Ended, "at">): void {
    if (this.#waiting.size >= mostWaiting) {
      const [oldest] = this.#waiting.keys();
      if (oldest !== undefined) this.#waiting.delete(oldest);
      this.#onDrop();
    }
    this.#waiting.set(one.uid, { ...one, at: this.#now() });
  }

  /** The oldest entries. */
  first(count: number): Ended[] {
    const first: Ended[] = [];
    for (const one of this.#waiting.values()) if (first.push(one) >= count) break;
    return first;
  }

  done({ uid }: Ended): void {
    this.#waiting.delete(uid);
  }

  /** In a replica that does not write: drops entries that the writer has had the time to record. */
  forgetOld(): void {
    const before = this.#now() - keptForMs;
    for (const [uid, { at }] of this.#waiting) if (at < before) this.#waiting.delete(uid);
  }
}
